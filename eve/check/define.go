package check

import (
	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// opaqueArgs returns type parameters as types of their own, with the constraints of the
// declaration of tn. A constraint that its method f (may be nil) narrows is f's.
func (c *checker) opaqueArgs(tn *typeName, f *function) []*types.Type {
	var args []*types.Type
	e := &env{module: tn.module, params: map[string]*types.Type{}, opaque: true}
	for _, p := range tn.typeParams() {
		id, constraint := tn.id(), p.Constraint
		if f != nil {
			if n := f.narrowed()[p.Name.Text]; n != nil {
				id, constraint = f.id(), n.Constraint
			}
		}
		args = append(args, c.opaqueParam(e, id, p.Name, constraint))
	}
	return args
}

// opaqueParam returns the type parameter n of the declaration id, and adds it to e.
func (c *checker) opaqueParam(e *env, id string, n *syntax.Name,
	constraint syntax.Type) *types.Type {
	t := c.universe.Param(id, n.Text)
	e.params[n.Text] = t
	if constraint != nil && c.constraints[t] == nil {
		if k := c.constraint(e, constraint); k != nil {
			c.constraints[t] = k
		}
	}
	return t
}

// constraint returns the interface that t names. If it is not one, constraint reports that and
// returns nil.
func (c *checker) constraint(e *env, t syntax.Type) *types.Type {
	n, ok := t.(*syntax.NamedType)
	if !ok || len(n.Path) == 0 {
		c.diags.Errorf("E0505", t.Place(),
			"a constraint is ordered, equal, hashed, number, copyable or a type that has only "+
				"methods without bodies")
		return nil
	}
	tn := c.typeNamed(e.module, n.Path)
	if tn == nil {
		return nil
	}
	if !tn.isInterface() {
		c.diags.Errorf("E0505", t.Place(),
			"'%s' is not a constraint: it is not a type that has only methods without bodies",
			tn.name)
		return nil
	}
	var args []*types.Type
	for _, a := range n.Args {
		args = append(args, c.valueType(e, a))
	}
	k := c.namedType(tn, args, t.Place())
	if k.Kind == types.Invalid {
		return nil
	}
	return k
}

// envOf returns the meaning of type names in the declaration of tn for its arguments.
func (c *checker) envOf(tn *typeName, args []*types.Type) *env {
	e := &env{module: tn.module, params: map[string]*types.Type{}}
	for i, p := range tn.typeParams() {
		if i < len(args) {
			e.params[p.Name.Text] = args[i]
			e.opaque = e.opaque || c.hasParam(args[i])
		}
	}
	return e
}

// fits says whether the arguments satisfy the constraints of tn's type parameters. It reports
// those that do not.
func (c *checker) fits(tn *typeName, args []*types.Type, at source.Span) bool {
	e := c.envOf(tn, args)
	for i, p := range tn.typeParams() {
		if p.Constraint == nil {
			continue
		}
		k := c.quiet(func() *types.Type { return c.constraint(e, p.Constraint) })
		if k != nil && !c.satisfies(args[i], k) {
			c.unsatisfied(p.Name.Text, args[i], k, at)
			return false
		}
	}
	return true
}

// fillInstance is fillDef for an instance of a generic type. Its errors are reported at the place
// that uses the instance.
func (c *checker) fillInstance(tn *typeName, t *types.Type, at source.Span) {
	diags := c.diags
	mine := &diag.List{}
	c.diags = mine
	c.depth++
	c.fillDef(tn, t)
	c.diags = diags
	c.afterwards(func() { c.blame(mine, "'"+t.String()+"'", at) })
	c.depth--
	c.runLate()
}

// runLate runs the functions that waited until no named type was being filled.
func (c *checker) runLate() {
	for c.depth == 0 && len(c.late) > 0 {
		next := c.late[0]
		c.late = c.late[1:]
		next()
	}
}

// fillDef reads the declaration of t, which tn declares.
func (c *checker) fillDef(tn *typeName, t *types.Type) {
	def := &types.Def{Runtime: tn.runtime()}
	t.Def = def
	if tn.module != c.main && tn.module != c.prelude {
		def.Module = tn.module.ir.Name
	}
	if tn.isInterface() {
		def.Form = types.Interface
		return
	}
	c.depth++
	e := c.envOf(tn, t.Args)
	if tn.union != nil {
		c.fillUnion(tn, def, e)
	} else {
		c.fillStruct(tn, def, e)
	}
	c.depth--
	if !c.opaque[t] {
		tn.module.ir.Named = append(tn.module.ir.Named, t)
	}
	c.afterwards(func() { c.finite(tn, t); c.bounded(tn, t) })
	c.runLate()
}

func (c *checker) fillUnion(tn *typeName, def *types.Def, e *env) {
	def.Form = types.Union
	copyable := true
	for _, k := range tn.union.Cases {
		one := types.Case{Name: k.Name.Text}
		c.noteDeclared(tn, e, k.Name, Use{Role: CaseName})
		for _, p := range k.Fields {
			t := c.storedType(e, p.Type, "a union")
			c.noteDeclared(tn, e, p.Name, Use{Role: FieldName, Type: t})
			one.Fields = append(one.Fields, types.Field{Name: p.Name.Text, Type: t, Pub: true})
			copyable = copyable && t.Copyable()
		}
		def.Cases = append(def.Cases, one)
	}
	def.Copyable = copyable
}

func (c *checker) fillStruct(tn *typeName, def *types.Def, e *env) {
	def.Form = tn.form()
	copyable := true
	for _, m := range tn.structure.Members {
		v, ok := m.(*syntax.VarDecl)
		if !ok {
			continue
		}
		t := c.storedType(e, v.Type, "a field")
		copyable = copyable && t.Copyable()
		for _, n := range v.Names {
			def.Fields = append(def.Fields, types.Field{Name: n.Text, Type: t, Pub: v.Pub})
			c.noteDeclared(tn, e, n, Use{Role: FieldName, Type: t})
			c.fieldDefault(def, len(def.Fields)-1, v, e)
		}
	}
	def.Copyable = copyable
	if def.Form == types.Native {
		def.Copyable = copyableNatives[tn.name]
	}
	def.Emitter = tn.structure.IsEmitter
	if def.Emitter {
		def.Copyable = false
	}
	for _, x := range tn.structure.Emits {
		if event := c.event(def, e, x); event != nil {
			def.Emits = append(def.Emits, event)
		}
	}
}

// fieldDefault gives field i its initial value, once the types of all fields are known.
func (c *checker) fieldDefault(def *types.Def, i int, v *syntax.VarDecl, e *env) {
	init, t := v.Init, def.Fields[i].Type
	if v.Args != nil && init == nil {
		at := syntax.At{Span: v.Type.Place()}
		init = &syntax.Call{At: at, Fun: &syntax.TypeExpr{At: at, Type: objectType(v.Type)},
			Args: v.Args}
	}
	if init == nil {
		return
	}
	def.Fields[i].Default = c.zeroOf(t, init)
	c.afterwards(func() {
		want := t
		if t.Kind == types.Shared {
			want = t.Elem
		}
		x := c.coerce(c.initExpr(e.module, e, init, want), want)
		c.closed(x)
		def.Fields[i].Default = c.boxed(x, t)
	})
}

// event returns the event that an emitter emits.
func (c *checker) event(def *types.Def, e *env, x syntax.Type) *types.Event {
	t := c.typeOf(e, x)
	if t.Kind == types.Invalid {
		return nil
	}
	if t.Kind != types.Named && t.Kind != types.Error {
		c.diags.Errorf("E0311", x.Place(),
			"an event is a type declared with 'type', or error; %s is none", t)
		return nil
	}
	name := t.String()
	if t.Kind == types.Named {
		name = t.Name
	}
	for _, other := range def.Emits {
		if other.Name == name {
			c.diags.Errorf("E0201", x.Place(), "event '%s' is named twice", name)
			return nil
		}
	}
	return &types.Event{Name: name, Type: t}
}

// cases reports union cases, and fields of cases, that are declared twice.
func (c *checker) cases(tn *typeName) {
	if tn.union == nil {
		return
	}
	places := map[string]source.Span{}
	for _, k := range tn.union.Cases {
		if first, taken := places[k.Name.Text]; taken {
			c.twice(k.Name, first)
		} else {
			places[k.Name.Text] = k.Name.Span
		}
		c.params(k.Fields)
	}
}

// params reports parameters declared twice.
func (c *checker) params(params []*syntax.Param) {
	places := map[string]source.Span{}
	for _, p := range params {
		if p.Name == nil {
			continue
		}
		if first, taken := places[p.Name.Text]; taken {
			c.twice(p.Name, first)
		} else {
			places[p.Name.Text] = p.Name.Span
		}
	}
}

// unsatisfied reports a type argument that does not satisfy its constraint.
func (c *checker) unsatisfied(param string, t, constraint *types.Type, at source.Span) {
	d := c.diags.Errorf("E0501", at, "%s = %s is not %s: %s", param, t, constraint,
		c.lack(t, constraint))
	oneConstraint(d, t)
}

// oneConstraint explains how to change a type parameter that has another constraint.
func oneConstraint(d *diag.Diagnostic, t *types.Type) {
	if t.Kind == types.Param {
		d.Label = "leave out the constraint of " + t.Name + ": each use is checked then"
	}
}

// quiet runs f and drops its diagnostics.
func (c *checker) quiet(f func() *types.Type) *types.Type {
	diags := c.diags
	c.diags = &diag.List{}
	defer func() { c.diags = diags }()
	return f()
}
