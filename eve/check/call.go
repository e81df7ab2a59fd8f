package check

import (
	"slices"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A target is the function of a call, with the part before its dot.
type target struct {
	f    *function
	recv *types.Type // of methods and static functions of types
	self ir.Expr     // of methods: the receiver
	at   source.Span // of the name
}

// A callExpr is a call with the type arguments behind the function's name.
type callExpr struct {
	*syntax.Call
	TypeArgs []syntax.Type
}

// call lowers a call, a conversion or a construction, which have one syntax.
func (l *lowerer) call(c *syntax.Call, want *types.Type) ir.Expr {
	x := &callExpr{Call: c}
	fun := bare(c.Fun)
	if t, ok := fun.(*syntax.TypeExpr); ok {
		n, ok := t.Type.(*syntax.NamedType)
		if !ok || len(n.Path) == 0 {
			return l.construct(l.typeOf(l.env, t.Type), x, t.Span)
		}
		fun, x.TypeArgs = named(n.Path), n.Args
	}
	switch fun := fun.(type) {
	case *syntax.Ident:
		return l.callName(fun, x, want)
	case *syntax.Selector:
		if fun.X != nil && fun.Name != nil {
			return l.callMember(fun, x, want)
		}
	case nil:
		return bad(c.Span)
	default:
		return l.callValue(l.expr(fun, nil), x)
	}
	return l.giveUp(x)
}

// named converts a dotted name to an expression.
func named(path []*syntax.Name) syntax.Expr {
	var x syntax.Expr = &syntax.Ident{At: path[0].At, Name: path[0].Text}
	for _, n := range path[1:] {
		x = &syntax.Selector{At: syntax.At{Span: x.Place().To(n.Span)}, X: x, Name: n}
	}
	return x
}

// giveUp lowers the arguments of an invalid call, to report their own errors.
func (l *lowerer) giveUp(x *callExpr) ir.Expr {
	for _, a := range x.Args {
		if a != nil && a.X != nil {
			l.expr(a.X, nil)
		}
	}
	return bad(x.Span)
}

func (l *lowerer) callName(fun *syntax.Ident, x *callExpr, want *types.Type) ir.Expr {
	if v := l.scope.find(fun.Name); v != nil {
		l.saw(fun.Span, v)
		return l.callValue(&ir.Ref{Place: place(v.Type, fun.Span), Var: v}, x)
	}
	if fun.Name == "error" {
		l.saw(fun.Span, l.lookup(l.m, fun.Name))
		return l.makeError(x, fun.Span)
	}
	o := l.static(fun)
	if o == nil {
		l.undefined(fun)
		return l.giveUp(x)
	}
	return l.callObject(o, fun, x, want)
}

// callObject calls the object that a module's name stands for.
func (l *lowerer) callObject(o object, fun syntax.Expr, x *callExpr, want *types.Type) ir.Expr {
	switch o := o.(type) {
	case *function:
		return l.invoke(target{f: o, at: fun.Place()}, x, want)
	case *typeName:
		return l.construct(l.calledType(o, fun, x, want), x, fun.Place())
	case *types.Type:
		return l.construct(o, x, fun.Place())
	case *ir.Var:
		return l.callValue(l.moduleVar(o, fun.Place()), x)
	case *module:
		l.errorf("E0330", fun.Place(), "'%s' is a module, not a function", fun.Place().Text())
	}
	return l.giveUp(x)
}

// calledType is the type that a call constructs or converts to. The arguments of a generic type
// may come from the wanted type.
func (l *lowerer) calledType(tn *typeName, fun syntax.Expr, x *callExpr,
	want *types.Type) *types.Type {
	if len(x.TypeArgs) > 0 {
		return l.typeOf(l.env, &syntax.NamedType{At: syntax.At{Span: fun.Place()},
			Path: pathOf(fun), Args: x.TypeArgs})
	}
	if tn.structure != nil && !tn.builtin && len(tn.structure.TypeParams) > 0 &&
		!l.hinted(tn, want) {
		return l.inferred(tn, x, fun.Place())
	}
	return l.bareType(tn, fun.Place(), want)
}

// bareType is the type of a name without arguments.
func (l *lowerer) bareType(tn *typeName, at source.Span, want *types.Type) *types.Type {
	if l.hinted(tn, want) {
		return hint(want)
	}
	return l.namedType(tn, nil, at)
}

// hinted says whether tn declares the wanted type.
func (l *lowerer) hinted(tn *typeName, want *types.Type) bool {
	h := hint(want)
	return h != types.InvalidT && slices.Contains(l.owners(h), tn)
}

// inferred finds the arguments of a generic struct from the values of its fields, as for a generic
// function with these parameters.
func (l *lowerer) inferred(tn *typeName, x *callExpr, at source.Span) *types.Type {
	tree := tn.structure
	f := &function{module: tn.module, tree: &syntax.Func{At: tree.At, Name: tree.Name,
		TypeParams: tree.TypeParams}}
	for _, m := range tree.Members {
		if d, ok := m.(*syntax.VarDecl); ok && d.Type != nil {
			for _, n := range d.Names {
				f.tree.Params = append(f.tree.Params, &syntax.Param{At: n.At, Name: n,
					Type: d.Type})
			}
		}
	}
	known := make([]*types.Type, len(f.tree.Params))
	for i, a := range x.Args {
		if a == nil || a.X == nil {
			continue
		}
		if a.Name != nil {
			i = paramNamed(f.tree.Params, a.Name.Text)
		}
		if i >= 0 && i < len(known) {
			known[i] = l.expr(a.X, nil).Type()
		}
	}
	targs, ok := l.infer(f, nil, nil, known, nil, at)
	if !ok {
		return types.InvalidT
	}
	return l.namedType(tn, targs, at)
}

// pathOf returns an expression as a dotted name.
func pathOf(x syntax.Expr) []*syntax.Name {
	switch x := bare(x).(type) {
	case *syntax.Ident:
		return []*syntax.Name{{At: x.At, Text: x.Name}}
	case *syntax.Selector:
		return append(pathOf(x.X), x.Name)
	}
	return nil
}

func (l *lowerer) callMember(fun *syntax.Selector, x *callExpr, want *types.Type) ir.Expr {
	switch o := l.static(fun.X).(type) {
	case *module:
		l.noteLeft(fun.Name, left{module: o})
		if got := l.member(o, fun.Name); got != nil {
			return l.callObject(got, fun, x, want)
		}
		return l.giveUp(x)
	case *typeName:
		return l.callStatic(l.bareType(o, fun.X.Place(), want), fun, x, want)
	case *types.Type:
		return l.callStatic(o, fun, x, want)
	case *function:
		l.needsCall(fun.X.Place(), o)
		return l.giveUp(x)
	}
	v := l.expr(fun.X, nil)
	if broken(v) {
		return l.giveUp(x)
	}
	return l.callMethod(v, fun, x, want)
}

// callStatic calls a static function of a type, or makes a case of a union.
func (l *lowerer) callStatic(t *types.Type, fun *syntax.Selector, x *callExpr,
	want *types.Type) ir.Expr {
	if t == types.InvalidT || l.isOpen(t) {
		return l.giveUp(x)
	}
	l.noteLeft(fun.Name, left{t: t, static: true})
	if got := l.unionCase(t, fun.Name, x, x.Span); got != nil {
		return got
	}
	f := l.method(t, fun.Name.Text)
	if f == nil {
		if got := l.derivedFrom(t, fun, x); got != nil {
			return got
		}
		if got := l.derivedParse(t, fun, x); got != nil {
			return got
		}
		d := l.errorf("E0331", fun.Name.Span, "%s has no function '%s'", t, fun.Name.Text)
		l.suggest(d, fun.Name, append(staticNames(t), l.memberNames(t)...))
		return l.giveUp(x)
	}
	l.saw(fun.Name.Span, f)
	if !f.isStatic() {
		l.errorf("E0331", fun.Span, "'%s' is a method: call it on a value of type %s",
			fun.Name.Text, t)
		return l.giveUp(x)
	}
	return l.invoke(target{f: f, recv: t, at: fun.Name.Span}, x, want)
}

func (l *lowerer) callMethod(v ir.Expr, fun *syntax.Selector, x *callExpr,
	want *types.Type) ir.Expr {
	self := l.checker.value(v)
	t, name := self.Type(), fun.Name.Text
	l.noteLeft(fun.Name, left{t: t})
	if f := l.method(t, name); f != nil {
		l.saw(fun.Name.Span, f)
		if f.isStatic() {
			if !f.missingSelf() {
				l.errorf("E0331", fun.Name.Span, "'%s' belongs to the type: write %s.%s(..)", name,
					t, name)
			}
			return l.giveUp(x)
		}
		return l.invoke(target{f: f, recv: t, self: self, at: fun.Name.Span}, x, want)
	}
	if _, f, ok := l.fieldOf(t, name); ok {
		if f.Type.Deref().Kind == types.Func || l.method(f.Type, "call") != nil {
			return l.callValue(l.memberOf(self, fun), x)
		}
		l.errorf("E0335", fun.Name.Span, "'%s' is a field, %s: it cannot be called", name,
			article(f.Type))
		return l.giveUp(x)
	}
	switch {
	case name == "copy" && len(x.Args) == 0:
		l.note(l.m, fun.Name.Span, Use{Role: MethodName, Body: l.cur})
		return l.copyOf(self, x)
	case l.isOpen(t) || t == types.InvalidT:
		return l.giveUp(x)
	}
	if got := l.derivedTo(self, fun, x); got != nil {
		return got
	}
	d := l.errorf("E0331", fun.Name.Span, "%s has no method '%s'", t, name)
	switch {
	case t.Kind == types.Option || t.Kind == types.Result:
		d.Label = "it may have no value: take it with ?, else or match"
	case l.textOf(d, t, fun, x):
	default:
		if l.suggest(d, fun.Name, l.memberNames(t)); d.Fix == nil {
			eventsOf(d, t, fun.X.Place().Text())
		}
	}
	return l.giveUp(x)
}

// copyOf lowers x.copy(), which every copyable type has.
func (l *lowerer) copyOf(v ir.Expr, x *callExpr) ir.Expr {
	t := v.Type()
	if !l.isOpen(t) && !canCopy(t, nil) {
		d := l.errorf("E0408", x.Span, "%s cannot be copied", article(t))
		if t.Kind == types.Slice {
			d.Label = "to_vector() makes a vector of its elements"
		}
		return bad(x.Span)
	}
	return &ir.Copy{Place: place(t, x.Span), X: v}
}

// canCopy says whether t has a copy method. seen holds the types around it.
func canCopy(t *types.Type, seen map[*types.Type]bool) bool {
	switch t.Kind {
	case types.Vector, types.Set, types.Array, types.Option, types.Result:
		return canCopy(t.Elem, seen)
	case types.Map:
		return canCopy(t.Key, seen) && canCopy(t.Elem, seen)
	case types.Tuple:
		for _, e := range t.Elems {
			if !canCopy(e, seen) {
				return false
			}
		}
		return true
	case types.Named:
		return t.Def == nil || t.Def.Copyable || t.Def.Form != types.Native && partsCopy(t, seen)
	}
	return t.Copyable()
}

func partsCopy(t *types.Type, seen map[*types.Type]bool) bool {
	if seen[t] {
		return true
	}
	if seen == nil {
		seen = map[*types.Type]bool{}
	}
	seen[t] = true
	all := t.Def.Fields
	for _, c := range t.Def.Cases {
		all = append(all[:len(all):len(all)], c.Fields...)
	}
	for _, f := range all {
		if !canCopy(f.Type, seen) {
			return false
		}
	}
	return !t.Def.Emitter
}

// callValue calls a closure, a callback, or a value whose type has a method `call`.
func (l *lowerer) callValue(v ir.Expr, x *callExpr) ir.Expr {
	if broken(v) {
		return l.giveUp(x)
	}
	if t := v.Type(); t.Kind == types.Shared && t.Elem.Kind == types.Func {
		if args, ok := l.valueArgs(t.Elem, x); ok {
			return &ir.Post{Place: place(types.VoidT, x.Span), Fun: v, Args: args}
		}
		return bad(x.Span)
	}
	fun := l.checker.value(v)
	t := fun.Type()
	if t.Kind == types.Func {
		if args, ok := l.valueArgs(t, x); ok {
			return &ir.CallValue{Place: place(t.Elem, x.Span), Fun: fun, Args: args}
		}
		return bad(x.Span)
	}
	if f := l.method(t, "call"); f != nil && !f.isStatic() {
		return l.invoke(target{f: f, recv: t, self: fun, at: v.At()}, x, nil)
	}
	if !l.isOpen(t) && !broken(fun) {
		d := l.errorf("E0335", v.At(), "%s cannot be called", article(l.defaultType(fun).Type()))
		if r, ok := v.(*ir.Ref); ok && r.Var.Name != "" {
			d.Also = also(r.Var.Span, "'"+r.Var.Name+"' is declared here")
		}
	}
	return l.giveUp(x)
}

// valueArgs lowers the arguments of a closure, whose parameters have no names.
func (l *lowerer) valueArgs(t *types.Type, x *callExpr) ([]ir.Expr, bool) {
	if len(x.Args) != len(t.Elems) {
		l.errorf("E0333", x.Span, "%s takes %s, and here %s", t, count(len(t.Elems), "argument"),
			are(len(x.Args)))
		l.giveUp(x)
		return nil, false
	}
	var args []ir.Expr
	for i, a := range x.Args {
		if a.Name != nil {
			l.errorf("E0334", a.Name.Span, "a closure's arguments have no names")
		}
		args = append(args, l.argument(l.expr(a.X, t.Elems[i]), t.Elems[i], "this argument"))
	}
	return args, true
}
