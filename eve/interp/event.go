package interp

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"interleave/eve/source"
	"interleave/eve/types"
)

// Values of the runtime's objects.
type (
	// A timerNode calls expire at a time.
	timerNode struct {
		at     time.Duration
		expire func()
		off    bool
		weak   bool // it does not keep the program running
		last   bool // it comes behind all others of its time
	}
	// A stream is standard output or standard error.
	stream struct{ w io.Writer }
	// signals never arrive in the interpreter.
	signals struct{ object *object }
)

// native is the zero value of a type of the runtime.
func (in *interp) native(t *types.Type) value {
	switch t.Name {
	case "instant":
		return int64(0)
	case "file_info":
		return fileInfo{}
	case "entry":
		return dirEntry{}
	case "finished":
		return finished(0, "", "")
	case "datagram":
		return letter{}
	}
	return &record{}
}

// global makes a module's shared object, also those of std that the runtime makes.
func (in *interp) global(name string, std bool, v value, t *types.Type) *object {
	o := in.object(v, t)
	if !std {
		return o
	}
	switch name {
	case "stdout":
		o.v = &stream{in.options.Stdout}
	case "stderr":
		o.v = &stream{in.options.Stderr}
	case "stdin":
		in.stdin = &input{object: o}
		o.v = in.stdin
	case "signals":
		o.v = &signals{o}
	}
	return o
}

// fakeStart is when fake time begins: at 2000-01-01T00:00:00Z, as in the runtime. Other programs
// begin at the start of 1970.
const fakeStart = 946_684_800_000_000_000

// instant is what the clock of the machine shows.
func (in *interp) instant() int64 {
	if in.faked {
		return fakeStart + int64(in.now)
	}
	return int64(in.now)
}

// refuse ends a test in fake time, as the runtime does.
func (in *interp) refuse(what string) {
	if in.faked {
		in.die("eve: a test in fake time cannot have " + what +
			": the clock would not see what is on its way there")
	}
}

// after calls expire when this many nanoseconds have passed.
func (in *interp) after(d int64, expire func()) *timerNode {
	a := &timerNode{at: in.now + time.Duration(max(0, d)), expire: expire}
	in.timerNodes = append(in.timerNodes, a)
	return a
}

// tick lets time pass to the next timer; false when there is none.
func (in *interp) tick() bool {
	var next *timerNode
	strong := false
	live := in.timerNodes[:0]
	for _, a := range in.timerNodes {
		if a.off {
			continue
		}
		live = append(live, a)
		strong = strong || !a.weak
		if next == nil || a.at < next.at || a.at == next.at && next.last && !a.last {
			next = a
		}
	}
	in.timerNodes = live
	if !strong {
		return false
	}
	in.count(source.Span{})
	in.now = max(in.now, next.at)
	next.off = true
	next.expire()
	return true
}

// A timer is the value of a timer object.
type timer struct {
	object  *object
	every   int64 // 0: once
	node    *timerNode
	busy    bool // its event has not been handled yet
	stopped bool
	ticks   int64   // ticks not yet reported by an event
	number  int64   // of all ticks
	told    *record // the last event
}

// shortest is the least time between two ticks, as in the runtime.
const shortest = 50_000

func (in *interp) timer(t *types.Type, d int64, repeat bool) *object {
	timer := &timer{}
	timer.object = in.object(timer, t)
	if repeat {
		d = max(d, shortest)
		timer.every = d
	}
	in.timers = append(in.timers, timer)
	timer.set(in, d)
	if in.ending {
		timer.stop()
	}
	return timer.object
}

func (t *timer) set(in *interp, d int64) { t.node = in.after(d, func() { t.expire(in) }) }

// expire emits a tick. Ticks that come while the handler runs are one event.
func (t *timer) expire(in *interp) {
	if t.stopped {
		return
	}
	t.ticks++
	t.number++
	if t.every > 0 {
		t.set(in, t.every)
	}
	if !t.busy {
		t.tell(in)
	}
}

func (t *timer) tell(in *interp) {
	t.busy = true
	ticks := t.ticks
	t.ticks = 0 // before the event, which is over at once if it has no handler
	t.told = &record{0, []value{ticks, in.instant(), t.number}}
	in.emit(t.object, "fired", t.told)
}

func (t *timer) stop() {
	t.stopped = true
	t.node.off = true
}

func (t *timer) changed(*interp) {}

func (t *timer) handled(in *interp, _ string, _ value) {
	t.busy = false
	switch {
	case t.stopped:
	case t.ticks > 0:
		t.tell(in)
	case t.every == 0:
		t.stop()
	}
}

func (t *timer) unhandled(in *interp, event string, v value) { t.handled(in, event, v) }

func (t *timer) failed(in *interp, _ *failure) bool {
	t.stop()
	in.off(t.object)
	return false
}

func (t *timer) gone(*interp) {}

// No signals arrive here.
func (*signals) changed(*interp)                  {}
func (*signals) handled(*interp, string, value)   {}
func (*signals) unhandled(*interp, string, value) {}
func (*signals) gone(*interp)                     {}
func (s *signals) failed(in *interp, _ *failure) bool {
	in.off(s.object)
	return false
}

// An input is standard input. Its lines come one by one while it has a handler.
type input struct {
	object *object
	lines  *bufio.Reader
	begun  bool
	busy   bool
	closed bool
}

func (s *input) changed(in *interp) {
	if !s.begun && (s.object.handles("line") || s.object.handles("close")) {
		s.begun = true
		s.lines = bufio.NewReader(in.options.Stdin)
		in.starts = append(in.starts, func() { s.pump(in) })
		return
	}
	s.pump(in)
}

// pump emits the next line, or the end.
func (s *input) pump(in *interp) {
	if s.lines == nil || s.busy || s.closed || !s.object.handles("line") &&
		!s.object.handles("close") {
		return
	}
	text, err := s.lines.ReadString('\n')
	if text != "" {
		s.busy = true
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		in.emit(s.object, "line", &record{0, []value{text}})
		return
	}
	if err != nil {
		s.end(in)
	}
}

func (s *input) end(in *interp) {
	if !s.closed {
		s.closed = true
		in.emitLast(s.object, "close", &record{})
	}
}

func (s *input) handled(in *interp, event string, _ value) {
	if event == "line" {
		s.busy = false
		s.pump(in)
	}
}

func (s *input) unhandled(in *interp, event string, v value) { s.handled(in, event, v) }
func (s *input) gone(*interp)                                {}
func (s *input) failed(in *interp, _ *failure) bool {
	s.end(in)
	return false
}

// shutdown stops all emitters. Queued work still runs. When the grace is over the process ends.
func (in *interp) shutdown(grace int64) {
	in.after(grace, func() { in.exit(0) }).weak = true
	in.ending = true
	for _, t := range in.timers {
		t.stop()
	}
	for _, l := range in.network.all {
		l.close(in)
	}
	for _, s := range in.network.sockets {
		s.afterInput(in, false)
	}
	for _, s := range slices.Clone(in.network.datagrams) {
		if s.waits() {
			s.close(in)
		}
	}
	if in.stdin != nil && in.stdin.begun {
		in.stdin.end(in)
	}
	for _, n := range in.queues {
		n.end(in, syscall.ESHUTDOWN)
	}
}

// report writes a failure to standard error, and that the program goes on.
func (in *interp) report(f *failure) {
	fmt.Fprintf(in.options.Stderr, "%s\n    the program goes on\n", f.trace())
}
