package emit

import "interleave/eve/ir"

// within visits the code that runs as part of n's own call. It leaves out the bodies of roots,
// handlers, continuations and callbacks, which run later.
func within(n ir.Node, visit func(ir.Node) bool) {
	ir.Walk(n, func(x ir.Node) bool {
		if b, ok := x.(*ir.Body); ok && x != n && runsLater(b) {
			return false
		}
		return visit(x)
	})
}

// runsLater says whether b is a root, which may run on another worker.
func runsLater(b *ir.Body) bool {
	switch b.Kind {
	case ir.Root, ir.Handler, ir.Continuation, ir.Callback:
		return true
	}
	return false
}

// contains says whether is holds for n or a node in it.
func contains(n ir.Node, is func(ir.Node) bool) bool {
	found := false
	ir.Walk(n, func(x ir.Node) bool {
		found = found || is(x)
		return !found
	})
	return found
}

// mentions says whether v is used anywhere in n, captures included.
func mentions(n ir.Node, v *ir.Var) bool {
	return contains(n, func(x ir.Node) bool {
		switch x := x.(type) {
		case *ir.Ref:
			return x.Var == v
		case *ir.Body:
			for _, e := range x.Perms {
				if e.From == v {
					return true
				}
			}
		}
		return false
	})
}

// size is the number of nodes of n: roughly the size of its code.
func size(n ir.Node) int {
	k := 0
	ir.Walk(n, func(ir.Node) bool { k++; return true })
	return k
}
