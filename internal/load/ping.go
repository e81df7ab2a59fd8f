package load

// Pings: echo requests of ICMP on one raw socket for each thread, however many pingers it has. A pinger is an identifier;
// its pings are numbered and carry a pattern of their own, so that a reply that is wrong, doubled or somebody else's is
// seen. What is not answered within lostTime is lost, and counts as if it had taken that long: a median over those that
// came back only would make a stack better by what it drops.

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	lostTime   = time.Second           // a guess, a hundred times what a loaded stack takes
	sweepEvery = 50 * time.Millisecond // lost ones are found that late at most
)

// What flight.sent says of a ping that is not under way any more.
const (
	pingAnswered = -1
	pingLost     = -2
)

// pingBuffer is in bytes for each direction of the socket: the kernel counts some 800 for a ping, so all of maxPingers'
// fit. With the default the socket would be full before the queue of the device (1,000 frames) is.
const pingBuffer = 64 << 20

// leastPingRing is how many pings of a pinger are remembered, so that a reply that is late is told from one that is doubled.
const leastPingRing = 64

// pings are the pingers of one thread.
type pings struct {
	fd      int32
	base    uint16 // the identifier of pinger 0
	parts   uint16
	part    uint16
	pattern echo
	packet  []byte
	sweepAt int64
}

func newPings(p *Plan, part, parts int) *pings {
	return &pings{
		fd: -1, base: uint16(p.Seed), part: uint16(part), parts: uint16(parts),
		pattern: echo{seed: p.Seed, size: uint64(p.Load.SizeBytes)}, packet: make([]byte, icmpHeader+p.Load.SizeBytes),
		sweepAt: never,
	}
}

func (g *pings) requestBytes() uint64 { return uint64(len(g.packet)) }

// fill and check are of streams; pings have compose and judge.
func (g *pings) fill(*conn, []byte) {}

func (g *pings) check(*conn, []byte) (int, string) { return 0, Extra }

func (g *pings) increments(*conn, uint64) uint64 { return 0 }

// connectPings opens the socket and waits for one answer: the addresses of the link are known then on both sides.
func (w *worker) connectPings(limitAt int64) {
	err := w.ping.open(&w.addr, w.plan.Load.Connections)
	if err == nil {
		if e := w.poll.add(w.ping.fd, pingTag, unix.EPOLLIN); e != 0 {
			err = e
		}
	}
	if err != nil {
		w.faults.add("connect "+errnoName(err), 1, "pinging %v: %v", w.plan.Addr.Addr(), err)
		w.abandonPings()
		return
	}
	for i := range w.conns {
		w.conns[i].state, w.conns[i].writable = connOpen, true
	}
	first, giveUp := &w.conns[0], min(limitAt, nanotime()+int64(connectTime))
	for again := int64(0); first.answered == 0; {
		if w.now = nanotime(); w.now > giveUp {
			w.faults.add("connect ETIMEDOUT", 1, "nobody at %v answered a ping within %v", w.plan.Addr.Addr(), connectTime)
			w.abandonPings()
			return
		}
		if w.now >= again {
			w.issue(first)
			w.flushPings(first)
			again = w.now + int64(sweepEvery)
		}
		n, e := w.poll.wait(int64(time.Millisecond))
		if e != 0 {
			w.faults.add(ioKind(e), 1, "waiting for the first answer: %v", e)
			return
		}
		for i := range n {
			if w.poll.events[i].Fd == stopTag {
				return // the caller sees it
			}
			w.readPings()
		}
	}
	for n := first.answered; n < first.issued; n++ { // what was asked before somebody answered
		w.endPing(first, n, pingLost)
	}
	first.answered = first.issued
	w.result.Total, w.result.Lost = 0, 0
}

func (w *worker) abandonPings() {
	for i := range w.conns {
		w.closeConn(&w.conns[i], connDead)
	}
}

// flushPings sends what a pinger has issued.
func (w *worker) flushPings(c *conn) {
	for c.sent < c.issued {
		w.ping.compose(c)
		_, e := rawWrite(w.ping.fd, w.ping.packet)
		switch e {
		case 0, unix.ENOBUFS: // the device's queue is full, which the kernel mostly does not say: it is lost
		default:
			w.fail(c, ioKind(e), "pinger %d, sending ping %d: %v", c.id, c.sent, e)
			return
		}
		w.bytesOut += int64(len(w.ping.packet))
		w.noteSent(c)
	}
}

// pingBatch is how many replies are read before the loop looks at the time for other reasons.
const pingBatch = 64

// readPings takes what has arrived; the socket is watched by level, so the rest is reported again.
func (w *worker) readPings() {
	for range pingBatch {
		n, e := rawRead(w.ping.fd, w.in)
		switch {
		case e == unix.EAGAIN:
			return
		case e != 0:
			w.faults.add(ioKind(e), 1, "reading replies: %v", e)
			return
		}
		w.now = nanotime()
		w.bytesIn += int64(n - ipv4Header)
		w.replied(w.in[:n])
		if w.now >= w.schedule.next {
			w.sendDue()
		}
	}
}

// replied judges one packet.
func (w *worker) replied(p []byte) {
	r, ok := w.ping.parseReply(p)
	i := int(r.pinger) / w.shared.parts
	if !ok || int(r.pinger)%w.shared.parts != w.part || i >= len(w.conns) {
		w.faults.add(WrongReply, 1, "a packet of %d bytes that is no whole reply to any pinger", len(p))
		return
	}
	c := &w.conns[i]
	n, known := c.number(r.number)
	switch {
	case !known || c.sent-n > w.rings.size:
		w.faults.add(Extra, 1, "pinger %d: a reply to ping %d, which was not sent or long ago", c.id, r.number)
		return
	case c.state != connOpen:
		return
	case len(r.payload) != int(w.ping.pattern.size), checkPattern(w.ping.pattern.key(c), n, 0, r.payload) >= 0:
		w.fail(c, WrongReply, "pinger %d: the reply to ping %d does not carry what was sent", c.id, n)
		return
	}
	switch f := w.rings.at(c.index, n); f.sent {
	case pingAnswered:
		w.faults.add(Extra, 1, "pinger %d: ping %d was answered twice", c.id, n)
	case pingLost: // it is late, and has been counted as lost
	default:
		w.endPing(c, n, pingAnswered)
		if !w.scheduled {
			w.topUp(c)
		}
	}
}

// endPing counts a ping that has been answered or is lost, and forgets it.
func (w *worker) endPing(c *conn, n uint64, how int64) {
	f := w.rings.at(c.index, n)
	inWindow := w.measuring
	if w.scheduled {
		inWindow = f.due >= w.openAt && f.due < w.closeAt
	}
	took, trip := w.now-f.due, w.now-f.sent
	if how == pingLost {
		took = int64(lostTime)
		if inWindow {
			w.result.Lost++
		}
	} else {
		w.result.Total++
		if w.measuring {
			w.result.Requests++
			w.timeline.add(w.now-w.opened, 1)
		}
		if inWindow {
			w.service.Record(trip)
		}
	}
	if w.scheduled && inWindow {
		w.latency.Record(took)
	}
	f.sent = how
	w.inFlight--
	for c.answered < c.sent && w.rings.at(c.index, c.answered).sent < 0 {
		c.answered++
	}
}

// sweepPings finds what is lost.
func (w *worker) sweepPings() {
	w.sweepLost(w.now - int64(lostTime))
	w.ping.sweepAt = w.now + int64(sweepEvery)
}

// sweepLost takes what was sent before a time, and has not been answered, as lost.
func (w *worker) sweepLost(before int64) {
	for i := range w.conns {
		c := &w.conns[i]
		if c.state != connOpen {
			continue
		}
		for n := c.answered; n < c.sent; n++ {
			if f := w.rings.at(c.index, n); f.sent >= 0 {
				if f.sent > before {
					break
				}
				w.endPing(c, n, pingLost)
			}
		}
		if !w.scheduled {
			w.topUp(c)
		}
	}
}
