package lsp

import (
	"slices"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// stub is the name that stands where one is still to be written.
const stub = "_1"

// A cursor is where somebody is writing, and what the text there is.
type cursor struct {
	file   *source.File
	offset int
	word   source.Span // the beginning of a name before the offset; empty if there is none
	before []syntax.Token
}

// cursorAt looks at the text before an offset.
func cursorAt(tree *syntax.File, offset int) cursor {
	f := tree.Source
	c := cursor{file: f, offset: offset}
	start := offset
	for start > 0 && isWordByte(f.Text[start-1]) {
		start--
	}
	c.word = source.Span{File: f, Start: start, End: offset}
	for _, t := range tree.Tokens {
		if t.Span.Start >= start {
			break
		}
		if t.Kind == syntax.Newline || t.Kind == syntax.Indent || t.Kind == syntax.Dedent {
			if strings.Contains(f.Text[t.Span.Start:start], "\n") {
				c.before = nil // of another statement
			}
			continue
		}
		c.before = append(c.before, t)
	}
	return c
}

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// quiet says whether the cursor is inside a comment, a string or a number, where nothing can be
// completed. Inside the braces of a format string it can.
func (c *cursor) quiet() bool {
	if c.word.Start < c.word.End && c.file.Text[c.word.Start] <= '9' {
		return true
	}
	line, column := c.file.Position(c.offset)
	text := c.file.Line(line)
	text = text[:min(column-1, len(text))]
	quote := byte(0)
	format, braces := false, 0
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote != 0 && format && b == '{':
			braces++
		case quote != 0 && format && b == '}':
			braces--
		case quote != 0 && b == '\\':
			i++
		case quote != 0 && b == quote && braces <= 0:
			quote = 0
		case quote != 0:
		case b == '#':
			return true
		case b == '"' || b == '\'':
			quote, braces = b, 0
			format = i > 0 && text[i-1] == 'f' && (i == 1 || !isWordByte(text[i-2]))
		}
	}
	return quote != 0 && braces <= 0
}

// last returns the text of the n-th token before the cursor, from 1; empty when there is none on
// the line.
func (c *cursor) last(n int) string {
	if n < 1 || n > len(c.before) {
		return ""
	}
	return c.before[len(c.before)-n].Text()
}

// mended completes the statement at the cursor so that it can be parsed, and returns the place of
// the name at the cursor in that text. It tries what is written already, then without the rest of
// the line and with the open brackets closed, as a statement and as one that opens a block.
func (c *cursor) mended() source.Span {
	text, end := c.file.Text, c.offset
	for end < len(text) && isWordByte(text[end]) {
		end++
	}
	name := text[c.word.Start:end]
	rest := strings.IndexByte(text[end:], '\n')
	if rest < 0 {
		rest = len(text) - end
	}
	if name == "" {
		name = stub
	}
	line, behind := text[end:end+rest], text[end+rest:]
	closed := c.closers()
	at := source.Span{}
	for _, tail := range []string{line, closed, closed + ":", closed + ": pass", closed + "()"} {
		f := newFile(c.file.Name, text[:c.word.Start]+name+tail+behind)
		at = source.Span{File: f, Start: c.word.Start, End: c.word.Start + len(name)}
		if c.parses(at) {
			break
		}
	}
	return at
}

// parses says whether the lines of the statement, up to a place, have no error of the syntax.
func (c *cursor) parses(at source.Span) bool {
	var diags diag.List
	syntax.Parse(at.File, &diags)
	first, last := at.Line(), at.Line()
	if len(c.before) > 0 {
		first = c.before[0].Span.Line()
	}
	return !slices.ContainsFunc(diags.Sorted(), func(d diag.Diagnostic) bool {
		return first <= d.Span.Line() && d.Span.Line() <= last
	})
}

// closers are the brackets that close those that are open at the cursor.
func (c *cursor) closers() string {
	var open []string
	for _, t := range c.before {
		if t.Kind != syntax.Op {
			continue
		}
		switch t.Text() {
		case "(":
			open = append(open, ")")
		case "[":
			open = append(open, "]")
		case ")", "]":
			if n := len(open); n > 0 && open[n-1] == t.Text() {
				open = open[:n-1]
			}
		}
	}
	slices.Reverse(open)
	return strings.Join(open, "")
}

// An openCall is the call whose arguments the cursor is among.
type openCall struct {
	callee source.Span // the name before the bracket
	index  int         // of the argument
	name   string      // of the argument, if it is given by name
}

// call finds the innermost call that is open at the cursor.
func (c *cursor) call() (openCall, bool) {
	depth := 0
	found := openCall{}
	named := ""
	for i := len(c.before) - 1; i >= 0; i-- {
		t := c.before[i]
		if t.Kind != syntax.Op {
			continue
		}
		switch t.Text() {
		case ")", "]":
			depth++
		case ",":
			if depth == 0 {
				if found.index++; found.index == 1 {
					named = c.named(i + 1)
				}
			}
		case "[":
			if depth--; depth < 0 {
				return found, false
			}
		case "(":
			if depth--; depth >= 0 {
				continue
			}
			if found.index == 0 {
				named = c.named(i + 1)
			}
			found.name = named
			i = c.beforeTypes(i - 1)
			if i < 0 || !isName(&c.before[i]) {
				return found, false
			}
			found.callee = c.before[i].Span
			return found, true
		}
	}
	return found, false
}

// named is the name of the argument that starts at a token; empty when it has none.
func (c *cursor) named(i int) string {
	if i+1 < len(c.before) && c.before[i+1].Text() == "=" && isName(&c.before[i]) {
		return c.before[i].Text()
	}
	return ""
}

// beforeTypes skips type arguments backwards: from `>` in f<int>( to f.
func (c *cursor) beforeTypes(i int) int {
	depth := 0
	for ; i >= 0; i-- {
		switch text := c.before[i].Text(); {
		case text == ">" || text == ">>":
			depth += len(text)
		case text == "<":
			depth--
		case depth == 0:
			return i
		}
	}
	return i
}

func isName(t *syntax.Token) bool {
	return t.Kind == syntax.Identifier || t.Kind == syntax.Keyword
}
