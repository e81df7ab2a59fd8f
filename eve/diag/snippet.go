package diag

import (
	"fmt"
	"slices"
	"strings"

	"interleave/eve/source"
)

// fileMarks are the marks of a diagnostic in one file, by line.
type fileMarks struct {
	file  *source.File
	first source.Span
	lines map[int][]mark
}

// A mark is a part of one line, underlined with sign.
type mark struct {
	start, end int // bytes of the line
	label      string
	color      style
	sign       byte
}

// add marks a span. If it has several lines, only the first one is marked, to its end.
func (f *fileMarks) add(span source.Span, label string, color style, sign byte) {
	n, column := f.file.Position(span.Start)
	line := f.file.Line(n)
	m := mark{start: column - 1, label: label, color: color, sign: sign}
	m.end = min(m.start+span.End-span.Start, len(strings.TrimRight(line, " ")))
	for i, have := range f.lines[n] {
		if have.start == m.start && have.end == m.end && (have.label == "" || have.label == label) {
			f.lines[n][i].label = label
			return
		}
	}
	f.lines[n] = append(f.lines[n], m)
}

// snippet writes the marked lines of a file in order. A single line between two of them is shown
// as well.
func (r *renderer) snippet(f *fileMarks, first bool) {
	arrow := "-->"
	if !first {
		arrow = ":::"
	}
	line, column := f.file.Position(f.first.Start)
	place := fmt.Sprintf(" %s:%d:%d", f.file.Name, line, column)
	r.line(strings.Repeat(" ", r.gutter) + r.paint(blue, arrow) + clean(place))
	r.row(0, "")
	numbers := make([]int, 0, len(f.lines))
	for n := range f.lines {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if i > 0 {
			r.between(f.file, numbers[i-1], n)
		}
		r.marked(n, f.file.Line(n), f.lines[n])
	}
}

// between writes the lines, or an ellipsis, between two marked lines.
func (r *renderer) between(f *source.File, last, next int) {
	switch {
	case next == last+2:
		c := show(f.Line(last + 1))
		r.row(last+1, c.cut(0, min(c.width, r.room())))
	case next > last+2:
		r.line(r.paint(blue, "..."))
	}
}

// A placed mark knows its columns on the screen.
type placed struct {
	mark
	from, to int
}

// marked writes a source line, its underlines and the labels.
func (r *renderer) marked(number int, line string, marks []mark) {
	c := show(line)
	var list []placed
	for _, m := range marks {
		p := placed{mark: m, from: c.column(m.start), to: c.column(m.end)}
		p.to = max(p.to, p.from+1)
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b placed) int { return a.from - b.from })
	left, right := window(c.width, r.room(), list)
	for i := range list {
		list[i].from = min(max(list[i].from-left, 0), r.room()-1)
		list[i].to = min(max(list[i].to-left, list[i].from+1), r.room())
	}
	r.row(number, c.cut(left, right))
	r.labels(list)
}

// window chooses the columns that are shown of a line that is too long: those around the main
// mark.
func window(width, room int, list []placed) (left, right int) {
	if width <= room {
		return 0, width
	}
	m := list[0]
	for _, p := range list {
		if p.sign == '^' {
			m = p
		}
	}
	left = 0
	if m.to > room-room/4 {
		left = min(max(m.from-room/3, 0), width-room)
	}
	return left, left + room
}

// labels writes the underlines, and behind the last of them its label. The other labels follow
// below, from right to left, each connected by a bar.
func (r *renderer) labels(list []placed) {
	under := newCanvas()
	for _, p := range list {
		if p.sign != '^' {
			under.fill(p.from, p.to, p.sign, p.color)
		}
	}
	for _, p := range list {
		if p.sign == '^' {
			under.fill(p.from, p.to, p.sign, p.color)
		}
	}
	last := list[len(list)-1]
	rest := list
	free := !slices.ContainsFunc(list[:len(list)-1], func(p placed) bool { return p.to > last.to })
	if free && last.to+1+textWidth(last.label) <= r.room() {
		r.row(0, under.paint(r)+" "+r.paint(last.color, last.label))
		rest = list[:len(list)-1]
	} else {
		r.row(0, under.paint(r))
	}
	rest = slices.DeleteFunc(slices.Clone(rest), func(p placed) bool { return p.label == "" })
	bars := len(rest) > 1 || len(rest) == 1 && len(list) > 1
	for i := len(rest) - 1; i >= 0; i-- {
		r.hanging(rest[:i], rest[i], bars && i == len(rest)-1)
	}
}

// hanging writes one label below its mark, with the bars of the labels that follow.
func (r *renderer) hanging(before []placed, p placed, bars bool) {
	bar := func(with bool) *canvas {
		c := newCanvas()
		for _, b := range before {
			c.fill(b.from, b.from+1, '|', b.color)
		}
		if with {
			c.fill(p.from, p.from+1, '|', p.color)
		}
		return c
	}
	if bars {
		r.row(0, bar(true).paint(r))
	}
	start := p.from
	if fits := r.room() - textWidth(p.label); len(before) == 0 && start > fits {
		start = max(fits, 0)
	}
	for _, text := range wrap(p.label, max(r.room()-start, 20), max(r.room()-start, 20)) {
		c := bar(false)
		r.row(0, c.paintTo(r, start)+r.paint(p.color, text))
	}
}

// A canvas is a row of single characters with colours.
type canvas struct {
	signs  []byte
	colors []style
}

func newCanvas() *canvas { return &canvas{} }

func (c *canvas) fill(from, to int, sign byte, color style) {
	for len(c.signs) < to {
		c.signs = append(c.signs, ' ')
		c.colors = append(c.colors, plain)
	}
	for i := from; i < to; i++ {
		c.signs[i], c.colors[i] = sign, color
	}
}

// paint returns the row as text.
func (c *canvas) paint(r *renderer) string {
	var b strings.Builder
	for i := 0; i < len(c.signs); {
		j := i
		for j < len(c.signs) && c.colors[j] == c.colors[i] {
			j++
		}
		b.WriteString(r.paint(c.colors[i], string(c.signs[i:j])))
		i = j
	}
	return b.String()
}

// paintTo returns the row as text of exactly width columns, or more if it is longer.
func (c *canvas) paintTo(r *renderer, width int) string {
	c.fill(width, width, ' ', plain)
	return c.paint(r)
}
