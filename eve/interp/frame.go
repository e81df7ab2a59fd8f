package interp

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// A frame is one run of a body: its variables, and what happens at its end.
type frame struct {
	in     *interp
	cells  map[*ir.Var]place
	outer  *frame // of a lambda: its creator's
	defers []*ir.Block
	result value
}

// A closure is a lambda or callback with what it has captured.
type closure struct {
	body   *ir.Body
	frame  *frame            // lambda: its creator's
	cells  map[*ir.Var]place // callback: its captures
	needs  []need            // callback
	native func(args []value) value
}

// cell is where a variable is kept.
func (f *frame) cell(v *ir.Var) place {
	for g := f; g != nil; g = g.outer {
		if p := g.cells[v]; p != nil {
			return p
		}
	}
	if p := f.in.globals[v]; p != nil {
		return p
	}
	p := new(value)
	*p = f.in.zero(v.Type)
	f.cells[v] = p
	return p
}

func (f *frame) set(v *ir.Var, x value) {
	if v != nil {
		f.cells[v] = &x
	}
}

// captures makes the variables of an inner body of those outside that its list names.
func (f *frame) captures(b *ir.Body) map[*ir.Var]place {
	cells := map[*ir.Var]place{}
	for _, e := range b.Perms {
		if e.Var == nil || e.From == nil || e.Var == b.Emitter {
			continue
		}
		outside := f.cell(e.From)
		switch {
		case e.Sign == '&' && e.Var.Type.Kind == types.Ref:
			v := value(outside)
			cells[e.Var] = &v
		case e.Sign == '=' && e.From.Type.Kind == types.Shared && e.Var.Type.Kind != types.Shared:
			v := copied((*outside).(*object).v) // a snapshot
			cells[e.Var] = &v
		default:
			v := owned(*outside, e.Var.Type)
			cells[e.Var] = &v
		}
	}
	return cells
}

// wants lists the objects that a body asks for: what its list has with + or without a sign.
func (in *interp) wants(b *ir.Body, cells map[*ir.Var]place) []need {
	var needs []need
	for _, e := range b.Perms {
		if e.Sign != '+' && e.Sign != 0 || e.Var == nil || e.Var == b.Emitter || e.Var == b.Each {
			continue
		}
		p := cells[e.Var]
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

// root posts a body as a root. then is told whether it ended well, and its result.
func (in *interp) root(b *ir.Body, cells map[*ir.Var]place, needs []need, then func(result value, failed *failure)) {
	in.post(needs, func() {
		var result value
		f := in.guarded(func() { result = in.run(b, cells) })
		if then != nil {
			then(result, f)
		} else if f != nil {
			in.spoiled(b, f)
		}
	})
}

// spoiled deals with a root that failed: contained, or the end of the process.
func (in *interp) spoiled(b *ir.Body, f *failure) {
	if !b.Contained {
		in.escalate(f)
	}
	in.say(f)
}

// run runs a body with its captured variables and parameters in cells.
func (in *interp) run(b *ir.Body, cells map[*ir.Var]place) value {
	if cells == nil {
		cells = map[*ir.Var]place{}
	}
	return in.enter(b, &frame{in: in, cells: cells})
}

// enter runs a body in a frame: its block, then what it deferred, last one first, also after a failure.
func (in *interp) enter(b *ir.Body, f *frame) value {
	in.depth++
	defer func() { in.depth-- }()
	if in.depth > maxDepth {
		fail(b.Head, "the stack overflows: too many calls inside one another")
	}
	defer func() {
		for i := len(f.defers) - 1; i >= 0; i-- {
			f.block(f.defers[i])
		}
	}()
	f.body(b.Block)
	return f.result
}

// body runs the block of a body, which x? may leave early.
func (f *frame) body(b *ir.Block) {
	defer func() {
		if r := recover(); r != nil {
			p, is := r.(*propagated)
			if !is {
				panic(r)
			}
			f.result = p.r
		}
	}()
	f.block(b)
}

// maxDepth is how many calls may be inside one another; Go's own stack would take more.
const maxDepth = 50_000

// call calls a function with evaluated arguments.
func (in *interp) call(fn *ir.Func, args []value) value {
	cells := make(map[*ir.Var]place, len(args)+4)
	for i, p := range fn.Params {
		if i < len(args) {
			v := args[i]
			cells[p] = &v
		}
	}
	return in.run(fn.Body, cells)
}

// invoke calls a closure.
func (in *interp) invoke(c *closure, args []value) value {
	if c.native != nil {
		return c.native(args)
	}
	f := &frame{in: in, cells: map[*ir.Var]place{}, outer: c.frame}
	for i, p := range c.body.Params {
		v := args[i]
		f.cells[p] = &v
	}
	return in.enter(c.body, f)
}

// later calls a callback: a root of its own.
func (in *interp) later(c *closure, args []value) {
	cells := make(map[*ir.Var]place, len(c.cells)+len(args))
	for v, p := range c.cells {
		cells[v] = p
	}
	for i, p := range c.body.Params {
		v := args[i]
		cells[p] = &v
	}
	in.root(c.body, cells, c.needs, nil)
}
