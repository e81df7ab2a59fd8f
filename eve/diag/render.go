package diag

import (
	"fmt"
	"io"
	"strings"

	"interleave/eve/source"
)

// Options say how diagnostics are written for people.
type Options struct {
	Color bool // with ANSI escapes
	Width int  // columns of the terminal; 0: 100
	Limit int  // most diagnostics that are shown; 0: 20
}

// defaultLimit is how many diagnostics one run shows: further ones are seldom read before the next
// run.
const defaultLimit = 20

// Render writes diagnostics with their source lines, and at the end their number. It writes
// nothing if there are none.
func Render(w io.Writer, diags []Diagnostic, opts Options) error {
	if len(diags) == 0 {
		return nil
	}
	if opts.Width == 0 {
		opts.Width = 100
	}
	if opts.Limit == 0 {
		opts.Limit = defaultLimit
	}
	r := &renderer{opts: opts}
	shown := diags
	if len(shown) > opts.Limit {
		shown = shown[:opts.Limit]
	}
	for _, d := range shown {
		r.diagnostic(d)
	}
	if more := len(diags) - len(shown); more > 0 {
		r.line(r.paint(bold, fmt.Sprintf("and %d more", more)))
	}
	r.line(r.summary(diags))
	_, err := io.WriteString(w, r.b.String())
	return err
}

// A renderer writes into b.
type renderer struct {
	opts   Options
	b      strings.Builder
	gutter int // width of the widest line number of the current diagnostic
}

// A style is the part of an escape sequence between ESC[ and m.
type style string

const (
	plain  style = ""
	bold   style = "1"
	red    style = "1;31"
	green  style = "1;32"
	yellow style = "1;33"
	blue   style = "1;34"
)

func (r *renderer) paint(s style, text string) string {
	if !r.opts.Color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// line writes one line, without trailing spaces.
func (r *renderer) line(text string) {
	r.b.WriteString(strings.TrimRight(text, " ") + "\n")
}

// summary counts: "2 errors", "1 error and 3 warnings".
func (r *renderer) summary(diags []Diagnostic) string {
	errors := 0
	for _, d := range diags {
		if d.Code.IsError() {
			errors++
		}
	}
	var parts []string
	if errors > 0 {
		parts = append(parts, r.paint(red, plural(errors, "error")))
	}
	if warnings := len(diags) - errors; warnings > 0 {
		parts = append(parts, r.paint(yellow, plural(warnings, "warning")))
	}
	return strings.Join(parts, " and ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// diagnostic writes one diagnostic and an empty line.
func (r *renderer) diagnostic(d Diagnostic) {
	word, color := "error", red
	if !d.Code.IsError() {
		word, color = "warning", yellow
	}
	head := fmt.Sprintf("%s[%s]", word, d.Code)
	lines := wrap(clean(d.Message), r.opts.Width-len(head)-2, r.opts.Width-4)
	r.line(r.paint(color, head) + r.paint(bold, ": "+lines[0]))
	for _, l := range lines[1:] {
		r.line("    " + r.paint(bold, l))
	}
	groups := group(d, color)
	r.gutter = gutterWidth(groups, d.Fix)
	for i, g := range groups {
		r.snippet(g, i == 0)
	}
	if d.Fix != nil {
		r.fix(d.Fix)
	}
	r.line("")
}

// group sorts the marks of d by file, the file of d.Span first.
func group(d Diagnostic, color style) []*fileMarks {
	var groups []*fileMarks
	add := func(span source.Span, label string, c style, sign byte) {
		if !span.IsValid() {
			return
		}
		var g *fileMarks
		for _, have := range groups {
			if have.file == span.File {
				g = have
			}
		}
		if g == nil {
			g = &fileMarks{file: span.File, first: span, lines: map[int][]mark{}}
			groups = append(groups, g)
		}
		g.add(span, clean(label), c, sign)
	}
	add(d.Span, d.Label, color, '^')
	for _, a := range d.Also {
		add(a.Span, a.Text, blue, '-')
	}
	return groups
}

// gutterWidth is the width of the widest line number that will be shown.
func gutterWidth(groups []*fileMarks, fix *Fix) int {
	widest := 1
	for _, g := range groups {
		for n := range g.lines {
			widest = max(widest, len(fmt.Sprint(n)))
		}
	}
	if fix != nil && fix.Span.IsValid() {
		last := fix.Span.Line() + min(strings.Count(fix.New, "\n"), maxFixLines)
		widest = max(widest, len(fmt.Sprint(last)))
	}
	return widest
}

// row writes a line with a number, or none, in the gutter.
func (r *renderer) row(number int, text string) {
	label := ""
	if number > 0 {
		label = fmt.Sprint(number)
	}
	head := fmt.Sprintf("%*s |", r.gutter, label)
	r.line(r.paint(blue, head) + " " + text)
}

// room is the number of columns for a source line.
func (r *renderer) room() int { return max(r.opts.Width-r.gutter-3, 20) }
