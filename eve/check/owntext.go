package check

import (
	"cmp"
	"fmt"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// A type with a method `text: (self) string` has an own text: formats call the method. A container,
// struct or union with such values in it gets a function that writes its text part by part. The
// passes behind this one see calls. They need them, since a text may fail, take long or start
// tasks, and need to know nothing else of own texts.

const textMethod = "text"

// plainPart is the format %v without a width.
var plainPart = ir.FormatPart{Verb: 'v', Width: -1, Prec: -1}

// ownText returns the method that makes the text of a t; nil if t has none. A method of this name
// with another form, such as one that can fail or has a permission list, is not it.
func (c *checker) ownText(t *types.Type) *function {
	if t.Kind != types.Named || t.Def == nil {
		return nil
	}
	f := c.method(t, textMethod)
	if f == nil || !f.onlySelf() || c.signature(f, t, nil).result != types.StringT {
		return nil
	}
	return f
}

// onlySelf says whether f has the form (self) R: no permissions, no other parameter, and a result
// that comes at once.
func (f *function) onlySelf() bool {
	t := f.tree
	return f.hasSelf() && len(t.Params) == 1 && !t.Params[0].Take && len(t.TypeParams) == 0 &&
		(t.Perms == nil || len(t.Perms.Entries) == 0) && t.Result != nil && !t.Async && !t.Broken
}

// MakesText says whether a method that is declared with its name at decl makes the texts of its
// type's values if it is called `name`: formats call a method `text: (self) string`.
func (x *Index) MakesText(decl source.Span, name string) bool {
	m := x.modules[decl.File]
	if m == nil || name != textMethod {
		return false
	}
	for _, o := range m.names {
		tn, ok := o.(*typeName)
		if !ok {
			continue
		}
		if f := tn.methods[decl.Text()]; f != nil && f.tree.Name.Span == decl {
			return f.onlySelf() && f.tree.Result.Place().Text() == types.StringT.Name
		}
	}
	return false
}

// textWithin returns ownText of t, or of the first type in it that has one.
func (c *checker) textWithin(t *types.Type) *function {
	seen := map[*types.Type]bool{}
	var find func(t *types.Type) *function
	find = func(t *types.Type) *function {
		if seen[t] {
			return nil
		}
		seen[t] = true
		if f := c.ownText(t); f != nil {
			return f
		}
		for _, p := range partTypes(t) {
			if f := find(p); f != nil {
				return f
			}
		}
		return nil
	}
	return find(t)
}

// partTypes returns the types of the values that are directly in a t. Handles are not followed.
func partTypes(t *types.Type) []*types.Type {
	switch t.Kind {
	case types.Vector, types.Array, types.Slice, types.Set, types.Option, types.Result:
		return []*types.Type{t.Elem}
	case types.Map:
		return []*types.Type{t.Key, t.Elem}
	case types.Tuple:
		return t.Elems
	}
	if t.Kind != types.Named || t.Def == nil {
		return nil
	}
	var all []*types.Type
	for _, f := range t.Def.Fields {
		all = append(all, f.Type)
	}
	for _, k := range t.Def.Cases {
		for _, f := range k.Fields {
			all = append(all, f.Type)
		}
	}
	return all
}

// withText returns p with a call that makes the text of its value, if own texts belong to it. The
// value has a text. In a generic that is checked as such the value stays: its text is that of the
// instance.
func (c *checker) withText(p ir.FormatPart) ir.FormatPart {
	t := p.X.Type()
	if c.hasParam(t) {
		return p
	}
	if f := c.ownText(t); f != nil {
		p.X = textBy(c.instance(f, t, nil, p.X.At()), p.X)
		return p
	}
	f := c.textWithin(t)
	if f == nil {
		return p
	}
	d := &deriver{checker: c, home: f.module, at: f.tree.Name.Span}
	how := elementFormat(p)
	name := textMethod
	if how != plainPart {
		name += fmt.Sprintf(" %%%d, left %v, zeros %v", how.Width, how.Left, how.ZeroPad)
	}
	fn := d.function(name, t, t, types.StringT, func(r *routine) { r.writeText(how) })
	whole := plainPart
	whole.X = textBy(fn, p.X)
	return whole
}

// textBy is the call of a function that makes the text of x.
func textBy(fn *ir.Func, x ir.Expr) ir.Expr {
	return &ir.Call{Place: place(types.StringT, x.At()), Fn: fn, Args: []ir.Expr{x}}
}

// elementFormat is the format of the elements of a value with the format p.
func elementFormat(p ir.FormatPart) ir.FormatPart {
	how := plainPart
	if p.Width >= 0 {
		how.Width, how.Left, how.ZeroPad = p.Width, p.Left, p.ZeroPad
	}
	return how
}

// ofItself says whether x is the self of the method that makes its text: a format of it would call
// that method again and again.
func (l *lowerer) ofItself(x ir.Expr, own *function) bool {
	d, ok := x.(*ir.Deref)
	if !ok || own == nil || l.fn == nil {
		return false
	}
	r, ok := d.X.(*ir.Ref)
	return ok && r.Var.Kind == ir.Self && l.fn.ID == instanceID(own, x.Type(), nil)
}

// textOfSelf reports a text that is made of itself.
func (l *lowerer) textOfSelf(t *types.Type, at source.Span) ir.Expr {
	d := l.errorf("E0349", at, "this method makes the text of %s, and would call itself",
		article(t))
	d.Label = "write the parts of self"
	return bad(at)
}

// writeText writes the function that makes the text of r.t, as the runtime's formatter does, with
// how as the format of elements.
func (r *routine) writeText(how ir.FormatPart) {
	switch r.t.Kind {
	case types.Set, types.Map:
		r.textOfEach("{", "}", how)
	case types.Option:
		none := how
		none.X = r.literal("none")
		r.textOfEither(r.textOf(none), nil, how)
	case types.Result:
		why := r.bound("why", types.ErrorT)
		r.textOfEither(r.textOf(r.shown(r.ref(why), how)), why, how)
	case types.Tuple:
		parts := []ir.FormatPart{{Text: "("}}
		for i, e := range r.t.Elems {
			if i > 0 {
				parts = append(parts, ir.FormatPart{Text: ", "})
			}
			x := &ir.Element{Place: place(e, r.at), X: r.ref(r.v), Index: i}
			parts = append(parts, r.shown(x, how))
		}
		r.result(r.textOf(append(parts, ir.FormatPart{Text: ")"})...))
	case types.Named:
		r.textOfNamed()
	default:
		r.textOfEach("[", "]", how)
	}
}

// textOfEach writes the text of a container, whose elements commas separate.
func (r *routine) textOfEach(head, tail string, how ir.FormatPart) {
	t := r.t.Elem
	if r.t.Kind == types.Map {
		t = r.universe.Tuple(r.t.Key, r.t.Elem)
	}
	texts, e := r.start("texts", r.universe.Vector(types.StringT)), r.local("e", t)
	e.Kind = ir.Loop
	parts := []ir.FormatPart{}
	if r.t.Kind == types.Map {
		key := &ir.Element{Place: place(r.t.Key, r.at), X: r.ref(e), Index: 0}
		value := &ir.Element{Place: place(r.t.Elem, r.at), X: r.ref(e), Index: 1}
		parts = append(parts, r.shown(key, how), ir.FormatPart{Text: ": "}, r.shown(value, how))
	} else {
		parts = append(parts, r.shown(r.ref(e), how))
	}
	push := r.instance(r.method(texts.Type, "push"), texts.Type, nil, r.at)
	add := &ir.Call{Place: place(types.VoidT, r.at), Fn: push,
		Args: []ir.Expr{r.ref(texts), r.textOf(parts...)}}
	r.add(&ir.ForIn{Mark: r.mark(), Var: e, X: r.ref(r.v),
		Body: &ir.Block{Span: r.at, Stmts: []ir.Stmt{&ir.Do{Mark: r.mark(), X: add}}}})
	all := plainPart
	all.X = &ir.Call{Place: place(types.StringT, r.at),
		Fn:   r.instance(r.prelude.names["join"].(*function), nil, nil, r.at),
		Args: []ir.Expr{r.ref(texts), r.literal(", ")}}
	r.result(r.textOf(ir.FormatPart{Text: head}, all, ir.FormatPart{Text: tail}))
}

// textOfEither writes the text of an option or result: that of its value, or else missing. why is
// the error of a result.
func (r *routine) textOfEither(missing ir.Expr, why *ir.Var, how ir.FormatPart) {
	m := &ir.Match{Mark: r.mark(), X: r.ref(r.v)}
	without := &ir.Arm{Case: 0}
	if why != nil {
		without.Vars = []*ir.Var{why}
	}
	r.arm(m, without, func() { r.result(missing) })
	x := r.bound("x", r.t.Elem)
	r.arm(m, &ir.Arm{Case: 1, Vars: []*ir.Var{x}},
		func() { r.result(r.textOf(r.shown(r.ref(x), how))) })
	r.add(m)
}

// textOfNamed writes the text of a struct or union without an own text. The format of the whole
// is not that of its fields.
func (r *routine) textOfNamed() {
	def := r.t.Def
	if def.Form != types.Union {
		var fields []ir.Expr
		for i, f := range def.Fields {
			fields = append(fields, &ir.Field{Place: place(f.Type, r.at), X: r.ref(r.v), Index: i})
		}
		r.result(r.textOfFields(r.t.Name, def.Fields, fields))
		return
	}
	m := &ir.Match{Mark: r.mark(), X: r.ref(r.v)}
	for i, k := range def.Cases {
		a, fields := &ir.Arm{Case: i}, []ir.Expr{}
		for _, f := range k.Fields {
			v := r.bound(cmp.Or(f.Name, "field"), f.Type)
			a.Vars, fields = append(a.Vars, v), append(fields, r.ref(v))
		}
		r.arm(m, a, func() { r.result(r.textOfFields(k.Name, k.Fields, fields)) })
	}
	r.add(m)
}

func (r *routine) textOfFields(name string, fields []types.Field, values []ir.Expr) ir.Expr {
	var parts []ir.FormatPart
	before, end := types.TextParts(name, fields)
	for i, v := range values {
		parts = append(parts, ir.FormatPart{Text: before[i]}, r.shown(v, plainPart))
	}
	return r.textOf(append(parts, ir.FormatPart{Text: end})...)
}

// shown is the part that writes x.
func (r *routine) shown(x ir.Expr, how ir.FormatPart) ir.FormatPart {
	how.X = x
	return r.withText(how)
}

func (r *routine) textOf(parts ...ir.FormatPart) ir.Expr {
	return &ir.Format{Place: place(types.StringT, r.at), Parts: parts}
}
