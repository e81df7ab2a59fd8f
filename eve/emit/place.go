package emit

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// isPlace says whether e denotes storage.
func isPlace(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Ref, *ir.Deref:
		return true
	case *ir.Field:
		return isPlace(e.X)
	case *ir.Element:
		return isPlace(e.X)
	case *ir.Index:
		return e.X.Type().Kind != types.String && (isPlace(e.X) || e.X.Type().Kind == types.Slice)
	}
	return false
}

// root is the variable that a place is a part of; nil if there is a handle in between.
func root(e ir.Expr) *ir.Var {
	switch e := e.(type) {
	case *ir.Ref:
		return e.Var
	case *ir.Field:
		return root(e.X)
	case *ir.Element:
		return root(e.X)
	case *ir.Index:
		return root(e.X)
	case *ir.Deref:
		if r, ok := e.X.(*ir.Ref); ok && e.X.Type().Kind == types.Ref {
			return r.Var
		}
	}
	return nil
}

// deref writes the object of a handle, or the place behind a T& variable.
func (f *function) deref(e *ir.Deref) string {
	if r, ok := e.X.(*ir.Ref); ok {
		if b := f.variable(r.Var); b.value != "" {
			return b.value
		}
		panic(bug("object " + r.Var.Name + " is out of reach"))
	}
	h := f.value(e.X)
	if !isPlace(e.X) {
		t := f.temp()
		f.put("auto " + t + " = " + h + ";")
		h = t
	}
	return "*" + paren(h)
}

// fieldOf writes x.f.
func (f *function) fieldOf(e *ir.Field) string {
	return member(f.value(e.X), fieldName(e.X.Type().Def.Fields, e.Index))
}

// index writes x[i], checked unless i is known to be in range.
func (f *function) index(e *ir.Index) string {
	if view := f.ctx.unchecked[e]; view != "" {
		return view + "[" + f.value(e.I) + "]"
	}
	container := lend(e.X)
	if isPlace(e.X) && e.X.Type().Kind != types.String {
		container.how = byRef // a copy of an array would take the store to its element
	}
	list := f.exprs(container, read(e.I))
	if f.inRange(e) {
		return paren(list[0]) + "[" + list[1] + "]"
	}
	return member(list[0], "at("+list[1]+", "+f.site(e.Span.Line())+")")
}

// A safeIndex says that inside a loop the variable index is below the size of the container.
type safeIndex struct {
	index, container *ir.Var
}

// inRange says whether the loops around prove the index: for (i in 0..v.size()) if nothing in the
// loop can change v or i, or a constant below the size of an array.
func (f *function) inRange(e *ir.Index) bool {
	t := e.X.Type()
	if c, ok := e.I.(*ir.Const); ok && t.Kind == types.Array {
		n, ok := c.Value.(int64)
		return ok && n >= 0 && n < t.Len
	}
	i, ok := e.I.(*ir.Ref)
	if !ok {
		return false
	}
	x := stableContainer(e.X)
	for _, s := range f.ctx.safe {
		if s.index == i.Var && x != nil && s.container == x {
			return true
		}
	}
	return false
}

// stableContainer returns the variable if e is a local container or view; nil if it may have other
// names.
func stableContainer(e ir.Expr) *ir.Var {
	r, ok := e.(*ir.Ref)
	if !ok {
		return nil
	}
	switch r.Var.Kind {
	case ir.Local, ir.Param, ir.Loop, ir.Bound:
	default:
		return nil
	}
	switch r.T.Kind {
	case types.Vector, types.Array, types.Slice:
		return r.Var
	}
	return nil
}

// provenLoop returns the indexes that for (i in 0..v.size()) proves in its body.
func provenLoop(s *ir.ForIn) []safeIndex {
	r, ok := s.X.(*ir.Range)
	if !ok {
		return nil
	}
	if c, ok := r.Lo.(*ir.Const); !ok || !nonNegative(c) {
		return nil
	}
	call, ok := r.Hi.(*ir.Call)
	if !ok || len(call.Args) != 1 || !isSize[call.Fn.Native] {
		return nil
	}
	v := stableContainer(call.Args[0])
	if v == nil || changes(s.Body, v) || changes(s.Body, s.Var) || !keepsSize(s.Body, v) {
		return nil
	}
	return []safeIndex{{s.Var, v}}
}

var isSize = map[string]bool{"vector.size": true, "array.size": true, "slice.size": true}

func nonNegative(c *ir.Const) bool {
	n, ok := c.Value.(int64)
	return ok && n >= 0
}

// changes says whether b may store to v as a whole, lend it to be changed, move it, or capture it
// in a body. Its elements may change.
func changes(b *ir.Block, v *ir.Var) bool {
	return contains(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Assign:
			r, ok := n.Target.(*ir.Ref)
			return ok && r.Var == v
		case *ir.Ref:
			return n.Var == v && n.Move
		case *ir.Call:
			for i, a := range n.Args {
				r, ok := a.(*ir.Ref)
				if ok && r.Var == v && !onlyReads(n.Fn, i) {
					return true
				}
			}
		case *ir.Body:
			return mentions(n, v)
		}
		return false
	})
}

// onlyReads says whether argument i of fn is only read.
func onlyReads(fn *ir.Func, i int) bool {
	if fn.Native != "" && fn.Recv != nil && i == 0 && !fn.Static {
		return !changesSelf(fn)
	}
	if i >= len(fn.Params) {
		return false
	}
	p := fn.Params[i]
	return p.Kind != ir.Self && p.Type.Kind != types.Ref && p.Type.Kind != types.Slice && !p.Take
}
