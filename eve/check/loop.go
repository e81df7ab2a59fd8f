package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

func (l *lowerer) whileStmt(s *syntax.WhileStmt) {
	n := &ir.Repeat{Mark: mark(s), Cond: l.condition(s.Cond)}
	if s.Cond != nil {
		l.bounded(n.Cond, s.Cond.Place())
	}
	n.Body = l.loopBody(s.Body)
	n.Counted = l.countedWhile(n)
	l.emit(n)
}

// bounded reports a condition that is always true: other tasks would wait forever for this one.
func (l *lowerer) bounded(cond ir.Expr, at source.Span) {
	if c := l.known(cond); c != nil && c.Value == true {
		d := l.errorf("E0601", at,
			"this loop has no end: tasks that wait for this one would starve")
		d.Label = "count the turns with for, or let an event or a timer start the next step"
	}
}

func (l *lowerer) loopBody(b *syntax.Block) *ir.Block {
	before := l.held
	l.loops++
	out := l.block(b)
	l.loops--
	l.held = before
	return out
}

func (l *lowerer) forStmt(s *syntax.ForStmt) {
	n := &ir.Repeat{Mark: mark(s)}
	outer, before := l.scope, l.out
	l.scope = &scope{outer: outer, body: l.cur, vars: map[string]*ir.Var{}}
	if s.Init != nil {
		n.Init = &ir.Block{Span: s.Init.Place()}
		l.out = n.Init
		l.stmt(s.Init)
		l.rejectEvents()
	}
	l.out = before
	if s.Cond != nil {
		n.Cond = l.condition(s.Cond)
		l.bounded(n.Cond, s.Cond.Place())
	} else {
		l.bounded(&ir.Const{Place: place(types.BoolT, s.Span), Value: true}, headOf(s.Span, s.Body))
	}
	if s.Step != nil {
		step := &ir.Block{}
		l.out = step
		l.stmt(s.Step)
		l.rejectEvents()
		l.out = before
		if len(step.Stmts) == 1 {
			n.Step = step.Stmts[0]
		} else if len(step.Stmts) > 1 {
			n.Step = &ir.Nest{Mark: mark(s.Step), Block: step}
		}
	}
	n.Body = l.loopBody(s.Body)
	l.scope = outer
	n.Counted = l.counted(n)
	l.emit(n)
}

func (l *lowerer) forInStmt(s *syntax.ForInStmt) {
	x := l.iterated(s.In, s.Type)
	if next := l.nextOf(x); next != nil {
		l.forNext(s, x, next)
		return
	}
	n := &ir.ForIn{Mark: mark(s), X: x}
	outer := l.scope
	l.scope = &scope{outer: outer, body: l.cur, vars: map[string]*ir.Var{}}
	n.Var = l.loopVar(s.Var, s.Type, l.elementOf(x, s.In), x)
	l.declare(n.Var)
	n.Body = l.loopBody(s.Body)
	l.scope = outer
	l.emit(n)
}

// iterated lowers the value that a loop iterates over. Literals of a range take the declared type
// of the loop's variable.
func (l *lowerer) iterated(x syntax.Expr, declared syntax.Type) ir.Expr {
	if x == nil {
		return bad(source.Span{})
	}
	var want *types.Type
	if r, ok := bare(x).(*syntax.Binary); ok && r.Op == ".." && declared != nil {
		if t := l.valueType(l.env, declared); t.IsInteger() && t != types.DurationT {
			want = l.universe.Range(t)
		}
	}
	return l.checker.value(l.expr(x, want))
}

// elementOf is the type of the elements of x in a loop.
func (l *lowerer) elementOf(x ir.Expr, tree syntax.Expr) *types.Type {
	t := x.Type()
	if broken(x) || l.isOpen(t) {
		return types.InvalidT
	}
	switch t.Kind {
	case types.String:
		return types.CharT
	case types.Range, types.Vector, types.Array, types.Slice, types.Set:
		return t.Elem
	case types.Map:
		return l.universe.Tuple(t.Key, t.Elem)
	}
	d := l.errorf("E0339", tree.Place(), "a loop cannot run over %s",
		article(l.defaultType(x).Type()))
	if t.IsInteger() {
		d.Label = "write 0..n for the numbers below n"
	} else if t.Kind == types.Named {
		d.Label = "it could with a method " + nextForm
	}
	return types.InvalidT
}

// loopVar makes the variable of a loop: the element, or with T& the element in its place.
func (l *lowerer) loopVar(n *syntax.Name, declared syntax.Type, elem *types.Type,
	x ir.Expr) *ir.Var {
	if n == nil {
		n = &syntax.Name{At: syntax.At{Span: x.At()}}
	}
	v := l.local(n, elem, ir.Loop)
	if declared == nil {
		return v
	}
	t := l.valueType(l.env, declared)
	v.Type = t
	if t == types.InvalidT || elem == types.InvalidT || t == elem {
		return v
	}
	if t.Kind == types.Ref && t.Elem == elem {
		v.View = true
		k := x.Type().Kind
		if k != types.Vector && k != types.Array && k != types.Slice {
			d := l.errorf("E0339", declared.Place(),
				"the elements of %s cannot be changed in place", article(x.Type()))
			if l.nextOf(x) != nil {
				d.Message += ": the method 'next' makes them"
				l.fixText(d, declared.Place(), elem.String(), "")
			}
			return v
		}
		if !kept(x) {
			d := l.errorf("E0348", x.At(),
				"the loop changes these elements in place, and they are not stored")
			d.Label = "declare a variable first"
			return v
		}
		said := l.diags.Len()
		if !l.changeable(x, x.At()) {
			if d := l.diags.Since(said); d != nil {
				l.fixText(d, declared.Place(), elem.String(),
					"a loop that only reads the elements needs no &")
			}
		}
		return v
	}
	d := l.errorf("E0339", declared.Place(), "the elements are %s, not %s", elem, t)
	l.fixText(d, declared.Place(), elem.String(), "")
	return v
}

// counted says whether a for loop is known to terminate: each turn moves its counter towards the
// bound by a constant, and the body changes neither.
func (l *lowerer) counted(n *ir.Repeat) bool {
	if n.Init == nil || len(n.Init.Stmts) != 1 {
		return false
	}
	d, ok := n.Init.Stmts[0].(*ir.Declare)
	return ok && l.arrives(n.Cond, d.Var, n.Step, n.Body.Stmts)
}

// countedWhile says the same of a while loop. Its counter is a plain variable, which the last
// statement moves, and no turn leaves that out.
func (l *lowerer) countedWhile(n *ir.Repeat) bool {
	cond, ok := n.Cond.(*ir.Binary)
	last := len(n.Body.Stmts) - 1
	if !ok || last < 0 || continues(n.Body) {
		return false
	}
	for _, x := range []ir.Expr{cond.X, cond.Y} {
		r, ok := x.(*ir.Ref)
		if ok && (r.Var.Kind == ir.Local || r.Var.Kind == ir.Param && r.Var.Take) &&
			l.arrives(cond, r.Var, n.Body.Stmts[last], n.Body.Stmts[:last]) {
			return true
		}
	}
	return false
}

// continues says whether a turn may end early and the loop go on.
func continues(body *ir.Block) bool {
	found := false
	ir.Walk(body, func(n ir.Node) bool {
		switch n.(type) {
		case *ir.Continue:
			found = true
		case *ir.Repeat, *ir.ForIn, *ir.Body: // it is theirs
			return false
		}
		return !found
	})
	return found
}

// arrives says whether the step of a loop moves its counter to where the condition is false, and
// the rest of the loop changes neither the counter nor the bound.
func (l *lowerer) arrives(x ir.Expr, counter *ir.Var, moves ir.Stmt, rest []ir.Stmt) bool {
	cond, ok := x.(*ir.Binary)
	if !ok || !counter.Type.IsInteger() {
		return false
	}
	op, bound := cond.Op, cond.Y
	if !is(cond.X, counter) {
		op, bound = mirrored(op), cond.X
		if !is(cond.Y, counter) {
			return false
		}
	}
	step := l.stepOf(moves, counter)
	if !(op == "<" && step > 0 || op == ">" && step < 0 || op == "<=" && step > 0 ||
		op == ">=" && step < 0) {
		return false
	}
	// The counter must not run past the end of its type and begin again.
	if (op != "<" && op != ">" || step != 1 && step != -1) &&
		!l.roomy(bound, counter.Type, step) {
		return false
	}
	changed := changedVars{counter: true}
	if !changed.keeps(bound) {
		return false
	}
	changed = changedVars{}
	for _, s := range rest {
		changed.in(s)
	}
	return !changed.has(counter) && changed.keeps(bound)
}

// roomy says whether a bound is so far from the limits of its type that a step cannot pass them: a
// constant of moderate size.
func (l *lowerer) roomy(bound ir.Expr, t *types.Type, step int64) bool {
	c := l.fold(bound)
	if c == nil || t.Bits() != 64 {
		return false
	}
	v, ok := c.Value.(int64)
	return ok && v > -1<<62 && v < 1<<62 && (!t.IsUnsigned() || v >= -step)
}

// is says whether x is the variable itself. A counter that is converted to a wider type for the
// comparison may run past the end of its own.
func is(x ir.Expr, v *ir.Var) bool {
	r, ok := x.(*ir.Ref)
	return ok && r.Var == v
}

// refers says whether x is a variable, or a conversion of one.
func refers(x ir.Expr, v *ir.Var) bool {
	if c, ok := x.(*ir.Convert); ok {
		x = c.X
	}
	return is(x, v)
}

// mirrored is the operator for exchanged sides.
func mirrored(op ir.Op) ir.Op {
	return map[ir.Op]ir.Op{"<": ">", ">": "<", "<=": ">=", ">=": "<="}[op]
}

// stepOf is the constant that a step adds to v; 0 for any other step.
func (l *lowerer) stepOf(s ir.Stmt, v *ir.Var) int64 {
	a, ok := s.(*ir.Assign)
	if !ok || !refers(a.Target, v) {
		return 0
	}
	op, x := a.Op, a.Value
	if b, ok := x.(*ir.Binary); op == "" && ok && refers(b.X, v) {
		op, x = b.Op, b.Y
	} else if op == "" {
		return 0
	}
	c := l.fold(x)
	if c == nil {
		return 0
	}
	n, ok := c.Value.(int64)
	switch {
	case !ok || n > 1<<32 || n < -1<<32:
		return 0
	case op == "+":
		return n
	case op == "-":
		return -n
	}
	return 0
}

// changedVars holds the variables that a loop may change. With nil it may be any: a closure that
// was made before the loop is called in it.
type changedVars map[*ir.Var]bool

func (c changedVars) has(v *ir.Var) bool { return c[v] || c[nil] }

// keeps says whether x has the same value in every turn.
func (c changedVars) keeps(x ir.Expr) bool {
	same := true
	eachExpr(x, func(x ir.Expr) {
		switch x := x.(type) {
		case *ir.Const, *ir.Field, *ir.Element, *ir.Unary, *ir.Binary, *ir.Convert:
		case *ir.Ref:
			same = same && !c.has(x.Var) && x.Var.Type.Kind != types.Ref &&
				x.Var.Type.Kind != types.Shared
		case *ir.Call:
			same = same && x.Fn != nil && x.Fn.Name != "" && x.Fn.Native != "" && isSize(x)
		default:
			same = false
		}
	})
	return same
}

// isSize says whether a call returns the size of a container.
func isSize(x *ir.Call) bool {
	switch x.Fn.Native {
	case "vector.size", "array.size", "slice.size", "string.size", "map.size", "set.size":
		return true
	}
	return false
}

// in notes what a part of a loop may change. The tasks, handlers and continuations in it run later:
// only their lists count.
func (c changedVars) in(part ir.Node) {
	ir.Walk(part, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Body:
			return n.Kind == ir.Lambda || n.Kind == ir.Callback
		case *ir.Assign:
			c.place(n.Target)
		case *ir.ForIn:
			if n.Var.Type.Kind == types.Ref {
				c.place(n.X)
			}
		case *ir.Spawn:
			c.captures(n.Body)
		case *ir.SpawnEach:
			c.captures(n.Body)
		case ir.Expr:
			c.expr(n)
		}
		return true
	})
}

// captures counts variables that a task borrows as changed.
func (c changedVars) captures(b *ir.Body) {
	for _, e := range b.Perms {
		if e.Sign == '&' && e.From != nil {
			c[e.From] = true
		}
	}
}

// expr notes the variables that a call may change, since it gets them as places.
func (c changedVars) expr(x ir.Expr) {
	switch x := x.(type) {
	case *ir.Ref:
		// A function's parameter cannot change its locals, as that of a closure may.
		b := x.Var.Body
		if x.Var.Type.Kind == types.Func &&
			(x.Var.Kind != ir.Param || b == nil || b.Kind == ir.Lambda) {
			c[nil] = true
		}
	case *ir.Call:
		if x.Fn == nil {
			return
		}
		for i, p := range x.Fn.Params {
			if i < len(x.Args) && (p.Type.Kind == types.Slice || p.Type.Kind == types.Ref &&
				(p.Kind != ir.Self || changesSelf(x.Fn))) {
				c.place(x.Args[i])
			}
		}
	case *ir.CallValue:
		for _, a := range x.Args {
			c.place(a)
		}
	case *ir.Cut:
		c.place(x.X)
	}
}

func changesSelf(f *ir.Func) bool {
	for _, e := range f.List {
		if e.Sign == '+' && e.Name == "self" {
			return true
		}
	}
	return false
}

// place notes the variable that owns a place.
func (c changedVars) place(x ir.Expr) {
	switch x := x.(type) {
	case *ir.Ref:
		c[x.Var] = true
	case *ir.Field:
		c.place(x.X)
	case *ir.Element:
		c.place(x.X)
	case *ir.Index:
		c.place(x.X)
	case *ir.Cut:
		c.place(x.X)
	case *ir.Deref:
		c.place(x.X)
	}
}
