package perm

import "interleave/eve/ir"

// A callee that only reads and stores, one statement after the other, does not mind when two of
// its parameters are one object: x.move(y, 5) works as written. It minds if it has several tasks,
// views, loops over its parameters, or closures, or passes parts of containers on. Then its
// parameters must be apart.

// minds says whether f, or a function that it calls, relies on its parameters being apart.
func (c *checker) minds(f *ir.Func) bool {
	if c.minding == nil {
		c.minding = map[*ir.Func]bool{}
	}
	if known, ok := c.minding[f]; ok {
		return known
	}
	seen := map[*ir.Func]bool{}
	if c.anyMinds(f, seen) {
		return true
	}
	for g := range seen { // nothing that f reaches minds
		c.minding[g] = false
	}
	return false
}

// anyMinds checks f and the functions that it calls, except those in seen. It records functions
// that mind.
func (c *checker) anyMinds(f *ir.Func, seen map[*ir.Func]bool) bool {
	if f == nil || f.Body == nil {
		return f == nil || f.Native == "" // of an interface, or in C
	}
	if known, ok := c.minding[f]; ok || seen[f] {
		return known
	}
	seen[f] = true
	minds := false
	ir.Walk(f.Body.Block, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Body: // roots use nothing of their creator's
			return false
		case *ir.Closure, *ir.CallValue:
			minds = true
		case *ir.Call:
			minds = minds || c.anyMinds(n.Fn, seen) || n.Fn.Body != nil && handsParts(n) ||
				losesPart(n)
		case ir.Expr:
			minds = minds || losesPart(n)
		case ir.Stmt:
			minds = minds || mindful(n)
		}
		return true
	})
	if minds {
		c.minding[f] = true
	}
	return minds
}

// mindful says whether a statement keeps storage in use while other statements run.
func mindful(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Finish, *ir.Defer:
		return true
	case *ir.Declare:
		return s.Var != nil && isView(s.Var.Type)
	case *ir.Unpack:
		for _, v := range s.Vars {
			if v != nil && isView(v.Type) {
				return true
			}
		}
	case *ir.ForIn:
		return s.X != nil && showsPlace(s.X)
	case *ir.Match:
		for _, a := range s.Arms {
			if bindsParts(a) {
				return true
			}
		}
	}
	return false
}

// losesPart says whether one operand of e may change objects that the function lists or was lent,
// after another operand has found a part of a container.
func losesPart(e ir.Expr) bool {
	all := ir.Operands(e)
	if len(all) < 2 {
		return false
	}
	part, changes := false, false
	for _, x := range all {
		part = part || isPart(x)
		ir.Walk(x, func(n ir.Node) bool {
			if c, ok := n.(*ir.Call); ok && c.Fn != nil {
				changes = changes || changesOthers(c.Fn)
			}
			_, isBody := n.(*ir.Body)
			return !isBody
		})
	}
	return part && changes
}

// changesOthers says whether f may change objects that it lists or is lent.
func changesOthers(f *ir.Func) bool {
	for _, en := range f.List {
		if en.Sign == '+' {
			return true
		}
	}
	for _, p := range f.Params {
		if p.Kind != ir.Self && isView(p.Type) && f.Native == "" {
			return true
		}
	}
	return false
}

// handsParts says whether a call gets storage inside a container, which may move.
func handsParts(e *ir.Call) bool {
	for i, a := range e.Args {
		if how := passingOf(e.Fn, i, a); (how == byRef || how == byLoan) && isPart(a) {
			return true
		}
	}
	return false
}

// isPart says whether x is storage inside a container.
func isPart(x ir.Expr) bool {
	for {
		switch y := x.(type) {
		case *ir.Index, *ir.Cut, *ir.Propagate, *ir.Else:
			return true
		case *ir.Field:
			x = y.X
		case *ir.Element:
			x = y.X
		case *ir.Deref:
			x = y.X
		default:
			return false
		}
	}
}

// stable says whether two pieces of storage stay in place, whatever is stored in either: neither
// is inside a container, or both are at the same place in one.
func stable(a, b path) bool {
	if !isInner(a) && !isInner(b) {
		return true
	}
	if len(a.steps) != len(b.steps) {
		return false
	}
	for i := range a.steps {
		if a.steps[i].kind != b.steps[i].kind || a.steps[i].kind != field &&
			a.steps[i].kind != index {
			return false
		}
	}
	return true
}
