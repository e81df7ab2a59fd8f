package perm

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// R1: a variable x: T@ names one object during its scope, and cannot be rebound. So facts about x
// hold as long as x can be named, and a permission on x is a permission on one object. Two names
// may still name one object. They are known to differ only if both objects were built under these
// names, or if one was there before the other was built. The run time handles equal objects in
// queues (U4); everywhere else, names that may be equal count as equal.

// MayBeSame says whether two variables of type T@ may name one object.
func MayBeSame(a, b *ir.Var) bool {
	return objectOf(a).overlaps(objectOf(b), false)
}

// mayBeSame says whether two objects with different names may be one.
func mayBeSame(p, q path) bool {
	if !mayBeEqual(p.t, q.t) {
		return false
	}
	if p.v == nil || q.v == nil {
		return true
	}
	switch {
	case isFresh(p.v) && isFresh(q.v):
		return false
	case p.v.Built && isOlder(q.v, p.v), q.v.Built && isOlder(p.v, q.v):
		return false
	}
	return true
}

// isFresh says whether the variable's declaration builds its object: two such variables never
// share one.
func isFresh(v *ir.Var) bool { return v.Built || v.Kind == ir.Global }

// isOlder says whether v's object existed before the function started that builds the object of
// built.
func isOlder(v, built *ir.Var) bool {
	return v.Kind == ir.Param && v.Body != nil && v.Body.Kind == ir.Function && built.Body != nil &&
		v.Body.Fn == built.Body.Fn
}

// mayBeEqual says whether two types may be one in some instance of a generic.
func mayBeEqual(a, b *types.Type) bool {
	switch {
	case a == b || a == nil || b == nil:
		return true
	case a.Kind == types.Param || b.Kind == types.Param:
		return true
	case a.Kind != b.Kind || a.Name != b.Name || len(a.Args) != len(b.Args) ||
		len(a.Elems) != len(b.Elems) || a.Len != b.Len:
		return false
	case a.Kind == types.Named && len(a.Args) == 0:
		return false
	case a.Elem == nil && len(a.Args) == 0 && len(a.Elems) == 0:
		return false
	}
	for i := range a.Args {
		if !mayBeEqual(a.Args[i], b.Args[i]) {
			return false
		}
	}
	for i := range a.Elems {
		if !mayBeEqual(a.Elems[i], b.Elems[i]) {
			return false
		}
	}
	if a.Elem == nil {
		return true
	}
	return mayBeEqual(a.Elem, b.Elem) && (a.Key == nil || b.Key == nil || mayBeEqual(a.Key, b.Key))
}

// repoint walks through a store of a handle in a field or element: it needs full permission on the
// container, and only the handle of the other object.
func (s *state) repoint(r *ir.Repoint) {
	s.value(r.Value)
	s.place(r.Target, full)
}
