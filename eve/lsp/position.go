package lsp

import (
	"unicode/utf8"

	"interleave/eve/source"
)

// A position is a place in a document. Line and Character count from 0.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"` // in units of the negotiated encoding
}

// A span is LSP's Range; its end is the place behind the last character.
type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// A location is a span in a document.
type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

// An encoding is the unit of characters in positions: LSP 3.17, "PositionEncodingKind".
type encoding string

const (
	utf16 encoding = "utf-16" // what every client knows
	utf8s encoding = "utf-8"
)

// units counts the units of a text. A byte that is not UTF-8 counts as one, as the character that
// editors put in its place does.
func (e encoding) units(text string) int {
	if e == utf8s {
		return len(text)
	}
	n := 0
	for _, r := range text {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// bytes is the length of the longest beginning of line that has at most n units. Half of a
// character counts as none of it.
func (e encoding) bytes(line string, n int) int {
	if e == utf8s {
		n = min(n, len(line))
		for n > 0 && n < len(line) && !utf8.RuneStart(line[n]) {
			n--
		}
		return max(n, 0)
	}
	at := 0
	for at < len(line) {
		r, size := utf8.DecodeRuneInString(line[at:])
		if n--; r > 0xffff {
			n--
		}
		if n < 0 {
			break
		}
		at += size
	}
	return at
}

// position converts an offset.
func (e encoding) position(f *source.File, offset int) position {
	offset = max(0, min(offset, len(f.Text)))
	line, column := f.Position(offset)
	return position{line - 1, e.units(f.Text[offset-column+1 : offset])}
}

// offset converts a position. One behind the end of its line means the end of the line, and one
// behind the last line the end of the text.
func (e encoding) offset(f *source.File, p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= f.Lines() {
		return len(f.Text)
	}
	return f.LineStart(p.Line+1) + e.bytes(f.Line(p.Line+1), p.Character)
}

// span converts a part of a file.
func (e encoding) span(s source.Span) span {
	if !s.IsValid() {
		return span{}
	}
	return span{e.position(s.File, s.Start), e.position(s.File, s.End)}
}

// part converts a span to a part of a file. Its end is never before its start.
func (e encoding) part(f *source.File, s span) source.Span {
	start := e.offset(f, s.Start)
	return source.Span{File: f, Start: start, End: max(start, e.offset(f, s.End))}
}
