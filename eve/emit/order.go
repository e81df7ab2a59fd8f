package emit

import (
	"slices"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// A use says how an operand is handed over.
type use uint8

const (
	byRead use = iota // its value is looked at: a number
	byOwn             // taken
	byLend            // a const reference, or a copy where the place may change meanwhile
	byRef             // a place that is changed
)

// An operand is an expression with its use.
type operand struct {
	x    ir.Expr
	how  use
	text func(*function) string // writes it in another way than usual; may be nil
}

func read(x ir.Expr) operand { return operand{x: x, how: byRead} }
func lend(x ir.Expr) operand { return operand{x: x, how: byLend} }

// exprs writes operands so that they are evaluated from left to right, which C++ does not promise: what
// stands left of a call that might change it is kept in a temporary.
func (f *function) exprs(list ...operand) []string {
	texts := make([]string, len(list))
	before := make([][]line, len(list))
	last := -1 // everything left of this one is settled before it
	for i, o := range list {
		before[i] = f.capture(func() { texts[i] = f.operand(o) })
		if len(before[i]) > 0 || hasEffects(o.x) || i > 0 && takes(o.x, list[:i]) {
			last = i
		}
	}
	if last >= 0 && readsLater(list[last+1:]) {
		last++
	}
	for i, o := range list {
		f.lines = append(f.lines, before[i]...)
		if i < last && (hasEffects(o.x) || readsMutable(o.x)) && !settled(o) {
			texts[i] = f.settle(o, texts[i])
		}
	}
	return texts
}

// takes says whether e moves a variable away that one of the operands before it reads.
func takes(e ir.Expr, before []operand) bool {
	return contains(e, func(n any) bool {
		r, ok := n.(*ir.Ref)
		return ok && r.Move && slices.ContainsFunc(before, func(o operand) bool { return mentions(o.x, r.Var) })
	})
}

// readsLater says whether one of the operands depends on what an effect before it may have changed.
func readsLater(list []operand) bool {
	for _, o := range list {
		if readsMutable(o.x) && !settled(o) {
			return true
		}
	}
	return false
}

func (f *function) operand(o operand) string {
	switch {
	case o.text != nil:
		return o.text(f)
	case o.how == byOwn:
		return f.owned(o.x)
	}
	return f.value(o.x)
}

func (f *function) owneds(xs []ir.Expr) []string {
	var list []operand
	for _, x := range xs {
		list = append(list, operand{x: x, how: byOwn})
	}
	return f.exprs(list...)
}

// settled says whether o stays the same whatever later operands do: a place that is lent or changed.
func settled(o operand) bool {
	return isPlace(o.x) && (o.how == byRef || o.how == byLend && !o.x.Type().Copyable())
}

// settle puts the value of an operand into a temporary.
func (f *function) settle(o operand, text string) string {
	t := f.temp()
	f.put("auto " + t + " = " + text + ";")
	if o.how == byOwn && !byValue(o.x.Type()) {
		return "eve::move(" + t + ")"
	}
	return t
}

// hasEffects says whether evaluating e may change something that another operand could see, or fail.
func hasEffects(e ir.Expr) bool {
	return contains(e, func(n any) bool {
		switch n := n.(type) {
		case *ir.Call:
			return n.Fn.Native == "" || changesSelf(n.Fn) || len(n.Fn.List) > 0
		case *ir.CallValue, *ir.Post, *ir.Propagate:
			return true
		}
		return false
	})
}

// readsMutable says whether e depends on what can change: everything but constants and plain locals that
// only this body knows.
func readsMutable(e ir.Expr) bool {
	return contains(e, func(n any) bool {
		switch n := n.(type) {
		case *ir.Deref, *ir.Index:
			return true
		case *ir.Ref:
			return n.T.Kind != types.Shared && n.Var.Kind != ir.Constant && (n.Var.Kind != ir.Param || n.Var.Take)
		}
		return false
	})
}
