package check

import (
	"fmt"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// givenArgs holds the arguments of a call, by parameter.
type givenArgs struct {
	args   []*syntax.Arg // for each parameter; nil: use its default
	values []ir.Expr     // of a generic: lowered early, to infer types from
	extra  []*syntax.Arg // behind `format`
}

// paramsOf returns a function's parameters without self.
func paramsOf(f *function) []*syntax.Param {
	ps := f.tree.Params
	if f.owner != nil && len(ps) > 0 && ps[0].Name != nil && ps[0].Name.Text == "self" {
		return ps[1:]
	}
	return ps
}

// takesFormat says whether the printf rule holds for the last parameter.
func takesFormat(ps []*syntax.Param) bool {
	if len(ps) == 0 || ps[len(ps)-1].Name == nil || ps[len(ps)-1].Name.Text != "format" {
		return false
	}
	t, ok := ps[len(ps)-1].Type.(*syntax.NamedType)
	return ok && len(t.Path) == 1 && t.Path[0].Text == "string"
}

// invoke lowers a call of a declared function.
func (l *lowerer) invoke(t target, x *callExpr, want *types.Type) ir.Expr {
	f := t.f
	if f.tree.Broken {
		return l.giveUp(x) // its head could not be parsed, which was reported
	}
	slow := f.tree.Async || f.extern != nil && f.extern.Slow
	if slow && l.awaiting != x.Call {
		d := l.errorf("E0352", x.Span, "'%s' takes time: wait for it with <-", f.tree.Name.Text)
		name := "value"
		if f.tree.Result == nil || f.tree.Result.Place().Text() == "void" {
			name = "_"
		}
		d.Label = "write " + name + " <- " + x.Fun.Place().Text() + "(..) as a statement"
		if line, column := x.Span.File.Position(x.Span.Start); name == "_" &&
			strings.TrimSpace(x.Span.File.Line(line)[:column-1]) == "" {
			l.fixText(d, source.Span{File: x.Span.File, Start: x.Span.Start, End: x.Span.Start},
				"_ <- ", "")
			d.Fix.Text = "write _ <- " + x.Span.Text()
			d.Label = "the code behind it runs when it is done"
		}
		return l.giveUp(x)
	}
	if c := l.invoked(t, x, want); c != nil {
		return c
	}
	return bad(x.Span)
}

// invoked makes the call, awaited or not. It is nil after an error.
func (l *lowerer) invoked(t target, x *callExpr, want *types.Type) *ir.Call {
	f := t.f
	given, ok := l.deal(f, x)
	if !ok {
		l.giveUp(x)
		return nil
	}
	targs, ok := l.typeArgs(t, x, given, want)
	if !ok {
		return nil
	}
	sig := l.signature(f, t.recv, targs)
	n := &ir.Call{Place: place(sig.result, x.Span)}
	if t.self != nil {
		n.Args = append(n.Args, l.receiver(t))
	}
	for i, p := range sig.params {
		if i >= len(given.args) {
			return nil
		}
		n.Args = append(n.Args, l.paramValue(f, sig, i, p, given))
	}
	l.checkRoute(f, given)
	for _, a := range n.Args {
		if broken(a) && sig.result.Kind != types.Void {
			return l.unrunnable(n)
		}
	}
	n.Fn = l.instance(f, t.recv, targs, t.at)
	if n.Fn == nil {
		return nil
	}
	return n
}

// unrunnable keeps the type of a call with a wrong argument, so that uses of the result can be
// checked.
func (l *lowerer) unrunnable(n *ir.Call) *ir.Call {
	n.Fn = &ir.Func{Name: "?", Result: n.T, Module: l.m.ir}
	return n
}

// typeArgs finds the type arguments. It lowers the arguments before the types of the parameters
// are known, so it does that for generics only.
func (l *lowerer) typeArgs(t target, x *callExpr, given *givenArgs,
	want *types.Type) ([]*types.Type, bool) {
	f, own := t.f, t.f.typeParams()
	var explicit []*types.Type
	for _, a := range x.TypeArgs {
		explicit = append(explicit, l.typeOf(l.env, a))
	}
	if len(explicit) > len(own) {
		l.errorf("E0334", x.TypeArgs[len(own)].Place(), "'%s' takes %s", f.tree.Name.Text,
			count(len(own), "type argument"))
		return nil, false
	}
	known := make([]*types.Type, len(given.args))
	if len(own) > 0 {
		given.values = make([]ir.Expr, len(given.args))
		ps := paramsOf(f)
		for i, a := range given.args {
			if a == nil || a.X == nil {
				continue
			}
			v := l.expr(a.X, l.shapeOf(ps[i]))
			if broken(v) {
				return nil, false
			}
			given.values[i], known[i] = v, v.Type()
		}
	}
	return l.infer(f, t.recv, explicit, known, want, t.at)
}

// shapeOf tells a closure whether its generic parameter is a callback.
func (l *lowerer) shapeOf(p *syntax.Param) *types.Type {
	if s, ok := p.Type.(*syntax.SuffixType); ok && s.Suffix == '@' {
		if _, ok := s.X.(*syntax.FuncType); ok {
			return l.universe.Shared(l.universe.Func(nil, types.InvalidT, false))
		}
	}
	if ft, ok := p.Type.(*syntax.FuncType); ok {
		return l.universe.Func(nil, types.InvalidT, ft.Par)
	}
	return nil
}

// deal assigns each argument to its parameter. A named callback without a parameter becomes an
// event.
func (l *lowerer) deal(f *function, x *callExpr) (*givenArgs, bool) {
	ps := paramsOf(f)
	g, ok := &givenArgs{args: make([]*syntax.Arg, len(ps))}, true
	format, next := takesFormat(ps), 0
	for _, a := range x.Args {
		switch {
		case a == nil || a.X == nil:
			ok = false
		case a.Name != nil:
			ok = l.dealNamed(f, ps, g, a) && ok
		case next < len(ps) && g.args[next] != nil:
			l.errorf("E0334", a.Span, "'%s' is given twice: arguments without a name come first",
				ps[next].Name.Text)
			return g, false
		case next < len(ps):
			g.args[next] = a
			next++
		case format:
			g.extra = append(g.extra, a)
		default:
			d := l.errorf("E0334", a.Span, "'%s' takes %s, and this is one more", f.tree.Name.Text,
				count(len(ps), "argument"))
			d.Also = also(f.tree.Name.Span, "declared here")
			return g, false
		}
	}
	for _, a := range x.Named {
		if a == nil || a.Name == nil || a.X == nil {
			continue
		}
		if paramNamed(ps, a.Name.Text) >= 0 {
			ok = l.dealNamed(f, ps, g, a) && ok
		} else {
			l.events = append(l.events, a)
		}
	}
	return g, ok && l.complete(f, ps, g, x)
}

func (l *lowerer) dealNamed(f *function, ps []*syntax.Param, g *givenArgs, a *syntax.Arg) bool {
	i := paramNamed(ps, a.Name.Text)
	if i < 0 {
		var names []string
		for _, p := range ps {
			if p.Name != nil {
				names = append(names, p.Name.Text)
			}
		}
		d := l.errorf("E0334", a.Name.Span, "'%s' has no parameter '%s'", f.tree.Name.Text,
			a.Name.Text)
		d.Also = also(f.tree.Name.Span, "declared here")
		l.suggest(d, a.Name, names)
		return false
	}
	if g.args[i] != nil {
		l.errorf("E0334", a.Name.Span, "'%s' is given twice", a.Name.Text)
		return false
	}
	l.note(l.m, a.Name.Span, Use{Role: ParamName, Decl: ps[i].Name.Span, Body: l.cur})
	g.args[i] = a
	return true
}

// complete reports parameters without an argument or a default.
func (l *lowerer) complete(f *function, ps []*syntax.Param, g *givenArgs, x *callExpr) bool {
	for i, p := range ps {
		if g.args[i] == nil && p.Default == nil && p.Name != nil {
			d := l.errorf("E0333", x.Span, "'%s' needs the argument '%s'", f.tree.Name.Text,
				p.Name.Text)
			d.Also = also(p.Span, "declared here")
			return false
		}
	}
	return true
}

func paramNamed(ps []*syntax.Param, name string) int {
	for i, p := range ps {
		if p.Name != nil && p.Name.Text == name {
			return i
		}
	}
	return -1
}

// receiver is the place on which a method is called.
func (l *lowerer) receiver(t target) ir.Expr {
	changes := false
	if t.f.tree.Perms != nil {
		for _, p := range t.f.tree.Perms.Entries {
			changes = changes || p.Sign == '+' && p.Name != nil && p.Name.Text == "self"
		}
	}
	if !changes || broken(t.self) {
		return t.self
	}
	if !isPlace(t.self) && t.self.Type().Kind != types.Slice {
		d := l.errorf("E0348", t.self.At(),
			"'%s' changes its receiver, and this value is not stored", t.f.tree.Name.Text)
		d.Label = "declare a variable of it first"
		return bad(t.self.At())
	}
	l.changeable(t.self, t.self.At())
	return t.self
}

// paramValue is the value of parameter i: its argument or its default.
func (l *lowerer) paramValue(f *function, sig *signature, i int, p param, g *givenArgs) ir.Expr {
	a := g.args[i]
	if a == nil {
		if p.tree == nil || p.tree.Default == nil {
			return bad(source.Span{})
		}
		return l.initExpr(f.module, sig.env, p.tree.Default, p.t)
	}
	if sig.format && i == len(sig.params)-1 {
		return l.formatArg(a.X, g.extra)
	}
	var v ir.Expr
	if g.values != nil {
		v = g.values[i]
	}
	if v == nil {
		v = l.expr(a.X, p.t)
	}
	said := l.diags.Len()
	got := l.argument(v, p.t, fmt.Sprintf("parameter '%s' of '%s'", p.name, f.tree.Name.Text))
	if d := l.diags.Since(said); d != nil && d.Code == "E0300" && len(d.Also) == 0 &&
		p.tree != nil && !f.module.std {
		d.Also = also(p.tree.Span, "declared here")
	}
	return got
}

// argument makes v fit a parameter: a place for T&, a view for slices, a handle for T@, else a
// value.
func (l *lowerer) argument(v ir.Expr, t *types.Type, what string) ir.Expr {
	if broken(v) || t == nil || t == types.InvalidT {
		return v
	}
	switch t.Kind {
	case types.Ref:
		return l.lent(v, t, what)
	case types.Slice:
		return l.viewOf(v, t)
	case types.Shared:
		got := v.Type()
		if got.Kind != types.Shared && got.Kind != types.Ref && got.Deref() == t.Elem &&
			t.Elem.Kind != types.Func {
			d := l.errorf("E0300", v.At(), "%s needs a handle, %s, and this is a plain value", what,
				article(t))
			d.Label = "declare it as " + t.String()
			return bad(v.At())
		}
	}
	if v.Type() == types.VoidT {
		l.errorf("E0300", v.At(), "this has no value, and %s needs %s", what, article(t))
		return bad(v.At())
	}
	return l.coerce(v, t)
}

// makeError lowers error(text) or error(code, text).
func (l *lowerer) makeError(x *callExpr, at source.Span) ir.Expr {
	f, ok := l.lookup(l.m, "make_error").(*function)
	if !ok {
		return l.giveUp(x)
	}
	if len(x.Args) == 0 || len(x.Args) > 2 {
		l.errorf("E0333", x.Span, "error takes a text, or a code and a text")
		return l.giveUp(x)
	}
	var code ir.Expr = &ir.Const{Place: place(types.IntT, at), Value: int64(0)}
	if len(x.Args) == 2 {
		code = l.fitted(x.Args[0].X, types.IntT)
	}
	text := l.fitted(x.Args[len(x.Args)-1].X, types.StringT)
	fn := l.instance(f, nil, nil, at)
	if fn == nil || broken(text) || broken(code) {
		return bad(x.Span)
	}
	return &ir.Call{Place: place(types.ErrorT, x.Span), Fn: fn, Args: []ir.Expr{code, text}}
}

func are(n int) string {
	if n == 1 {
		return "is one"
	}
	return fmt.Sprintf("are %d", n)
}
