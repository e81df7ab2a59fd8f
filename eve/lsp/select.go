package lsp

import (
	"interleave/eve/source"
	"interleave/eve/syntax"
)

type selectionParams struct {
	TextDocument documentID `json:"textDocument"`
	Positions    []position `json:"positions"`
}

// A selectionRange is a part of a text, and the next larger one around it.
type selectionRange struct {
	Range  span            `json:"range"`
	Parent *selectionRange `json:"parent,omitempty"`
}

// selectionRanges lists for each place the parts of the text around it, the smallest first: a name,
// an expression, a statement, a block, a declaration, the file.
func (r *request) selectionRanges(q selectionParams) (any, error) {
	d, err := r.document(q.TextDocument)
	if err != nil {
		return nil, err
	}
	all := []*selectionRange{}
	for _, at := range q.Positions {
		var inner *selectionRange
		for _, part := range around(d.syntax(), r.view.encoding.offset(d.file, at)) {
			inner = &selectionRange{r.view.encoding.span(part), inner}
		}
		all = append(all, inner)
	}
	return all, nil
}

// around lists the parts of a text that an offset is in, the largest first. Each holds the next.
func around(tree *syntax.File, offset int) []source.Span {
	last := source.Span{File: tree.Source, Start: 0, End: len(tree.Source.Text)}
	parts := []source.Span{last}
	add := func(s source.Span) bool {
		if !s.IsValid() || offset < s.Start || s.End < offset {
			return false
		}
		if last.Start <= s.Start && s.End <= last.End && s != last && s.Start < s.End {
			parts, last = append(parts, s), s
		}
		return true
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		_, whole := n.(*syntax.File)
		return whole || add(n.Place())
	})
	for _, t := range tree.Tokens {
		switch t.Kind {
		case syntax.Newline, syntax.Indent, syntax.Dedent:
		default:
			add(t.Span)
		}
	}
	return parts
}
