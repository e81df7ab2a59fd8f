package format

import (
	"slices"
	"strings"
	"unicode/utf8"

	"interleave/eve/syntax"
)

const (
	indentWidth = 4
	// commentGap is the least number of spaces between code and a comment on its line.
	commentGap = 2
)

// A level is one depth of indentation: its column in the text, and in the output.
type level struct{ old, new int }

// A printer writes tokens one after the other.
type printer struct {
	text   string
	toks   []syntax.Token
	roles  map[int]role
	b      strings.Builder
	levels []level
	before []level // the levels of the line before, for comments in between
	open   []int   // the numbers of the lines that have the open brackets

	number int   // of the current line
	indent level // of the current line
	column int   // characters on the current line so far
	last   *syntax.Token
}

// token writes the token at i with the space before it.
func (p *printer) token(i int) {
	t := &p.toks[i]
	switch t.Kind {
	case syntax.Newline:
		p.before = slices.Clone(p.levels)
		return
	case syntax.Indent:
		p.levels = append(p.levels, level{columnOf(p.toks[i+1].Lead), len(p.levels) * indentWidth})
		return
	case syntax.Dedent:
		p.levels = p.levels[:len(p.levels)-1]
		return
	}
	switch {
	case i == 0 || t.Kind == syntax.EOF || strings.Contains(t.Lead, "\n"):
		p.startLine(i)
	case spaced(p.last, t, p.roles[p.last.Span.Start], p.roles[t.Span.Start]):
		p.write(" ")
	}
	p.write(t.Text())
	switch opText(t) {
	case "(", "[":
		p.open = append(p.open, p.number)
	case ")", "]":
		p.open = p.open[:max(len(p.open)-1, 0)]
	}
	p.last = t
}

func (p *printer) write(text string) {
	p.b.WriteString(text)
	p.column += utf8.RuneCountInString(text)
}

// startLine writes the comments and empty lines before the token at i and goes to its line.
func (p *printer) startLine(i int) {
	t := &p.toks[i]
	lines := strings.Split(t.Lead, "\n")
	if i > 0 {
		p.trailing(t, lines[0])
		lines = lines[1:]
	}
	bracketed := len(p.open) > 0
	head := p.head(i)
	empty := false
	for n, line := range lines {
		text := strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		switch {
		case text != "":
			at := p.commentLevel(columnOf(line))
			if bracketed {
				at = p.continued(0)
			}
			p.line(level{at, at}, empty && !head)
			p.write(text)
			head, empty = false, false
		case n < len(lines)-1:
			empty = true
		}
	}
	if t.Kind == syntax.EOF {
		if p.b.Len() > 0 {
			p.b.WriteString("\n")
		}
		return
	}
	at := level{columnOf(t.Lead), p.levels[len(p.levels)-1].new}
	if bracketed {
		at.new = p.continued(p.closers(i))
	}
	p.line(at, empty && !head)
}

// head says that no empty line may come before the token at i: at the head of the file or of a
// block, or next to a bracket.
func (p *printer) head(i int) bool {
	if p.b.Len() == 0 || p.last == nil {
		return true
	}
	if len(p.open) == 0 {
		return len(p.levels) > len(p.before)
	}
	before, next := opText(p.last), opText(&p.toks[i])
	return before == "(" || before == "[" || next == ")" || next == "]"
}

// line starts a line at a level, after an empty line or not.
func (p *printer) line(at level, empty bool) {
	if p.b.Len() > 0 {
		p.b.WriteString("\n")
		if empty {
			p.b.WriteString("\n")
		}
	}
	p.number++
	p.indent, p.column = at, 0
	p.write(strings.Repeat(" ", at.new))
}

// trailing writes the comment behind the code of a line. It keeps its column, so that comments
// below each other stay aligned, unless the code leaves too little space.
func (p *printer) trailing(next *syntax.Token, lead string) {
	text := strings.TrimSpace(lead)
	if text == "" {
		return
	}
	hash := next.Span.Start - len(next.Lead) + strings.IndexByte(lead, '#')
	old := width(p.text[strings.LastIndexByte(p.text[:hash], '\n')+1 : hash])
	gap := max(old+p.indent.new-p.indent.old-p.column, commentGap)
	p.write(strings.Repeat(" ", gap) + text)
}

// commentLevel returns the column of a comment on a line of its own that was at column old: that
// of the innermost block that it can belong to, between the line before and the next.
func (p *printer) commentLevel(old int) int {
	around := p.before
	if len(p.levels) > len(around) {
		around = p.levels
	}
	next := len(p.levels) - 1
	if len(p.levels) > len(p.before) && len(p.before) > 0 {
		next--
	}
	for i := len(around) - 1; i > next; i-- {
		if around[i].old <= old {
			return around[i].new
		}
	}
	return around[max(next, 0)].new
}

// continued is the column of a line inside brackets: one level for each line that left some open,
// without the innermost closing ones.
func (p *printer) continued(closing int) int {
	lines, last := 0, -1
	for _, number := range p.open[:len(p.open)-closing] {
		if number != last {
			lines++
		}
		last = number
	}
	return p.levels[len(p.levels)-1].new + lines*indentWidth
}

// closers counts the closing brackets at the start of the line whose first token is at i.
func (p *printer) closers(i int) int {
	n := 0
	for ; n < len(p.open); n++ {
		text := opText(&p.toks[i+n])
		if text != ")" && text != "]" || n > 0 && strings.Contains(p.toks[i+n].Lead, "\n") {
			break
		}
	}
	return n
}

// columnOf is the column at which a line's text starts, behind lead.
func columnOf(lead string) int {
	lead = strings.TrimPrefix(lead[strings.LastIndexByte(lead, '\n')+1:], "\ufeff")
	return width(lead[:len(lead)-len(strings.TrimLeft(lead, " \t\r"))])
}

// width counts columns; a tab reaches to the next fourth.
func width(text string) int {
	n := 0
	for _, r := range text {
		switch r {
		case '\t':
			n += indentWidth - n%indentWidth
		case '\r':
		default:
			n++
		}
	}
	return n
}
