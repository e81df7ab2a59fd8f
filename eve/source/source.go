// Package source holds the text of Eve files, and places in it.
package source

import "sort"

// A File is the text of one module. Its name is the one that diagnostics and #line print.
type File struct {
	Name  string // as the user wrote it: "chat.eve", "std/io/socket.eve"
	Text  string
	lines []int // offsets at which lines start
}

// NewFile makes a File of text.
func NewFile(name, text string) *File {
	f := &File{Name: name, Text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// Position returns line and column of an offset, both from 1. Columns count bytes.
func (f *File) Position(offset int) (line, column int) {
	i := sort.SearchInts(f.lines, offset+1) - 1
	return i + 1, offset - f.lines[i] + 1
}

// Lines is the number of lines. A last line without a newline counts.
func (f *File) Lines() int { return len(f.lines) }

// Line is the text of line n (from 1) without its newline; empty when there is no such line.
func (f *File) Line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	end := len(f.Text)
	if n < len(f.lines) {
		end = f.lines[n] - 1
	}
	line := f.Text[f.lines[n-1]:end]
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	return line
}

// LineStart is the offset at which line n (from 1) starts. Before the first line that is 0, and
// behind the last it is the end of the text.
func (f *File) LineStart(n int) int {
	switch {
	case n < 1:
		return 0
	case n > len(f.lines):
		return len(f.Text)
	}
	return f.lines[n-1]
}

// A Span is a part of a file: bytes Start to End. The zero Span has no file.
type Span struct {
	File       *File
	Start, End int
}

// IsValid says whether the span has a file.
func (s Span) IsValid() bool { return s.File != nil }

// Text is the text of the span.
func (s Span) Text() string {
	if s.File == nil || s.Start < 0 || s.End > len(s.File.Text) || s.Start > s.End {
		return ""
	}
	return s.File.Text[s.Start:s.End]
}

// Line is the number (from 1) of the line on which the span starts; 0 for the zero Span.
func (s Span) Line() int {
	if s.File == nil {
		return 0
	}
	line, _ := s.File.Position(s.Start)
	return line
}

// To returns the span from the start of s to the end of last.
func (s Span) To(last Span) Span {
	if last.File == nil || last.End < s.Start {
		return s
	}
	return Span{s.File, s.Start, last.End}
}

// Less orders spans by file name, then place.
func (s Span) Less(o Span) bool {
	switch {
	case s.File == o.File:
	case s.File == nil || o.File == nil:
		return s.File == nil
	case s.File.Name != o.File.Name:
		return s.File.Name < o.File.Name
	}
	if s.Start != o.Start {
		return s.Start < o.Start
	}
	return s.End < o.End
}
