package check

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// lambda makes a closure: a Callback if the wanted type is a T@, else a Lambda.
func (l *lowerer) lambda(x *syntax.Lambda, want *types.Type) ir.Expr {
	if l.cur == nil {
		l.errorf("E0354", x.Span, "a closure is made by code that runs, not by an initial value")
		return bad(x.Span)
	}
	shared, par := false, false
	if want != nil {
		shared = want.Kind == types.Shared
		par = want.Deref().Kind == types.Func && want.Deref().Par
	}
	b := &ir.Body{Kind: ir.Lambda, List: listOf(x.Perms, x.Span), Head: l.lambdaHead(x)}
	if shared {
		b.Kind = ir.Callback
	}
	b.Result = l.resultOf(x)
	var params []*types.Type
	l.inside(b, x.Perms, func() {
		for _, p := range x.Params {
			v := l.paramVar(p)
			// what a callback is posted with is its own: the poster may have ended
			v.Take = v.Take || shared && !v.Type.Copyable() && !v.Type.HasView()
			params = append(params, v.Type)
			b.Params = append(b.Params, v)
			l.declare(v)
		}
	}, func() { l.lambdaBody(x, b) })
	t := l.universe.Func(params, b.Result, par)
	if shared {
		if b.Result != types.VoidT && b.Result != types.InvalidT {
			l.errorf("E0354", x.Result.Place(),
				"a callback runs later, so its result would be lost")
			return bad(x.Span)
		}
		t = l.universe.Shared(t)
	}
	for _, p := range append(params, b.Result) {
		if p == types.InvalidT {
			return bad(x.Span)
		}
	}
	return &ir.Closure{Place: place(t, x.Span), Body: b}
}

// lambdaBody lowers the body of a closure or handler.
func (l *lowerer) lambdaBody(x *syntax.Lambda, b *ir.Body) {
	l.result = b.Result
	l.joined = false
	if x.Body != nil {
		l.fill(x.Body)
		at := x.Span
		if x.Result != nil {
			at = x.Result.Place()
		}
		l.checkEnd(b.Block, b.Result, at, "this closure")
		return
	}
	b.Block = &ir.Block{Span: x.Span}
	if x.X == nil {
		return
	}
	b.Block.Span = x.X.Place()
	l.out = b.Block
	if b.Result == types.VoidT {
		l.exprStmt(&syntax.ExprStmt{At: syntax.At{Span: x.X.Place()}, X: x.X})
	} else {
		l.emit(&ir.Return{Mark: mark(x.X), X: l.fitted(x.X, b.Result)})
	}
	l.rejectEvents()
}

func (l *lowerer) resultOf(x *syntax.Lambda) *types.Type {
	if x.Result == nil {
		return types.VoidT
	}
	t := l.typeOf(l.env, x.Result)
	if t.HasView() {
		l.errorf("E0305", x.Result.Place(), "a closure cannot return a view")
		return types.InvalidT
	}
	return t
}

// paramVar makes a parameter of a closure.
func (l *lowerer) paramVar(p *syntax.Param) *ir.Var {
	v := &ir.Var{Kind: ir.Param, Body: l.cur, Span: p.Span, Type: types.InvalidT, Take: p.Take}
	if p.Name != nil {
		v.Name, v.Span = p.Name.Text, p.Name.Span
	}
	if p.Type != nil {
		v.Type = l.valueType(l.env, p.Type)
	} else {
		l.errorf("E0354", p.Span, "a closure's parameter needs a type")
	}
	if p.Default != nil {
		l.errorf("E0354", p.Default.Place(), "a closure's parameter has no default")
	}
	v.View = v.Type.HasView()
	return v
}

// lambdaHead is the line up to the closure's own code.
func (l *lowerer) lambdaHead(x *syntax.Lambda) source.Span {
	if x.Body != nil {
		return headOf(x.Span, x.Body)
	}
	if x.X != nil {
		return headOf(x.Span, &syntax.Block{At: syntax.At{Span: x.X.Place()}})
	}
	return x.Span
}

// listOf is the place of a list, or where it would be written.
func listOf(perms *syntax.Perms, at source.Span) source.Span {
	if perms != nil {
		return perms.Span
	}
	return pointAt(at)
}

// functionValue makes a closure that calls a declared function, where a closure is wanted.
func (l *lowerer) functionValue(f *function, x *syntax.Ident, want *types.Type) ir.Expr {
	if want == nil || l.cur == nil || want.Kind != types.Func || f.tree.Async ||
		len(want.Elems) != len(paramsOf(f)) || len(f.typeParams()) > 0 {
		l.needsCall(x.Span, f)
		return bad(x.Span)
	}
	sig := l.signature(f, nil, nil)
	for i, p := range sig.params {
		if want.Elem == types.InvalidT || p.t != want.Elems[i] {
			l.needsCall(x.Span, f)
			return bad(x.Span)
		}
	}
	fn := l.instance(f, nil, nil, x.Span)
	if fn == nil || sig.result != want.Elem {
		l.needsCall(x.Span, f)
		return bad(x.Span)
	}
	b := &ir.Body{Kind: ir.Lambda, Fn: l.fn, Outer: l.cur, Result: sig.result,
		List: pointAt(x.Span), Head: x.Span}
	call := &ir.Call{Place: place(sig.result, x.Span), Fn: fn}
	for _, p := range sig.params {
		v := &ir.Var{Name: p.name, Type: p.t, Kind: ir.Param, Body: b, Span: x.Span, Take: p.take}
		b.Params = append(b.Params, v)
		call.Args = append(call.Args, passed(v))
	}
	b.Block = &ir.Block{Span: x.Span}
	if sig.result == types.VoidT {
		b.Block.Stmts = []ir.Stmt{&ir.Do{Mark: mark(x), X: call}}
	} else {
		b.Block.Stmts = []ir.Stmt{&ir.Return{Mark: mark(x), X: call}}
	}
	return &ir.Closure{Place: place(want, x.Span), Body: b}
}

// passed makes an argument from a parameter: for a T&, the place behind it.
func passed(v *ir.Var) ir.Expr {
	r := &ir.Ref{Place: place(v.Type, v.Span), Var: v}
	if v.Type.Kind == types.Ref {
		return &ir.Deref{Place: place(v.Type.Elem, v.Span), X: r}
	}
	return r
}

// rejectEvents reports named callbacks that no statement has registered.
func (l *lowerer) rejectEvents() {
	for _, a := range l.events {
		d := l.errorf("E0359", a.Name.Span,
			"'%s' is neither a parameter of this call nor an event that can be handled here",
			a.Name.Text)
		d.Label = "the call must be a statement, or declare a variable"
	}
	l.events = nil
}

// registerEvents registers the named callbacks of a call that is a statement. Its result is an
// emitter without a name.
func (l *lowerer) registerEvents(x ir.Expr, at source.Span) bool {
	if len(l.events) == 0 {
		return false
	}
	if l.emitterOf(x, l.events[0].Name.Span, x.At()) == nil {
		l.events = nil
		return true
	}
	v := l.hidden(x.Type(), x.At())
	l.emit(&ir.Declare{Mark: ir.Mark{Span: at}, Var: v, Init: x})
	l.registerOn(v)
	return true
}

// registerOn registers the named callbacks of the call that made v.
func (l *lowerer) registerOn(v *ir.Var) {
	events := l.events
	l.events = nil
	for _, a := range events {
		r := &ir.Ref{Place: place(v.Type, v.Span), Var: v}
		h, ok := a.X.(*syntax.Lambda)
		if !ok {
			l.errorf("E0354", a.X.Place(), "a handler is written in place: [..] (e: %s&) bool: ...",
				a.Name.Text)
			continue
		}
		l.handler(&handlerSite{at: a.Span, emitter: r, event: a.Name, lambda: h, perms: h.Perms,
			head: l.lambdaHead(h)})
	}
}

// emitterOf returns the emitter type of x, which must be a handle. It is nil after an error.
func (l *lowerer) emitterOf(x ir.Expr, event, at source.Span) *types.Type {
	t := x.Type()
	switch {
	case broken(x):
		return nil
	case t.Kind == types.Shared && t.Elem.Def != nil && t.Elem.Def.Emitter:
		return t.Elem
	}
	var d *diag.Diagnostic
	if e := t.Deref(); e.Def != nil && e.Def.Emitter {
		d = l.errorf("E0351", at, "events are handled through a handle, %s@, and this is %s", e,
			article(t))
	} else {
		d = l.errorf("E0351", at, "%s emits no events", article(l.defaultType(x).Type()))
	}
	d.Also = also(event, "the event")
	return nil
}
