package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// declStmt declares locals. `a, b: int@` makes two; with a tuple as the value it unpacks.
func (l *lowerer) declStmt(s *syntax.DeclStmt) {
	d := s.Var
	if d == nil || d.Type == nil || len(d.Names) == 0 {
		return
	}
	t := l.valueType(l.env, d.Type)
	if len(d.Names) > 1 && d.Init != nil {
		l.unpack(s, t)
		return
	}
	for _, n := range d.Names {
		init := l.initial(d, t)
		l.declareLocal(s, n, t, init)
	}
}

// initial is the value of one declared variable.
func (l *lowerer) initial(d *syntax.VarDecl, t *types.Type) ir.Expr {
	switch {
	case d.Args != nil:
		at := d.Type.Place()
		x := l.construct(t.Deref(), &callExpr{Call: &syntax.Call{At: syntax.At{Span: at.To(d.Span)},
			Args: d.Args}}, at)
		if t.Kind == types.Shared && !broken(x) {
			return &ir.Box{Place: place(t, x.At()), X: x}
		}
		return x
	case d.Init == nil:
		return l.zero(t, d.Type.Place())
	}
	return l.owned(d.Init, t)
}

// owned makes the value of a variable of type t: a plain value for a T@ builds an object.
func (l *lowerer) owned(x syntax.Expr, t *types.Type) ir.Expr {
	switch t.Kind {
	case types.Shared:
		return l.handle(l.expr(x, t), t)
	case types.Ref:
		return l.lent(l.expr(x, t.Elem), t, "a "+t.String())
	case types.Slice:
		return l.viewOf(l.expr(x, t), t)
	}
	return l.fitted(x, t)
}

// handle converts x to a handle. A handle is returned as it is; a plain value builds an object.
func (l *lowerer) handle(x ir.Expr, t *types.Type) ir.Expr {
	if broken(x) {
		return x
	}
	if got := x.Type(); got == t || got.Kind == types.Shared && !l.boxable(got, t) {
		return l.coerce(x, t)
	}
	if t.Elem.Kind == types.Func { // a Callback is made as a handle, never boxed
		return l.coerce(x, t)
	}
	v := l.coerce(x, t.Elem)
	return &ir.Box{Place: place(t, x.At()), X: v}
}

// boxable says whether the value of a handle of another type can be boxed: `a: float@ = b` for b:
// float<32>@.
func (l *lowerer) boxable(got, t *types.Type) bool {
	return got != t && got.Elem.IsNumber() && t.Elem.IsNumber()
}

func (l *lowerer) declareLocal(s *syntax.DeclStmt, n *syntax.Name, t *types.Type, init ir.Expr) {
	v := l.local(n, t, ir.Local)
	v.View = t.HasView()
	if box, ok := init.(*ir.Box); ok && t.Kind == types.Shared {
		v.Built = box.T == t
	}
	l.emit(&ir.Declare{Mark: mark(s), Var: v, Init: init})
	l.declare(v)
	l.registerOn(v)
}

// unpack declares several variables with the elements of a tuple. A constant may stand in place of
// each element.
func (l *lowerer) unpack(s *syntax.DeclStmt, t *types.Type) {
	d := s.Var
	x := l.expr(d.Init, nil)
	if broken(x) || t == types.InvalidT {
		for _, n := range d.Names {
			l.declareLocal(s, n, t, bad(d.Init.Place()))
		}
		return
	}
	if got := l.checker.value(x); got.Type().Kind == types.Tuple {
		l.unpackTuple(s, t, got)
		return
	}
	if l.fold(x) == nil {
		l.errorf("E0347", d.Init.Place(), "%d variables need a tuple of %d, and this is %s",
			len(d.Names), len(d.Names), article(l.defaultType(x).Type()))
	}
	for _, n := range d.Names {
		l.declareLocal(s, n, t, l.owned(d.Init, t))
	}
}

func (l *lowerer) unpackTuple(s *syntax.DeclStmt, t *types.Type, x ir.Expr) {
	names, elems := s.Var.Names, x.Type().Elems
	if len(names) != len(elems) {
		l.errorf("E0347", s.Var.Init.Place(), "%d variables cannot be unpacked from %s", len(names),
			article(x.Type()))
		for _, n := range names {
			l.declareLocal(s, n, t, bad(x.At()))
		}
		return
	}
	same := true
	for _, e := range elems {
		same = same && e == t
	}
	if same {
		n := &ir.Unpack{Mark: mark(s), Init: x}
		for _, name := range names {
			v := l.local(name, t, ir.Local)
			v.View = t.HasView()
			n.Vars = append(n.Vars, v)
		}
		l.emit(n)
		for _, v := range n.Vars {
			l.declare(v)
		}
		return
	}
	// The elements must be converted or boxed, so a hidden variable holds the tuple.
	all := l.hidden(x.Type(), x.At())
	l.emit(&ir.Declare{Mark: mark(s), Var: all, Init: x})
	for i, name := range names {
		e := ir.Expr(&ir.Element{Place: place(elems[i], x.At()),
			X: &ir.Ref{Place: place(all.Type, x.At()), Var: all}, Index: i})
		if t.Kind == types.Shared {
			e = l.handle(e, t)
		} else {
			e = l.coerce(e, t)
		}
		l.declareLocal(s, name, t, e)
	}
}

// assignStmt lowers an assignment. A variable of type T@ always stores in its object; a field or
// element of type T@ takes another handle.
func (l *lowerer) assignStmt(s *syntax.AssignStmt) {
	if s.Target == nil || s.Value == nil {
		return
	}
	if l.undeclared(s) {
		return
	}
	target := l.expr(s.Target, nil)
	if broken(target) {
		l.expr(s.Value, nil)
		return
	}
	op := s.Op
	if len(op) > 0 && op[len(op)-1] == '=' {
		op = op[:len(op)-1]
	}
	if op == "" && repoints(target) {
		x := l.expr(s.Value, target.Type())
		if broken(x) || x.Type().Kind == types.Shared {
			l.changeable(target, s.Target.Place())
			l.emit(&ir.Repoint{Mark: mark(s), Target: target, Value: l.coerce(x, target.Type())})
			return
		}
		to := l.checker.value(target)
		l.emit(&ir.Assign{Mark: mark(s), Target: to, Value: l.coerce(x, to.Type())})
		return
	}
	to := l.checker.value(target)
	if !l.storable(to, s) || broken(to) {
		l.expr(s.Value, nil)
		return
	}
	n := &ir.Assign{Mark: mark(s), Target: to, Op: ir.Op(op)}
	if op == "" {
		n.Value = l.fitted(s.Value, to.Type())
	} else {
		n.Value = l.operand(to, op, s)
	}
	l.emit(n)
}

// undeclared reports an assignment to an unknown name: a declaration without its type.
func (l *lowerer) undeclared(s *syntax.AssignStmt) bool {
	id, ok := bare(s.Target).(*syntax.Ident)
	if !ok || s.Op != "=" || id.Name == "self" || l.scope.find(id.Name) != nil ||
		l.static(id) != nil {
		return false
	}
	if self := l.scope.find("self"); self != nil {
		if _, _, field := l.fieldOf(self.Type, id.Name); field {
			return false
		}
	}
	x := l.defaultType(l.expr(s.Value, nil))
	if l.m.torn[id.Name] || l.checker.saidUnknown(l.m, id.Name, id.Span) {
		return true
	}
	d := l.errorf("E0202", id.Span, "unknown name '%s'", id.Name)
	if !broken(x) && x.Type() != types.VoidT && x.Type() != types.NoneT {
		l.fixText(d, pointAfter(id.Span), ": "+x.Type().String(), "")
		d.Fix.Text = "to declare it, write " + id.Name + ": " + x.Type().String() + " = .."
	}
	return true
}

// repoints says whether an assignment to a place of type T@ makes it name another object: any
// place but a variable.
func repoints(target ir.Expr) bool {
	if target.Type().Kind != types.Shared {
		return false
	}
	switch x := target.(type) {
	case *ir.Field, *ir.Index, *ir.Element:
		return true
	case *ir.Deref: // a variable of type T@&: an element in place
		return x.X.Type().Kind == types.Ref
	}
	return false
}

// storable reports targets that cannot be assigned to.
func (l *lowerer) storable(to ir.Expr, s *syntax.AssignStmt) bool {
	if !isPlace(to) {
		l.errorf("E0336", s.Target.Place(), "this is a value, not a place that can be assigned to")
		return false
	}
	if i, ok := to.(*ir.Index); ok && i.X.Type().Kind == types.String {
		l.errorf("E0336", s.Target.Place(), "a string cannot be changed").Label =
			"bytes can: b: bytes = s.bytes()"
		return false
	}
	if r, ok := to.(*ir.Ref); ok && r.T.Kind == types.Slice {
		d := l.errorf("E0336", s.Target.Place(),
			"the view '%s' cannot be made to show other storage", r.Var.Name)
		d.Label = "copy elements with copy_from, or declare another view"
		return false
	}
	return l.changeable(to, s.Target.Place())
}

// operand is the right side of +=, converted for the operator.
func (l *lowerer) operand(to ir.Expr, op string, s *syntax.AssignStmt) ir.Expr {
	y := l.expr(s.Value, to.Type())
	if broken(y) {
		return y
	}
	opAt := source.Span{File: s.Span.File, Start: s.Target.Place().End, End: s.Value.Place().Start}
	x := l.binary(op, to, y, s.Span, trimmed(opAt))
	if broken(x) {
		return x
	}
	b, ok := x.(*ir.Binary)
	if !ok || x.Type() != to.Type() {
		l.errorf("E0337", s.Value.Place(), "%s= would make %s of %s", op, article(x.Type()),
			article(to.Type()))
		return bad(s.Span)
	}
	if b.X.Type() != to.Type() { // the target would have to be widened
		l.errorf("E0337", s.Value.Place(), "this is %s, too wide to be put into %s",
			article(b.X.Type()), article(to.Type()))
		return bad(s.Span)
	}
	return b.Y
}
