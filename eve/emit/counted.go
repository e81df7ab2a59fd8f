package emit

import "interleave/eve/ir"

// A loop that counts up by one, `for (i: int = a; i < b; i += 1)` or a `while i < b` that ends with
// `i += 1`, is written as the loop over a range is, so that its indexes are tested before it.

// countedLoop writes s in this way, and says whether that was possible. gdb stops at each of its
// lines, so a program for it has the loop as it is.
func (f *function) countedLoop(s *ir.Repeat) bool {
	loop, isWhile := ranged(s)
	if loop == nil || f.o.Debug || !f.plain(loop.Body) {
		return false
	}
	if isWhile {
		if f.started == nil {
			f.started = map[*ir.ForIn]bool{}
		}
		f.started[loop] = true
	}
	f.forIn(loop)
	return true
}

// ranged returns the loop over a range that does what s does; nil if there is none. The variable of
// a while loop is there already.
func ranged(s *ir.Repeat) (loop *ir.ForIn, isWhile bool) {
	cond, ok := s.Cond.(*ir.Binary)
	if !ok || !s.Counted || cond.Op != "<" {
		return nil, false
	}
	counter, ok := cond.X.(*ir.Ref)
	if !ok || counter.T.Bits() != 64 || counter.T.IsUnsigned() {
		return nil, false
	}
	step, body, low := s.Step, s.Body, ir.Expr(counter)
	if isWhile = s.Step == nil; isWhile {
		last := len(body.Stmts) - 1
		step = body.Stmts[last]
		rest := *body
		rest.Stmts = body.Stmts[:last]
		body = &rest
	} else {
		d, ok := s.Init.Stmts[0].(*ir.Declare)
		if !ok || d.Var != counter.Var || d.Init == nil {
			return nil, false
		}
		low = d.Init
	}
	if !byOne(step, counter.Var) || changes(body, counter.Var) {
		return nil, false
	}
	return &ir.ForIn{Mark: s.Mark, Var: counter.Var, Body: body,
		X: &ir.Range{Place: ir.Place{Span: s.Span}, Lo: low, Hi: cond.Y}}, isWhile
}

// byOne says whether a step adds one to v.
func byOne(step ir.Stmt, v *ir.Var) bool {
	a, ok := step.(*ir.Assign)
	if !ok || !isVar(a.Target, v) {
		return false
	}
	if b, ok := a.Value.(*ir.Binary); a.Op == "" && ok {
		return b.Op == "+" && isVar(b.X, v) && isOne(b.Y)
	}
	return a.Op == "+" && isOne(a.Value)
}

func isVar(x ir.Expr, v *ir.Var) bool {
	r, ok := x.(*ir.Ref)
	return ok && r.Var == v
}

func isOne(x ir.Expr) bool {
	c, ok := x.(*ir.Const)
	return ok && c.Value == int64(1)
}
