package emit

import (
	"fmt"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// A loop over a range is written twice if that saves checks of indexes: without checks, for when a
// test before it finds all indexes in range, and as it is. The first loop has no exit in its body,
// so the C++ compiler can overlap turns, or vectorise it.

// A hoisting is the set of tests before one loop.
type hoisting struct {
	views map[string]string    // container: the view of it that the unchecked loop uses
	index map[*ir.Index]string // the view to use
	tests []string
}

// Longer loops gain little from saved checks; a guess.
const longestHoisted = 60

// hoist finds the indexes of s, a loop from low to end, that can be tested before it, and writes
// the views. It returns nil if there are none, or if the loop could change a container.
func (f *function) hoist(s *ir.ForIn, low, end string) *hoisting {
	t := s.Var.Type
	if f.o.Debug || t.Bits() != 64 || t.IsUnsigned() || size(s.Body) > longestHoisted ||
		!f.plain(s.Body) || changes(s.Body, s.Var) {
		return nil
	}
	l := loop{s, declared(s.Body), f.o.Checked, !contains(s.Body, storesElsewhere)}
	h := &hoisting{views: map[string]string{}, index: map[*ir.Index]string{}}
	f.ctx.safe = append(f.ctx.safe[:len(f.ctx.safe):len(f.ctx.safe)], provenLoop(s)...)
	seen := map[string]bool{}
	ir.Walk(s.Body, func(n ir.Node) bool {
		e, ok := n.(*ir.Index)
		if !ok || !l.holds(e.X) {
			return true
		}
		moves, fixed := l.affine(e.I)
		if !fixed && !moves || f.inRange(e) {
			return true
		}
		view := f.viewOf(h, e.X)
		h.index[e] = view
		first, count := f.indexAt(e.I, s.Var, low), "1"
		switch {
		case moves && low == "0":
			count = end
		case moves:
			count = end + " - " + low
		}
		test := fmt.Sprintf("eve::covers(%s, %s, %s.size())", first, count, view)
		if !seen[test] {
			seen[test] = true
			h.tests = append(h.tests, test)
		}
		return true
	})
	if len(h.tests) == 0 {
		return nil
	}
	return h
}

// viewOf writes a view of container x, once.
func (f *function) viewOf(h *hoisting, x ir.Expr) string {
	text := f.value(x)
	if _, local := x.(*ir.Ref); local && x.Type().Kind == types.Slice {
		return text
	}
	if h.views[text] == "" {
		h.views[text] = f.temp()
		f.put("const auto " + h.views[text] + " = " + f.view(x) + ";")
	}
	return h.views[text]
}

// indexAt writes the value of index e when the loop variable v has the value at.
func (f *function) indexAt(e ir.Expr, v *ir.Var, at string) string {
	was, had := f.vars[v]
	f.vars[v] = plainly(at)
	text := f.value(e)
	delete(f.vars, v)
	if had {
		f.vars[v] = was
	}
	return text
}

// plain says whether b changes containers only in elements that are numbers, and has no loop and
// no task in it.
func (f *function) plain(b *ir.Block) bool {
	return !contains(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Body, *ir.CallValue, *ir.Post, *ir.Repoint, *ir.Repeat, *ir.ForIn, *ir.Finish,
			*ir.Defer, *ir.Emit:
			return true
		case *ir.Call:
			native := n.Fn.Native != "" || n.Fn.Body == nil || n.Fn.Body.Block == nil
			return native && !safeNatives[n.Fn.Native] ||
				!native && !(harmless(n.Fn) && f.facts.short[n.Fn])
		case *ir.Assign:
			t := n.Target.Type()
			ix, ok := n.Target.(*ir.Index)
			return !t.IsNumber() && t.Kind != types.Bool ||
				ok && ix.X.Type().Deref().Kind == types.Map
		}
		return false
	})
}

// A loop knows which values do not change in its turns.
type loop struct {
	*ir.ForIn
	inside  map[*ir.Var]bool // declared in it
	checked bool
	local   bool // it stores only to variables and elements
}

// storesElsewhere says whether n stores to a field, or through a view or a handle.
func storesElsewhere(n ir.Node) bool {
	a, ok := n.(*ir.Assign)
	if !ok {
		return false
	}
	switch a.Target.(type) {
	case *ir.Ref, *ir.Index:
		return false
	}
	return true
}

// stays says whether v has the same value in all turns.
func (l loop) stays(v *ir.Var) bool {
	switch v.Kind {
	case ir.Local, ir.Param, ir.Self, ir.Loop, ir.Bound, ir.Capture:
		return v != l.Var && !l.inside[v] && !changes(l.Body, v)
	}
	return false
}

// holds says whether x is a container with the same size and place in all turns: a variable, or a
// part of one.
func (l loop) holds(x ir.Expr) bool {
	switch x.Type().Deref().Kind {
	case types.Vector, types.Array, types.Slice:
		return l.remains(x)
	}
	return false
}

func (l loop) remains(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Ref:
		return l.stays(x.Var)
	case *ir.Deref:
		r, ok := x.X.(*ir.Ref)
		return ok && l.stays(r.Var)
	case *ir.Field:
		return l.remains(x.X)
	}
	return false
}

// affine says whether e is the loop variable plus or minus an invariant (moves), or is an
// invariant itself (fixed). If arithmetic can fail, only the variable alone and expressions
// without arithmetic qualify.
func (l loop) affine(e ir.Expr) (moves, fixed bool) {
	switch e := e.(type) {
	case *ir.Const:
		return false, true
	case *ir.Ref:
		return e.Var == l.Var, l.isNumber(e) && l.local && l.stays(e.Var)
	case *ir.Field:
		return false, l.isNumber(e) && l.local && l.remains(e)
	case *ir.Binary:
		if l.checked || !l.isNumber(e) {
			return false, false
		}
		xm, xf := l.affine(e.X)
		ym, yf := l.affine(e.Y)
		switch e.Op {
		case "+":
			return xm && yf || xf && ym, xf && yf
		case "-":
			return xm && yf, xf && yf
		case "*":
			return false, xf && yf
		}
	}
	return false, false
}

func (l loop) isNumber(e ir.Expr) bool {
	t := e.Type()
	return t.IsInteger() && t.Bits() == 64 && !t.IsUnsigned()
}

// hoisted writes a loop over a range twice, with the tests that hoist found.
func (f *function) hoisted(s *ir.ForIn, h *hoisting, low, end string) {
	at := f.at
	f.put("if (" + strings.Join(h.tests, " && ") + ") {")
	f.indent++
	f.nested(func() {
		f.ctx.unchecked = h.index
		f.put("#pragma GCC unroll 4")
		f.rangeLoop(s, low, end)
	})
	f.indent--
	f.at = at
	f.put("} else {")
	f.indent++
	f.nested(func() { f.rangeLoop(s, low, end) })
	f.indent--
	f.put("}")
}
