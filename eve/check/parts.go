package check

import (
	"interleave/eve/source"
	"interleave/eve/types"
)

// maxParts bounds the nested fields of one value. Values live in frames, and each part of a new
// value is set. A few dozen types that double in size would fill any memory, the compiler's first.
const maxParts = 1 << 14

// A whole is a type whose parts are counted: either those of a new value, with its new objects, or
// those stored in a value itself.
type whole struct {
	t   *types.Type
	new bool
}

// bounded reports a type with too many parts. Its fields lose their types, so that no other code
// meets them.
func (c *checker) bounded(tn *typeName, t *types.Type) {
	if c.parts(whole{t, true}) <= maxParts {
		return
	}
	for i := range t.Def.Fields {
		t.Def.Fields[i].Type = types.InvalidT
	}
	for _, k := range t.Def.Cases {
		for i := range k.Fields {
			k.Fields[i].Type = types.InvalidT
		}
	}
	c.counted[whole{t, true}], c.counted[whole{t, false}] = 1, 1
	var at source.Span
	if tn.structure != nil {
		at = tn.structure.Name.Span
	} else {
		at = tn.union.Name.Span
	}
	c.diags.Errorf("E0318", at, "a '%s' has more than %d parts: hold some of them in a vector",
		tn.name, maxParts)
}

// parts counts the parts of a value. A vector, an array or an optional object counts as one part.
// A type that is being counted counts as one too: a type that contains itself is rejected
// elsewhere.
func (c *checker) parts(w whole) int {
	t := w.t
	switch t.Kind {
	case types.Option, types.Result:
		return c.parts(whole{t.Elem, false})
	case types.Shared:
		if w.new {
			return 1 + c.parts(whole{t.Elem, true})
		}
		return 1
	case types.Tuple:
		n := 0
		for _, e := range t.Elems {
			n += c.parts(whole{e, w.new})
		}
		return n
	case types.Named:
		if t.Def == nil {
			return 1
		}
	default:
		return 1
	}
	if n, ok := c.counted[w]; ok {
		return n
	}
	c.counted[w] = 1
	n := 1
	for _, f := range t.Def.Fields {
		n += c.parts(whole{f.Type, w.new})
	}
	for _, k := range t.Def.Cases {
		for _, f := range k.Fields {
			n += c.parts(whole{f.Type, false})
		}
	}
	c.counted[w] = min(n, maxParts+1)
	return c.counted[w]
}
