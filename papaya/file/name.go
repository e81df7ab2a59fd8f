package file

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of names in bytes: as a file has it, and as a link has it, in percent-encoding. A message
// with a link must fit into a line of IRC. Both are guesses.
const (
	maxName    = 150
	maxSegment = 90
	maxSuffix  = 12 // of a suffix that is kept when a name is cut: ".tar.gz" loses its ".tar"
)

// noName is the name of a file without one.
const noName = "file"

// reserved are names that Windows keeps for devices, in lower case and without a suffix.
var reserved = map[string]bool{"con": true, "prn": true, "aux": true, "nul": true, "com1": true,
	"com2": true, "com3": true, "com4": true, "com5": true, "com6": true, "com7": true,
	"com8": true, "com9": true, "lpt1": true, "lpt2": true, "lpt3": true, "lpt4": true,
	"lpt5": true, "lpt6": true, "lpt7": true, "lpt8": true, "lpt9": true}

// cleanName makes a name that every system may save a file under: one element of a path, without
// characters that are not seen, that turn the text around, or that are not allowed in names.
func cleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r): // controls, formats (as U+202E), surrogates, private use
			return -1
		}
		return r
	}, name)
	name = strings.Trim(strings.Join(strings.Fields(name), " "), ". ")
	name = shorten(name, maxName, func(s string) int { return len(s) })
	stem, _, _ := strings.Cut(name, ".")
	if reserved[strings.ToLower(strings.TrimSpace(stem))] {
		name = "_" + name
	}
	if name == "" {
		return noName
	}
	return name
}

// shorten shortens a name to a size, and keeps its suffix if that is short.
func shorten(name string, most int, size func(string) int) string {
	if size(name) <= most {
		return name
	}
	suffix := ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && len(name)-dot <= maxSuffix {
		name, suffix = name[:dot], name[dot:]
	}
	for name != "" && size(name)+size(suffix) > most {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return strings.Trim(name, ". ") + suffix
}

// segment is a name as the last element of a link.
func segment(name string) string {
	return url.PathEscape(shorten(name, maxSegment,
		func(s string) int { return len(url.PathEscape(s)) }))
}
