package emit

import "interleave/eve/ir"

// clone writes the task-free copy of fn. Its finishes run their children at once, and its calls of
// itself go Depth copies deep before they call the checked function again. The copies pay only if
// they are inlined: fib then takes .30 ns a call, and .85 by g++'s own choice (-O2, g++ 12).
func (u *unit) clone(fn *ir.Func, shared map[*ir.Var]bool) {
	const inline = "[[gnu::always_inline]] static inline "
	name := u.names.fn[fn] + "__inline"
	f := u.newFunction(fn)
	f.at, f.indent = fn.Span.Line(), 0
	names := paramNames(f.locals, fn)
	head := u.ctype(fn.Body.Result) + " " + name
	params := "(" + joinStrings(u.params(fn, names)) + ")"
	f.put("template <int Depth> " + inline + head + params + ";")
	f.parameters(fn, names)
	f.put("template <> " + inline[:len(inline)-len("static inline ")] + "inline " + head + "<0>" +
		params + " {")
	f.indent = 1
	f.guards(fn)
	args := []string{"w_", "top_"}
	for i, v := range fn.Params {
		arg := names[i]
		if v.Take && !byValue(v.Type) {
			arg = "eve::move(" + arg + ")"
		}
		args = append(args, arg)
	}
	f.put("return " + u.names.fn[fn] + "(" + joinStrings(args) + ");")
	f.indent = 0
	f.put("}")
	u.code = append(u.code, f.lines...)

	f = u.newFunction(fn)
	f.shared = shared
	f.at, f.indent = fn.Span.Line(), 0
	names = paramNames(f.locals, fn)
	f.put("template <int Depth> " + inline + head + params + " {")
	f.indent = 1
	f.parameters(fn, names)
	f.ctx.clone, f.ctx.depth = fn, "Depth - 1"
	f.ctx.finish = &finish{kind: atOnce}
	f.body(fn.Body)
	f.indent = 0
	f.put("}")
	u.code = append(u.code, f.lines...)
}

// guards writes the tests at the start of fn that end its recursion, so that its leaves, half of
// all calls, need no call.
func (f *function) guards(fn *ir.Func) {
	f.ctx.result = fn.Body.Result
	for _, s := range fn.Body.Block.Stmts {
		branch, ok := s.(*ir.If)
		if !ok || branch.Else != nil || len(branch.Then.Stmts) != 1 || hasEffects(branch.Cond) {
			return
		}
		r, ok := branch.Then.Stmts[0].(*ir.Return)
		if !ok || r.X != nil && hasEffects(r.X) {
			return
		}
		f.stmt(s)
	}
}

// cloneDepth is how deep copies of fn are inlined into each other; 0: no clone. A clone pays if
// the children of a finish call the function itself, and the copies stay small together.
func (u *unit) cloneDepth(fn *ir.Func) int {
	if u.o.Debug || !u.facts.forks[fn] {
		return 0
	}
	calls, loops := 0, false
	clean := true
	within(fn.Body.Block, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Finish:
			clean = clean && n.Disjoint
			c, l := selfCalls(n.Block, fn)
			calls, loops = calls+c, loops || l
		case *ir.Defer, *ir.SpawnEach, *ir.Closure:
			clean = false
		}
		return true
	})
	if calls == 0 || !clean {
		return 0
	}
	// nodes in all copies; a guess that gives fib the four levels that measured best
	const most = 1500
	branch := max(calls, 2)
	depth, copies := 0, size(fn.Body.Block)
	for total := copies; depth < 4; depth++ {
		if copies *= branch; total+copies > most {
			break
		}
		total += copies
	}
	if loops {
		depth = min(depth, 2)
	}
	return depth
}

// selfCalls counts the calls of fn in the children of a finish, and says whether a loop spawns
// them.
func selfCalls(b *ir.Block, fn *ir.Func) (calls int, loops bool) {
	within(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Call:
			if n.Fn == fn {
				calls++
			}
		case *ir.Repeat, *ir.ForIn:
			loops = loops || contains(n, func(x ir.Node) bool { _, ok := x.(*ir.Spawn); return ok })
		}
		return true
	})
	return calls, loops
}
