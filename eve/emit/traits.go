package emit

import "interleave/eve/types"

// copyableFields says whether a struct with these fields is copied implicitly.
func copyableFields(fields []types.Field) bool {
	for _, f := range fields {
		if !f.Type.Copyable() {
			return false
		}
	}
	return true
}

// A trait says whether generated C++ supports an operation on values of a type; part asks the same
// of a part.
type trait func(t *types.Type, part func(*types.Type) bool) bool

// all says whether a trait holds for all fields. A type that contains itself has it unless another
// part lacks it.
func all(fields []types.Field, has trait) bool {
	seen := map[*types.Type]bool{}
	var part func(t *types.Type) bool
	part = func(t *types.Type) bool {
		if t.Kind == types.Named {
			if seen[t] {
				return true
			}
			seen[t] = true
		}
		return has(t, part)
	}
	return fieldsHave(fields, part)
}

func fieldsHave(fields []types.Field, part func(*types.Type) bool) bool {
	for _, f := range fields {
		if !part(f.Type) {
			return false
		}
	}
	return true
}

// namedHas asks a trait of the fields of a struct, or of all cases of a union.
func namedHas(t *types.Type, part func(*types.Type) bool) bool {
	for _, c := range t.Def.Cases {
		if !fieldsHave(c.Fields, part) {
			return false
		}
	}
	return fieldsHave(t.Def.Fields, part)
}

func elemsHave(elems []*types.Type, part func(*types.Type) bool) bool {
	for _, e := range elems {
		if !part(e) {
			return false
		}
	}
	return true
}

// printable says whether %v accepts a value. Handles inside are not followed.
func printable(t *types.Type, part func(*types.Type) bool) bool {
	switch t.Kind {
	case types.Func, types.Void, types.Shared:
		return false
	case types.Named:
		return t.Def.Form != types.Native && !t.Def.Emitter && namedHas(t, part)
	case types.Vector, types.Array, types.Slice, types.Set, types.Option, types.Result:
		return part(t.Elem)
	case types.Map:
		return part(t.Key) && part(t.Elem)
	case types.Tuple:
		return elemsHave(t.Elems, part)
	}
	return true
}

// clonable says whether values of t are copied, by = or by a method. Those of the runtime that own
// something of a library are not.
func clonable(t *types.Type, part func(*types.Type) bool) bool {
	switch t.Kind {
	case types.Vector, types.Array, types.Set, types.Option, types.Result:
		return part(t.Elem)
	case types.Map:
		return part(t.Key) && part(t.Elem)
	case types.Tuple:
		return elemsHave(t.Elems, part)
	case types.Named:
		return t.Def.Form != types.Native && namedHas(t, part) || t.Def.Copyable
	}
	return true
}

// comparable says whether == is defined.
func comparable(t *types.Type, part func(*types.Type) bool) bool {
	switch t.Kind {
	case types.Map, types.Set, types.Func, types.Result:
		return false
	case types.Shared:
		return t.Elem.Kind != types.Func
	case types.Vector, types.Array, types.Option, types.Slice:
		return part(t.Elem)
	case types.Tuple:
		return elemsHave(t.Elems, part)
	case types.Named:
		return (t.Def.Form != types.Native || t.Def.Copyable) && !t.Def.Emitter &&
			namedHas(t, part)
	}
	return true
}

// hashable says whether values of t are keys of maps: generated structs then have a hash.
func hashable(t *types.Type, part func(*types.Type) bool) bool {
	switch t.Kind {
	case types.Bool, types.String, types.Error:
		return true
	case types.Shared:
		return t.Elem.Kind != types.Func
	case types.Vector, types.Array, types.Option:
		return part(t.Elem)
	case types.Tuple:
		return elemsHave(t.Elems, part)
	case types.Named:
		return (t.Def.Form != types.Native || t.Def.Copyable) && !t.Def.Emitter &&
			namedHas(t, part)
	}
	return t.IsInteger()
}

// zeroable says whether t has a zero value. Sockets and similar types have none.
func zeroable(t *types.Type, seen map[*types.Type]bool) bool {
	if seen[t] {
		return true
	}
	seen[t] = true
	switch t.Kind {
	case types.Shared, types.Array:
		return t.Elem.Kind != types.Func && zeroable(t.Elem, seen)
	case types.Tuple:
		for _, e := range t.Elems {
			if !zeroable(e, seen) {
				return false
			}
		}
	case types.Named:
		if t.Def.Form == types.Native {
			return t.Def.Copyable
		}
		fields := t.Def.Fields
		if len(t.Def.Cases) > 0 {
			fields = t.Def.Cases[0].Fields
		}
		for _, f := range fields {
			if !zeroable(f.Type, seen) {
				return false
			}
		}
	}
	return true
}
