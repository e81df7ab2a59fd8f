package document

import (
	"strings"

	"interleave/eve/syntax"
)

// A kind is that of a paragraph of a comment.
type kind int

const (
	ofNothing kind = iota // an empty line
	ofProse
	ofList
	ofCode
)

// kindOf is the kind of a paragraph that comment has made.
func kindOf(paragraph string) kind {
	switch {
	case strings.HasPrefix(paragraph, "    "):
		return ofCode
	case strings.HasPrefix(paragraph, "- "):
		return ofList
	}
	return ofProse
}

// comment joins the comments of lines from to below. It makes paragraphs with empty lines between
// them, each of one kind: prose on one line, a list whose lines begin with "- ", or code as it is
// written, whose lines begin with four spaces.
func (r reader) comment(from, below int) string {
	var b strings.Builder
	last, base := ofNothing, 0 // base is the indentation of the first line of a paragraph of code
	for n := from; n < below; n++ {
		line := strings.TrimLeft(strings.TrimSpace(r.file.Line(n)), "#")
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		kind := lineKind(text, indent, last)
		if kind == ofNothing {
			last = kind
			continue
		}
		switch {
		case b.Len() == 0:
		case kind != last:
			b.WriteString("\n\n")
		case kind == ofProse || kind == ofList && !strings.HasPrefix(text, "- "):
			b.WriteString(" ")
		default:
			b.WriteString("\n")
		}
		if kind == ofCode {
			if last != ofCode {
				base = indent
			}
			b.WriteString("    " + strings.Repeat(" ", max(0, indent-base)))
		}
		b.WriteString(text)
		last = kind
	}
	return b.String()
}

// lineKind is the kind of the paragraph that a line belongs to: indent are the spaces before its
// text, last is the kind of the line before.
func lineKind(text string, indent int, last kind) kind {
	switch {
	case text == "":
		return ofNothing
	case indent < 2 && strings.HasPrefix(text, "- "), indent > 1 && last == ofList:
		return ofList
	case indent > 2:
		return ofCode
	}
	return ofProse
}

// about is the comment of a declaration: the lines above it, and what stands behind its head.
// behind: there are none above.
func (r reader) about(n syntax.Node, head string) (text string, behind bool) {
	first := n.Place().Line()
	from := first
	for from > 1 && strings.HasPrefix(strings.TrimSpace(r.file.Line(from-1)), "#") {
		from--
	}
	text = r.comment(from, first)
	last := first + strings.Count(head, "\n")
	_, more, found := cutComment(r.file.Line(last))
	switch {
	case !found:
		return text, false
	case text == "":
		return more, true
	}
	gap := " "
	if kindOf(text[strings.LastIndex(text, "\n")+1:]) != ofProse {
		gap = "\n\n"
	}
	return text + gap + more, false
}
