package interp

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

func (f *frame) finish(s *ir.Finish) (end control) {
	in := f.in
	scope := &scope{outer: in.scope, queues: map[*object][]*slot{}}
	in.scope = scope
	defer func() { in.scope = scope.outer }()
	if failed := in.guarded(func() { end = f.block(s.Block) }); failed != nil {
		scope.failure = failed // children that have not begun are skipped
	}
	in.join(scope)
	return end
}

// spawn starts a task: a child of the finish around it, or a root.
func (f *frame) spawn(b *ir.Body, cells map[*ir.Var]place) {
	in := f.in
	needs := in.wants(b, cells)
	if b.Each != nil {
		for _, e := range b.Perms {
			if o, is := (*cells[b.Each]).(*object); is && e.Var == b.Each && (e.Sign == '+' || e.Sign == 0) {
				needs = append(needs, need{o, e.Sign == '+'})
			}
		}
	}
	if b.Kind != ir.Child {
		in.root(b, cells, needs, nil)
		return
	}
	s := in.scope
	in.child(s, needs, func() {
		outer := in.scope
		in.scope = s
		defer func() { in.scope = outer }()
		in.run(b, cells)
	})
	if len(s.ready) > 0 && s.failure == nil && in.random.IntN(4) == 0 { // as another worker might
		in.runChild(s, take(in, &s.ready))
	}
}

func (f *frame) spawnEach(s *ir.SpawnEach) {
	x := *f.place(s.X)
	if r, is := x.(span); is {
		for i := r.low; i < r.high; i++ {
			cells := f.captures(s.Body)
			v := value(i)
			cells[s.Body.Each] = &v
			f.spawn(s.Body, cells)
		}
		return
	}
	freeze(x, 1)
	defer freeze(x, -1)
	for i := range countOf(x) {
		f.in.step(s.Span)
		cells := f.captures(s.Body)
		t := s.Body.Each.Type
		v := nth(x, i, t)
		if t.Kind == types.Ref {
			v = place(&elemsOf(x)[i])
		}
		cells[s.Body.Each] = &v
		f.spawn(s.Body, cells)
	}
}

// A handler is what an emitter does on an event.
type handler struct {
	event string
	body  *ir.Body
	cells map[*ir.Var]place
	write bool // its permission on the emitter
	read  bool
}

// on registers a handler: posted to the emitter's queue, as any change of the emitter is.
func (f *frame) on(s *ir.On) {
	in := f.in
	o, is := f.value(s.Emitter).(*object)
	if !is {
		fail(s.Span, "the emitter is no object")
	}
	h := &handler{event: s.Event.Name, body: s.Handler, cells: f.captures(s.Handler), write: true}
	for _, e := range s.Handler.Perms {
		if e.Var != nil && e.Var == s.Handler.Emitter {
			h.write, h.read = e.Sign == '+', e.Sign == 0
		}
	}
	register := func() {
		if !o.closed {
			o.handlers = append(o.handlers, h)
			in.armed(o)
		}
	}
	if len(o.queue) == 0 {
		register()
		return
	}
	in.post([]need{{o, true}}, register)
}

// fire tells an emitter's handlers of an event, one after the other until one consumes it.
func (in *interp) fire(o *object, event string, v value, then func()) {
	var asked []*handler
	for _, h := range o.handlers {
		if h.event == event {
			asked = append(asked, h)
		}
	}
	in.ask(o, asked, v, then)
}

func (in *interp) ask(o *object, asked []*handler, v value, then func()) {
	if len(asked) == 0 {
		if then != nil {
			then()
		}
		return
	}
	h := asked[0]
	cells := make(map[*ir.Var]place, len(h.cells)+2)
	for k, p := range h.cells {
		cells[k] = p
	}
	if h.body.Emitter != nil {
		self := value(o)
		cells[h.body.Emitter] = &self
	}
	event := v
	for _, p := range h.body.Params {
		if p.Type.Kind == types.Ref {
			x := value(place(&event))
			cells[p] = &x
		} else {
			x := event
			cells[p] = &x
		}
	}
	needs := in.wants(h.body, cells)
	if h.write || h.read {
		needs = append(needs, need{o, h.write})
	}
	in.root(h.body, cells, needs, func(result value, failed *failure) {
		if failed != nil {
			in.spoiled(h.body, failed)
			in.broke(o, failed)
			return
		}
		if consumed, is := result.(bool); is && consumed {
			asked = asked[:1]
		}
		in.ask(o, asked[1:], v, then)
	})
}

func (f *frame) emit(s *ir.Emit) {
	var v value
	if s.Value != nil {
		v = owned(f.value(s.Value), s.Value.Type())
	}
	self := f.place(s.Self)
	if o := f.in.emitterOf(self); o != nil {
		f.in.fire(o, s.Event.Name, v, nil)
	}
}

// emitterOf finds the object whose value a place is.
func (in *interp) emitterOf(p place) *object {
	if o, is := (*p).(*object); is {
		return o
	}
	return in.emitters[p]
}

// await calls an async function; what follows is a root that gets the value.
func (f *frame) await(s *ir.Await) {
	in := f.in
	cells := f.captures(s.Rest)
	answered := false
	answer := func(v value) {
		if answered {
			return
		}
		answered = true
		if s.Var != nil {
			cells[s.Var] = &v
		}
		in.root(s.Rest, cells, in.wants(s.Rest, cells), nil)
	}
	within := s.Within != nil
	if within {
		d := f.value(s.Within).(int64)
		in.after(d, func() { answer(failed(&fault{text: "timeout"})) })
	}
	start := asyncs[s.Call.Fn.Native]
	if start == nil {
		fail(s.Span, "the interpreter has no %s", s.Call.Fn.Native)
	}
	start(&called{in: in, f: f, at: s.Span, fn: s.Call.Fn, t: s.Call.T, args: f.arguments(s.Call.Args, s.Call.Fn.Params)}, func(v value) {
		if within && s.Call.Fn.Result.Kind != types.Result {
			v = ok(v)
		}
		answer(v)
	})
}
