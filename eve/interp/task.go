package interp

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// finish runs its block and waits for the children that it spawns. A failure skips those that have
// not begun.
func (f *frame) finish(s *ir.Finish) (end control) {
	in := f.in
	inner := &scope{outer: in.scope, queues: map[*object][]*slot{}}
	in.scope = inner
	if failed := in.guarded(func() { end = f.block(s.Block) }); failed != nil &&
		inner.failure == nil {
		inner.failure = failed
	}
	in.scope = inner
	in.join(inner)
	in.scope = inner.outer
	return end
}

// spawn starts a task: a child of the finish around it, or a root.
func (f *frame) spawn(b *ir.Body, captured cells) {
	in := f.in
	needs := in.wants(b, captured)
	run := func() { in.task(b, in.frame(captured)) }
	if b.Kind != ir.Child {
		in.root(&root{needs: needs, contained: b.Contained, run: run})
		return
	}
	s := in.scope
	in.child(s, needs, run)
	if len(s.ready) > 0 && s.failure == nil && in.random.IntN(4) == 0 { // as another worker might
		in.runChild(s, take(in, &s.ready))
	}
}

func (f *frame) spawnEach(s *ir.SpawnEach) {
	p := f.place(s.X)
	start := func(v value) {
		f.in.count(s.Span)
		captured := append(f.captures(s.Body), cell{s.Body.Each, &v})
		f.spawn(s.Body, captured)
	}
	if r, is := (*p).(span); is {
		for i := range r.turns {
			start(r.low + int64(i))
		}
		return
	}
	x := *p
	freeze(x, 1)
	defer freeze(x, -1)
	for i := range countOf(x) {
		start(nth(x, i, s.Body.Each.Type))
	}
}

// await calls an async function. Its continuation is a root that gets the value.
func (f *frame) await(s *ir.Await) {
	in, fn := f.in, s.Call.Fn
	waiting := &pending{}
	answer := func(v value) {
		if waiting.answered {
			return
		}
		waiting.answered = true
		waiting.settle(false)
		if waiting.deadline != nil {
			waiting.deadline.off = true
		}
		captured := waiting.captured
		if s.Var != nil {
			captured = append(captured, cell{s.Var, &v})
		}
		in.root(&root{needs: in.wants(s.Rest, captured), contained: s.Rest.Contained,
			run: func() { in.task(s.Rest, in.frame(captured)) }})
	}
	arrived := answer
	if s.Within != nil && fn.Result.Kind != types.Result {
		arrived = func(v value) { answer(ok(v)) }
	}
	var begin func()
	if fn.Answers() {
		waiting.reply, begin = f.ask(s.Call, waiting, arrived)
		if fn.Result.Kind == types.Result {
			waiting.lose = func() { answer(failed(&fault{code: 125, text: "no answer"})) }
		}
		waiting.captured = f.captures(s.Rest)
	} else {
		native := asyncs[fn.Native]
		if native == nil {
			fail(s.Span, "the interpreter has no %s", fn.Native)
		}
		waiting.captured = f.captures(s.Rest)
		c := &called{in: in, f: f, at: s.Span, fn: fn, t: s.Call.T, waiting: waiting,
			args: f.arguments(s.Call.Args, fn.Params)}
		begin = func() { native(c, arrived) }
	}
	in.network.pending(waiting)
	if s.Within != nil {
		d := f.value(s.Within).(int64)
		waiting.deadline = in.after(d, func() {
			if !waiting.answered {
				waiting.settle(true)
			}
			answer(failed(&fault{code: 110, text: "timeout"}))
		})
	}
	begin()
}

// ask runs a function of the program that is called by <-. It may answer before the continuation
// is there, which takes its answers from the call of begin on. The first one counts.
func (f *frame) ask(e *ir.Call, waiting *pending, arrived func(value)) (reply *closure,
	begin func()) {
	begun, early := false, []value(nil)
	reply = &closure{wait: waiting, answer: func(v value) {
		if begun {
			arrived(v)
		} else {
			early = append(early, v)
		}
	}}
	f.in.call(e.Fn, append(f.arguments(e.Args, e.Fn.Params), reply))
	return reply, func() {
		begun = true
		if len(early) > 0 {
			arrived(early[0])
		}
	}
}

// A pending is a continuation that waits for an async function.
type pending struct {
	captured cells
	answered bool
	deadline *timerNode // nil if there is none
	// of a call that is answered by the program, with a result: what answers it, and what happens
	// when nothing can
	reply *closure
	lose  func()

	settled, gaveUp bool // the wait is over; without an answer
	// what is called when the caller gives up, or dropped when it gets an answer
	watchers []watcher
}

// A watcher waits for the end of another wait.
type watcher struct {
	waiting *pending
	told    func(value)
}

// settle tells those who want to know that the caller has given up, or drops them. The first call
// counts.
func (p *pending) settle(gaveUp bool) {
	if p.settled {
		return
	}
	p.settled, p.gaveUp = true, gaveUp
	for _, w := range p.watchers {
		w.end(gaveUp)
	}
	p.watchers = nil
}

func (w watcher) end(told bool) {
	switch {
	case told:
		w.told(nil)
	case w.waiting.deadline == nil:
		w.waiting.answered = true
	}
}

// unwanted waits until the caller of a function gives up.
func (c *called) unwanted(answer func(value)) {
	w := watcher{c.waiting, answer}
	switch p := c.args[0].(*closure).wait; {
	case p == nil:
		w.end(false)
	case p.settled:
		w.end(p.gaveUp)
	default:
		p.watchers = append(p.watchers, w)
	}
}
