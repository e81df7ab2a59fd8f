package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain makes a text from others safe to show. It removes control characters, characters that
// change the direction of text, and IRC's formatting.
func Plain(text string) string {
	text = dropColours(text)
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t', c == '\n':
			return ' '
		case c == '\u200d', c == '\u200c': // joiners within an emoji or a word
			return c
		case unicode.IsControl(c), unicode.Is(unicode.Cf, c), c == '\u2028', c == '\u2029':
			return -1
		}
		return c
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// dropColours removes colour codes of IRC: \x03 and up to two numbers of two digits.
func dropColours(text string) string {
	if !strings.Contains(text, "\x03") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "\x03")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n := digits(rest)
		rest = rest[n:]
		if n > 0 && len(rest) > 1 && rest[0] == ',' {
			if n = digits(rest[1:]); n > 0 {
				rest = rest[1+n:]
			}
		}
		text = rest
	}
}

// digits returns how many of the first two bytes are digits.
func digits(s string) int {
	n := 0
	for n < 2 && n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
