package emit

import "interleave/eve/types"

// copyableFields says whether a struct with these fields is copied unasked.
func copyableFields(fields []types.Field) bool {
	for _, f := range fields {
		if !f.Type.Copyable() {
			return false
		}
	}
	return true
}

// allPrintable says whether %v takes a value with these fields; handles inside are not followed.
func allPrintable(fields []types.Field) bool {
	for _, f := range fields {
		if !printable(f.Type) {
			return false
		}
	}
	return true
}

func printable(t *types.Type) bool {
	switch t.Kind {
	case types.Func, types.Void, types.Shared:
		return false
	case types.Named:
		if t.Def.Form == types.Native || t.Def.Emitter {
			return false
		}
		for _, c := range t.Def.Cases {
			if !allPrintable(c.Fields) {
				return false
			}
		}
		return allPrintable(t.Def.Fields)
	case types.Vector, types.Array, types.Slice, types.Set, types.Option, types.Result:
		return printable(t.Elem)
	case types.Map:
		return printable(t.Key) && printable(t.Elem)
	case types.Tuple:
		for _, e := range t.Elems {
			if !printable(e) {
				return false
			}
		}
	}
	return true
}

// zeroable says whether t has a zero value: sockets and their like have none.
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

// allEqual says whether == is defined for all fields.
func allEqual(fields []types.Field) bool {
	for _, f := range fields {
		if !comparable(f.Type) {
			return false
		}
	}
	return true
}

func comparable(t *types.Type) bool {
	switch t.Kind {
	case types.Map, types.Set, types.Func, types.Error, types.Result:
		return false
	case types.Shared:
		return t.Elem.Kind != types.Func
	case types.Vector, types.Array, types.Option, types.Slice:
		return comparable(t.Elem)
	case types.Tuple:
		for _, e := range t.Elems {
			if !comparable(e) {
				return false
			}
		}
	case types.Named:
		if t.Def.Form == types.Native || t.Def.Emitter {
			return false
		}
		for _, c := range t.Def.Cases {
			if !allEqual(c.Fields) {
				return false
			}
		}
		return allEqual(t.Def.Fields)
	}
	return true
}

// hashable says whether values of t are keys of maps: then generated structs bring a hash.
func hashable(t *types.Type) bool {
	switch t.Kind {
	case types.Bool, types.String, types.Shared:
		return t.Kind != types.Shared || t.Elem.Kind != types.Func
	case types.Array, types.Option:
		return hashable(t.Elem)
	case types.Tuple:
		for _, e := range t.Elems {
			if !hashable(e) {
				return false
			}
		}
		return true
	case types.Named:
		for _, c := range t.Def.Cases {
			if !allHashable(c.Fields) {
				return false
			}
		}
		return t.Def.Form != types.Native && !t.Def.Emitter && allHashable(t.Def.Fields)
	}
	return t.IsInteger()
}

func allHashable(fields []types.Field) bool {
	for _, f := range fields {
		if !hashable(f.Type) {
			return false
		}
	}
	return true
}
