package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A text is cut into terms: words, runs of punctuation, and for scripts without blanks between
// their words each two neighbouring characters. A question's words may be any part of a text, so a
// search looks for the terms that contain them. No character is left out, so that nothing that a
// message contains is hidden from a search.

// A class is a kind of characters. A term has characters of one class.
type class byte

const (
	blank class = iota
	letter
	punctuation // of ASCII, with its control characters
	sign        // characters of a script without blanks, emoji, and all others
)

// maxTerm is in bytes. A longer run of letters or of punctuation becomes several terms of this
// length, of which each begins windowStep bytes behind the one before. So any maxPiece bytes of the
// run are within one of them. Few words of any language are longer. A guess.
const (
	maxTerm    = 24
	windowStep = 12
	maxPiece   = maxTerm - windowStep + 1
)

func classOf(r rune) class {
	switch {
	case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9':
		return letter
	case unicode.IsSpace(r):
		return blank
	case r < utf8.RuneSelf:
		return punctuation
	case unspaced(r):
		return sign
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
		return letter
	}
	return sign
}

// unspaced says whether a character is of a script that has no blanks between its words: Thai and
// Lao, Burmese, Khmer, and those of East Asia, but for Hangul.
func unspaced(r rune) bool {
	hangul := 0xAC00 <= r && r <= 0xD7FF
	return 0x0E00 <= r && r <= 0x0EFF || 0x1000 <= r && r <= 0x109F ||
		0x1780 <= r && r <= 0x17FF || r >= 0x2E80 && !hangul
}

// runs calls do with every longest part of a text whose characters are of one class, but blanks.
func runs(text string, do func(run string, of class)) {
	start, now := 0, blank
	for i, r := range text {
		if c := classOf(r); c != now {
			if now != blank {
				do(text[start:i], now)
			}
			start, now = i, c
		}
	}
	if now != blank {
		do(text[start:], now)
	}
}

// pairs calls do with each two neighbouring characters of a run, or with the only one.
func pairs(run string, do func(string)) {
	_, before := utf8.DecodeRuneInString(run)
	if before == len(run) {
		do(run)
		return
	}
	for start, at := 0, before; at < len(run); {
		_, size := utf8.DecodeRuneInString(run[at:])
		do(run[start : at+size])
		start, at = at, at+size
	}
}

// terms calls do with the terms of a text, some more than once.
func terms(text string, do func(string)) {
	runs(strings.ToLower(text), func(run string, of class) {
		switch {
		case of == sign:
			pairs(run, do)
		case len(run) <= maxTerm:
			do(run)
		default:
			for at := 0; ; at += windowStep {
				if at+maxTerm >= len(run) {
					do(run[at:])
					return
				}
				do(run[at : at+maxTerm])
			}
		}
	})
}

// pieces returns strings that are each within a term of every text that contains the word. The word
// is in lower case and has no blank.
func pieces(word string) (out []string) {
	add := func(piece string) {
		if !slices.Contains(out, piece) {
			out = append(out, piece)
		}
	}
	runs(word, func(run string, of class) {
		switch {
		case of == sign:
			pairs(run, add)
		case len(run) <= maxPiece:
			add(run)
		default: // the text may have it within a long run
			add(run[:maxPiece])
			add(run[len(run)-maxPiece:])
		}
	})
	return out
}
