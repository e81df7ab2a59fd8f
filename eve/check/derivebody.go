package check

import (
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// A routine is a derived function that is being written: t's from_json, of which v is the value, or
// its to_json or its text, of which v is the t.
type routine struct {
	*deriver
	t    *types.Type
	v    *ir.Var
	body *ir.Body
	out  *ir.Block // where statements are added
}

// function returns the function `name` of t, and makes it if necessary.
func (d *deriver) function(name string, t, param, result *types.Type,
	write func(*routine)) *ir.Func {
	id := d.home.id + "." + name + " of " + t.ID()
	if fn := d.instances[id]; fn != nil {
		return fn
	}
	fn := &ir.Func{Name: t.String() + "." + name, ID: id, Module: d.home.ir, Span: d.at,
		Result: result}
	d.instances[id] = fn
	d.home.ir.Funcs = append(d.home.ir.Funcs, fn)
	b := &ir.Body{Kind: ir.Function, Fn: fn, Result: result, Head: d.at, List: pointAt(d.at),
		Block: &ir.Block{Span: d.at}}
	fn.Body = b
	v := &ir.Var{Name: "v", Type: param, Kind: ir.Param, Body: b, Span: d.at}
	fn.Params = []*ir.Var{v}
	b.Params = fn.Params
	write(&routine{deriver: d, t: t, v: v, body: b, out: b.Block})
	return fn
}

// readParts writes the body of from_json.
func (d *deriver) readParts(r *routine) {
	if r.t.Kind == types.Named && r.t.Def.Form == types.Union {
		r.readCase()
		return
	}
	made := r.start("made", r.t)
	switch r.t.Kind {
	case types.Tuple:
		size := r.number(int64(len(r.t.Elems)))
		for i, e := range r.t.Elems {
			r.attempt(r.call("fill_element", []*types.Type{e}, r.ref(r.v), r.number(int64(i)), size,
				&ir.Element{Place: place(e, r.at), X: r.ref(made), Index: i}))
		}
	case types.Array:
		view := &ir.Cut{Place: place(r.universe.Slice(r.t.Elem), r.at), X: r.ref(made)}
		r.attempt(r.call("fill_all", []*types.Type{r.t.Elem}, r.ref(r.v), view))
	default:
		for i, f := range r.t.Def.Fields {
			key := keyOf(f)
			field := &ir.Field{Place: place(f.Type, r.at), X: r.ref(made), Index: i}
			r.attempt(r.call("fill", []*types.Type{f.Type}, r.ref(r.v), r.literal(key),
				r.literal("/"+key), field, r.truth(needed(f))))
		}
	}
	r.answer(r.ref(made))
}

// needed says whether an object must have a field: it has no default, and is not optional.
func needed(f types.Field) bool { return f.Default == nil && f.Type.Kind != types.Option }

// readCase writes the body of from_json of a union.
func (r *routine) readCase() {
	name := r.local("name", types.StringT)
	r.add(&ir.Declare{Mark: r.mark(), Var: name,
		Init: r.propagated(r.call("case_of", nil, r.ref(r.v)))})
	m := &ir.Match{Mark: r.mark(), X: r.ref(name)}
	var all []string
	for i, k := range r.t.Def.Cases {
		key := keyOf(types.Field{Name: k.Name})
		all = append(all, `"`+key+`"`)
		r.arm(m, &ir.Arm{Const: r.literal(key), Case: -1}, func() { r.readFields(i, key) })
	}
	r.arm(m, &ir.Arm{Any: true, Case: -1}, func() {
		wrong := r.call("no_case", nil, r.ref(name), r.literal(strings.Join(all, ", ")))
		r.add(&ir.Return{Mark: r.mark(),
			X: &ir.MakeError{Place: place(r.body.Result, r.at), X: wrong}})
	})
	r.add(m)
}

// readFields writes the arm for case i.
func (r *routine) readFields(i int, key string) {
	k := r.t.Def.Cases[i]
	made := &ir.MakeCase{Place: place(r.t, r.at), Case: i}
	if len(k.Fields) == 0 {
		r.attempt(r.call("bare_case", nil, r.ref(r.v)))
	}
	for _, f := range k.Fields {
		part, name := r.start(f.Name, f.Type), keyOf(f)
		r.attempt(r.call("fill_case", []*types.Type{f.Type}, r.ref(r.v), r.literal(key),
			r.literal(name), r.literal("/"+name), r.ref(part), r.truth(needed(f))))
		made.Fields = append(made.Fields, r.ref(part))
	}
	r.answer(made)
}

// writeParts writes the body of to_json.
func (d *deriver) writeParts(r *routine) {
	switch {
	case r.t.Kind == types.Tuple:
		items := r.start("items", r.universe.Vector(r.value))
		for i, e := range r.t.Elems {
			x := &ir.Element{Place: place(e, r.at), X: r.ref(r.v), Index: i}
			r.do(r.call("give_element", []*types.Type{e}, r.ref(items), x))
		}
		r.result(r.valueCase("list", r.ref(items)))
	case r.t.Def.Form == types.Union:
		m := &ir.Match{Mark: r.mark(), X: r.ref(r.v)}
		for i, k := range r.t.Def.Cases {
			a := &ir.Arm{Case: i}
			for _, f := range k.Fields {
				a.Vars = append(a.Vars, r.bound(f.Name, f.Type))
			}
			r.arm(m, a, func() { r.writeCase(keyOf(types.Field{Name: k.Name}), k.Fields, a.Vars) })
		}
		r.add(m)
	default:
		fields := r.start("fields", r.universe.Map(types.StringT, r.value))
		for i, f := range r.t.Def.Fields {
			x := &ir.Field{Place: place(f.Type, r.at), X: r.ref(r.v), Index: i}
			r.do(r.call("give", []*types.Type{f.Type}, r.ref(fields), r.literal(keyOf(f)), x))
		}
		r.result(r.valueCase("object", r.ref(fields)))
	}
}

// writeCase writes the arm for a case.
func (r *routine) writeCase(key string, fields []types.Field, vars []*ir.Var) {
	if len(fields) == 0 {
		r.result(r.valueCase("text", r.literal(key)))
		return
	}
	parts := r.start("parts", r.universe.Map(types.StringT, r.value))
	for i, f := range fields {
		r.do(r.call("give", []*types.Type{f.Type}, r.ref(parts), r.literal(keyOf(f)),
			r.ref(vars[i])))
	}
	r.result(r.call("full_case", nil, r.literal(key), r.ref(parts)))
}

func (r *routine) mark() ir.Mark { return ir.Mark{Span: r.at} }

func (r *routine) add(s ir.Stmt) { r.out.Stmts = append(r.out.Stmts, s) }

func (r *routine) local(name string, t *types.Type) *ir.Var {
	return &ir.Var{Name: name, Type: t, Kind: ir.Local, Body: r.body, Span: r.at}
}

// bound is a variable of an arm.
func (r *routine) bound(name string, t *types.Type) *ir.Var {
	v := r.local(name, t)
	v.Kind = ir.Bound
	return v
}

// start declares a variable, which starts as variables without a value do.
func (r *routine) start(name string, t *types.Type) *ir.Var {
	v := r.local(name, t)
	l := &lowerer{checker: r.checker}
	r.add(&ir.Declare{Mark: r.mark(), Var: v, Init: l.zeroOf(t, r.at)})
	return v
}

// arm adds an arm, whose statements write adds.
func (r *routine) arm(m *ir.Match, a *ir.Arm, write func()) {
	a.Span, a.Body = r.at, &ir.Block{Span: r.at}
	m.Arms = append(m.Arms, a)
	outer := r.out
	r.out = a.Body
	write()
	r.out = outer
}

func (r *routine) call(name string, targs []*types.Type, args ...ir.Expr) *ir.Call {
	fn := r.helper(name, targs...)
	return &ir.Call{Place: place(fn.Result, r.at), Fn: fn, Args: args}
}

func (r *routine) propagated(x ir.Expr) ir.Expr {
	return &ir.Propagate{Place: place(x.Type().Elem, r.at), X: x}
}

func (r *routine) do(x ir.Expr) { r.add(&ir.Do{Mark: r.mark(), X: x}) }

// attempt adds a call whose error ends the function.
func (r *routine) attempt(x ir.Expr) { r.do(r.propagated(x)) }

func (r *routine) result(x ir.Expr) { r.add(&ir.Return{Mark: r.mark(), X: x}) }

// answer returns x, which is the value of a result.
func (r *routine) answer(x ir.Expr) {
	r.result(&ir.Wrap{Place: place(r.body.Result, r.at), X: x})
}

// valueCase makes a json.value of the case.
func (r *routine) valueCase(name string, x ir.Expr) ir.Expr {
	n := &ir.MakeCase{Place: place(r.value, r.at), Fields: []ir.Expr{x}}
	for i, k := range r.value.Def.Cases {
		if k.Name == name {
			n.Case = i
		}
	}
	return n
}

func (d *deriver) ref(v *ir.Var) ir.Expr { return &ir.Ref{Place: place(v.Type, d.at), Var: v} }

func (d *deriver) literal(s string) *ir.Const {
	return &ir.Const{Place: place(types.StringT, d.at), Value: s}
}

func (d *deriver) number(n int64) ir.Expr {
	return &ir.Const{Place: place(types.IntT, d.at), Value: n}
}

func (d *deriver) truth(b bool) ir.Expr {
	return &ir.Const{Place: place(types.BoolT, d.at), Value: b}
}
