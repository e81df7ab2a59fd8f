package lsp

import (
	"slices"
	"strings"

	"interleave/eve/source"
	"interleave/eve/syntax"
)

type foldingRange struct {
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Kind      string `json:"kind,omitempty"`
}

// foldingRanges lists what can be folded: blocks, comments of several lines, imports.
func (r *request) foldingRanges(q documentParams) (any, error) {
	d, err := r.document(q.TextDocument)
	if err != nil {
		return nil, err
	}
	all := []foldingRange{}
	fold := func(start, end int, kind string) { // lines from 1
		f := foldingRange{start - 1, end - 1, kind}
		if end > start && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	tree := d.syntax()
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.TypeDecl, *syntax.UnionDecl, *syntax.ExternDecl, *syntax.MatchStmt:
			fold(n.Place().Line(), lastLine(n.Place()), "")
		case *syntax.Block:
			if start := opened(tree, n.Span); start > 0 {
				fold(start, lastLine(n.Span), "")
			}
		}
		return true
	})
	if n := len(tree.Imports); n > 1 {
		fold(tree.Imports[0].Span.Line(), tree.Imports[n-1].Span.Line(), "imports")
	}
	for _, t := range tree.Tokens {
		foldComments(tree.Source, t, fold)
	}
	return all, nil
}

// lastLine is the line on which a part of a text ends.
func lastLine(s source.Span) int {
	line, _ := s.File.Position(s.End)
	return line
}

// opened is the line that opens a block on the lines below it: that of the colon before it. It is
// 0 for a block on the line of its head.
func opened(tree *syntax.File, block source.Span) int {
	i, _ := slices.BinarySearchFunc(tree.Tokens, block.Start, func(t syntax.Token, at int) int {
		return t.Span.Start - at
	})
	for i--; i >= 0; i-- {
		if t := tree.Tokens[i]; t.Text() != "" {
			if t.Text() == ":" && t.Span.Line() < block.Line() {
				return t.Span.Line()
			}
			return 0
		}
	}
	return 0
}

// foldComments finds the comments of several lines before a token.
func foldComments(f *source.File, t syntax.Token, fold func(start, end int, kind string)) {
	line := (source.Span{File: f, Start: t.Span.Start - len(t.Lead)}).Line()
	first := 0
	for i, text := range strings.Split(t.Lead, "\n") {
		comment := strings.HasPrefix(strings.TrimSpace(text), "#") && (i > 0 || line == 1)
		switch {
		case comment && first == 0:
			first = line + i
		case !comment && first > 0:
			fold(first, line+i-1, "comment")
			first = 0
		}
	}
	if first > 0 {
		fold(first, line+strings.Count(t.Lead, "\n"), "comment")
	}
}
