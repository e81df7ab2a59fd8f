package bot

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of one post. With the source and the room before it, a message of maxPiece stays within
// the 512 bytes of a line.
const (
	maxLines = 10
	maxPiece = 350 // in bytes
)

// Lines makes messages of a text, one for each line that is not blank. A long line is divided at a
// blank. What would be more than maxLines is only counted. The text may be hostile: control
// characters, which would end a line or mean something to clients, are removed, and so are those
// that turn the direction of what follows.
func Lines(text string) []string {
	var lines []string
	for l := range strings.SplitSeq(strings.ReplaceAll(text, "\r", "\n"), "\n") {
		if l = clean(l); l != "" {
			lines = append(lines, pieces(l)...)
		}
	}
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines-1], fmt.Sprintf("… and %d more lines", more+1))
	}
	return lines
}

// clean makes one line of valid UTF-8 without control characters of a text.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069',
			r == '\u200e', r == '\u200f', r == '\ufeff':
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// pieces divides a line into parts of at most maxPiece bytes.
func pieces(line string) []string {
	var out []string
	for len(line) > maxPiece {
		end := maxPiece
		for !utf8.RuneStart(line[end]) {
			end--
		}
		if blank := strings.LastIndexByte(line[:end], ' '); blank > end/2 {
			end = blank
		}
		out = append(out, strings.TrimSpace(line[:end]))
		line = strings.TrimSpace(line[end:])
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// short cuts a text that is part of a line.
func short(text string, most int) string {
	text = clean(text)
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.TrimSpace(text[:most]) + "…"
}
