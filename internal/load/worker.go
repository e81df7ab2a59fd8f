package load

// One thread of the engine: its connections, its epoll loop and what it counts. Everything here has one owner; the
// threads share nothing while they run but two atomic counters that they touch once each.

import (
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

// What epoll calls descriptors that are no connection's.
const (
	stopTag = -1
	pingTag = -2
)

// A worker is one thread. Only shared is touched by other threads.
type worker struct {
	shared *shared
	plan   *Plan
	part   int // of shared.parts
	cpu    int

	proto     protocol
	ping      *pings // nil but for pings
	bulk      *bulk  // nil but for bulk
	chat      *chat  // nil but for chats
	stream    *streams
	images    *images
	size      uint64 // of a request, in bytes
	pipeline  uint64
	scheduled bool // open and paced: sent when due, not when answered
	replies   bool // all but paced
	perTurn   bool // connect and transfer
	transfers bool
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
	order    []int32 // of connections, whose requests are due in turn, scheduled
	turn     int     // in order
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
		scheduled: p.scheduled(),
		replies:   p.Load.Shape != manifest.Paced,
		perTurn:   p.Load.Shape == manifest.Connect || p.Load.Shape == manifest.Transfers,
		transfers: p.Load.Shape == manifest.Transfers,
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
		w.cpu = p.CPUs[part%len(p.CPUs)]
	}
	if w.scheduled {
		w.pipeline = 0
	} else if p.Protocol == manifest.Chat {
		w.pipeline = 1 // burst
	}
	ring := ringSize(n, int(w.pipeline), w.scheduled)
	if p.Load.Shape == manifest.Pings {
		ring = max(ring, leastPingRing)
	}
	w.rings = newRings(n, ring)
	w.timeline = newTimeline(int64(p.Window), p.slices())
	for i := range w.conns {
		w.conns[i] = conn{fd: -1, index: int32(i), id: uint32(i*s.parts + part)}
	}
	w.speak()
	w.schedule = newSchedule(w.rate(), p.Load.Gaps, p.Seed, part, s.parts)
	for i := range w.conns {
		if w.chat == nil || w.chat.guests[i].talks || p.Load.Shape == manifest.Idle {
			w.order = append(w.order, int32(i))
		}
	}
	for _, a := range p.Sources {
		w.sources = append(w.sources, unix.SockaddrInet4{Addr: a.As4()})
	}
	if !s.apart {
		if err := w.watchStop(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// speak sets what the thread sends and expects.
func (w *worker) speak() {
	p := w.plan
	switch {
	case p.Protocol == "counter":
		w.proto = newCounter(p.Seed, p.Load.ReadShare)
	case p.Protocol == "sink":
		w.proto = newSink(uint64(p.Load.SizeBytes))
	case p.Load.Shape == manifest.Pings:
		w.ping = newPings(p, w.part, w.shared.parts)
		w.proto = w.ping
	case p.Load.Shape == manifest.Bulk:
		w.bulk = newBulk(&p.Load)
		w.proto, w.in, w.out = w.bulk, make([]byte, bulkBytes), make([]byte, bulkBytes)
		if !w.bulk.in {
			w.addr.Port++
		}
	case p.Protocol == manifest.Chat:
		w.chat = newChat(w.shared, w)
		w.chat.seatAll(w.conns)
		w.proto = w.chat
	case p.Protocol == manifest.Images:
		w.images = newImages(w.shared.images, &p.Load, len(w.conns))
		w.proto, w.in = w.images, make([]byte, 256<<10)
	case p.Protocol == manifest.Stream:
		w.stream = newStreams(len(w.conns))
		w.proto = w.stream
	case w.transfers:
		w.proto = &transfer{echo{seed: p.Seed, size: uint64(p.Load.SizeBytes)}}
	default:
		w.proto = &echo{seed: p.Seed, size: uint64(p.Load.SizeBytes)}
	}
	w.size = w.proto.requestBytes()
}

func (w *worker) rate() float64 {
	switch w.plan.Load.Shape {
	case manifest.Open:
		if w.chat != nil {
			return w.plan.Load.Rate * w.chat.share(w.shared.parts)
		}
		return w.plan.Load.Rate
	case manifest.Pings, manifest.Idle:
		return w.plan.pingRate()
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
		wake := min(w.deadline, w.schedule.next)
		if w.ping != nil {
			if w.now >= w.ping.sweepAt {
				w.sweepPings()
			}
			wake = min(wake, w.ping.sweepAt)
		}
		if w.chat != nil && w.shared.parts > 1 && (len(w.chat.waiting) > 0 || w.stage == stageDrain) {
			wake = min(wake, w.now+int64(otherThreads))
		}
		n, e := w.poll.wait(wake - w.now)
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
			if w.now >= w.schedule.next {
				w.sendDue()
			}
			if w.now >= w.deadline {
				w.advance()
			}
			if ev.Fd == pingTag {
				w.readPings()
				continue
			}
			w.handle(&w.conns[ev.Fd], ev.Events)
		}
		if w.chat != nil {
			w.resume()
		}
	}
}

// idle tells that a stage has nothing to wait for any more.
func (w *worker) idle() bool {
	if w.living == 0 {
		return true
	}
	switch w.stage {
	case stageDrain:
		return w.inFlight == 0 && (w.chat == nil || w.settled()) && (w.stream == nil || w.stream.late <= 0)
	case stageSettle, stageEnding:
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
	if w.scheduled || w.stream != nil {
		r.Late = &w.late
	}
	if w.replies {
		r.Service = &w.service
		if w.scheduled || w.stream != nil {
			r.Latency = &w.latency
		}
	}
	if w.chat != nil {
		w.chat.outcome(w, r)
	}
	if w.images != nil {
		w.images.outcome(r)
	}
	r.User, r.System, r.RunWait, r.Runs = w.use.user, w.use.system, w.use.runWait, w.use.runs
	r.Threads = 1
	return r
}
