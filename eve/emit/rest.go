package emit

import "interleave/eve/ir"

// In a function with a plain branch for small problems and a finish for large ones, the C++
// compiler would reserve stack for the finish in every call. So the code behind the plain branch
// is written as a lambda of its own, which is not inlined: nqueens then takes 1.07 of serial C++,
// and 1.25 without.

// restAt is the index of the statement of fn with which that lambda begins. It is 0 if there is
// none, or if a variable could be changed in both parts.
func (u *unit) restAt(fn *ir.Func) int {
	if u.o.Debug {
		return 0
	}
	list := fn.Body.Block.Stmts
	at := 0
	for i, s := range list {
		if branch, ok := s.(*ir.If); ok && branch.Else == nil && leaves(branch.Then) &&
			callsOrLoops(branch.Then, fn) {
			at = i + 1
		}
		if isFinish(s) {
			break
		}
	}
	if at == 0 || at == len(list) || !contains(&ir.Block{Stmts: list[at:]}, isFinish) {
		return 0
	}
	before := &ir.Block{Stmts: list[:at]}
	if contains(fn.Body, func(n ir.Node) bool { _, ok := n.(*ir.Defer); return ok }) ||
		contains(before, isFinish) {
		return 0
	}
	for v := range declared(before) {
		if !byValue(v.Type) && mentions(&ir.Block{Stmts: list[at:]}, v) {
			return 0
		}
	}
	for _, v := range fn.Params {
		if v.Take && !byValue(v.Type) {
			return 0
		}
	}
	if contains(before, func(n ir.Node) bool { _, ok := n.(*ir.Body); return ok }) {
		return 0
	}
	return at
}

func isFinish(n ir.Node) bool { _, ok := n.(*ir.Finish); return ok }

// leaves says whether b ends with a return.
func leaves(b *ir.Block) bool {
	if len(b.Stmts) == 0 {
		return false
	}
	_, ok := b.Stmts[len(b.Stmts)-1].(*ir.Return)
	return ok
}

// callsOrLoops says whether b calls fn or has a loop, and so solves a problem itself.
func callsOrLoops(b *ir.Block, fn *ir.Func) bool {
	return contains(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Repeat, *ir.ForIn:
			return true
		case *ir.Call:
			return n.Fn == fn
		}
		return false
	})
}

// bodyWithRest writes the body of fn, with the statements from at on as a lambda. Numbers are
// captured by value, so that their address is never taken.
func (f *function) bodyWithRest(fn *ir.Func, at int) {
	list := fn.Body.Block.Stmts
	before, rest := &ir.Block{Stmts: list[:at]}, &ir.Block{Stmts: list[at:]}
	f.ctx.result = fn.Body.Result
	mark := f.locals.open()
	f.boundRecursion(fn, before)
	for _, s := range before.Stmts {
		f.stmt(s)
	}
	taken := []string{"w_", "top_"}
	take := func(v *ir.Var) {
		b := f.variable(v)
		switch {
		case !mentions(rest, v):
		case byValue(v.Type):
			taken = append(taken, b.name)
		default:
			taken = append(taken, "&"+b.name)
		}
	}
	for _, v := range fn.Params {
		take(v)
	}
	for _, s := range before.Stmts {
		switch s := s.(type) {
		case *ir.Declare:
			take(s.Var)
		case *ir.Unpack:
			for _, v := range s.Vars {
				if v != nil {
					take(v)
				}
			}
		}
	}
	f.put("return [" + joinStrings(taken) + "]() mutable __attribute__((noinline)) -> " +
		f.ctype(fn.Body.Result) + " {")
	f.indent++
	if !recurs(before) {
		f.boundRecursion(fn, rest)
	}
	f.stmts(rest)
	f.indent--
	f.put("}();")
	f.locals.close(mark)
}
