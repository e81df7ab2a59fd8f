package syntax

import (
	"fmt"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// A level is one depth of indentation. also is a wrong depth that was reported and counts as this
// one.
type level struct{ column, also int }

// A layouter puts Newline, Indent and Dedent between tokens. Lines inside brackets have none.
type layouter struct {
	file   *source.File
	diags  *diag.List
	raw    []Token
	out    []Token
	levels []level
	tabs   int // lines that are indented with tabs
	tabbed source.Span
}

// layout returns raw with layout tokens.
func layout(file *source.File, raw []Token, diags *diag.List) []Token {
	l := &layouter{file: file, diags: diags, raw: raw, levels: []level{{0, -1}}}
	l.out = make([]Token, 0, len(raw)+len(raw)/3)
	open := brackets(raw)
	depth := 0
	for i, t := range raw {
		if t.Kind == EOF {
			l.line(t, 0)
		} else if depth == 0 && startsLine(raw, i) {
			l.line(t, l.column(t))
		}
		depth += open[i]
		l.out = append(l.out, t)
	}
	l.reportTabs()
	return l.out
}

func startsLine(raw []Token, i int) bool { return i == 0 || strings.Contains(raw[i].Lead, "\n") }

// column is the indentation of a line's first token in spaces; a tab reaches to the
// next fourth column.
func (l *layouter) column(t Token) int {
	lead := strings.TrimPrefix(t.Lead[strings.LastIndexByte(t.Lead, '\n')+1:], "\ufeff")
	column := 0
	for i := 0; i < len(lead); i++ {
		switch lead[i] {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		}
	}
	if strings.Contains(lead, "\t") {
		if l.tabs == 0 {
			l.tabbed = source.Span{File: l.file, Start: t.Span.Start - len(lead), End: t.Span.Start}
		}
		l.tabs++
	}
	return column
}

// reportTabs reports once a file whose lines are indented with tabs.
func (l *layouter) reportTabs() {
	if l.tabs == 0 {
		return
	}
	d := l.diags.Errorf("E0101", l.tabbed, "lines are indented with spaces, and this one has a tab")
	d.Label = "a tab"
	width := 0
	for _, c := range l.tabbed.Text() {
		if c == '\t' {
			width += 4 - width%4
		} else {
			width++
		}
	}
	d.Fix = &diag.Fix{Text: "indent it with spaces", Span: l.tabbed,
		New: strings.Repeat(" ", width)}
	if l.tabs > 1 {
		d.Fix.Note = fmt.Sprintf("%d lines have tabs; `eve fmt` fixes them all", l.tabs)
	}
}

// line ends the line before t and opens or closes blocks to fit t's column.
func (l *layouter) line(t Token, column int) {
	if len(l.out) == 0 {
		if column > 0 {
			l.levels = append(l.levels, level{column, -1})
			l.add(Indent)
		}
		return
	}
	l.add(Newline)
	top := l.levels[len(l.levels)-1]
	if column == top.also {
		return
	}
	if column > top.column {
		l.levels = append(l.levels, level{column, -1})
		l.add(Indent)
		return
	}
	for len(l.levels) > 1 && column < l.levels[len(l.levels)-1].column {
		top = l.levels[len(l.levels)-1]
		l.levels = l.levels[:len(l.levels)-1]
		if column > l.levels[len(l.levels)-1].column && column != l.levels[len(l.levels)-1].also {
			l.between(t, column, top.column)
			return
		}
		l.add(Dedent)
	}
}

// between reports a line whose indentation fits neither the block that ended, at inner, nor the
// one around it. It counts as the nearer of them, and so do lines like it. It never counts as a
// line of the module, where a statement would be one more error.
func (l *layouter) between(t Token, column, inner int) {
	outer := &l.levels[len(l.levels)-1]
	d := l.diags.Errorf("E0102", t.Span, "this line is indented by %s, which fits no block",
		spaces(column))
	d.Label = fmt.Sprintf("%d or %d spaces would fit", outer.column, inner)
	nearest := outer.column
	if inner-column <= column-outer.column || len(l.levels) == 1 {
		nearest = inner
		l.levels = append(l.levels, level{inner, column})
	} else {
		outer.also = column
		l.add(Dedent)
	}
	indent := source.Span{File: l.file, Start: t.Span.Start - column, End: t.Span.Start}
	if indent.Text() == strings.Repeat(" ", column) {
		d.Fix = &diag.Fix{Text: fmt.Sprintf("indent it by %d", nearest), Span: indent,
			New: strings.Repeat(" ", nearest)}
	}
}

func spaces(n int) string {
	if n == 1 {
		return "one space"
	}
	return fmt.Sprintf("%d spaces", n)
}

// add puts a layout token behind the last one.
func (l *layouter) add(kind Kind) {
	at := source.Span{File: l.file}
	if n := len(l.out); n > 0 {
		at.Start = l.out[n-1].Span.End
		at.End = at.Start
	}
	l.out = append(l.out, Token{Kind: kind, Span: at})
}

// brackets returns for each token its change of the depth of brackets. A bracket without a partner
// changes nothing: it must not swallow the rest of the file.
func brackets(raw []Token) []int {
	depth := make([]int, len(raw))
	type opener struct{ token, column int }
	var stack []opener
	open := map[string]int{} // how many of each closing bracket the stack waits for
	column := 0
	for i, t := range raw {
		if startsLine(raw, i) {
			column = len(t.Lead) - strings.LastIndexByte(t.Lead, '\n') - 1
			if len(stack) > 0 && column <= stack[0].column && startsStatement(t) {
				stack, open = nil, map[string]int{}
			}
		}
		if t.Kind != Op {
			continue
		}
		switch text := t.Text(); text {
		case "(", "[":
			stack = append(stack, opener{i, column})
			open[partner[text]]++
		case ")", "]":
			for closed := open[text] == 0; !closed; {
				top := stack[len(stack)-1].token
				stack = stack[:len(stack)-1]
				want := partner[raw[top].Text()]
				open[want]--
				if closed = want == text; closed {
					depth[top], depth[i] = 1, -1
				}
			}
		}
	}
	return depth
}

var partner = map[string]string{"(": ")", "[": "]"}

// startsStatement says that no line inside brackets starts with t, unless it is indented deeper
// than the line that opened them.
func startsStatement(t Token) bool {
	if t.Kind != Keyword {
		return t.Kind == Op && t.Text() == "@"
	}
	switch t.Text() {
	case "true", "false", "none", "else", "in", "within", "as", "type":
		return false
	}
	return !soft[t.Text()]
}
