package interp

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// An emitter is the part of an emitter's object besides its value. Events are handled in the order
// of their emission. The next one begins when the one before has ended, unless no handler of that
// one may change the emitter.
type emitter struct {
	handlers  []*handler
	waiting   []emission
	active    int  // events being handled
	exclusive bool // the event being handled may change the emitter
	ending    bool // its last event has been emitted
	last      emission
	over      bool // its last event has been handled
}

// An emission is an event that waits for its turn.
type emission struct {
	event string
	v     value
	last  bool
}

// A handler is the code that an emitter runs on an event.
type handler struct {
	event   string
	body    *ir.Body
	cells   cells
	needs   []need // besides the emitter
	hold    hold
	dropped bool
}

// A hold is the permission of a handler on its emitter.
type hold uint8

const (
	holdNone hold = iota
	holdRead
	holdWrite
)

// An origin is the value of an emitter of the runtime. It is told about its handlers and events.
type origin interface {
	changed(in *interp) // handlers were registered or dropped
	// the handlers have run; their permissions are still held
	handled(in *interp, event string, v value)
	unhandled(in *interp, event string, v value) // the event had no handler
	// a contained handler failed; its permissions are still held
	failed(in *interp, f *failure) (told bool)
	gone(in *interp) // the last event has been handled
}

// A doubter may find that an event is void when its turn has come: its handlers are not called.
type doubter interface {
	void(event string, v value) bool
}

// origin is the runtime's part of an emitter; nil for a user's.
func (o *object) origin() origin {
	s, _ := o.v.(origin)
	return s
}

func (o *object) handles(event string) bool {
	for _, h := range o.emits.handlers {
		if h.event == event && !h.dropped {
			return true
		}
	}
	return false
}

// emit queues an event. False: the event was dropped, since it came after the last event.
func (in *interp) emit(o *object, event string, v value) bool {
	e := o.emits
	if e.ending {
		return false
	}
	e.waiting = append(e.waiting, emission{event: event, v: v})
	in.nextEvent(o)
	return true
}

// emitLast queues the last event. Later ones are dropped, and after it all handlers.
func (in *interp) emitLast(o *object, event string, v value) bool {
	e := o.emits
	if e.ending {
		return false
	}
	e.ending, e.last = true, emission{event, v, true}
	e.waiting = append(e.waiting, e.last)
	in.nextEvent(o)
	return true
}

// add registers a handler. It is called for every event whose turn comes from now on.
func (in *interp) add(o *object, h *handler) {
	e := o.emits
	if e.over && h.event != e.last.event {
		return
	}
	e.handlers = append(e.handlers, h)
	if e.over && !e.exclusive && len(e.waiting) == 0 {
		e.waiting = append(e.waiting, e.last)
	}
	if s := o.origin(); s != nil {
		s.changed(in)
	}
	in.nextEvent(o)
}

// off drops all handlers registered so far.
func (in *interp) off(o *object) {
	for _, h := range o.emits.handlers {
		h.dropped = true
	}
	o.emits.handlers = nil
	if s := o.origin(); s != nil {
		s.changed(in)
	}
}

// nextEvent begins the turns of events that need not wait.
func (in *interp) nextEvent(o *object) {
	e := o.emits
	for len(e.waiting) > 0 && !e.exclusive {
		m := e.waiting[0]
		if m.last && e.active > 0 {
			return
		}
		e.waiting = e.waiting[1:]
		t := &turn{object: o, emission: m}
		for _, h := range e.handlers {
			if h.event == m.event {
				t.handlers = append(t.handlers, h)
			}
		}
		if len(t.handlers) == 0 && !m.last {
			if s := o.origin(); s != nil {
				s.unhandled(in, m.event, m.v)
			}
			continue
		}
		in.begin(t)
	}
}

// A turn is the handling of one event, by all its handlers in one root.
type turn struct {
	object *object
	emission
	handlers []*handler
	write    bool // it holds the emitter to write
}

func (in *interp) begin(t *turn) {
	most, contained := holdNone, true
	var needs []need
	for _, h := range t.handlers {
		most = max(most, h.hold)
		contained = contained && h.body.Contained
		needs = append(needs, h.needs...)
	}
	if t.last {
		most = holdWrite
	}
	if most != holdNone {
		needs = append(needs, need{t.object, most == holdWrite})
	}
	t.write = most == holdWrite
	t.object.emits.active++
	t.object.emits.exclusive = t.object.emits.exclusive || t.write
	in.root(&root{needs: needs, contained: contained, run: func() {
		defer in.ended(t)
		if s, doubts := t.object.origin().(doubter); doubts && s.void(t.event, t.v) {
			return
		}
		for _, h := range t.handlers {
			if !h.dropped && in.ask(t, h) {
				return
			}
		}
	}})
}

// ask runs one handler. True: it has consumed the event.
func (in *interp) ask(t *turn, h *handler) bool {
	f := in.frame(h.cells)
	if h.body.Emitter != nil {
		f.set(h.body.Emitter, t.object)
	}
	for _, p := range h.body.Params {
		if p.Type.Kind == types.Ref {
			f.set(p, &t.v)
		} else {
			f.set(p, t.v)
		}
	}
	consumed, _ := in.task(h.body, f).(bool)
	return consumed
}

// ended runs after the turn of an event, whether it failed or not.
func (in *interp) ended(t *turn) {
	o, e := t.object, t.object.emits
	s := o.origin()
	if s != nil {
		s.handled(in, t.event, t.v)
	}
	e.active--
	if t.write {
		e.exclusive = false
	}
	if t.last {
		first := !e.over
		e.retire(t)
		if first && s != nil {
			s.gone(in)
		}
	}
	in.nextEvent(o)
}

// retire drops the handlers of an emitter after its last event. Handlers of that event which were
// registered meanwhile stay, and get a turn of their own.
func (e *emitter) retire(t *turn) {
	asked := map[*handler]bool{}
	for _, h := range t.handlers {
		asked[h] = true
	}
	e.over = true
	var late []*handler
	for _, h := range e.handlers {
		if h.event == t.event && !asked[h] {
			late = append(late, h)
		} else {
			h.dropped = true
		}
	}
	e.handlers = late
	if len(late) > 0 && len(e.waiting) == 0 {
		e.waiting = append(e.waiting, e.last)
	}
}

// broke closes an emitter that a contained failure may have damaged, after an `error` event. It
// returns whether that event has a handler.
func (in *interp) broke(o *object, f *failure) bool {
	if s := o.origin(); s != nil {
		return s.failed(in, f)
	}
	heard := o.handles("error")
	return in.emitLast(o, "error", f.fault()) && heard
}

// on registers a handler.
func (f *frame) on(s *ir.On) {
	o, is := f.value(s.Emitter).(*object)
	if !is || o.emits == nil {
		fail(s.Span, "the emitter is not an object")
	}
	h := &handler{event: s.Event.Name, body: s.Handler, cells: f.captures(s.Handler),
		hold: holdWrite}
	for _, e := range s.Handler.Perms {
		if e.Var == nil || e.Var != s.Handler.Emitter {
			continue
		}
		switch e.Sign {
		case '-':
			h.hold = holdNone
		case 0:
			h.hold = holdRead
		}
	}
	for _, n := range f.in.wants(s.Handler, h.cells) {
		if n.object != o {
			h.needs = append(h.needs, n)
		} else if n.write {
			h.hold = holdWrite
		} else {
			h.hold = max(h.hold, holdRead)
		}
	}
	f.in.add(o, h)
}

// emit emits an event of self.
func (f *frame) emit(s *ir.Emit) {
	self := f.place(s.Self)
	var v value = &record{}
	if s.Value != nil {
		v = owned(f.value(s.Value), s.Value.Type())
	}
	if o := f.in.emitterOf(self); o != nil {
		f.in.emit(o, s.Event.Name, v)
	}
}

// emitterOf finds the object whose value is at a place; nil for a plain variable, which has no
// handlers.
func (in *interp) emitterOf(p place) *object {
	if o, is := (*p).(*object); is {
		return o
	}
	return in.emitters[p]
}
