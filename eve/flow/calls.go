package flow

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// callGraph fills Func.Recursive, Func.Forks and Func.CanFail: the last two first from a function
// itself, and then from its calls.
func callGraph(all []*ir.Func) {
	callers := map[*ir.Func][]*ir.Func{}
	var forks, fails []*ir.Func
	for _, f := range all {
		own := ownEffects(f)
		for _, g := range own.calls {
			callers[g] = append(callers[g], f)
		}
		f.Forks, f.CanFail = own.forks, own.fails
	}
	again := recursive(all, callers)
	for _, f := range all {
		f.Recursive = again[f]
		f.CanFail = f.CanFail || again[f] // recursion has a budget
		if f.Forks {
			forks = append(forks, f)
		}
		if f.CanFail {
			fails = append(fails, f)
		}
	}
	spread(forks, callers, func(f *ir.Func) *bool { return &f.Forks })
	spread(fails, callers, func(f *ir.Func) *bool { return &f.CanFail })
}

// spread sets a flag in all functions that call one of these, directly or not.
func spread(from []*ir.Func, callers map[*ir.Func][]*ir.Func, flag func(*ir.Func) *bool) {
	for len(from) > 0 {
		f := from[len(from)-1]
		from = from[:len(from)-1]
		for _, g := range callers[f] {
			if p := flag(g); !*p {
				*p = true
				from = append(from, g)
			}
		}
	}
}

// recursive returns the functions on cycles of calls, by Tarjan's algorithm.
func recursive(all []*ir.Func, callers map[*ir.Func][]*ir.Func) map[*ir.Func]bool {
	found, on := map[*ir.Func]bool{}, map[*ir.Func]bool{}
	number := map[*ir.Func]int{}
	var stack []*ir.Func
	var visit func(f *ir.Func) int
	visit = func(f *ir.Func) int {
		number[f] = len(number) + 1
		low, at := number[f], len(stack)
		stack, on[f] = append(stack, f), true
		for _, g := range callers[f] {
			switch {
			case g == f:
				found[f] = true
			case number[g] == 0:
				low = min(low, visit(g))
			case on[g]:
				low = min(low, number[g])
			}
		}
		if low == number[f] {
			for _, g := range stack[at:] {
				on[g] = false
				if len(stack[at:]) > 1 {
					found[g] = true
				}
			}
			stack = stack[:at]
		}
		return low
	}
	for _, f := range all {
		if number[f] == 0 {
			visit(f)
		}
	}
	return found
}

// effects are those of a function's own code. Roots run later, so they are not part of it.
type effects struct {
	forks, fails bool
	calls        []*ir.Func
}

func ownEffects(f *ir.Func) *effects {
	e := &effects{}
	if f.Body == nil {
		e.fails = !neverFails[f.Native]
		return e
	}
	ir.Walk(f.Body.Block, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Body:
			return n.Kind == ir.Child || n.Kind == ir.Lambda
		case *ir.Finish:
			e.forks = true
		case *ir.Assert, *ir.Fail:
			e.fails = true
		case *ir.Repeat:
			e.fails = e.fails || !n.Counted
		case *ir.Assign:
			e.fails = e.fails || arithmetic(n.Op, n.Value.Type())
		case ir.Expr:
			e.expr(n)
		}
		return true
	})
	return e
}

func (e *effects) expr(x ir.Expr) {
	switch x := x.(type) {
	case *ir.Call:
		if x.Fn != nil {
			e.calls = append(e.calls, x.Fn)
			e.fails = e.fails || x.Fn.Body == nil && !neverFails[x.Fn.Native]
		}
	case *ir.CallValue, *ir.Index, *ir.Cut:
		e.fails = true
	case *ir.Convert:
		e.fails = e.fails || x.X.Type() != nil && x.X.Type().IsNumber() && x.T.IsInteger()
	case *ir.Unary:
		e.fails = e.fails || x.Op == "-" && x.T.IsInteger()
	case *ir.Binary:
		e.fails = e.fails || arithmetic(x.Op, x.T)
	}
}

// arithmetic says whether an operator can fail: by overflow, division by zero, or a shift by too
// much.
func arithmetic(op ir.Op, t *types.Type) bool {
	switch op {
	case "+", "-", "*", "**", "/", "%", "<<", ">>":
		return t == nil || !t.IsFloat() && t.Kind != types.String && t.Kind != types.Vector
	}
	return false
}

// neverFails names natives that cannot fail: they only read.
var neverFails = map[string]bool{
	"vector.size": true, "vector.empty": true, "array.size": true, "slice.size": true,
	"slice.empty": true,
	"map.size":    true, "map.empty": true, "map.has": true, "set.size": true, "set.empty": true,
	"set.has":     true,
	"string.size": true, "string.empty": true, "bytes.size": true, "same": true, "clock": true,
	"now": true,
	"min": true, "max": true, "cancelled": true,
}
