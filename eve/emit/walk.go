package emit

import "interleave/eve/ir"

// walk calls visit for n (an expression, statement, block or body) and everything in it, in the
// order of the text; visit says whether to go deeper. Bodies of tasks, handlers and closures are
// visited as *ir.Body.
func walk(n any, visit func(any) bool) {
	if !visit(n) {
		return
	}
	switch n := n.(type) {
	case *ir.Block:
		for _, s := range n.Stmts {
			walk(s, visit)
		}
	case *ir.Body:
		walkBlock(n.Block, visit)
	case ir.Expr:
		for _, x := range ir.Operands(n) {
			walk(x, visit)
		}
		if c, ok := n.(*ir.Closure); ok {
			walk(c.Body, visit)
		}
	case ir.Stmt:
		for _, x := range ir.Values(n) {
			walk(x, visit)
		}
		walkParts(n, visit)
	}
}

func walkBlock(b *ir.Block, visit func(any) bool) {
	if b != nil {
		walk(b, visit)
	}
}

// walkParts walks what stands in s behind its values.
func walkParts(s ir.Stmt, visit func(any) bool) {
	switch s := s.(type) {
	case *ir.Repeat:
		walkBlock(s.Init, visit)
		if s.Cond != nil {
			walk(s.Cond, visit)
		}
		walkBlock(s.Body, visit)
		if s.Step != nil {
			walk(s.Step, visit)
		}
	case *ir.Spawn:
		walk(s.Body, visit)
	case *ir.SpawnEach:
		walk(s.Body, visit)
	case *ir.On:
		walk(s.Handler, visit)
	case *ir.Await:
		walk(s.Rest, visit)
	}
	for _, b := range ir.Blocks(s) {
		walkBlock(b, visit)
	}
}

// within walks what runs as part of n's own call: not the bodies of roots, handlers, continuations
// and callbacks, which run later.
func within(n any, visit func(any) bool) {
	walk(n, func(x any) bool {
		if b, ok := x.(*ir.Body); ok && x != n && runsLater(b) {
			return false
		}
		return visit(x)
	})
}

// runsLater says whether b is a root, which has a worker of its own.
func runsLater(b *ir.Body) bool {
	switch b.Kind {
	case ir.Root, ir.Handler, ir.Continuation, ir.Callback:
		return true
	}
	return false
}

// any node of n for which is holds?
func contains(n any, is func(any) bool) bool {
	found := false
	walk(n, func(x any) bool {
		found = found || is(x)
		return !found
	})
	return found
}

// mentions says whether v stands anywhere in n, captures included.
func mentions(n any, v *ir.Var) bool {
	return contains(n, func(x any) bool {
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

// size is the number of nodes of n: about how much code it becomes.
func size(n any) int {
	k := 0
	walk(n, func(any) bool { k++; return true })
	return k
}
