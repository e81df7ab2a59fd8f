package diag

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tabWidth is how far apart tab stops are shown.
const tabWidth = 4

// cells is a line as a terminal shows it: tabs are spaces, and control characters are replaced.
type cells struct {
	text    string
	columns []int // of each byte of the source line, and of its end
	width   int
}

// show makes the cells of a source line.
func show(line string) cells {
	c := cells{columns: make([]int, len(line)+1)}
	var b strings.Builder
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		for j := range n {
			c.columns[i+j] = c.width
		}
		switch {
		case r == '\t':
			stop := tabWidth - c.width%tabWidth
			b.WriteString(strings.Repeat(" ", stop))
			c.width += stop
		case r == utf8.RuneError || unicode.IsControl(r):
			b.WriteRune(utf8.RuneError)
			c.width++
		default:
			b.WriteRune(r)
			c.width += runeWidth(r)
		}
		i += n
	}
	c.columns[len(line)] = c.width
	c.text = b.String()
	return c
}

// column is the column of byte offset i of the source line.
func (c cells) column(i int) int { return c.columns[min(max(i, 0), len(c.columns)-1)] }

// cut returns the text from one column to another, with an ellipsis at an end that is cut off.
func (c cells) cut(from, to int) string {
	var b strings.Builder
	column := 0
	for _, r := range c.text {
		w := runeWidth(r)
		switch {
		case column < from || column+w > to:
		case column == from && from > 0 || column+w == to && to < c.width:
			b.WriteString("…" + strings.Repeat(" ", max(w-1, 0)))
		default:
			b.WriteRune(r)
		}
		column += w
	}
	return b.String()
}

// runeWidth is the number of columns of r: 2 for wide letters of East Asia and most pictographs, 0
// for combining marks.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, 0x2e80 <= r && r <= 0xa4cf, 0xac00 <= r && r <= 0xd7a3, 0xf900 <= r &&
		r <= 0xfaff,
		0xfe30 <= r && r <= 0xfe6f, 0xff00 <= r && r <= 0xff60, 0xffe0 <= r && r <= 0xffe6,
		0x1f300 <= r && r <= 0x1f64f, 0x1f900 <= r && r <= 0x1f9ff, 0x20000 <= r && r <= 0x3fffd:
		return 2
	}
	return 1
}

// textWidth is the number of columns of text.
func textWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// clean removes control characters and line breaks from a message.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// wrap breaks text at spaces so that its first line has at most `first` columns, and the others
// `rest`. Longer words stay whole.
func wrap(text string, first, rest int) []string {
	var lines []string
	line, width, room := "", 0, first
	for _, word := range strings.Split(text, " ") {
		w := textWidth(word)
		if line != "" && width+1+w > room {
			lines = append(lines, line)
			line, width, room = word, w, rest
			continue
		}
		if line != "" {
			line += " "
			width++
		}
		line += word
		width += w
	}
	return append(lines, line)
}
