package load

// One thread of the engine: its connections, its epoll loop and what it counts. Everything here has
// one owner. The threads share nothing while they run but two atomic counters, which each touches
// once, and what their job shares.

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/hist"
)

// A conn is one connection, or the place of those that follow each other. Its requests are
// numbered from 0.
type conn struct {
	fd       int32
	index    int32 // in the worker's conns
	id       uint32
	state    connState
	writable bool // a write is not known to block
	issued   uint64
	sent     uint64 // requests wholly written
	sentPart uint64 // bytes written of the next one
	answered uint64
	part     uint64 // bytes read of the next reply
	left     int64  // requests still to issue; unlimited in a load without a count
}

type connState uint8

const (
	connClosed connState = iota // not yet open
	connConnecting
	connOpen
	connEnding // half-closed, waiting for the server's end of file
	connDead
)

const unlimited = 1 << 62

// The tags in epoll of descriptors that are no connection's.
const (
	stopTag   = -1
	driverTag = -2 // one of the driver's own
	wakeTag   = -3 // of a load of stints: something is asked of this worker
)

// A worker is one thread. Other threads touch shared alone.
type worker struct {
	shared *shared
	plan   *Plan
	part   int // of shared.parts
	cpu    int
	driver driver

	conns   []conn
	living  int // that are not dead
	rings   rings
	poll    *poller
	in, out []byte
	addr    unix.SockaddrInet4
	sources []unix.SockaddrInet4

	clock
	demand
	tally
	stints turn
}

// clock is a worker's place in its load: its stage, and the times of stage and window.
type clock struct {
	stage     stage
	sending   bool
	measuring bool
	now       int64 // read after the last system call that could take long
	deadline  int64 // of the stage
	limitAt   int64
	openAt    int64 // the window, as it is planned
	closeAt   int64
	openedAt  int64 // the window, as it was
	closedAt  int64
}

// inWindow tells whether a time lies in the window, as it is planned.
func (t *clock) inWindow(at int64) bool { return at >= t.openAt && at < t.closeAt }

// demand is the number of the requests that a worker must send, and their schedule.
type demand struct {
	scheduled bool   // requests are due at times fixed before
	finite    bool   // each connection has so many requests, and the load ends with them
	counting  bool   // the requests that are left, in the window of a finite load
	pipeline  uint64 // requests in flight on a connection, unless scheduled
	batch     int64  // how many requests each is counted as
	inFlight  int64
	left      int64   // requests that connections have still to issue, finite
	order     []int32 // of connections, whose requests are due in turn
	turn      int     // in order
	schedule  *schedule
}

// tally holds the counters of a worker.
type tally struct {
	served    int64 // requests in the window
	total     int64 // requests since the start
	offered   int64 // requests due in the window
	bytesIn   int64 // since the start
	bytesOut  int64
	windowIn  int64 // bytes in the window
	windowOut int64
	latency   hist.Histogram
	service   hist.Histogram
	late      hist.Histogram
	timeline  timeline
	faults    faults
	use       threadUse
	stat      *os.File
	statBuf   [128]byte
}

const bufferBytes = 64 << 10 // of a read or a write

func newWorker(s *shared, p *Plan, part int) (*worker, error) {
	n := p.Load.Connections / s.parts
	if part < p.Load.Connections%s.parts {
		n++
	}
	w := &worker{
		shared: s, plan: p, part: part, cpu: -1,
		conns: make([]conn, n), living: n,
		addr:   unix.SockaddrInet4{Port: int(p.Addr.Port()), Addr: p.Addr.Addr().As4()},
		clock:  clock{openAt: never, closeAt: never, deadline: never, limitAt: never},
		demand: demand{scheduled: s.scheduled, finite: p.Load.Requests > 0, batch: 1},
	}
	if !w.scheduled {
		w.pipeline = uint64(max(1, p.Load.Pipeline))
	}
	if len(p.CPUs) > 0 {
		w.cpu = p.CPUs[part%len(p.CPUs)]
	}
	for i := range w.conns {
		w.conns[i] = conn{fd: -1, index: int32(i), id: uint32(i*s.parts + part)}
		w.order = append(w.order, int32(i))
	}
	for _, a := range p.Sources {
		w.sources = append(w.sources, unix.SockaddrInet4{Addr: a.As4()})
	}
	w.timeline = newTimeline(int64(p.Window), p.slices())
	if p.Stints { // closed loops last until their last reply
		w.timeline = newTimeline(0, p.slices())
	}
	w.driver = s.job.driver(w)
	w.provide()
	if !s.apart {
		if err := w.watchStop(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// provide makes what the driver has not made in a size of its own.
func (w *worker) provide() {
	if w.in == nil {
		w.in = make([]byte, bufferBytes)
	}
	if w.out == nil {
		w.out = make([]byte, bufferBytes)
	}
	if w.rings.slots == nil {
		w.rings = newRings(len(w.conns), ringSize(len(w.conns), int(w.pipeline), w.scheduled))
	}
	w.schedule = newSchedule(w.driver.rate(), w.plan.Load.Gaps, w.plan.Seed, w.part, w.shared.parts)
}

// loop runs from the start of the load until everything is answered, drained or given up.
func (w *worker) loop() {
	for w.stage != stageDone {
		w.now = nanotime()
		tickAt := w.driver.tick()
		if w.now >= w.schedule.next {
			w.sendDue()
		}
		if w.now >= w.deadline || w.idle() {
			w.advance()
			continue
		}
		wait := w.poll.wait
		if w.stage == stageRest {
			wait = w.poll.rest
		}
		n, e := wait(min(w.deadline, w.schedule.next, tickAt) - w.now)
		if e != 0 {
			w.faults.add(ioKind(e), 1, "waiting for events: %v", e)
			w.stage = stageDone
		}
		for i := range n {
			ev := &w.poll.events[i]
			if ev.Fd == stopTag {
				w.stage = stageDone
				break
			}
			w.now = nanotime()
			if ev.Fd == wakeTag {
				w.wake()
				continue
			}
			if w.now >= w.schedule.next {
				w.sendDue()
			}
			if w.now >= w.deadline {
				w.advance()
			}
			w.handle(ev)
		}
	}
}

// idle tells that a stage has nothing to wait for any more.
func (w *worker) idle() bool {
	switch {
	case w.stage == stageRest:
		return false
	case w.living == 0:
		return true
	}
	switch w.stage {
	case stageDrain, stageLull:
		return w.inFlight == 0 && w.driver.drained()
	case stageSettle, stageEnding:
		return w.inFlight == 0
	case stageWindow:
		return w.counting && w.left == 0 && w.inFlight == 0
	}
	return false
}

// count adds requests that have been served.
func (w *worker) count(n int64) {
	w.total += n
	if w.measuring {
		w.served += n
		w.timeline.add(w.now-w.openedAt, n)
	}
}

// lasted is how long the worker has measured.
func (w *worker) lasted() int64 {
	if w.plan.Stints {
		return w.stints.active
	}
	return w.closedAt - w.openedAt
}

// outcome returns the counts of the worker.
func (w *worker) outcome() *Result {
	return &Result{
		Window: time.Duration(w.lasted()), Part: w.driver.part(),
		Errors: w.faults.kinds, FirstFail: w.faults.first,
		Slices: w.timeline.cut(w.lasted(), w.plan.slices()),
		User:   w.use.user, System: w.use.system, RunWait: w.use.runWait, Runs: w.use.runs,
		Threads: 1,
	}
}
