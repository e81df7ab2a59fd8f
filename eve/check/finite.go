package check

import (
	"strings"

	"interleave/eve/syntax"
	"interleave/eve/types"
)

// finite reports a type that contains itself by value, or whose new objects contain new objects of
// the same type without end.
//
// The field at fault loses its type, so that no other code recurses forever. Instances of generics
// are checked only if the generic itself is at fault: else the type argument is.
func (c *checker) finite(tn *typeName, t *types.Type) {
	if len(t.Args) > 0 && !c.opaque[t] && !c.circular[tn] {
		return
	}
	if tn.structure != nil {
		i := 0
		for _, m := range tn.structure.Members {
			v, ok := m.(*syntax.VarDecl)
			if !ok {
				continue
			}
			for range v.Names {
				if i < len(t.Def.Fields) {
					c.finiteField(tn, t, &t.Def.Fields[i], v.Type)
				}
				i++
			}
		}
		return
	}
	for i, k := range tn.union.Cases {
		for j, p := range k.Fields {
			f := &t.Def.Cases[i].Fields[j]
			if holds(f.Type, t, map[*types.Type]bool{}, false) {
				c.endless(tn, f, p.Type, "holds itself; write T@ or vector<T>")
			}
		}
	}
}

func (c *checker) finiteField(tn *typeName, t *types.Type, f *types.Field, at syntax.Type) {
	switch {
	case holds(f.Type, t, map[*types.Type]bool{}, false):
		c.endless(tn, f, at, "holds itself; write T@? or vector<T>")
	case f.Default == nil && holds(f.Type, t, map[*types.Type]bool{}, true):
		c.endless(tn, f, at, "starts with a new T, and so on without end; write T@?")
	}
}

func (c *checker) endless(tn *typeName, f *types.Field, at syntax.Type, how string) {
	f.Type = types.InvalidT
	c.circular[tn] = true
	c.diags.Errorf("E0306", at.Place(), "'%s' %s", tn.name, strings.ReplaceAll(how, "T", tn.name))
}

// holds says whether a value of t contains a value of `part`. With `objects` it also counts the
// objects that a zero value of t builds.
func holds(t, part *types.Type, seen map[*types.Type]bool, objects bool) bool {
	if t == part {
		return true
	}
	switch t.Kind {
	case types.Array:
		return holds(t.Elem, part, seen, objects)
	case types.Option, types.Result:
		return !objects && holds(t.Elem, part, seen, objects)
	case types.Shared:
		return objects && holds(t.Elem, part, seen, objects)
	case types.Tuple:
		for _, e := range t.Elems {
			if holds(e, part, seen, objects) {
				return true
			}
		}
	case types.Named:
		if t.Def == nil || seen[t] {
			return false
		}
		seen[t] = true
		for _, f := range t.Def.Fields {
			if (!objects || f.Default == nil) && holds(f.Type, part, seen, objects) {
				return true
			}
		}
		for i, k := range t.Def.Cases {
			for _, f := range k.Fields {
				if (!objects || i == 0) && holds(f.Type, part, seen, objects) {
					return true
				}
			}
		}
	}
	return false
}
