package check

import (
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// isPlace says whether x denotes storage.
func isPlace(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Ref:
		return true
	case *ir.Deref:
		return true
	case *ir.Field:
		return isPlace(x.X)
	case *ir.Element:
		return isPlace(x.X)
	case *ir.Index:
		return isPlace(x.X) || x.X.Type().Kind == types.Slice
	}
	return false
}

// changeable reports a place that cannot be changed, since its owner is only lent or is constant.
// Places behind a handle, a T& or a view are checked by the permission rules.
func (l *lowerer) changeable(x ir.Expr, at source.Span) bool {
	switch x := x.(type) {
	case *ir.Field:
		return l.changeable(x.X, at)
	case *ir.Element:
		return l.changeable(x.X, at)
	case *ir.Index:
		return x.X.Type().Kind == types.Slice || l.changeable(x.X, at)
	case *ir.Cut:
		return x.X.Type().Kind == types.Slice || l.changeable(x.X, at)
	case *ir.Ref:
		return l.changeableVar(x.Var, at)
	}
	return true
}

func (l *lowerer) changeableVar(v *ir.Var, at source.Span) bool {
	if t := v.Type; t == types.InvalidT || t.Kind == types.Ref || t.Kind == types.Slice ||
		t.Kind == types.Shared {
		return true
	}
	var d *diag.Diagnostic
	switch v.Kind {
	case ir.Constant:
		d = l.errorf("E0336", at, "'%s' is a constant", v.Name)
	case ir.Param:
		if v.Take {
			return true
		}
		d = l.errorf("E0336", at, "cannot change '%s': a parameter is only lent for the call",
			v.Name)
		d.Label = "take it as =" + v.Name + ", or as " + v.Type.String() + "&"
	case ir.Loop:
		d = l.errorf("E0336", at, "cannot change '%s': it is the loop's own", v.Name)
		d.Label = "to change the elements, loop over " + v.Type.String() + "&"
	case ir.EventVar:
		d = l.errorf("E0336", at, "cannot change '%s': an event is only lent to its handlers",
			v.Name)
	case ir.Bound:
		switch {
		case l.handed[v]:
			d = l.errorf("E0336", at, "cannot change '%s': it is the loop's own", v.Name)
			d.Label = "make it the value of a variable first"
		case l.patterned[v]:
			d = l.errorf("E0336", at, "cannot change '%s': it is part of the matched value",
				v.Name)
		default:
			return true
		}
	default:
		return true
	}
	if v.Span.IsValid() && d != nil {
		d.Also = also(v.Span, "declared here")
	}
	return false
}

// lent makes x fit a T&: a place of exactly this type that may be changed.
func (l *lowerer) lent(x ir.Expr, t *types.Type, what string) ir.Expr {
	if broken(x) || t.Elem == types.InvalidT {
		return x
	}
	to := x
	for to.Type() != t.Elem && (to.Type().Kind == types.Shared || to.Type().Kind == types.Ref) {
		to = &ir.Deref{Place: place(to.Type().Elem, to.At()), X: to}
	}
	switch {
	case to.Type() == types.InvalidT:
	case to.Type() != t.Elem && !(l.isOpen(t.Elem) || l.isOpen(to.Type())):
		l.errorf("E0300", x.At(), "%s needs a place of type %s, and this is %s", what, t.Elem,
			article(l.defaultType(to).Type()))
		return bad(x.At())
	case !isPlace(to):
		d := l.errorf("E0348", x.At(), "%s changes its argument, and this value is not stored",
			what)
		d.Label = "give it a variable"
		return bad(x.At())
	default:
		l.changeable(to, x.At())
	}
	return to
}

// kept says whether the storage of x has an owner: a variable, or an object.
func kept(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Cut:
		return kept(x.X)
	case *ir.Element:
		return kept(x.X)
	case *ir.Call:
		if x.Fn == nil || !x.T.HasView() {
			return false
		}
		// a view that a function returns shows storage of its arguments
		for i, p := range x.Fn.Params {
			if i < len(x.Args) && (p.Kind == ir.Self || p.Type.HasView()) && !kept(x.Args[i]) {
				return false
			}
		}
		return true
	}
	return isPlace(x)
}

// viewOf makes a slice of x, which is a slice, a vector or an array in its place.
func (l *lowerer) viewOf(x ir.Expr, t *types.Type) ir.Expr {
	to := l.checker.value(x)
	if broken(to) || to.Type() == t {
		return to
	}
	k := to.Type().Kind
	if k != types.Vector && k != types.Array || to.Type().Elem != t.Elem {
		return l.coerce(x, t)
	}
	return &ir.Cut{Place: place(t, x.At()), X: to}
}

// also makes the single label that most diagnostics need.
func also(at source.Span, text string) []diag.Label {
	return []diag.Label{{Span: at, Text: text}}
}

// trimmed is s without the blanks at its ends.
func trimmed(s source.Span) source.Span {
	text := s.Text()
	s.Start += len(text) - len(strings.TrimLeft(text, " "))
	s.End -= len(text) - len(strings.TrimRight(text, " "))
	if s.End < s.Start {
		s.End = s.Start
	}
	return s
}
