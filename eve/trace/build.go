package trace

import (
	"cmp"
	"slices"

	"interleave/eve/symbols"
)

// A builder makes a trace of a recording. Each ring is read alone, in its order: the clocks of two
// processors may differ by more than the time between two events.
type builder struct {
	r       *recording
	t       *Trace
	symbols *symbols.Table // nil: there are none
	tasks   map[uint64]*Task
	codes   map[uint64]*Code // of tasks and handlers, by address
	byName  map[Code]*Code
	thunks  map[uint64]*Code
	gone    map[uint64][]int64         // when objects at an address ended
	took    map[uint64]int             // the workers that tasks were taken from
	backs   [][]int64                  // when workers came back to their pollers
	loans   []Loan                     // without their ends
	long    map[*Task]map[uint64]*Want // of tasks that want many objects
	built   []built
}

var unknownCode = &Code{Name: "unknown task"}

func newBuilder(r *recording) *builder {
	b := &builder{r: r, tasks: map[uint64]*Task{}, codes: map[uint64]*Code{},
		byName: map[Code]*Code{}, thunks: map[uint64]*Code{}, gone: map[uint64][]int64{},
		took: map[uint64]int{}, backs: make([][]int64, r.workers),
		long: map[*Task]map[uint64]*Want{}}
	b.t = &Trace{Program: r.program, Args: r.args, Pid: r.pid, Started: r.started,
		Length: r.clock.end, Workers: r.workers, Whole: r.whole}
	return b
}

func (b *builder) build() *Trace {
	for i, ring := range b.r.rings {
		b.t.Lost = append(b.t.Lost, ring.lost)
		b.t.Events += len(ring.events)
		b.readRing(i, ring.events)
	}
	for _, task := range b.tasks {
		b.t.Tasks = append(b.t.Tasks, task)
	}
	slices.SortFunc(b.t.Tasks, func(x, y *Task) int {
		return cmp.Or(cmp.Compare(x.Made, y.Made), cmp.Compare(x.Number, y.Number))
	})
	for i, task := range b.t.Tasks {
		task.ID = i + 1
	}
	for i := range b.t.Spans {
		s := &b.t.Spans[i]
		if s.Kind == Handling && s.Task != nil && s.Task.Code == b.code(0) {
			s.Task.Code = s.Code
		}
	}
	for i := range b.t.Spans {
		s := &b.t.Spans[i]
		if s.Kind == Running && s.Task != nil {
			s.Code = s.Task.Code
			if from, took := b.took[s.Task.Number]; took {
				s.Other, s.Took = from, true
			}
		}
	}
	b.endLoans()
	b.findObjects()
	b.findWaits()
	for _, c := range b.byName {
		b.t.Codes = append(b.t.Codes, c)
	}
	slices.SortFunc(b.t.Codes, func(x, y *Code) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.File, y.File),
			cmp.Compare(x.Line, y.Line))
	})
	return b.t
}

// one returns the one Code of this name and place.
func (b *builder) one(c Code) *Code {
	if known := b.byName[c]; known != nil {
		return known
	}
	b.byName[c] = &c
	return &c
}

// code is that of a task or handler. The name of a root for events is that of its first handler,
// which is filled in later; until then it is code 0.
func (b *builder) code(address uint64) *Code {
	if c := b.codes[address]; c != nil {
		return c
	}
	c := unknownCode
	if address == 0 {
		c = b.one(Code{Name: "event"})
	} else if known, found := b.r.codes[address]; found {
		if known.Pretty == "handler" {
			return b.code(0)
		}
		c = b.one(Code{symbols.Code(known.Pretty), known.File, known.Line})
	}
	b.codes[address] = c
	return c
}

// thunk is the code of a child that was stolen.
func (b *builder) thunk(address uint64) *Code {
	if c := b.thunks[address]; c != nil {
		return c
	}
	c := Code{Name: "a child in a finish"}
	if b.symbols != nil {
		if name := symbols.EveName(b.symbols.Function(address)); name != "" {
			c.Name = symbols.Words(name)
			c.File, c.Line = b.symbols.Place(address)
		}
	}
	b.thunks[address] = b.one(c)
	return b.thunks[address]
}

// task finds the task of a number, or a new one of which nothing else is known yet.
func (b *builder) task(number uint64) *Task {
	t := b.tasks[number]
	if t == nil {
		t = &Task{Number: number, Code: unknownCode, Made: -1, Began: -1, Ended: -1, Worker: -1}
		b.tasks[number] = t
	}
	return t
}

// A reader is at one place of a ring.
type reader struct {
	b      *builder
	worker int
	first  int64
	now    int64
	open   []int // indices of spans that have not ended
	last   *Task // the last one that ended here
	// the objects that are held since they were built, as indices
	building map[uint64]int
}

// A built is an object that its task held because it built it.
type built struct {
	address uint64
	hold    Hold
}

func (b *builder) readRing(worker int, events []event) {
	if len(events) == 0 {
		return
	}
	r := &reader{b: b, worker: worker, first: b.r.clock.at(events[0].ticks),
		building: map[uint64]int{}}
	begin := len(b.t.Spans)
	for _, e := range events {
		r.now = max(b.r.clock.at(e.ticks), r.now)
		r.read(e)
	}
	for len(r.open) > 0 { // what is under way
		r.now = b.t.Length
		r.close()
	}
	slices.SortStableFunc(b.t.Spans[begin:], func(x, y Span) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(y.To, x.To))
	})
}

// running is the innermost task that runs.
func (r *reader) running() *Task {
	for i := len(r.open) - 1; i >= 0; i-- {
		if t := r.b.t.Spans[r.open[i]].Task; t != nil {
			return t
		}
	}
	return nil
}

func (r *reader) begin(s Span) {
	s.Worker, s.From, s.To = r.worker, r.now, -1
	r.open = append(r.open, len(r.b.t.Spans))
	r.b.t.Spans = append(r.b.t.Spans, s)
}

// close ends the innermost span.
func (r *reader) close() {
	last := len(r.open) - 1
	r.b.t.Spans[r.open[last]].To = r.now
	r.open = r.open[:last]
}

// end ends the innermost span that is of the kind, and those inside. One that began before the
// recorded events began with them.
func (r *reader) end(kind SpanKind, is func(*Span) bool) {
	for i := len(r.open) - 1; i >= 0; i-- {
		s := &r.b.t.Spans[r.open[i]]
		if s.Kind != kind || is != nil && !is(s) {
			continue
		}
		for len(r.open) > i {
			r.close()
		}
		return
	}
	if len(r.open) == 0 {
		s := Span{Worker: r.worker, From: r.first, To: r.now, Kind: kind, Code: unknownCode}
		r.b.t.Spans = append(r.b.t.Spans, s)
	}
}

func (r *reader) read(e event) {
	b := r.b
	other := int(min(e.n, uint64(b.r.workers)))
	switch e.kind {
	case evMade:
		t := b.task(e.a)
		t.Made, t.Code, t.By = r.now, b.code(e.p), r.running()
		t.Child = e.flags&madeChild != 0
	case evWants:
		t := b.task(e.a)
		t.Wants = append(t.Wants, Want{Write: e.flags&wantsWrite != 0, Granted: -1,
			address: e.p, typ: e.n, inScope: e.flags&wantsInScope != 0})
	case evGranted:
		r.granted(e)
	case evBegins:
		t := b.task(e.a)
		t.Began, t.Worker = r.now, r.worker
		r.begin(Span{Kind: Running, Task: t, Code: t.Code})
	case evBody:
		t := r.running()
		if n := len(r.open); n > 0 && b.t.Spans[r.open[n-1]].Kind == Handling {
			r.close()
		}
		r.begin(Span{Kind: Handling, Task: t, Code: b.code(e.p)})
	case evEnds:
		t := b.task(e.a)
		t.Ended, t.Keeps = r.now, e.flags&endsKeeps != 0
		r.end(Running, func(s *Span) bool { return s.Task == t })
		r.last = t
	case evSleeps:
		r.begin(Span{Kind: Sleeping})
	case evWakes:
		r.end(Sleeping, nil)
	case evPolled:
		b.t.Spans = append(b.t.Spans, Span{Worker: r.worker, From: min(b.r.clock.at(e.a), r.now),
			To: r.now, Kind: Polling})
	case evTook:
		b.took[e.a] = other
	case evStolen:
		r.begin(Span{Kind: Stolen, Code: b.thunk(e.p), Other: other})
	case evStolenEnd:
		r.end(Stolen, nil)
	case evJoins:
		r.begin(Span{Kind: Joining, Other: other})
	case evJoined:
		r.end(Joining, nil)
	case evServes:
		b.loans = append(b.loans, Loan{Of: other, By: r.worker, From: r.now})
	case evBack:
		if r.worker < len(b.backs) {
			b.backs[r.worker] = append(b.backs[r.worker], r.now)
		}
	case evBuilds:
		if t := r.running(); t != nil {
			r.building[e.p] = len(b.built)
			b.built = append(b.built, built{e.p, Hold{Task: t, Write: true, From: r.now, To: -1}})
		}
	case evGives:
		if i, known := r.building[e.p]; known {
			b.built[i].hold.To = r.now
			delete(r.building, e.p)
		}
	case evGone:
		b.gone[e.p] = append(b.gone[e.p], r.now)
	}
}

// granted notes the time at which a task got an object. The events of the task itself may be in a
// ring that is read later, so its wants are found then.
func (r *reader) granted(e event) {
	from := r.running()
	if from == nil {
		from = r.last
	}
	r.b.t.Waits = append(r.b.t.Waits, &Wait{Task: r.b.task(e.a), From: -1, To: r.now, from: from,
		Object: &Object{Address: e.p}})
}

// endLoans finds the end of each loan: when the worker came back.
func (b *builder) endLoans() {
	for _, l := range b.loans {
		l.To = b.t.Length
		if l.Of < len(b.backs) {
			for _, at := range b.backs[l.Of] {
				if at >= l.From {
					l.To = at
					break
				}
			}
		}
		b.t.Loans = append(b.t.Loans, l)
	}
	slices.SortFunc(b.t.Loans, func(x, y Loan) int { return cmp.Compare(x.From, y.From) })
}
