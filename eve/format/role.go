package format

import "interleave/eve/syntax"

// A role distinguishes the meanings of a token that has several.
type role uint8

const (
	plain  role = iota
	binary      // an operator between two operands
	// `..`, and the bracket that opens the arguments of a call or an index: no space around or
	// before
	tight
	prefix // an operator before its operand, a sign in a permission list: no space behind
	task   // the @ that starts a task
)

// roles returns the roles of the tokens of a tree, by their place in the text. `<` and `>` that
// are not binary are brackets around types; `@ & ? !` without a role follow a type or a value.
func roles(tree *syntax.File) map[int]role {
	r := map[int]role{}
	after := map[int]bool{} // the first token that starts at or behind these places is tight
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Binary:
			r[n.OpAt.Start] = binary
			if n.Op == ".." {
				r[n.OpAt.Start] = tight
			}
		case *syntax.Unary:
			r[n.Span.Start] = prefix
		case *syntax.Perm:
			if n.Sign != 0 {
				r[n.Span.Start] = prefix
			}
		case *syntax.Param:
			if n.Take {
				r[n.Span.Start] = prefix
			}
		case *syntax.TaskStmt, *syntax.TaskForStmt:
			r[n.Place().Start] = task
		default:
			if end, ok := callee(n); ok {
				after[end] = true
			}
		}
		return true
	})
	for i := 1; i < len(tree.Tokens); i++ {
		if t := tree.Tokens[i]; t.Kind == syntax.Op && after[tree.Tokens[i-1].Span.End] {
			if text := t.Text(); text == "(" || text == "[" {
				r[t.Span.Start] = tight
			}
		}
	}
	return r
}

// callee returns the place behind which the arguments or the index of n open.
func callee(n syntax.Node) (end int, ok bool) {
	switch n := n.(type) {
	case *syntax.Call:
		return n.Fun.Place().End, true
	case *syntax.Index:
		return n.X.Place().End, true
	case *syntax.VarDecl:
		return n.Type.Place().End, n.Args != nil
	case *syntax.EmitStmt:
		return n.Event.Span.End, true
	case *syntax.Case:
		return n.Name.Span.End, true
	case *syntax.CasePattern:
		return n.Path[len(n.Path)-1].Span.End, !n.Bare
	}
	return 0, false
}

// spaced says whether there is a space between two tokens of a line.
func spaced(a, b *syntax.Token, ra, rb role) bool {
	at, bt := opText(a), opText(b)
	switch {
	case ra == tight && at == "..", rb == tight, ra == prefix:
		return false
	case ra == binary, rb == binary:
		return true
	case ra == task, rb == task:
		return bt != ":"
	}
	switch at {
	case "(", "[", "<", ".":
		return false
	}
	switch bt {
	case ")", "]", ">", ",", ";", ":", ".":
		return false
	case "<":
		return a.Kind != syntax.Identifier
	case "@", "&", "?", "!":
		return rb == prefix
	}
	return true
}

// opText is the text of an operator or bracket; empty for other tokens.
func opText(t *syntax.Token) string {
	if t.Kind != syntax.Op {
		return ""
	}
	return t.Text()
}
