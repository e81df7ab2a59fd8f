package interp

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// control says how a statement ended.
type control uint8

const (
	onward control = iota
	broken
	continued
	returned
)

// block runs statements; objects that they build are held until its end.
func (f *frame) block(b *ir.Block) (end control) {
	if b == nil {
		return onward
	}
	var held []func()
	defer func() {
		for i := len(held) - 1; i >= 0; i-- {
			held[i]()
		}
	}()
	for _, s := range b.Stmts {
		if d, is := s.(*ir.Declare); is && d.Var.Built {
			f.in.step(d.Span)
			v := f.value(d.Init)
			f.set(d.Var, v)
			held = append(held, f.in.hold(v.(*object)))
			continue
		}
		if end := f.statement(s); end != onward {
			return end
		}
	}
	return onward
}

func (f *frame) statement(s ir.Stmt) control {
	f.in.step(s.At())
	switch s := s.(type) {
	case *ir.Declare:
		f.declare(s)
	case *ir.Unpack:
		r := f.value(s.Init).(*record)
		for i, v := range s.Vars {
			f.set(v, r.fields[i])
		}
	case *ir.Assign:
		f.assign(s)
	case *ir.Repoint:
		v := f.value(s.Value)
		*f.place(s.Target) = v
	case *ir.Do:
		f.value(s.X)
	case *ir.Return:
		if s.X != nil {
			f.result = owned(f.value(s.X), s.X.Type())
		}
		return returned
	case *ir.Break:
		return broken
	case *ir.Continue:
		return continued
	case *ir.Assert:
		f.assert(s)
	case *ir.Fail:
		fail(s.Span, "%s", f.reason(s.X))
	case *ir.Defer:
		f.defers = append(f.defers, s.Block)
	default:
		return f.compound(s)
	}
	return onward
}

func (f *frame) compound(s ir.Stmt) control {
	switch s := s.(type) {
	case *ir.If:
		if f.value(s.Cond).(bool) {
			return f.block(s.Then)
		}
		return f.block(s.Else)
	case *ir.Nest:
		return f.block(s.Block)
	case *ir.Repeat:
		return f.repeat(s)
	case *ir.ForIn:
		return f.forIn(s)
	case *ir.Match:
		return f.match(s)
	case *ir.Finish:
		return f.finish(s)
	case *ir.Spawn:
		f.spawn(s.Body, f.captures(s.Body))
	case *ir.SpawnEach:
		f.spawnEach(s)
	case *ir.On:
		f.on(s)
	case *ir.Await:
		f.await(s)
	case *ir.Emit:
		f.emit(s)
	default:
		fail(s.At(), "the interpreter does not know this statement")
	}
	return onward
}

func (f *frame) declare(s *ir.Declare) {
	if s.Var.Type.Kind == types.Ref {
		f.set(s.Var, f.place(s.Init))
		return
	}
	f.set(s.Var, owned(f.value(s.Init), s.Var.Type))
}

func (f *frame) assign(s *ir.Assign) {
	v := owned(f.value(s.Value), s.Value.Type())
	p := f.place(s.Target)
	if s.Op == "" {
		f.unfrozen(*p, s)
		*p = v
		return
	}
	x := &ir.Binary{Place: ir.Place{T: s.Target.Type(), Span: s.Span}, Op: s.Op}
	*p = f.combine(x, *p, v)
}

// combine computes x op y of two values.
func (f *frame) combine(e *ir.Binary, x, y value) value {
	switch a := x.(type) {
	case string:
		return a + y.(string)
	case *list:
		f.unfrozen(x, e)
		return &list{elems: append(append([]value{}, a.elems...), y.(*list).elems...)}
	case float64:
		return floats(e, a, y)
	case bool:
		return map[ir.Op]bool{"&": a && y.(bool), "|": a || y.(bool), "^": a != y.(bool)}[e.Op]
	}
	if b, is := y.(float64); is {
		return int64(float64(x.(int64)) * b)
	}
	return f.arithmetic(e, string(e.Op), x.(int64), y.(int64))
}

// unfrozen fails if a container is iterated: through an alias it would change under the loop.
func (f *frame) unfrozen(v value, at interface{ At() source.Span }) {
	busy := 0
	switch v := v.(type) {
	case *list:
		busy = v.busy
	case *table:
		busy = v.busy
	}
	if busy > 0 {
		fail(at.At(), "changed while it is iterated")
	}
}

func (f *frame) assert(s *ir.Assert) {
	if f.value(s.X).(bool) {
		return
	}
	if s.Message != nil {
		fail(s.Span, "assertion failed: %s: %s", s.X.At().Text(), f.reason(s.Message))
	}
	fail(s.Span, "assertion failed: %s", s.X.At().Text())
}

// reason is a text or an error in words.
func (f *frame) reason(e ir.Expr) string {
	switch v := f.value(e).(type) {
	case string:
		return v
	case *fault:
		return v.text
	default:
		return f.text(v, e.Type())
	}
}

func (f *frame) repeat(s *ir.Repeat) control {
	if s.Init != nil {
		for _, d := range s.Init.Stmts {
			f.statement(d)
		}
	}
	for s.Cond == nil || f.value(s.Cond).(bool) {
		f.in.step(s.Span)
		switch f.block(s.Body) {
		case broken:
			return onward
		case returned:
			return returned
		}
		if s.Step != nil {
			f.statement(s.Step)
		}
	}
	return onward
}

func (f *frame) forIn(s *ir.ForIn) control {
	x := *f.place(s.X)
	turn := func(v value) control {
		f.in.step(s.Span)
		f.set(s.Var, v)
		return f.block(s.Body)
	}
	if r, is := x.(span); is {
		for i := r.low; i < r.high; i++ {
			if end := turn(i); end == broken {
				break
			} else if end == returned {
				return returned
			}
		}
		return onward
	}
	freeze(x, 1)
	defer freeze(x, -1)
	for i := 0; i < countOf(x); i++ {
		if end := turn(nth(x, i, s.Var.Type)); end == broken {
			break
		} else if end == returned {
			return returned
		}
	}
	return onward
}

func freeze(x value, by int) {
	switch x := x.(type) {
	case *list:
		x.busy += by
	case *view:
		x.of.busy += by
	case *table:
		x.busy += by
	}
}

func countOf(x value) int {
	switch x := x.(type) {
	case string:
		return len(x)
	case *table:
		return len(x.keys)
	}
	return len(elemsOf(x))
}

// nth is the i-th element as a loop's variable of type t gets it.
func nth(x value, i int, t *types.Type) value {
	switch x := x.(type) {
	case string:
		return int64(x[i])
	case *table:
		if x.values[i] != nil || t.Kind == types.Tuple {
			return &record{0, []value{copied(x.keys[i]), copied(x.values[i])}}
		}
		return copied(x.keys[i])
	}
	p := &elemsOf(x)[i]
	if t.Kind == types.Ref {
		return place(p)
	}
	return owned(*p, t)
}

func (f *frame) match(s *ir.Match) control {
	p := f.place(s.X)
	for _, a := range s.Arms {
		switch {
		case a.Any:
			return f.block(a.Body)
		case a.Const != nil:
			if equal(*p, constant(a.Const)) {
				return f.block(a.Body)
			}
		default:
			r := (*p).(*record)
			if r.kind != a.Case {
				continue
			}
			for i, v := range a.Vars {
				if v != nil {
					f.set(v, owned(r.fields[i], v.Type))
				}
			}
			return f.block(a.Body)
		}
	}
	fail(s.Span, "no arm fits")
	return onward
}
