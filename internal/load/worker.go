package load

// One thread of the engine: its connections, its epoll loop and what it counts. Everything here has one owner; the
// threads share nothing while they run but three atomic counters that they touch a few times in a run.

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/hist"
	"interleave/internal/manifest"
)

// A conn is one connection, or in shape connect one of those that follow each other in a place.
type conn struct {
	fd         int32
	index      int32 // in the worker's conns
	id         uint32
	state      connState
	writable   bool // a write is not known to block
	issued     uint64
	sent       uint64 // requests wholly written
	sentPart   uint64 // bytes written of the next one
	answered   uint64
	part       uint64 // bytes read of the next reply
	left       int64  // requests still to issue; unlimited in a load without a count
	word       uint64 // counter: the reply under way
	value      uint64 // counter: the last value seen
	turns      int    // connect: connections so far
	turnBegins int64  // connect: when this one began
}

type connState uint8

const (
	connClosed connState = iota // not yet open
	connConnecting
	connOpen
	connEnding // half-closed, waiting for the server's end of file
	connDead
)

// A protocol makes the bytes of requests and judges those of replies.
type protocol interface {
	requestBytes() uint64
	// fill writes what follows the bytes that c has sent.
	fill(c *conn, p []byte)
	// check reads what follows the bytes that c has received, and counts the replies that end in it. A kind that is
	// not empty says what is wrong.
	check(c *conn, p []byte) (replies int, kind string)
	// increments counts the increments among the requests issued, from request n on.
	increments(c *conn, n uint64) uint64
}

const unlimited = 1 << 62

// A worker is one thread. Only shared is touched by other threads.
type worker struct {
	shared *shared
	plan   *Plan
	part   int // of shared.parts
	cpu    int

	proto     protocol
	size      uint64 // of a request, in bytes
	pipeline  uint64
	scheduled bool // open and paced: sent when due, not when answered
	replies   bool // all but paced
	perTurn   bool // connect
	finite    bool
	counting  bool // the requests that are left, in the window of a finite load

	conns   []conn
	rings   rings
	poll    *poller
	in, out []byte
	addr    unix.SockaddrInet4
	sources []unix.SockaddrInet4

	stage    stage
	deadline int64 // when advance must be called
	sending  bool
	inFlight int64
	left     int64 // requests that connections have still to issue, finite
	living   int
	turn     int // whose request is next, scheduled
	schedule *schedule

	now       int64 // read after the last system call that could take long
	limitAt   int64
	openAt    int64 // the window
	closeAt   int64
	measuring bool
	opened    int64 // when openAt was passed
	closed    int64

	result   Result
	maybe    uint64 // increments sent but not answered: the counter may have them or not
	bytesIn  int64  // since the start
	bytesOut int64
	latency  hist.Histogram
	service  hist.Histogram
	late     hist.Histogram
	timeline timeline
	faults   faults
	use      threadUse
	stat     *os.File
	statBuf  [128]byte
}

func newWorker(s *shared, p *Plan, part int) (*worker, error) {
	n := p.Load.Connections / s.parts
	if part < p.Load.Connections%s.parts {
		n++
	}
	w := &worker{
		shared: s, plan: p, part: part, cpu: -1,
		scheduled: p.Load.Shape == manifest.Open || p.Load.Shape == manifest.Paced,
		replies:   p.Load.Shape != manifest.Paced,
		perTurn:   p.Load.Shape == manifest.Connect,
		finite:    p.Load.Requests > 0,
		pipeline:  uint64(max(1, p.Load.Pipeline)),
		conns:     make([]conn, n),
		in:        make([]byte, 64<<10),
		out:       make([]byte, 64<<10),
		addr:      unix.SockaddrInet4{Port: int(p.Addr.Port()), Addr: p.Addr.Addr().As4()},
		openAt:    never, closeAt: never, deadline: never, limitAt: never,
		living: n,
	}
	if len(p.CPUs) > 0 {
		w.cpu = p.CPUs[part]
	}
	if w.scheduled {
		w.pipeline = 0
	}
	w.schedule = newSchedule(w.rate(), p.Load.Gaps, p.Seed, part, s.parts)
	w.rings = newRings(n, ringSize(n, int(w.pipeline), w.scheduled))
	w.timeline = newTimeline(int64(p.Window), p.slices())
	switch p.Protocol {
	case "counter":
		w.proto = newCounter(p.Seed, p.Load.ReadShare)
	case "sink":
		w.proto = newSink(uint64(p.Load.SizeBytes))
	default:
		w.proto = &echo{seed: p.Seed, size: uint64(p.Load.SizeBytes)}
	}
	w.size = w.proto.requestBytes()
	for i := range w.conns {
		w.conns[i] = conn{fd: -1, index: int32(i), id: uint32(i*s.parts + part)}
	}
	for _, a := range p.Sources {
		w.sources = append(w.sources, unix.SockaddrInet4{Addr: a.As4()})
	}
	var err error
	w.poll, err = newPoller()
	if err != nil {
		return nil, err
	}
	if e := w.poll.add(int32(s.stopFD), -1, unix.EPOLLIN); e != 0 {
		return nil, fmt.Errorf("watching for the stop: %w", e)
	}
	return w, nil
}

func (w *worker) rate() float64 {
	switch w.plan.Load.Shape {
	case manifest.Open:
		return w.plan.Load.Rate
	case manifest.Paced:
		return w.plan.pacedRate()
	}
	return 1
}

// loop runs from the start of the load until everything is answered, drained or given up.
func (w *worker) loop() {
	for w.stage != stageDone {
		w.now = nanotime()
		if w.now >= w.schedule.next {
			w.sendDue()
		}
		if w.now >= w.deadline || w.idle() {
			w.advance()
			continue
		}
		n, e := w.poll.wait(min(w.deadline, w.schedule.next) - w.now)
		if e != 0 {
			w.faults.add(ioKind(e), 1, "waiting for events: %v", e)
			w.stage = stageDone
		}
		for i := range n {
			ev := &w.poll.events[i]
			if ev.Fd < 0 {
				w.stage = stageDone
				break
			}
			w.now = nanotime()
			if w.now >= w.schedule.next {
				w.sendDue()
			}
			if w.now >= w.deadline {
				w.advance()
			}
			w.handle(&w.conns[ev.Fd], ev.Events)
		}
	}
}

// sendDue sends all that is due by now in this stage. What becomes due meanwhile waits for the next call: an engine that
// is behind must still read.
func (w *worker) sendDue() {
	for until := min(w.now, w.deadline-1); w.schedule.next <= until; {
		due := w.schedule.next
		if due >= w.closeAt || w.counting && w.left == 0 {
			w.schedule.end()
			return
		}
		c := &w.conns[w.turn]
		if w.turn++; w.turn == len(w.conns) {
			w.turn = 0
		}
		w.schedule.advance()
		w.issueDue(c, due)
		w.now = nanotime()
	}
}

func (w *worker) issueDue(c *conn, due int64) {
	if due >= w.openAt {
		w.result.Offered++
	}
	if c.state != connOpen {
		w.faults.add(Lost, 1, "a request was due on connection %d, which had failed", c.id)
		return
	}
	if c.issued-c.answered == w.rings.size {
		w.faults.add(Backlog, 1, "%d requests wait on connection %d: the server is too slow for this rate", w.rings.size, c.id)
		w.abandon()
		return
	}
	w.rings.at(c.index, c.issued).due = due
	w.issue(c)
	if c.writable {
		w.flush(c)
	}
}

func (w *worker) issue(c *conn) {
	c.issued++
	w.inFlight++
	if w.counting {
		c.left--
		w.left--
	}
}

// topUp issues what a closed loop may send now.
func (w *worker) topUp(c *conn) {
	if !w.sending {
		return
	}
	for c.issued-c.answered < w.pipeline && c.left > 0 {
		w.rings.at(c.index, c.issued).due = w.now
		w.issue(c)
	}
	if c.writable {
		w.flush(c)
	}
}

// flush writes what was issued, until it is out or the socket is full.
func (w *worker) flush(c *conn) {
	for {
		pending := (c.issued-c.sent)*w.size - c.sentPart
		if pending == 0 {
			return
		}
		p := w.out[:min(pending, uint64(len(w.out)))]
		w.proto.fill(c, p)
		n, e := rawWrite(c.fd, p)
		switch e {
		case 0:
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			c.writable = false
			return
		default:
			w.fail(c, ioKind(e), "connection %d, writing request %d: %v", c.id, c.sent, e)
			return
		}
		w.bytesOut += int64(n)
		c.sentPart += uint64(n)
		for c.sentPart >= w.size && c.sent < c.issued {
			c.sentPart -= w.size
			w.noteSent(c)
		}
	}
}

// noteSent records that a request is wholly written.
func (w *worker) noteSent(c *conn) {
	f := w.rings.at(c.index, c.sent)
	f.sent = w.now
	c.sent++
	if !w.scheduled {
		return
	}
	if f.due >= w.openAt && f.due < w.closeAt {
		w.late.Record(w.now - f.due)
	}
	if w.replies {
		return
	}
	c.answered++
	w.inFlight--
	w.result.Total++
	if w.measuring {
		w.result.Requests++
		w.timeline.add(w.now-w.opened, 1)
	}
}

// handle takes what epoll says of a connection.
func (w *worker) handle(c *conn, events uint32) {
	switch c.state {
	case connConnecting:
		w.finishConnect(c)
	case connOpen, connEnding:
	default:
		return
	}
	if events&unix.EPOLLOUT != 0 && !c.writable {
		c.writable = true
		w.flush(c)
	}
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		w.read(c, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// read takes what has arrived. A read that does not fill the buffer has emptied the socket, unless an end or an error
// stands behind the bytes.
func (w *worker) read(c *conn, toTheEnd bool) {
	for c.state == connOpen || c.state == connEnding {
		n, e := rawRead(c.fd, w.in)
		switch {
		case e == unix.EINTR:
			continue
		case e == unix.EAGAIN:
			return
		case e != 0:
			w.fail(c, ioKind(e), "connection %d, reading reply %d: %v", c.id, c.answered, e)
			return
		case n == 0:
			w.endOfFile(c)
			return
		}
		w.bytesIn += int64(n)
		w.arrived(c, w.in[:n])
		if n < len(w.in) && !toTheEnd {
			return
		}
	}
}

func (w *worker) arrived(c *conn, p []byte) {
	n, kind := w.proto.check(c, p)
	for range n {
		w.noteReply(c)
	}
	if kind != "" {
		w.fail(c, kind, "connection %d, reply %d of %d asked for: %s", c.id, c.answered, c.issued, kind)
		return
	}
	if n == 0 {
		return
	}
	switch {
	case w.perTurn:
		w.endTurn(c)
	case !w.scheduled:
		w.topUp(c)
	}
}

// noteReply records that the oldest request in flight is answered.
func (w *worker) noteReply(c *conn) {
	f := w.rings.at(c.index, c.answered)
	c.answered++
	w.inFlight--
	w.result.Total++
	if w.measuring {
		w.result.Requests++
		w.timeline.add(w.now-w.opened, 1)
	}
	switch {
	case w.scheduled:
		if f.due >= w.openAt && f.due < w.closeAt {
			w.latency.Record(w.now - f.due)
			w.service.Record(w.now - f.sent)
		}
	case w.perTurn && w.measuring:
		w.service.Record(w.now - c.turnBegins)
	case w.measuring:
		w.service.Record(w.now - f.sent)
	}
}

func (w *worker) endOfFile(c *conn) {
	switch {
	case c.state == connEnding:
		w.closeConn(c, connDead)
		w.inFlight--
	case c.part > 0:
		w.fail(c, Short, "connection %d: the server ended it %d bytes into reply %d", c.id, c.part, c.answered)
	default:
		w.fail(c, Ended, "connection %d: the server ended it after %d of %d replies", c.id, c.answered, c.issued)
	}
}

// fail gives a connection up. What was in flight on it is lost.
func (w *worker) fail(c *conn, kind, format string, args ...any) {
	w.faults.add(kind, 1, format, args...)
	switch c.state {
	case connEnding: // it waited for nothing but its end
		w.inFlight--
		w.closeConn(c, connDead)
		return
	case connOpen:
		w.faults.add(Lost, int64(c.issued-c.answered), "")
	}
	w.giveUp(c)
}

// expire gives a connection up that did not answer in time.
func (w *worker) expire(c *conn) {
	n := int64(c.issued - c.answered)
	if n == 0 {
		return
	}
	what := "had no reply"
	if !w.replies {
		what = "could not be sent"
	}
	w.faults.add(Timeout, n, "connection %d: %d requests %s when the load had ended for %v", c.id, n, what, drainTime)
	w.giveUp(c)
}

// giveUp forgets what is in flight on a connection and closes it.
func (w *worker) giveUp(c *conn) {
	w.inFlight -= int64(c.issued - c.answered)
	w.maybe += w.proto.increments(c, c.answered)
	if w.counting {
		w.left -= c.left
	}
	c.left = 0
	c.answered, c.sent, c.sentPart = c.issued, c.issued, 0
	w.closeConn(c, connDead)
}

func (w *worker) closeConn(c *conn, state connState) {
	if c.fd >= 0 {
		unix.Close(int(c.fd))
		c.fd = -1
	}
	if c.state != connDead && state == connDead {
		w.living--
	}
	c.state = state
}

// idle tells that a stage has nothing to wait for any more.
func (w *worker) idle() bool {
	if w.living == 0 {
		return true
	}
	switch w.stage {
	case stageSettle, stageDrain, stageEnding:
		return w.inFlight == 0
	case stageWindow:
		return w.counting && w.left == 0 && w.inFlight == 0
	}
	return false
}

// outcome is the worker's part of the result.
func (w *worker) outcome() *Result {
	r := &w.result
	r.Window = time.Duration(w.closed - w.opened)
	r.Errors, r.FirstFail = w.faults.kinds, w.faults.first
	r.Slices = w.timeline.cut(w.closed-w.opened, w.plan.slices())
	if w.scheduled {
		r.Late = &w.late
	}
	if w.replies {
		r.Service = &w.service
		if w.scheduled {
			r.Latency = &w.latency
		}
	}
	r.User, r.System, r.RunWait = w.use.user, w.use.system, w.use.runWait
	r.Threads = 1
	return r
}
