package emit

import (
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

	// nothing forbids later operands to change it, as the rules of lending do for arguments
	alone bool
}

func read(x ir.Expr) operand { return operand{x: x, how: byRead} }
func lend(x ir.Expr) operand { return operand{x: x, how: byLend} }

// exprs writes operands so that they are evaluated from left to right, which C++ does not promise:
// what stands left of a call that might change it, or fail after it, is kept in a temporary.
func (f *function) exprs(list ...operand) []string {
	texts := make([]string, len(list))
	before := make([][]line, len(list))
	for i, o := range list {
		before[i] = f.capture(func() { texts[i] = f.operand(o) })
	}
	for i, o := range list {
		f.lines = append(f.lines, before[i]...)
		if later := f.behind(o, list[i+1:], before[i+1:]); later.matter(f, o) {
			if o.alone && later.reach && givesPlace(o) {
				texts[i] = "eve::copy_of(" + texts[i] + ")"
				o.how = byRead
			}
			texts[i] = f.temporary(o, texts[i])
		}
	}
	return texts
}

// A later says what the operands behind one may do.
type later struct {
	change bool // what others see
	first  bool // be evaluated in statements before the expression
	fail   bool
	look   bool // at what others may change, be it where a place is
	take   bool // what the one before them reads
	reach  bool // and change what the one before them reads
}

func (f *function) behind(o operand, list []operand, before [][]line) later {
	var l later
	for i, next := range list {
		l.change = l.change || hasEffects(next.x)
		l.first = l.first || len(before[i]) > 0
		l.fail = l.fail || f.mayFail(next.x)
		l.look = l.look || readsMutable(next.x) && !(givesPlace(next) && remains(next.x))
		l.take = l.take || takes(next.x, o.x)
		l.reach = l.reach || mayChange(next.x, o.x)
	}
	return l
}

// takes says whether e moves a variable away that x reads.
func takes(e, x ir.Expr) bool {
	return contains(e, func(n ir.Node) bool {
		r, ok := n.(*ir.Ref)
		return ok && r.Move && mentions(x, r.Var)
	})
}

// matter says whether o has to be evaluated before them, by a statement of its own.
func (l later) matter(f *function, o operand) bool {
	if givesPlace(o) && remains(o.x) {
		return o.alone && l.reach
	}
	if l.take && !givesPlace(o) {
		return true
	}
	moves := l.change || l.first
	return moves && readsMutable(o.x) || hasEffects(o.x) && (moves || l.fail || l.look) ||
		(moves || l.fail) && f.mayFail(o.x)
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

// mayChange says whether a call in e may change what the place x stands for.
func mayChange(e, x ir.Expr) bool {
	own := isOwn(x) && !mentions(e, root(x))
	return contains(e, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Call:
			return !own && !harmless(n.Fn)
		case *ir.CallValue:
			return true
		}
		return false
	})
}

// givesPlace says whether what o gives is a place: one that is lent or changed.
func givesPlace(o operand) bool {
	return isPlace(o.x) && (o.how == byRef || o.how == byLend && !o.x.Type().Copyable())
}

// remains says whether e is the same place whatever happens: a variable, or a field of one.
func remains(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Ref:
		return true
	case *ir.Deref:
		_, ok := e.X.(*ir.Ref)
		return ok
	case *ir.Field:
		return remains(e.X)
	case *ir.Element:
		return remains(e.X)
	}
	return false
}

// temporary puts the value of an operand into a temporary, or a reference to it where the checker
// sees to it that nothing later changes it.
func (f *function) temporary(o operand, text string) string {
	t := f.temp()
	if givesPlace(o) {
		f.put("auto&& " + t + " = " + text + ";")
	} else {
		f.put("auto " + t + " = " + text + ";")
	}
	if o.how == byOwn && !byValue(o.x.Type()) {
		return "eve::move(" + t + ")"
	}
	return t
}

// mayFail says whether evaluating e can throw here.
func (f *function) mayFail(e ir.Expr) bool {
	fails := false
	within(e, func(n ir.Node) bool {
		if x, ok := n.(*ir.Index); ok {
			fails = fails || x.X.Type().Deref().Kind == types.Map || f.ctx.unchecked[x] == "" &&
				!f.inRange(x)
		} else {
			fails = fails || f.facts.nodeFails(n, f.o.Checked)
		}
		return !fails
	})
	return fails
}

// hasEffects says whether evaluating e may change something that another operand could
// see, or fail.
func hasEffects(e ir.Expr) bool {
	return contains(e, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Call:
			return n.Fn.Native == "" || changesSelf(n.Fn) || len(n.Fn.List) > 0
		case *ir.CallValue, *ir.Post, *ir.Propagate:
			return true
		}
		return false
	})
}

// readsMutable says whether e depends on what can change: everything but constants and plain locals
// that only this body knows.
func readsMutable(e ir.Expr) bool {
	return contains(e, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Deref, *ir.Index:
			return true
		case *ir.Ref:
			return n.T.Kind != types.Shared && n.Var.Kind != ir.Constant &&
				(n.Var.Kind != ir.Param || n.Var.Take)
		}
		return false
	})
}
