package emit

import "interleave/eve/ir"

// facts about functions that the emitter needs before it writes the first one.
type facts struct {
	// takes (worker, frame): it has a finish or calls a function that may have one
	forks   map[*ir.Func]bool
	canFail map[*ir.Func]bool
	// neither it nor a function that it calls has a loop, recursion or a call of a closure
	short map[*ir.Func]bool
	// it is called in another module: a generic there has a type of its module as an argument
	shared map[*ir.Func]bool
}

// findFacts computes them as least fixed points over the calls.
func findFacts(p *ir.Program, checked bool) *facts {
	f := &facts{map[*ir.Func]bool{}, map[*ir.Func]bool{}, map[*ir.Func]bool{}, findShared(p)}
	for changed := true; changed; {
		changed = false
		for _, m := range p.Modules {
			for _, fn := range m.Funcs {
				if fn.Opaque {
					continue
				}
				if !f.forks[fn] && f.bodyForks(fn) {
					f.forks[fn], changed = true, true
				}
				if !f.canFail[fn] && f.bodyFails(fn, checked) {
					f.canFail[fn], changed = true, true
				}
				if !f.short[fn] && fn.Body != nil && fn.Body.Block != nil &&
					!f.longTurn(fn.Body.Block) {
					f.short[fn], changed = true, true
				}
			}
		}
	}
	return f
}

// findShared finds the functions that are called in another module than their own, or by the
// default of a field, which every unit with the type has.
func findShared(p *ir.Program) map[*ir.Func]bool {
	shared := map[*ir.Func]bool{}
	note := func(n ir.Node, home *ir.Module) {
		ir.Walk(n, func(n ir.Node) bool {
			if call, ok := n.(*ir.Call); ok && call.Fn != nil && call.Fn.Module != home {
				shared[call.Fn] = true
			}
			return true
		})
	}
	for _, m := range p.Modules {
		for _, fn := range m.Funcs {
			if !fn.Opaque && fn.Body != nil {
				note(fn.Body, m)
			}
		}
		for _, t := range m.Named {
			for _, field := range t.Def.Fields {
				if init, ok := field.Default.(ir.Expr); ok {
					note(init, nil)
				}
			}
		}
	}
	return shared
}

func (f *facts) bodyForks(fn *ir.Func) bool {
	if fn.Body == nil || fn.Body.Block == nil {
		return false
	}
	forks := false
	within(fn.Body.Block, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Finish, *ir.CallValue:
			forks = true
		case *ir.Call:
			forks = forks || f.forks[n.Fn]
		}
		return !forks
	})
	return forks
}

func (f *facts) bodyFails(fn *ir.Func, checked bool) bool {
	if fn.Body == nil || fn.Body.Block == nil {
		ofFloat := fn.Native == "abs" && fn.Result.IsFloat()
		return fn.Extern == nil && !safeNatives[fn.Native] && !ofFloat
	}
	return f.fails(fn.Body.Block, checked)
}

// fails says whether running n can throw.
func (f *facts) fails(n ir.Node, checked bool) bool {
	fails := false
	within(n, func(x ir.Node) bool {
		fails = fails || f.nodeFails(x, checked)
		return !fails
	})
	return fails
}

// nodeFails says whether n itself can throw, whatever its parts do.
func (f *facts) nodeFails(n ir.Node, checked bool) bool {
	switch n := n.(type) {
	case *ir.Index, *ir.Cut, *ir.CallValue, *ir.Assert, *ir.Fail:
		return true
	case *ir.Convert:
		return checked && n.T.IsInteger()
	case *ir.Unary:
		return checked && n.Op == "-" && n.T.IsInteger()
	case *ir.Binary:
		return n.T.IsInteger() && opFails(n.Op, n.Y, checked)
	case *ir.Assign:
		return n.Op != "" && n.Target.Type().IsInteger() && opFails(n.Op, n.Value, checked)
	case *ir.Repeat:
		return !n.Counted
	case *ir.ForIn:
		return needsGuard(n)
	case *ir.Finish:
		return !n.Disjoint
	case *ir.Call:
		return f.canFail[n.Fn]
	}
	return false
}

// longTurn says whether a turn of a loop can take long: it has a loop in it, or calls a function
// that may have one.
func (f *facts) longTurn(b *ir.Block) bool {
	return contains(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Repeat, *ir.ForIn, *ir.SpawnEach, *ir.CallValue:
			return true
		case *ir.Call:
			return n.Fn.Native == "" && !f.short[n.Fn]
		}
		return false
	})
}

// opFails says whether x op y on integers can fail.
func opFails(op ir.Op, y ir.Expr, checked bool) bool {
	c, constant := y.(*ir.Const)
	switch op {
	case "+", "-", "*":
		return checked
	case "/", "%":
		return !constant || !safeDivisor(c)
	case "<<", ">>":
		return !constant || !safeShift(c, 64)
	case "**":
		return true
	}
	return false
}

func safeDivisor(c *ir.Const) bool {
	switch v := c.Value.(type) {
	case int64:
		return v != 0 && v != -1
	case uint64:
		return v != 0
	}
	return false
}

func safeShift(c *ir.Const, bits int) bool {
	v, ok := c.Value.(int64)
	return ok && v >= 0 && v < int64(bits)
}

// safeNatives never fail. All others are assumed to.
var safeNatives = map[string]bool{
	"vector.size": true, "vector.empty": true, "array.size": true, "slice.size": true,
	"slice.empty": true,
	"map.size":    true, "map.empty": true, "set.size": true, "set.empty": true,
	"string.size":  true,
	"string.empty": true,
	"min":          true, "max": true, "same": true, "clock": true, "duration.seconds": true,
	"duration.milliseconds": true,
	"duration.nanoseconds":  true, "math.sqrt": true, "math.pow": true, "math.floor": true,
	"math.ceil": true,
	"math.sin":  true, "math.cos": true, "math.exp": true, "math.log": true,
}
