package emit

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// keepsSize says whether the container v has as many elements at the end of each turn of a loop as
// at its start, whatever other names it has. `changes` has checked its own name already.
func keepsSize(loop *ir.Block, v *ir.Var) bool {
	switch {
	case v.Type.Kind != types.Vector: // slices and arrays have a fixed size
		return true
	case v.Kind == ir.Local || v.Kind == ir.Param && v.Take:
		return v.Body == nil || !hasOtherName(v)
	}
	return !contains(loop, resizesLent)
}

// hasOtherName says whether a reference or a closure in the body of the local v may change it.
func hasOtherName(v *ir.Var) bool {
	return contains(v.Body.Block, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Declare:
			return n.Var != nil && n.Var.Type.Kind == types.Ref && root(n.Init) == v
		case *ir.Body:
			return n.Kind == ir.Lambda && changes(n.Block, v)
		}
		return false
	})
}

// resizesLent says whether n may change the size of a vector that is lent to this body, or that
// another body can reach: through a reference, an object or a closure.
func resizesLent(n ir.Node) bool {
	switch n := n.(type) {
	case *ir.Assign:
		return holdsVector(n.Target.Type()) && !isOwn(n.Target)
	case *ir.CallValue:
		return true
	case *ir.Call:
		if n.Fn.Native != "" {
			return changesSelf(n.Fn) && len(n.Args) > 0 && !isOwn(n.Args[0]) && shrinks(n)
		}
		return mayResize(n.Fn)
	}
	return false
}

// storesTo says whether b may change v or a part of it.
func storesTo(b *ir.Block, v *ir.Var) bool {
	return changes(b, v) || contains(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Assign:
			return root(n.Target) == v
		case *ir.Repoint:
			return root(n.Target) == v
		case *ir.Declare:
			return n.Var != nil && n.Var.Type.Kind == types.Ref && root(n.Init) == v
		case *ir.ForIn:
			return n.Var != nil && n.Var.Type.Kind == types.Ref && root(n.X) == v
		case *ir.Cut:
			return root(n.X) == v
		case *ir.Call:
			for i, a := range n.Args {
				if root(a) == v && !onlyReads(n.Fn, i) {
					return true
				}
			}
		}
		return false
	})
}

// isOwn says whether a place is a part of a local, from which nothing is lent.
func isOwn(e ir.Expr) bool {
	v := root(e)
	return v != nil && v.Kind == ir.Local && v.Type.Kind != types.Ref && v.Type.Kind != types.Slice
}

// shrinks says whether a native that changes its receiver may leave some vector shorter.
func shrinks(e *ir.Call) bool {
	t := e.Args[0].Type().Deref()
	switch {
	case t.Elem != nil && holdsVector(t.Elem), t.Kind == types.Map:
		return true
	case t.Kind == types.Vector:
		return !grows[e.Fn.Native]
	}
	return false
}

// grows has the natives that change a vector and leave it no shorter.
var grows = map[string]bool{
	"vector.push": true, "vector.insert": true, "vector.append": true, "vector.reserve": true,
	"vector.fill": true,
	"vector.swap": true, "vector.reverse": true, "vector.sort": true, "vector.split": true,
	"vector.partition": true,
}

// mayResize says whether fn can change a vector of its caller's.
func mayResize(fn *ir.Func) bool {
	for _, e := range fn.List {
		if e.Sign == '+' && (e.Var == nil || holdsVector(e.Var.Type.Deref())) {
			return true
		}
	}
	for _, p := range fn.Params {
		switch p.Type.Kind {
		case types.Ref, types.Slice:
			if p.Kind != ir.Self && holdsVector(p.Type.Elem) {
				return true
			}
		case types.Func:
			return true
		}
	}
	return false
}

// holdsVector says whether a value of the type may be or own a vector.
func holdsVector(t *types.Type) bool {
	switch {
	case t == nil || t.IsNumber() || t.Kind == types.Bool || t.Kind == types.String ||
		t.Kind == types.Shared:
		return false
	case t.Kind == types.Named:
		return t.Def == nil || t.Def.Form != types.Native
	}
	return true
}
