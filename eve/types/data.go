package types

import "slices"

// IsData says whether a value of the type is numbers and texts, and containers, structs and unions
// of these: its text can be written anywhere, since nothing in it is shared.
func (t *Type) IsData() bool { return t.isData(nil) }

// isData takes the named types around t, which may contain themselves.
func (t *Type) isData(outer []*Type) bool {
	switch t.Kind {
	case Vector, Array, Slice, Set, Option:
		return t.Elem.isData(outer)
	case Map:
		return t.Key.isData(outer) && t.Elem.isData(outer)
	case Tuple:
		return allData(t.Elems, outer)
	case Named:
		if slices.Contains(outer, t) {
			return true
		}
		outer = append(slices.Clip(outer), t)
		return t.Def != nil && t.Def.isData(outer)
	}
	return t.Kind == Bool || t.Kind == String || t.IsNumber()
}

func (d *Def) isData(outer []*Type) bool {
	if d.Form != Struct && d.Form != Union || d.Emitter || d.Runtime != "" {
		return false
	}
	for _, c := range d.Cases {
		if !fieldsAreData(c.Fields, outer) {
			return false
		}
	}
	return fieldsAreData(d.Fields, outer)
}

func fieldsAreData(fields []Field, outer []*Type) bool {
	return !slices.ContainsFunc(fields, func(f Field) bool { return !f.Type.isData(outer) })
}

func allData(all []*Type, outer []*Type) bool {
	return !slices.ContainsFunc(all, func(t *Type) bool { return !t.isData(outer) })
}
