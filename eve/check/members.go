package check

import (
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// method returns the method of t with the name, also for T@ and T&; nil when there is none. The
// receiver type for instance and signature is t.Deref().
func (c *checker) method(t *types.Type, name string) *function {
	t = t.Deref()
	for _, owner := range c.owners(t) {
		if f := owner.methods[name]; f != nil {
			return f
		}
	}
	return nil
}

// owners returns the declarations that may have t's methods.
func (c *checker) owners(t *types.Type) []*typeName {
	switch t.Kind {
	case types.Vector:
		if t.Elem == types.CharT {
			return c.builtins("bytes", "vector")
		}
		return c.builtins("vector")
	case types.Array:
		return c.builtins("array")
	case types.Slice:
		return c.builtins("slice")
	case types.Map:
		return c.builtins("map")
	case types.Set:
		return c.builtins("set")
	case types.String:
		return c.builtins("string")
	case types.Duration:
		return c.builtins("duration")
	case types.Error:
		return c.builtins("error")
	case types.Named:
		own := c.decls[t]
		switch {
		case own == nil:
			return nil
		case t.Def.Emitter:
			return append([]*typeName{own}, c.builtins("emitter")...)
		}
		return []*typeName{own}
	case types.Param:
		if k := c.constraints[t]; k != nil && c.decls[k] != nil {
			return []*typeName{c.decls[k]}
		}
	}
	return nil
}

func (c *checker) builtins(names ...string) []*typeName {
	var all []*typeName
	for _, n := range names {
		if tn, ok := c.prelude.names[n].(*typeName); ok {
			all = append(all, tn)
		}
	}
	return all
}

// ownerArgs returns the arguments for the type parameters of the declaration that has t's methods.
func (c *checker) ownerArgs(t *types.Type) []*types.Type {
	switch t.Kind {
	case types.Vector, types.Array, types.Slice, types.Set:
		return []*types.Type{t.Elem}
	case types.Map:
		return []*types.Type{t.Key, t.Elem}
	case types.Named:
		return t.Args
	case types.Param:
		if k := c.constraints[t]; k != nil {
			return k.Args
		}
	}
	return nil
}

// fieldOf returns the field of the struct t with the name, also for T@ and T&.
func (c *checker) fieldOf(t *types.Type, name string) (index int, f types.Field, ok bool) {
	t = t.Deref()
	if t.Kind != types.Named || t.Def == nil || t.Def.Form == types.Union {
		return 0, types.Field{}, false
	}
	for i, f := range t.Def.Fields {
		if f.Name == name {
			return i, f, true
		}
	}
	return 0, types.Field{}, false
}

// isStatic says whether f belongs to a type but has no self.
func (f *function) isStatic() bool { return f.owner != nil && !f.hasSelf() }

// hasSelf says whether f's first parameter is self.
func (f *function) hasSelf() bool {
	return len(f.tree.Params) > 0 && isSelf(f.tree.Params[0])
}

func isSelf(p *syntax.Param) bool { return p.Name != nil && p.Name.Text == "self" && p.Type == nil }

// holdsHandle says whether a value of t contains handles.
func holdsHandle(t *types.Type) bool {
	switch t.Kind {
	case types.Shared:
		return true
	case types.Named:
		if t.Def == nil {
			return false
		}
		for _, f := range t.Def.Fields {
			if f.Type != t && holdsHandle(f.Type) {
				return true
			}
		}
		return t.Def.Form == types.Native && !t.Def.Copyable
	}
	for _, e := range t.Elems {
		if holdsHandle(e) {
			return true
		}
	}
	return t.Elem != nil && holdsHandle(t.Elem) || t.Key != nil && holdsHandle(t.Key)
}
