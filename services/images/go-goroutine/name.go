package main

import (
	"fmt"
	"strings"
	"unicode"
)

// mostName is in characters.
const mostName = 200

// clean makes a name from a client's text: data, never a path.
func clean(name string) string {
	name = string([]rune(name)) // invalid UTF-8 becomes U+FFFD
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, name)
	runes := []rune(strings.TrimSpace(name))
	name = strings.TrimSpace(string(runes[:min(len(runes), mostName)]))
	if name == "" || name == "." || name == ".." {
		return "image"
	}
	return name
}

// disposition is the Content-Disposition for a name: one form for old clients, one for
// all characters.
func disposition(name string) string {
	var plain, all strings.Builder
	for _, r := range name {
		if word(r) || r == ' ' {
			plain.WriteRune(r)
		} else {
			plain.WriteByte('_')
		}
	}
	for _, c := range []byte(name) {
		if word(rune(c)) || c == '~' {
			all.WriteByte(c)
		} else {
			fmt.Fprintf(&all, "%%%02X", c)
		}
	}
	return fmt.Sprintf(`inline; filename="%s"; filename*=UTF-8''%s`, plain.String(), all.String())
}

func word(r rune) bool {
	return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '.' || r == '-' ||
		r == '_'
}
