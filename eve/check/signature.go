package check

import (
	"strings"

	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A signature is the part of a function that a call needs: its types for one list of type
// arguments.
type signature struct {
	env    *env
	self   *types.Type // of a method: T&; nil for functions and static functions
	params []param     // without self
	result *types.Type
	format bool // the last parameter is `format: string`: the printf rule
}

// A param is a parameter of a signature.
type param struct {
	name string
	t    *types.Type
	take bool
	tree *syntax.Param // for its default, which is checked in the signature's env
}

// id distinguishes functions of one name.
func (f *function) id() string {
	if f.owner != nil {
		return f.owner.id() + "." + f.tree.Name.Text
	}
	return f.module.id + "." + f.tree.Name.Text
}

// fullName is the name for users: "account.add".
func (f *function) fullName() string {
	if f.owner != nil {
		return f.owner.name + "." + f.tree.Name.Text
	}
	return f.tree.Name.Text
}

// typeParams returns f's own type parameters. Those of its owner, narrowed or not, are not among
// them.
func (f *function) typeParams() []*syntax.TypeParam {
	narrowed := f.narrowed()
	if len(narrowed) == 0 {
		return f.tree.TypeParams
	}
	var own []*syntax.TypeParam
	for _, p := range f.tree.TypeParams {
		if narrowed[p.Name.Text] == nil {
			own = append(own, p)
		}
	}
	return own
}

// narrowed returns the type parameters of f's owner whose constraints f narrows: `sort: <type T:
// ordered>`.
func (f *function) narrowed() map[string]*syntax.TypeParam {
	if f.owner == nil || len(f.tree.TypeParams) == 0 {
		return nil
	}
	narrowed := map[string]*syntax.TypeParam{}
	for _, p := range f.tree.TypeParams {
		for _, o := range f.owner.typeParams() {
			if o.Name.Text == p.Name.Text {
				narrowed[p.Name.Text] = p
			}
		}
	}
	return narrowed
}

// ownParams returns f's own type parameters as types of their own.
func (c *checker) ownParams(f *function) []*types.Type {
	var args []*types.Type
	e := &env{module: f.module, params: map[string]*types.Type{}, opaque: true}
	if f.owner != nil {
		for i, t := range c.opaqueArgs(f.owner, f) {
			e.params[f.owner.typeParams()[i].Name.Text] = t
		}
	}
	for _, p := range f.typeParams() {
		args = append(args, c.opaqueParam(e, f.id(), p.Name, p.Constraint))
	}
	return args
}

// envFor returns the meaning of type names in f.
func (c *checker) envFor(f *function, recv *types.Type, targs []*types.Type) *env {
	e := &env{module: f.module, params: map[string]*types.Type{}}
	if f.owner != nil && recv != nil {
		e = c.envOf(f.owner, c.ownerArgs(recv))
		if f.owner.isInterface() {
			e.iface, e.self = f.owner, recv
		}
		e.opaque = e.opaque || c.hasParam(recv)
	}
	for i, p := range f.typeParams() {
		t := types.InvalidT
		if i < len(targs) {
			t = targs[i]
		}
		e.params[p.Name.Text] = t
		e.opaque = e.opaque || c.hasParam(t)
	}
	return e
}

// signature returns the types of f for a receiver (nil for functions) and f's own type arguments.
func (c *checker) signature(f *function, recv *types.Type, targs []*types.Type) *signature {
	id := instanceID(f, recv, targs)
	if s := c.signatures[id]; s != nil {
		return s
	}
	s := &signature{env: c.envFor(f, recv, targs), result: types.VoidT}
	c.signatures[id] = s
	if f.hasSelf() && recv != nil {
		s.self = c.universe.Ref(recv)
	}
	for i, p := range f.tree.Params {
		if i == 0 && f.hasSelf() {
			continue
		}
		t := types.InvalidT
		if p.Type != nil {
			t = c.valueType(s.env, p.Type)
		}
		name := ""
		if p.Name != nil {
			name = p.Name.Text
		}
		s.params = append(s.params, param{name: name, t: t, take: p.Take, tree: p})
	}
	if n := len(s.params); n > 0 {
		s.format = s.params[n-1].name == "format" && s.params[n-1].t == types.StringT
	}
	if f.tree.Result != nil {
		s.result = c.typeOf(s.env, f.tree.Result)
	}
	return s
}

func instanceID(f *function, recv *types.Type, targs []*types.Type) string {
	var b strings.Builder
	b.WriteString(f.id())
	if recv != nil {
		b.WriteString(" of " + recv.ID())
	}
	for i, t := range targs {
		b.WriteString([]string{" with ", ", "}[min(i, 1)] + t.ID())
	}
	return b.String()
}
