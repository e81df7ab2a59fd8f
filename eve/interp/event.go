package interp

import (
	"fmt"
	"io"
	"time"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// What the runtime makes, as values of their objects.
type (
	// An alarm is a timer, or what waits for a moment.
	alarm struct {
		at      time.Duration
		every   time.Duration // 0: once
		ring    func()
		stopped bool
		ringing bool // its event has not been handled yet
		count   int64
	}
	// A stream is standard output or standard error.
	stream struct{ w io.Writer }
	// A source is what emits but never does here: signals, standard input.
	quiet struct{}
)

// native is the value of a type of the runtime that nobody has set up.
func (in *interp) native(*types.Type) value { return &quiet{} }

// global makes a module's shared object; those of std that the runtime makes are made here.
func (in *interp) global(g *ir.Var, v value) *object {
	if g.Module != nil && g.Module.Std {
		switch g.Name {
		case "stdout":
			v = &stream{in.options.Stdout}
		case "stderr":
			v = &stream{in.options.Stderr}
		}
	}
	return in.object(v, g.Type.Elem)
}

// armed tells that an emitter has a handler more.
func (in *interp) armed(o *object) {
	if s, is := o.v.(*socket); is {
		s.readable(in)
	}
}

// after calls ring when so many nanoseconds have passed.
func (in *interp) after(d int64, ring func()) *alarm {
	a := &alarm{at: in.now + time.Duration(max(0, d)), ring: ring}
	in.timers = append(in.timers, a)
	return a
}

// timer makes a timer object.
func (in *interp) timer(t *types.Type, d int64, repeat bool) *object {
	a := &alarm{at: in.now + time.Duration(max(1, d))}
	if repeat {
		a.every = time.Duration(max(1, d))
	}
	o := in.object(a, t)
	a.ring = func() {
		if a.ringing {
			a.count++ // ticks that are missed while busy are one event
			return
		}
		a.ringing, a.count = true, 1
		in.fire(o, "fired", &record{0, []value{a.count, int64(in.now)}}, func() { a.ringing = false })
	}
	in.timers = append(in.timers, a)
	return o
}

// tick lets time pass to the next timer; false when there is none.
func (in *interp) tick() bool {
	var next *alarm
	live := in.timers[:0]
	for _, a := range in.timers {
		if a.stopped {
			continue
		}
		live = append(live, a)
		if next == nil || a.at < next.at {
			next = a
		}
	}
	in.timers = live
	if next == nil {
		return false
	}
	in.steps++
	if in.steps > in.options.Steps {
		fail(in.program.Main.Span, "the program has been running for too long")
	}
	in.now = max(in.now, next.at)
	if next.every > 0 {
		next.at += next.every
	} else {
		next.stopped = true
	}
	next.ring()
	return true
}

// broke closes an emitter whose handler failed, after an event that says so.
func (in *interp) broke(o *object, f *failure) {
	in.fire(o, "error", &fault{text: f.text}, func() { in.close(o) })
}

// close ends an emitter: its last event, then its handlers are dropped.
func (in *interp) close(o *object) {
	switch v := o.v.(type) {
	case *alarm:
		v.stopped = true
	case *socket:
		v.shut(in)
		return
	}
	o.closed, o.handlers = true, nil
}

// shutdown stops what emits; what is queued still runs.
func (in *interp) shutdown() {
	for _, a := range in.timers {
		a.stopped = true
	}
	for port, o := range in.network.listeners {
		delete(in.network.listeners, port)
		o.closed = true
	}
	for _, s := range in.network.sockets {
		s.shut(in)
	}
}

// waits says whether an emitter is left that others would make emit.
func (in *interp) waits() bool { return len(in.network.listeners) > 0 }

// instant is a moment of virtual time as ISO text.
func instantText(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (q *quiet) String() string { return fmt.Sprintf("%p", q) }
