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
	room  [4]string // for its parameters: most have no more
}

// A splitter makes lines of what comes, in whatever pieces. Between two calls it holds the
// beginning of a line, which is bounded, and nothing while there is none.
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
		n := strings.IndexByte(text, '\n')
		one := text[:n]
		text = text[n+1:]
		if s.skipping {
			s.skipping = false
			continue
		}
		if lines = append(lines, line{}); !lines[len(lines)-1].read(one) {
			lines = lines[:len(lines)-1]
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

// read reads one line without its LF; false for an empty one.
func (l *line) read(text string) bool {
	words := text
	text = strings.TrimSuffix(text, "\r")
	if text == "" {
		return false
	}
	if text[0] == '@' {
		tags, after, _ := strings.Cut(words, " ")
		if words = after; len(tags)+1 > irc.MaxClientTags {
			l.fault = tooLong
			return true
		}
	}
	if len(words)+1 > irc.MaxLine {
		l.fault = tooLong
		return true
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r", " ")
	}
	l.Params = l.room[:0]
	err := l.Parse(text)
	if errors.Is(err, irc.ErrNUL) {
		l.fault = hasNUL
	}
	return err == nil || l.fault == hasNUL
}
