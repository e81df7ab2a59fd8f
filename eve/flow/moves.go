package flow

import (
	"fmt"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// expr returns the variables used from the evaluation of e on. owning says that e's value gets an
// owner: if it is not copied implicitly, it is moved.
func (l *lastUse) expr(e ir.Expr, after set, owning bool) set {
	switch e := e.(type) {
	case nil:
		return after
	case *ir.Ref:
		return l.ref(e, after, owning)
	case *ir.Closure:
		return l.closure(e, after)
	case *ir.Propagate:
		return l.expr(e.X, after, owning)
	case *ir.Else:
		return l.expr(e.X, l.expr(e.Default, after, owning), owning)
	}
	if owning && isPlace(e) && mustMove(e.Type()) {
		l.refuse(e.At(), e.At().Text(),
			"this is a part of something else, so it must be copied: write %s.copy()")
	}
	operands, outer := ir.Operands(e), l.beside
	for i := len(operands) - 1; i >= 0; i-- {
		l.beside = append(outer[:len(outer):len(outer)], operands[:i]...)
		after = l.expr(operands[i], after, keeps(e, i))
	}
	l.beside = outer
	return after
}

// isBeside says whether an operand before this one names v, and whether it is still needed after
// all operands are evaluated: a closure or a view that depends on v.
func (l *lastUse) isBeside(v *ir.Var) (named, held bool) {
	for _, e := range l.beside {
		found := l.mentions(e, isLambda)
		named = named || found[v]
		held = held || found[v] && (e.Type().HasView() || e.Type().Kind == types.Func)
	}
	return named, held
}

// keeps says whether e keeps the value of its operand i.
func keeps(e ir.Expr, i int) bool {
	switch e := e.(type) {
	case *ir.Box, *ir.Wrap, *ir.MakeStruct, *ir.MakeCase, *ir.MakeTuple, *ir.MakeList,
		*ir.MakeError:
		return !e.Type().HasView()
	case *ir.Post:
		return i > 0
	case *ir.Call:
		return e.Fn != nil && i < len(e.Fn.Params) && e.Fn.Params[i].Take
	}
	return false
}

func (l *lastUse) ref(r *ir.Ref, after set, owning bool) set {
	v := r.Var
	if v == nil {
		return after
	}
	if owning && l.passive == 0 {
		l.move(r, after)
	}
	before := after.with(nil)
	l.add(before, v)
	return before
}

// move decides whether an owning use may move the variable.
func (l *lastUse) move(r *ir.Ref, after set) {
	v := r.Var
	switch mine := l.owns(v); {
	case !isMovable(v.Type):
	case mine && !after[v]:
		named, held := l.isBeside(v)
		if held && mustMove(v.Type) {
			l.refuse(r.Span, v.Name,
				"an operand before it depends on it, so it must be copied: "+
					"write %s.copy()")
		}
		r.Move = mustMove(v.Type) || !named
	case !mustMove(v.Type):
	case mine:
		l.refuse(r.Span, v.Name, "used again later, so it must be copied here: write %s.copy()")
	default:
		l.refuse(r.Span, v.Name, "it is only lent here, so it must be copied: write %s.copy()")
	}
}

// owns says whether v's value belongs to this body alone, and is used once.
func (l *lastUse) owns(v *ir.Var) bool {
	if v.Body == nil || v.Body.Owner() != l.body.Owner() {
		return false
	}
	switch v.Kind {
	case ir.Local:
		return !v.View
	case ir.Param:
		return v.Take
	case ir.Capture:
		k := v.Body.Kind
		return v.Sign == '=' && (k == ir.Child || k == ir.Root || k == ir.Continuation)
	case ir.Bound:
		return l.owned[v] || v.Body.Kind == ir.Continuation && l.shows[v] == nil
	}
	return false
}

// isMovable says whether a move is cheaper than a copy. Handles are not moved: the run time counts
// them.
func isMovable(t *types.Type) bool {
	switch t.Kind {
	case types.String, types.Vector, types.Map, types.Set, types.Named, types.Error:
		return true
	case types.Array, types.Option, types.Result:
		return isMovable(t.Elem)
	case types.Tuple:
		for _, e := range t.Elems {
			if isMovable(e) {
				return true
			}
		}
	}
	return false
}

// mustMove says whether a value of the type is never copied implicitly.
func mustMove(t *types.Type) bool {
	return t != nil && t.Kind != types.Invalid && !t.Copyable() && !t.HasView()
}

// closure handles the making of a closure. A Lambda uses its variables from now on, and may run
// often, so it moves nothing of its creator's.
func (l *lastUse) closure(c *ir.Closure, after set) set {
	b := c.Body
	if b == nil {
		return after
	}
	if b.Kind != ir.Lambda {
		return l.captures(b, after)
	}
	uses := l.mentions(b.Block, anyBody)
	for v := range uses {
		if isInside(v.Body, b) {
			delete(uses, v)
		}
	}
	exit, turn := l.exit, l.turn
	l.exit, l.turn = exit.with(uses), nil
	l.block(b.Block, l.exit)
	l.exit, l.turn = exit, turn
	return after.with(uses)
}

func (l *lastUse) refuse(at source.Span, name, why string) {
	if l.passive > 0 {
		return
	}
	if name == "" {
		name = at.Text()
	}
	d := l.diags.Errorf("E0408", at, "'%s' cannot be moved here", name)
	text := name + ".copy()"
	d.Label = fmt.Sprintf(why, name)
	if at.IsValid() && at.Text() == "="+name { // lists contain only names
		d.Label = strings.TrimSuffix(d.Label, ": write "+text) +
			": name a copy of it before, and list that"
	}
	if at.IsValid() && at.Text() == name {
		d.Fix = &diag.Fix{Text: "write " + text, Span: at, New: text}
	}
}

func isInside(b, outer *ir.Body) bool {
	for ; b != nil; b = b.Outer {
		if b == outer {
			return true
		}
	}
	return false
}

func isShared(t *types.Type) bool { return t != nil && t.Kind == types.Shared }

func isView(t *types.Type) bool {
	return t != nil && (t.Kind == types.Slice || t.Kind == types.Ref)
}

// isPlace says whether e denotes storage rather than a new value.
func isPlace(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Ref, *ir.Deref:
		return true
	case *ir.Field:
		return isPlace(e.X)
	case *ir.Element:
		return isPlace(e.X)
	case *ir.Index:
		return isPlace(e.X) || isView(e.X.Type())
	case *ir.Cut:
		return e.T != nil && e.T.Kind != types.String
	}
	return false
}

// showsPlace says whether the value e may be a part of storage, in its place: o? is the value in
// the option.
func showsPlace(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Propagate:
		return showsPlace(e.X)
	case *ir.Else:
		return showsPlace(e.X) || showsPlace(e.Default)
	}
	return e != nil && isPlace(e)
}
