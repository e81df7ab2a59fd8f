package interp

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// cells are the places of variables. A body has few variables, so searching them is faster than a
// map.
type cells []cell

type cell struct {
	of *ir.Var
	at place
}

func (c cells) find(v *ir.Var) place {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].of == v {
			return c[i].at
		}
	}
	return nil
}

// A frame is one run of a body.
type frame struct {
	in       *interp
	cells    cells
	captured cells  // of a task, handler or callback
	outer    *frame // of a lambda: its creator's
	result   value
}

// A closure is a lambda or callback with its captures.
type closure struct {
	body  *ir.Body
	frame *frame // lambda: its creator's
	cells cells  // callback: its captures
	needs []need // callback
	// of a function behind <-: hands the value over to its caller. Nothing else is set then but
	// the wait of the caller
	answer func(value)
	wait   *pending
}

func (in *interp) frame(captured cells) *frame { return &frame{in: in, captured: captured} }

// cell is the place of a variable.
func (f *frame) cell(v *ir.Var) place {
	if v.Kind != ir.Global && v.Kind != ir.Constant {
		for g := f; g != nil; g = g.outer {
			if p := g.cells.find(v); p != nil {
				return p
			}
			if p := g.captured.find(v); p != nil {
				return p
			}
		}
	}
	if p := f.in.globals[v]; p != nil {
		return p
	}
	fail(v.Span, "the interpreter has no variable %s here", v.Name)
	return nil
}

// set declares a variable, again in each turn of a loop.
func (f *frame) set(v *ir.Var, x value) {
	if v == nil {
		return
	}
	for i := len(f.cells) - 1; i >= 0; i-- {
		if f.cells[i].of == v {
			f.cells[i].at = &x
			return
		}
	}
	f.cells = append(f.cells, cell{v, &x})
}

// captures makes the variables of an inner body from the outer variables in its list.
func (f *frame) captures(b *ir.Body) cells {
	var all cells
	for _, e := range b.Perms {
		if e.Var == nil || e.From == nil || e.Var == b.Emitter {
			continue
		}
		outside := f.cell(e.From)
		var v value
		switch {
		case e.Sign == '&' && e.Var.Type.Kind == types.Ref:
			v = outside
			if inner, is := (*outside).(place); is { // a reference is lent on
				v = inner
			}
		case e.Sign == '=' && e.From.Type.Kind == types.Shared && e.Var.Type.Kind != types.Shared:
			v = copied((*outside).(*object).v) // a copy of the value
		case e.Sign == '=' && e.From.Type.Kind == types.Ref && e.Var.Type.Kind != types.Ref:
			v = copied(*(*outside).(place))
		default:
			v = owned(*outside, e.Var.Type)
		}
		all = append(all, cell{e.Var, &v})
	}
	return all
}

// wants returns the objects that a body acquires: those with + or without a sign in its list.
func (in *interp) wants(b *ir.Body, captured cells) []need {
	var needs []need
	for _, e := range b.Perms {
		if e.Sign != '+' && e.Sign != 0 || e.Var == nil || e.Var == b.Emitter {
			continue
		}
		p := captured.find(e.Var)
		if p == nil {
			p = in.globals[e.Var]
		}
		if p == nil {
			continue // a parameter: the caller has it
		}
		if o, is := (*p).(*object); is {
			needs = append(needs, need{o, e.Sign == '+'})
		}
	}
	return needs
}

// maxDepth is the greatest depth of calls; Go's own stack would allow more.
const maxDepth = 100_000

// enter runs a body in a frame and returns its result.
func (in *interp) enter(b *ir.Body, f *frame) value {
	if in.depth++; in.depth > maxDepth {
		in.die("stack overflow: a task calls itself too deeply")
	}
	f.body(b.Block)
	in.depth--
	return f.result
}

// task runs the body of a task. A failure records that it came through this task.
func (in *interp) task(b *ir.Body, f *frame) (v value) {
	if failed := in.guarded(func() { v = in.enter(b, f) }); failed != nil {
		failed.started = append(failed.started, b.Head)
		panic(failed)
	}
	return v
}

// body runs the block of a body, which x? may leave early. Other panics are not caught: catching
// them at each of many calls would take long.
func (f *frame) body(b *ir.Block) {
	scope, depth := f.in.scope, f.in.depth
	defer func() {
		if left := f.in.left; left != nil {
			_ = recover()
			f.in.left, f.in.scope, f.in.depth = nil, scope, depth
			f.result = left.r
		}
	}()
	f.block(b)
}

// call calls a function with evaluated arguments.
func (in *interp) call(fn *ir.Func, args []value) value {
	f := &frame{in: in, cells: make(cells, 0, len(args)+2)}
	for i, p := range fn.Params {
		if i < len(args) {
			f.cells = append(f.cells, cell{p, &args[i]})
		}
	}
	return in.enter(fn.Body, f)
}

// invoke calls a closure within the call that received it.
func (in *interp) invoke(c *closure, args []value) value {
	f := &frame{in: in, outer: c.frame, captured: c.cells}
	for i, p := range c.body.Params {
		f.cells = append(f.cells, cell{p, &args[i]})
	}
	return in.enter(c.body, f)
}

// later calls a callback: a root of its own, with a copy of the callback's captures.
func (in *interp) later(c *closure, args []value) {
	var own cells
	for _, captured := range c.cells {
		v := copied(*captured.at)
		own = append(own, cell{captured.of, &v})
	}
	for i, p := range c.body.Params {
		own = append(own, cell{p, &args[i]})
	}
	needs := c.needs
	for _, e := range c.body.Perms { // there may be objects among the arguments
		if p := own.find(e.Var); p != nil && e.From == nil && (e.Sign == '+' || e.Sign == 0) {
			if o, is := (*p).(*object); is {
				needs = append(needs[:len(needs):len(needs)], need{o, e.Sign == '+'})
			}
		}
	}
	in.root(&root{needs: needs, contained: c.body.Contained,
		run: func() { in.task(c.body, in.frame(own)) }})
}
