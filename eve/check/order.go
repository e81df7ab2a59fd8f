package check

import (
	"slices"

	"interleave/eve/ir"
)

// orderGlobals sorts the variables of a module in an order in which they can be initialised: each
// behind those that its value uses, also through the functions that it calls. It reports a value
// that uses itself.
func (c *checker) orderGlobals(m *ir.Module) {
	needs := map[*ir.Var]map[*ir.Var]bool{}
	for _, v := range m.Globals {
		r := reach{vars: map[*ir.Var]bool{}, funcs: map[*ir.Func]bool{}}
		r.walk(v.Init)
		needs[v] = r.vars
		if r.vars[v] && !c.inCircle(r.vars) {
			c.circles[v] = true
			c.diags.Errorf("E0212", v.Span, "'%s' is defined by itself", v.Name)
		}
	}
	var order []*ir.Var
	var visit func(v *ir.Var)
	visit = func(v *ir.Var) {
		if slices.Contains(order, v) {
			return
		}
		for _, w := range m.Globals {
			if w != v && needs[v][w] && !needs[w][v] {
				visit(w)
			}
		}
		order = append(order, v)
	}
	for _, v := range m.Globals {
		visit(v)
	}
	m.Globals = order
}

// inCircle says whether one of the variables was reported: each cycle gets one message.
func (c *checker) inCircle(vars map[*ir.Var]bool) bool {
	for v := range vars {
		if c.circles[v] {
			return true
		}
	}
	return false
}

// A reach collects the module variables that code uses, through calls and the values of other
// variables.
type reach struct {
	vars  map[*ir.Var]bool
	funcs map[*ir.Func]bool
}

func (r *reach) walk(n ir.Node) {
	ir.Walk(n, func(n ir.Node) bool {
		r.one(n)
		return true
	})
}

func (r *reach) variable(v *ir.Var) {
	if v != nil && (v.Kind == ir.Global || v.Kind == ir.Constant) && !r.vars[v] {
		r.vars[v] = true
		r.walk(v.Init)
	}
}

func (r *reach) one(x ir.Node) {
	switch x := x.(type) {
	case *ir.Body: // a task waits for the variables in its list, even if it does not use them
		for _, e := range x.Perms {
			r.variable(e.Var)
		}
	case *ir.Ref:
		r.variable(x.Var)
	case *ir.Call:
		if f := x.Fn; f != nil && f.Body != nil && !r.funcs[f] {
			r.funcs[f] = true
			r.walk(f.Body.Block)
		}
	}
}
