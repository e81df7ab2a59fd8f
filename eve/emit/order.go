package emit

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// A use says how an operand is passed.
type use uint8

const (
	byRead use = iota // its value is read: a number
	byOwn             // its value is moved or copied
	byLend            // a const reference, or a copy if the place may change meanwhile
	byRef             // a place that may be changed
)

// An operand is an expression with its use.
type operand struct {
	x    ir.Expr
	how  use
	text func(*function) string // writes it in a special way; may be nil

	// later operands may change it, as the rules of lending do not apply
	alone bool
}

func read(x ir.Expr) operand { return operand{x: x, how: byRead} }
func lend(x ir.Expr) operand { return operand{x: x, how: byLend} }

// exprs writes operands so that they are evaluated from left to right, which C++ does not promise.
// An operand left of a call that might change it, or fail after it, is stored in a temporary.
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

// A later says which effects the operands behind one may have.
type later struct {
	change bool // change state that others see
	first  bool // need statements before the expression
	fail   bool
	look   bool // read state that others may change, such as the position of a place
	take   bool // move a variable that the one before them reads
	reach  bool // and change a place that the one before them reads
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

// takes says whether e moves a variable that x reads.
func takes(e, x ir.Expr) bool {
	return contains(e, func(n ir.Node) bool {
		r, ok := n.(*ir.Ref)
		return ok && r.Move && mentions(x, r.Var)
	})
}

// matter says whether o must be evaluated before them, by a statement of its own.
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

// mayChange says whether a call in e may change the place x.
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

// givesPlace says whether o is passed as a place, which is lent or changed.
func givesPlace(o operand) bool {
	return isPlace(o.x) && (o.how == byRef || o.how == byLend && !o.x.Type().Copyable())
}

// remains says whether e is always the same place: a variable, or a field of one.
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

// temporary stores the value of an operand in a temporary, or a reference to it if the checker
// ensures that nothing later changes it.
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

// hasEffects says whether evaluating e may change something that another operand could see, or
// fail.
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

// readsMutable says whether e depends on state that can change: anything but constants and plain
// locals of this body.
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
