package check

import (
	"strconv"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// expr lowers x. want is a hint, nil for none: literals and closures take this type, but nothing
// is converted to it. Handles and references are not read yet.
func (l *lowerer) expr(x syntax.Expr, want *types.Type) ir.Expr {
	switch x := x.(type) {
	case *syntax.Ident:
		return l.ident(x, want)
	case *syntax.Lit:
		return l.lit(x)
	case *syntax.FString:
		return l.fstring(x)
	case *syntax.ListLit:
		return l.listLit(x, want)
	case *syntax.TupleLit:
		return l.tupleLit(x, want)
	case *syntax.Paren:
		if x.X == nil {
			return bad(x.Span)
		}
		return l.expr(x.X, want)
	case *syntax.Unary:
		return l.unaryExpr(x, want)
	case *syntax.Binary:
		return l.binaryExpr(x, want)
	case *syntax.ElseExpr:
		return l.elseExpr(x, want)
	case *syntax.Propagate:
		return l.propagate(x, want)
	case *syntax.Call:
		return l.call(x, want)
	case *syntax.TypeExpr:
		l.errorf("E0330", x.Span, "a type is not a value")
	case *syntax.Selector:
		return l.selector(x)
	case *syntax.Index:
		return l.index(x)
	case *syntax.Lambda:
		return l.lambda(x, want)
	case *syntax.BadExpr:
	}
	if x == nil {
		return bad(source.Span{})
	}
	return bad(x.Place())
}

// fitted lowers x and converts it to the type.
func (l *lowerer) fitted(x syntax.Expr, t *types.Type) ir.Expr {
	got := l.expr(x, t)
	if broken(got) || t == nil || t == types.InvalidT {
		return got
	}
	if got.Type() == types.VoidT {
		l.errorf("E0300", x.Place(), "this has no value, and %s is needed", article(t))
		return bad(x.Place())
	}
	return l.coerce(got, t)
}

// plain lowers x and reads it: the result is never a handle or an untyped constant.
func (l *lowerer) plain(x syntax.Expr) ir.Expr {
	return l.defaultType(l.checker.value(l.expr(x, nil)))
}

func (l *lowerer) ident(x *syntax.Ident, want *types.Type) ir.Expr {
	if v := l.scope.find(x.Name); v != nil {
		l.saw(x.Span, v)
		return &ir.Ref{Place: place(v.Type, x.Span), Var: v}
	}
	o := l.lookup(l.m, x.Name)
	l.saw(x.Span, o)
	switch o := o.(type) {
	case *ir.Var:
		return l.moduleVar(o, x.Span)
	case *function:
		return l.functionValue(o, x, want)
	case *typeName:
		l.errorf("E0330", x.Span, "'%s' is a type, not a value", x.Name)
	case *module:
		l.errorf("E0330", x.Span, "'%s' is a module, not a value", x.Name)
	default:
		l.undefined(x)
	}
	return bad(x.Span)
}

// moduleVar makes a reference to a global or constant, whose type may be unknown after an error.
func (l *lowerer) moduleVar(v *ir.Var, at source.Span) ir.Expr {
	if v.Type == nil {
		return bad(at)
	}
	return &ir.Ref{Place: place(v.Type, at), Var: v}
}

// undefined reports an unknown name. In a method it may be a field or method of self.
func (l *lowerer) undefined(x *syntax.Ident) {
	if l.env != nil && l.env.params[x.Name] != nil {
		l.errorf("E0330", x.Span, "'%s' is a type, not a value", x.Name)
		return
	}
	self := l.scope.find("self")
	if x.Name == "self" {
		l.fixSelf(l.errorf("E0202", x.Span,
			"there is no self here: only methods that have it as their first parameter do"))
		return
	}
	if self != nil && self.Kind == ir.Self {
		_, _, isField := l.fieldOf(self.Type, x.Name)
		if isField || l.method(self.Type, x.Name) != nil {
			d := l.errorf("E0202", x.Span, "nothing is called '%s' here", x.Name)
			l.fixText(d, x.Span, "self."+x.Name, "members are named through self")
			return
		}
	}
	if l.fn != nil && l.fn.Static && l.fn.Recv != nil {
		if _, _, isField := l.fieldOf(l.fn.Recv, x.Name); isField {
			d := l.errorf("E0202", x.Span, "nothing is called '%s' here", x.Name)
			d.Label = "a method that reads fields has self as its first parameter: self." + x.Name
			return
		}
	}
	said := l.diags.Len()
	l.unknown(l.m, x.Name, x.Span, l.scope.names()...)
	if at, ok := l.ended[x.Name]; ok && l.diags.Since(said) != nil {
		d := l.diags.Since(said)
		d.Also = append(d.Also, diag.Label{Span: at,
			Text: "the block of this one has ended: declare it before the block"})
	}
}

// static returns the object that x names, if x is not a value: *module, *typeName, *function,
// *types.Type (a type parameter or a type with arguments), or the *ir.Var of a module. It reports
// only that a module has no such member.
func (l *lowerer) static(x syntax.Expr) object {
	switch x := x.(type) {
	case *syntax.Ident:
		if l.scope.find(x.Name) != nil {
			return nil
		}
		if l.env != nil && l.env.params[x.Name] != nil {
			l.noteTypeParam(l.m, &syntax.Name{At: x.At, Text: x.Name})
			return l.env.params[x.Name]
		}
		switch o := l.lookup(l.m, x.Name).(type) {
		case *module, *typeName, *function, *ir.Var:
			l.saw(x.Span, o)
			return o
		}
		if t := basicType(x.Name); t != nil {
			return t
		}
	case *syntax.Selector:
		// a module has no modules as members, so a longer chain names a value
		id, ok := x.X.(*syntax.Ident)
		if !ok || x.Name == nil {
			return nil
		}
		if m, ok := l.static(id).(*module); ok {
			l.noteLeft(x.Name, left{module: m})
			if o := l.member(m, x.Name); o != nil {
				return o
			}
			return types.InvalidT
		}
	case *syntax.TypeExpr:
		return l.typeOf(l.env, x.Type)
	}
	return nil
}

// selector is a field, a tuple's element, a module's variable or a union's case without fields.
func (l *lowerer) selector(x *syntax.Selector) ir.Expr {
	if x.X == nil || x.Name == nil {
		return bad(x.Span)
	}
	switch o := l.static(x.X).(type) {
	case *module:
		l.noteLeft(x.Name, left{module: o})
		return l.moduleMember(x, l.member(o, x.Name))
	case *typeName:
		return l.typeMember(x, l.bareType(o, x.X.Place(), nil))
	case *types.Type:
		return l.typeMember(x, o)
	case *function:
		l.needsCall(x.X.Place(), o)
		return bad(x.Span)
	}
	v := l.expr(x.X, nil)
	if broken(v) {
		return bad(x.Span)
	}
	return l.memberOf(l.checker.value(v), x)
}

func (l *lowerer) moduleMember(x *syntax.Selector, o object) ir.Expr {
	switch o := o.(type) {
	case *ir.Var:
		return l.moduleVar(o, x.Span)
	case *function:
		l.needsCall(x.Span, o)
	case *typeName, *module:
		l.errorf("E0330", x.Span, "'%s' is not a value", x.Span.Text())
	}
	return bad(x.Span)
}

// typeMember is the member of a type without a call: a case without fields.
func (l *lowerer) typeMember(x *syntax.Selector, t *types.Type) ir.Expr {
	if t == types.InvalidT {
		return bad(x.Span)
	}
	l.noteLeft(x.Name, left{t: t, static: true})
	if got := l.unionCase(t, x.Name, nil, x.Span); got != nil {
		return got
	}
	if f := l.method(t, x.Name.Text); f != nil {
		l.saw(x.Name.Span, f)
		l.needsCall(x.Span, f)
		return bad(x.Span)
	}
	d := l.errorf("E0331", x.Name.Span, "%s has no '%s'", t, x.Name.Text)
	if l.suggest(d, x.Name, staticNames(t)); d.Fix == nil && len(staticNames(t)) > 0 {
		d.Label = "its cases: " + strings.Join(staticNames(t), ", ")
	}
	return bad(x.Span)
}

// needsCall reports a function that is named but not called.
func (l *lowerer) needsCall(at source.Span, f *function) {
	d := l.errorf("E0332", at, "'%s' is a function: call it with parentheses", f.tree.Name.Text)
	if len(f.tree.Params) == 0 || len(f.tree.Params) == 1 && f.tree.Params[0].Name != nil &&
		f.tree.Params[0].Name.Text == "self" {
		l.fixText(d, pointAfter(at), "()", "")
		d.Fix.Text = "write " + at.Text() + "()"
	}
}

// memberOf is a field or element of the value v.
func (l *lowerer) memberOf(v ir.Expr, x *syntax.Selector) ir.Expr {
	t, name := v.Type(), x.Name.Text
	if broken(v) || l.isOpen(t) {
		return bad(x.Span)
	}
	l.noteLeft(x.Name, left{t: t})
	if t.Kind == types.Tuple {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(t.Elems) {
			l.errorf("E0331", x.Name.Span, "%s has the elements .0 to .%d", t, len(t.Elems)-1)
			return bad(x.Span)
		}
		return &ir.Element{Place: place(t.Elems[i], x.Span), X: v, Index: i}
	}
	if i, f, ok := l.fieldOf(t, name); ok {
		l.noteField(l.m, x.Name, t, f.Type)
		return &ir.Field{Place: place(f.Type, x.Span), X: v, Index: i}
	}
	if f := l.method(t, name); f != nil {
		l.saw(x.Name.Span, f)
		l.needsCall(x.Span, f)
		return bad(x.Span)
	}
	d := l.errorf("E0331", x.Name.Span, "%s has no field '%s'", t, name)
	if t.Kind == types.Option || t.Kind == types.Result {
		d.Label = "it may have no value: take it with ?, else or match"
		return bad(x.Span)
	}
	if l.suggest(d, x.Name, l.memberNames(t)); d.Fix == nil && t.Def != nil &&
		t.Def.Form == types.Union {
		d.Label = "it is one of several cases: match takes the fields of each"
	}
	return bad(x.Span)
}

func (l *lowerer) index(x *syntax.Index) ir.Expr {
	if x.X == nil || x.I == nil {
		return bad(x.Span)
	}
	v := l.checker.value(l.expr(x.X, nil))
	t := v.Type()
	cut, isCut := bare(x.I).(*syntax.Binary)
	if isCut = isCut && cut.Op == ".."; isCut && !broken(v) {
		return l.cut(v, cut, x.Span)
	}
	if broken(v) || l.isOpen(t) {
		l.expr(x.I, nil)
		return bad(x.Span)
	}
	key, elem := types.IntT, t.Elem
	switch t.Kind {
	case types.Vector, types.Array, types.Slice:
	case types.String:
		elem = types.CharT
	case types.Map:
		key = t.Key
	default:
		d := l.errorf("E0338", x.X.Place(), "%s cannot be indexed", article(t))
		if t.Kind == types.Tuple {
			d.Label = "an element of a tuple is written .0"
		}
		return bad(x.Span)
	}
	i := l.fitted(x.I, key)
	if broken(i) {
		return bad(x.Span)
	}
	if c := l.fold(i); c != nil && t.Kind == types.Array {
		if n, ok := c.Value.(int64); ok && (n < 0 || n >= t.Len) {
			l.errorf("E0358", x.I.Place(), "index %d is outside %s", n, t)
		}
	}
	return &ir.Index{Place: place(elem, x.Span), X: v, I: i}
}

func (l *lowerer) cut(v ir.Expr, r *syntax.Binary, at source.Span) ir.Expr {
	n := &ir.Cut{X: v}
	t := v.Type()
	switch t.Kind {
	case types.Vector, types.Array, types.Slice:
		n.Place = place(l.universe.Slice(t.Elem), at)
	case types.String:
		n.Place = place(t, at)
	default:
		if !l.isOpen(t) {
			l.errorf("E0338", v.At(), "%s cannot be cut", article(t))
		}
		return bad(at)
	}
	if r.X != nil {
		n.Lo = l.fitted(r.X, types.IntT)
	}
	if r.Y != nil {
		n.Hi = l.fitted(r.Y, types.IntT)
	}
	return n
}

// elseExpr is `e else d`: the value of an option or result, or d.
func (l *lowerer) elseExpr(x *syntax.ElseExpr, want *types.Type) ir.Expr {
	if x.X == nil || x.Default == nil {
		return bad(x.Span)
	}
	v := l.checker.value(l.expr(x.X, nil))
	t := v.Type()
	if broken(v) {
		l.expr(x.Default, want)
		return bad(x.Span)
	}
	if t.Kind != types.Option && t.Kind != types.Result {
		d := l.errorf("E0350", x.X.Place(),
			"else needs a value that may be missing, and this is %s", article(t))
		d.Label = "it is always there"
		return bad(x.Span)
	}
	if nothing(t) {
		l.errorf("E0350", x.X.Place(), "there is no value here that else could replace: use match")
		return bad(x.Span)
	}
	d := l.fitted(x.Default, t.Elem)
	if broken(d) {
		return bad(x.Span)
	}
	return &ir.Else{Place: place(t.Elem, x.Span), X: v, Default: d}
}

// propagate lowers `e?`: the value, or else a return with the none or the error.
func (l *lowerer) propagate(x *syntax.Propagate, want *types.Type) ir.Expr {
	if x.X == nil {
		return bad(x.Span)
	}
	v := l.checker.value(l.expr(x.X, nil))
	t := v.Type()
	if broken(v) {
		return bad(x.Span)
	}
	at := pointAfter(x.X.Place()).To(x.Span)
	if t == types.ErrorT && l.held == "" && l.result.Kind == types.Result {
		return l.propagateError(v, x, want)
	}
	if t.Kind != types.Option && t.Kind != types.Result {
		l.errorf("E0350", x.Span, "? needs a value that may be missing, and this is %s", article(t))
		return bad(x.Span)
	}
	if l.result.Kind != t.Kind && l.result != types.InvalidT {
		d := l.errorf("E0350", at, "? would return %s, and here %s is returned", missing(t),
			resultText(l.result))
		d.Label = "write else, or match"
		if t.Kind == types.Option && l.result.Kind == types.Result {
			d.Label = "else turns none into an error: " + x.X.Place().Text() +
				" else error(\"..\")?"
		}
		return bad(x.Span)
	}
	if l.held != "" {
		l.errorf("E0343", at, "? would leave a %s", l.held)
		return bad(x.Span)
	}
	return &ir.Propagate{Place: place(t.Elem, x.Span), X: v}
}

// propagateError lowers `error(..)?`. It always returns the error, and may stand where any type is
// wanted.
func (l *lowerer) propagateError(v ir.Expr, x *syntax.Propagate, want *types.Type) ir.Expr {
	if want == nil || want.Kind == types.Ref || want.Kind == types.Slice || want == types.VoidT {
		want = l.result.Elem
	}
	failed := &ir.MakeError{Place: place(l.universe.Result(want), v.At()), X: v}
	return &ir.Propagate{Place: place(want, x.Span), X: failed}
}

func missing(t *types.Type) string {
	if t.Kind == types.Option {
		return "none"
	}
	return "an error"
}

func resultText(t *types.Type) string {
	if t == types.VoidT {
		return "nothing"
	}
	return article(t)
}
