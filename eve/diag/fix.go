package diag

import (
	"strings"

	"interleave/eve/source"
)

// maxFixLines bounds how many edited lines are shown. 6 is a guess: longer fixes are read in the
// editor.
const maxFixLines = 6

// fix writes the text of a fix, the lines after the edit, and its note.
func (r *renderer) fix(f *Fix) {
	r.row(0, "")
	r.advice("fix: ", f.Text, green)
	if f.Span.IsValid() {
		r.edited(f)
	}
	if f.Note != "" {
		r.advice("note: ", f.Note, bold)
	}
}

// advice writes a sentence below the snippet.
func (r *renderer) advice(word, text string, color style) {
	room := r.opts.Width - r.gutter - 3 - len(word)
	for i, l := range wrap(clean(text), room, room) {
		if i == 0 {
			r.line(strings.Repeat(" ", r.gutter) + r.paint(blue, " = ") + r.paint(color, word) + l)
			continue
		}
		r.line(strings.Repeat(" ", r.gutter+3+len(word)) + l)
	}
}

// edited shows the lines that a fix changes, as they are after it. New text is underlined.
func (r *renderer) edited(f *Fix) {
	file := f.Span.File
	number, column := file.Position(f.Span.Start)
	before := file.Line(number)
	before = before[:min(column-1, len(before))]
	last, lastColumn := file.Position(f.Span.End)
	after := file.Line(last)
	after = after[min(lastColumn-1, len(after)):]
	lines := strings.Split(strings.ReplaceAll(before+f.New+after, "\r", ""), "\n")
	if len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	r.row(0, "")
	start, end, sign := changed(f)
	start, end = start+len(before), end+len(before)
	for i, line := range lines {
		if i == maxFixLines {
			r.line(r.paint(blue, "..."))
			break
		}
		r.editedLine(number+i, line, mark{start: start, end: min(end, len(line)), color: green,
			sign: sign})
		start, end = max(start-len(line)-1, 0), end-len(line)-1
	}
}

func (r *renderer) editedLine(number int, line string, m mark) {
	for m.start < m.end && line[m.start] == ' ' {
		m.start++
	}
	for m.end > m.start && line[m.end-1] == ' ' {
		m.end--
	}
	if m.start < m.end {
		r.marked(number, line, []mark{m})
		return
	}
	c := show(line)
	r.row(number, c.cut(0, min(c.width, r.room())))
}

// changed returns the part of the new text that differs from the old text, and its sign: + if text
// is only added, ~ if text is replaced.
func changed(f *Fix) (start, end int, sign byte) {
	old := source.Span.Text(f.Span)
	end = len(f.New)
	for start < len(old) && start < end && old[start] == f.New[start] {
		start++
	}
	oldEnd := len(old)
	for oldEnd > start && end > start && old[oldEnd-1] == f.New[end-1] {
		oldEnd--
		end--
	}
	if oldEnd > start {
		return 0, len(f.New), '~'
	}
	return start, end, '+'
}
