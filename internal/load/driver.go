package load

// The engine's side of a protocol. A protocol validates a plan and prepares a job; the job gives
// each thread a driver; the driver decides what is sent and checks what comes back. Connections,
// the clock, the stages of a load and the counters belong to the worker, and are the same for all.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"interleave/internal/manifest"
)

// A protocol is one that the engine speaks.
type protocol struct {
	family *Family
	shapes []manifest.Shape // that load it
	// validate says what is wrong with a plan whose shape is one of shapes.
	validate func(p *Plan) error
	// prepare makes what all threads of a load share.
	prepare func(p *Plan) (job, error)
	// offer fills in what "interleave bench" offers; nil: nothing besides shape, size and
	// connections.
	offer func(l *manifest.Load, w Wishes)
	// portless is set where the server has an address and no port, and the clients of a thread
	// share one socket.
	portless bool
	// apart is set where a load may have more connections than a table of descriptors holds.
	apart bool
}

// protocols are those that a plan can name, by speak. They do not change after the package is
// initialized.
var protocols = map[string]protocol{}

// speak enters a protocol. It is called in the file of its driver, so that no list of them must be
// kept.
func speak(name string, p protocol) { protocols[name] = p }

// protocolOf finds the protocol of a plan and holds the plan's shape against it.
func protocolOf(p *Plan) (protocol, error) {
	known, ok := protocols[p.Protocol]
	if !ok {
		names := slices.Sorted(maps.Keys(protocols))
		return known, fmt.Errorf("protocol is %q, want one of %s", p.Protocol,
			strings.Join(names, ", "))
	}
	if !slices.Contains(known.shapes, p.Load.Shape) {
		return known, fmt.Errorf("shape is %q, but the protocol %s is loaded by %s",
			p.Load.Shape, p.Protocol, known.shapeNames())
	}
	return known, nil
}

// portless tells the plans whose server has no port.
func (p *Plan) portless() bool { return protocols[p.Protocol].portless }

// shapeNames are the shapes in the words of an error.
func (p *protocol) shapeNames() string {
	var names []string
	for _, s := range p.shapes {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// A job is a load of one protocol, with the state that its threads share.
type job interface {
	// driver is the part of one thread, whose connections are not open yet.
	driver(w *worker) driver
	// verify adds the faults that show only when all threads have ended.
	verify(all *faults)
}

// An independent job has nothing that its threads share, and nothing to verify.
type independent func(w *worker) driver

func (make independent) driver(w *worker) driver { return make(w) }

func (independent) verify(*faults) {}

// A driver speaks one protocol on the connections of one thread. The thread alone calls it. Times
// are of nanotime.
type driver interface {
	// connect opens the connections. It returns when the load may begin, or when nothing is
	// under way any more.
	connect(limitAt int64)
	// watch returns the events of epoll that a connection is watched for.
	watch() uint32
	// connected is told that a connection stands.
	connected(c *conn)
	// ready takes what epoll says of a connection that stands.
	ready(c *conn, events uint32)
	// rate is how many requests a second all threads issue together, where they are
	// due by a schedule.
	rate() float64
	// start begins a load whose requests are not due by a schedule.
	start()
	// issued is told of a request that is to be sent, before it is.
	issued(c *conn)
	// send writes what has been issued, as far as the connection takes it.
	send(c *conn)
	// tick is called before each wait for events. It returns when it must be called
	// again at the latest.
	tick() int64
	// unsent is how many of the bytes that were written have not left this machine.
	unsent() int64
	// drainTime bounds the wait for what is under way when the load has ended.
	drainTime() time.Duration
	// closed is told that the window has closed, or that the load has ended before it opened.
	closed()
	// drained tells whether all that the server still owes has come, besides what is in flight.
	drained() bool
	// expire gives up what has not come when the time to drain is over.
	expire()
	// end begins to end the connections where no reply tells that the server has everything.
	end()
	// unended gives up the connections that have not ended in time.
	unended()
	// lost is told that a connection is given up, while its requests in flight can still be told
	// from the answered.
	lost(c *conn)
	// part returns the counts of the thread.
	part() Part
	// close frees what the driver has opened.
	close()
}

// base is a driver's worker, and what most drivers do.
type base struct{ *worker }

func (base) watch() uint32 { return edge }

func (b base) connect(limitAt int64) { b.connectAll(limitAt) }

func (base) connected(*conn) {}

func (b base) rate() float64 {
	switch b.plan.Load.Shape {
	case manifest.Open:
		return b.plan.Load.Rate
	case manifest.Paced:
		return b.plan.pacedRate()
	}
	return 1
}

func (b base) start() { b.eachOpen(b.topUp) }

func (base) issued(*conn) {}

func (base) tick() int64 { return never }

func (base) unsent() int64 { return 0 }

func (b base) drainTime() time.Duration { return cmp.Or(b.plan.Drain, drainTime) }

func (base) closed() {}

func (base) drained() bool { return true }

func (b base) expire() { b.expireAll("had no reply") }

func (base) end() {}

func (base) unended() {}

func (base) lost(*conn) {}

func (base) close() {}

// eachOpen does something with each connection that stands, by the time that it is then.
func (w *worker) eachOpen(do func(c *conn)) {
	for i := range w.conns {
		w.now = nanotime()
		if c := &w.conns[i]; c.state == connOpen {
			do(c)
		}
	}
}

// expireAll gives the connections up whose requests were not served in time.
func (w *worker) expireAll(what string) {
	for i := range w.conns {
		w.expireRequests(&w.conns[i], what)
	}
}

func (w *worker) expireRequests(c *conn, what string) {
	n := int64(c.issued - c.answered)
	if n == 0 {
		return
	}
	w.faults.add(Timeout, n, "connection %d: %d requests %s when the load had ended for %v",
		c.id, n, what, w.driver.drainTime())
	w.giveUp(c)
}
