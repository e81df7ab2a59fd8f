package interp

import (
	"strings"

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

// block runs statements.
func (f *frame) block(b *ir.Block) control {
	if b == nil {
		return onward
	}
	return f.statements(b.Stmts)
}

func (f *frame) statements(all []ir.Stmt) control {
	for i, s := range all {
		end := onward
		switch s := s.(type) {
		case *ir.Defer:
			return f.deferring(s, all[i+1:])
		case *ir.Declare:
			if s.Var.Built {
				return f.holding(s, all[i+1:])
			}
			f.in.count(s.Span)
			f.declare(s)
		case *ir.Unpack:
			return f.unpack(s, all[i+1:])
		default:
			end = f.statement(s)
		}
		if end != onward {
			return end
		}
	}
	return onward
}

// holding declares an object, which this body holds until the end of the block: rest are the
// statements behind it.
func (f *frame) holding(s *ir.Declare, rest []ir.Stmt) control {
	f.in.count(s.Span)
	o := f.value(s.Init).(*object)
	f.set(s.Var, o)
	defer f.in.hold(o)()
	return f.statements(rest)
}

// unpack declares the elements of a tuple. A T@ of a T is an object that is built here.
func (f *frame) unpack(s *ir.Unpack, rest []ir.Stmt) control {
	f.in.count(s.Span)
	r := f.value(s.Init).(*record)
	for i, v := range s.Vars {
		if v == nil {
			continue
		}
		part, t := r.fields[i], s.Init.Type().Elems[i]
		if v.Type.Kind == types.Shared && t.Kind != types.Shared {
			o := f.in.object(owned(part, t), t)
			defer f.in.hold(o)()
			part = o
		}
		f.set(v, owned(part, v.Type))
	}
	return f.statements(rest)
}

// deferring runs the rest of a block and then the deferred block, also after a failure. If the
// deferred block fails too, the first failure counts. At the end of the process nothing runs.
func (f *frame) deferring(s *ir.Defer, rest []ir.Stmt) control {
	in := f.in
	scope, depth := in.scope, in.depth
	defer func() {
		if in.dying {
			return
		}
		r, left := recover(), in.left
		in.scope, in.depth, in.left = scope, depth, nil
		result := f.result
		second := in.guarded(func() { f.block(s.Block) })
		f.result = result
		switch {
		case r != nil && left == nil:
			panic(r)
		case second != nil:
			panic(second)
		case left != nil:
			in.left = left
			panic(left)
		}
	}()
	return f.statements(rest)
}

func (f *frame) statement(s ir.Stmt) control {
	f.in.count(s.At())
	switch s := s.(type) {
	case *ir.Declare:
		f.declare(s)
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
		f.fail(s)
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
	if x, is := s.Target.(*ir.Index); is && s.Op == "" && x.X.Type().Kind == types.Map {
		t := (*f.place(x.X)).(*table)
		key := owned(f.value(x.I), x.I.Type())
		unfrozen(t, x.X.Type(), s.Span)
		t.put(key, v)
		return
	}
	p := f.place(s.Target)
	if s.Op == "" {
		unfrozen(*p, s.Target.Type(), s.Span)
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
		unfrozen(x, e.T, e.Span)
		return &list{elems: append(append([]value{}, a.elems...), y.(*list).elems...)}
	case float64:
		return floats(e, a, y)
	case bool:
		b := y.(bool)
		switch e.Op {
		case "&":
			return a && b
		case "|":
			return a || b
		}
		return a != b
	case int64:
		if b, is := y.(float64); is { // duration * 1.5
			return int64(float64(a) * b)
		}
		return f.arithmetic(e, string(e.Op), a, y.(int64))
	}
	fail(e.Span, "the interpreter does not know this operation")
	return nil
}

// unfrozen fails if a container in a value of type t is being iterated: it would change under the
// loop through another name. Arrays have a fixed size.
func unfrozen(v value, t *types.Type, at source.Span) {
	busy := 0
	switch v := v.(type) {
	case *list:
		if t.Kind != types.Vector {
			return
		}
		busy = v.busy
	case *table:
		busy = v.busy
	case *record:
		fields := t.Def
		if t.Kind != types.Named || fields == nil || fields.Form != types.Struct {
			return
		}
		for i, x := range v.fields {
			unfrozen(x, fields.Fields[i].Type, at)
		}
	}
	if busy > 0 {
		fail(at, "changed while it is iterated")
	}
}

func (f *frame) fail(s *ir.Fail) {
	v := f.value(s.X)
	if what, is := v.(*fault); is {
		panic(&failure{what: what, at: s.Span})
	}
	fail(s.Span, "%s", v)
}

func (f *frame) assert(s *ir.Assert) {
	text := strings.TrimSpace(s.X.At().Text())
	if sides := s.Sides(); sides != nil {
		if x, y := f.sides(sides); !f.compared(sides, x, y) {
			t := sides.X.Type()
			fail(s.Span, "assertion failed: %s: left is %s, right is %s", text,
				sideText(f.text(x, t), t), sideText(f.text(y, t), t))
		}
		return
	}
	if f.value(s.X).(bool) {
		return
	}
	if s.Message == nil {
		fail(s.Span, "assertion failed: %s", text)
	}
	fail(s.Span, "assertion failed: %s: %s", text, f.text(f.value(s.Message), s.Message.Type()))
}

func (f *frame) repeat(s *ir.Repeat) control {
	if s.Init != nil {
		for _, d := range s.Init.Stmts {
			f.statement(d)
		}
	}
	for s.Cond == nil || f.value(s.Cond).(bool) {
		f.in.count(s.Span)
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
		f.in.count(s.Span)
		f.set(s.Var, v)
		return f.block(s.Body)
	}
	if r, is := x.(span); is {
		for i := range r.turns {
			if end := turn(r.low + int64(i)); end == broken {
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

// spanOf returns the numbers from low to below high, of type t.
func spanOf(low, high int64, t *types.Type) span {
	if t.Kind == types.Uint64 && uint64(low) >= uint64(high) || t.Kind != types.Uint64 &&
		low >= high {
		return span{}
	}
	return span{low, uint64(high) - uint64(low)}
}

// freeze notes that an iteration of a container has begun, or ended. A view freezes its container.
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

// nth is the i-th element for a loop variable of type t.
func nth(x value, i int, t *types.Type) value {
	switch x := x.(type) {
	case string:
		return int64(x[i])
	case *table:
		if t.Kind == types.Tuple && x.pairs {
			return &record{0, []value{copied(x.keys[i]), copied(x.values[i])}}
		}
		return copied(x.keys[i])
	}
	p := &elemsOf(x)[i]
	if t.Kind == types.Ref {
		return p
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
					f.set(v, matched(&r.fields[i], v.Type))
				}
			}
			return f.block(a.Body)
		}
	}
	fail(s.Span, "no arm fits")
	return onward
}

// matched is a part of the matched value, for a pattern's variable.
func matched(p place, t *types.Type) value {
	if t.Kind == types.Ref {
		return p
	}
	return owned(*p, t)
}
