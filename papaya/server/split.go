package server

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"interleave/papaya/irc"
)

// What may be wrong with a line.
type fault byte

const (
	fine fault = iota
	tooLong
	hasNUL
)

// A line is what a client has said, read once.
type line struct {
	irc.Message
	fault fault
}

// A splitter makes lines of what comes, in whatever pieces. Between two calls it holds the beginning of a line, which is
// bounded, and nothing while there is none.
type splitter struct {
	rest     []byte
	skipping bool // the line is too long already, and is passed over to its end
}

// maxWhole is in bytes: a line with tags before it, its end not included.
const maxWhole = irc.MaxClientTags + irc.MaxLine

var lf = []byte{'\n'}

// split appends the lines that data completes.
func (s *splitter) split(data []byte, lines []line) []line {
	if len(s.rest) > 0 {
		data = append(s.rest, data...)
		s.rest = nil
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	text := string(data[:end]) // one copy for all: the lines are parts of it
	lines = slices.Grow(lines, bytes.Count(data[:end], lf))
	for text != "" {
		var one string
		one, text, _ = strings.Cut(text, "\n")
		if s.skipping {
			s.skipping = false
			continue
		}
		if l, ok := readLine(one); ok {
			lines = append(lines, l)
		}
	}
	switch rest := data[end:]; {
	case s.skipping:
	case len(rest) > maxWhole:
		s.skipping = true
		lines = append(lines, line{fault: tooLong})
	case len(rest) > 0:
		s.rest = bytes.Clone(rest)
	}
	return lines
}

// readLine reads one line without its LF; false for an empty one.
func readLine(text string) (line, bool) {
	whole := text
	text = strings.TrimSuffix(text, "\r")
	if text == "" {
		return line{}, false
	}
	words := whole
	if text[0] == '@' {
		tags, after, _ := strings.Cut(whole, " ")
		if words = after; len(tags)+1 > irc.MaxClientTags {
			return line{fault: tooLong}, true
		}
	}
	if len(words)+1 > irc.MaxLine {
		return line{fault: tooLong}, true
	}
	m, err := irc.Parse(strings.ReplaceAll(text, "\r", " "))
	if errors.Is(err, irc.ErrNUL) {
		return line{fault: hasNUL}, true
	}
	return line{Message: m}, err == nil
}
