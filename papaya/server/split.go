package server

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// A fault is what is wrong with a line.
type fault byte

const (
	fine fault = iota
	tooLong
	hasNUL
	notUTF8
)

// A line is one line of a client, parsed once.
type line struct {
	irc.Message
	fault fault
	room  [4]string // memory for Params: most lines have no more
}

// A splitter cuts received bytes into lines. Between two calls it keeps the beginning of a line,
// which is bounded, and no memory if there is none.
type splitter struct {
	rest     []byte
	skipping bool // the line is too long: the rest of it is dropped
	utf8     bool // a line must be UTF-8
}

// maxWhole is in bytes: a line with its tags, without its end.
const maxWhole = irc.MaxClientTags + irc.MaxLine

var lf = []byte{'\n'}

// split appends the lines that data completes.
func (s *splitter) split(data []byte, lines []line) []line {
	if len(s.rest) > 0 {
		data = append(s.rest, data...)
		s.rest = nil
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	text := string(data[:end]) // one copy: the lines are parts of it
	lines = slices.Grow(lines, bytes.Count(data[:end], lf))
	for text != "" {
		n := strings.IndexByte(text, '\n')
		one := text[:n]
		text = text[n+1:]
		if s.skipping {
			s.skipping = false
			continue
		}
		lines = append(lines, line{})
		switch l := &lines[len(lines)-1]; {
		case !l.read(one):
			lines = lines[:len(lines)-1]
		case s.utf8 && l.fault == fine && !utf8.ValidString(one):
			l.fault = notUTF8
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

// read parses one line without its LF. It returns false for an empty line.
func (l *line) read(text string) bool {
	words, tags := text, ""
	text = strings.TrimSuffix(text, "\r")
	if text == "" {
		return false
	}
	if text[0] == '@' {
		if tags, words, _ = strings.Cut(words, " "); len(tags)+1 > irc.MaxClientTags {
			l.fault = tooLong
			return true
		}
	}
	if len(words)+1 > irc.MaxLine {
		l.fault = tooLong
		l.Tags = irc.ParseTags(strings.TrimPrefix(tags, "@")) // the answer has its label
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
