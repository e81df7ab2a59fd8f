package perm

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// A path is storage: the value of a variable or an object, or a part of it. The zero path is no
// storage: a value that no other code can reach.
type path struct {
	v     *ir.Var     // the variable, or the handle's origin; nil with obj: some object of type t
	obj   bool        // the root is the object behind a handle
	t     *types.Type // of the object
	name  *ir.Var     // obj: the handle's name in this body
	steps []step
	via   []*ir.Var // views on the way
}

func (p path) isNone() bool { return p.v == nil && !p.obj }

// A step goes from storage to a part of it.
type step struct {
	kind  stepKind
	n     int64 // of a field, an element, a known index, a half; -1 for any index
	group any   // half, cut: the expression that made the view
}

type stepKind uint8

const (
	field stepKind = iota
	index
	half // one of the views of a split
	cut
	each // the element of one task of `@ for`
)

func (p path) with(st step) path {
	if p.isNone() {
		return p
	}
	p.steps = append(p.steps[:len(p.steps):len(p.steps)], st)
	return p
}

// pathOf returns the storage that e denotes.
func (s *state) pathOf(e ir.Expr) path {
	switch e := e.(type) {
	case *ir.Ref:
		return s.variable(e.Var)
	case *ir.Deref:
		return s.behind(e)
	case *ir.Field:
		return s.pathOf(e.X).with(step{kind: field, n: int64(e.Index)})
	case *ir.Element:
		return s.elementPath(e)
	case *ir.Index:
		return s.pathOf(e.X).with(step{kind: index, n: knownIndex(e.I)})
	case *ir.Cut:
		return s.pathOf(e.X).with(step{kind: cut, group: e})
	case *ir.Propagate:
		return s.pathOf(e.X).with(step{kind: cut, group: e})
	case *ir.Call:
		if x := viewedBy(e); x != nil && e.T.HasView() {
			return s.pathOf(x).with(step{kind: cut, group: e})
		}
	}
	return path{}
}

// shown returns the storage that the value e may be a part of: for a place itself; for o? and o
// else d the value in the option.
func (s *state) shown(e ir.Expr) []path {
	switch e := e.(type) {
	case *ir.Propagate:
		return s.shown(e.X)
	case *ir.Else:
		return append(s.shown(e.X), s.shown(e.Default)...)
	}
	if e == nil || isInvalid(e.Type()) || !isPlace(e) && !isView(e.Type()) {
		return nil
	}
	if p := s.pathOf(e); !p.isNone() {
		return []path{p}
	}
	return nil
}

// showsPlace says whether the value e may be a part of storage, in its place.
func showsPlace(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Propagate:
		return showsPlace(e.X)
	case *ir.Else:
		return showsPlace(e.X) || showsPlace(e.Default)
	}
	return e != nil && (isPlace(e) || isView(e.Type()))
}

// variable returns a variable's storage. That of a view is the storage that it shows.
func (s *state) variable(v *ir.Var) path {
	if v == nil || isInvalid(v.Type) || isShared(v.Type) {
		return path{}
	}
	if p, ok := s.sources[v]; ok {
		p.via = append(p.via[:len(p.via):len(p.via)], v)
		return p
	}
	return path{v: v}
}

// behind returns the storage behind a handle or a reference.
func (s *state) behind(e *ir.Deref) path {
	if !isShared(e.X.Type()) {
		return s.pathOf(e.X)
	}
	return s.object(e.X)
}

// object returns the object that a handle names.
func (s *state) object(handle ir.Expr) path {
	p := path{obj: true, t: handle.Type().Elem}
	if r, ok := handle.(*ir.Ref); ok && r.Var != nil {
		p.v, p.name = r.Var.Origin(), r.Var
	}
	return p
}

// objectOf is the object that a variable of type T@ names.
func objectOf(v *ir.Var) path {
	return path{obj: true, t: v.Type.Elem, v: v.Origin(), name: v}
}

// elementPath returns an element of a tuple. If the tuple has the views of a split, it returns
// that view.
func (s *state) elementPath(e *ir.Element) path {
	if c, ok := e.X.(*ir.Call); ok {
		return s.splitPath(c, e.Index)
	}
	return s.pathOf(e.X).with(step{kind: field, n: int64(e.Index)})
}

// splitPath returns one of the views of a split.
func (s *state) splitPath(c *ir.Call, i int) path {
	x := viewedBy(c)
	if x == nil {
		return path{}
	}
	p := s.pathOf(x)
	if c.Fn.Body == nil { // split, partition
		return p.with(step{kind: half, n: int64(i), group: c})
	}
	return p.with(step{kind: cut}) // parts that may overlap
}

func knownIndex(i ir.Expr) int64 {
	if c, ok := i.(*ir.Const); ok {
		if n, ok := c.Value.(int64); ok && n >= 0 {
			return n
		}
	}
	return -1
}

// overlaps says whether two paths may share storage. With sure, handles with different names count
// as different objects. That is for rules about visible conflicts, as the run time checks the
// others.
func (p path) overlaps(q path, sure bool) bool {
	if p.isNone() || q.isNone() || p.obj != q.obj {
		return false
	}
	if p.v != q.v || p.v == nil {
		if !p.obj || sure || !mayBeSame(p, q) {
			return false
		}
	}
	for i := 0; i < len(p.steps) && i < len(q.steps); i++ {
		a, b := p.steps[i], q.steps[i]
		switch {
		case a.kind != b.kind:
			return true
		case a.kind == field && a.n != b.n:
			return false
		case a.kind == index && a.n >= 0 && b.n >= 0 && a.n != b.n:
			return false
		case a.kind == half:
			if a.group == b.group && a.n != b.n {
				return false
			}
			if a.group != b.group {
				return true
			}
		case a.kind == cut && (a.group == nil || a.group != b.group):
			return true
		}
	}
	return true
}

// conflicts says whether two accesses must not happen at the same time.
func (a access) conflicts(b access, sure bool) bool {
	return (a.mode == full || b.mode == full) && a.mode != null && b.mode != null &&
		a.path.overlaps(b.path, sure)
}

// through says whether the path goes through the view v.
func (p path) through(v *ir.Var) bool {
	for _, w := range p.via {
		if w == v {
			return true
		}
	}
	return false
}
