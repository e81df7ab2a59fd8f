package load

// Pings: echo requests of ICMP on one raw socket for each thread, however many pingers it has. A
// pinger is an identifier; its pings are numbered and carry a pattern of their own, so that a reply
// that is wrong, doubled or another pinger's is seen. A ping that is not answered within lostTime
// is lost, and counts as if it had taken that long: a median over the replies alone would make a
// stack look better by the pings that it drops.

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

const (
	lostTime   = time.Second           // a guess, a hundred times what a loaded stack takes
	sweepEvery = 50 * time.Millisecond // lost ones are found that late at most
)

// The values of flight.sent for a ping that is not under way any more.
const (
	pingAnswered = -1
	pingLost     = -2
)

// pingBuffer is in bytes for each direction of the socket: the kernel counts some 800 for a ping,
// so all of maxPingers' fit. With the default the socket would be full before the queue of the
// device (1,000 frames) is.
const pingBuffer = 64 << 20

// leastPingRing is how many pings of a pinger are remembered, so that a reply that is late is told
// from one that is doubled.
const leastPingRing = 64

func init() {
	speak(manifest.Ping, protocol{
		family:   pingFamily,
		portless: true,
		shapes:   []manifest.Shape{manifest.Pings},
		validate: func(p *Plan) error {
			switch l := &p.Load; {
			case l.SizeBytes < 0 || l.SizeBytes > maxPayload:
				return fmt.Errorf("size is %d bytes, want 0 to %d", l.SizeBytes, maxPayload)
			case l.Connections > maxPingers:
				return fmt.Errorf("%d pingers are more than the %d that identifiers are kept for",
					l.Connections, maxPingers)
			case l.Interval < 0 || l.Interval > time.Hour:
				return fmt.Errorf("interval is %v, want up to an hour, or none", l.Interval)
			case l.Interval > 0 && p.pingRate() > 1e7:
				return fmt.Errorf("%d pingers each %v make %v pings a second, want at most 1e7",
					l.Connections, l.Interval, p.pingRate())
			case l.Pipeline > 1:
				return errors.New("pipeline is set, but a pinger has none")
			}
			return nil
		},
		prepare: func(p *Plan) (job, error) { return independent(newPings), nil },
		offer:   func(l *manifest.Load, w Wishes) { l.Interval = w.Interval },
	})
}

// pings drives the pingers of one thread.
type pings struct {
	base
	echoes
	sweepAt      int64
	lostInWindow int64
}

func newPings(w *worker) driver {
	ring := ringSize(len(w.conns), int(w.pipeline), w.scheduled)
	w.rings = newRings(len(w.conns), max(ring, leastPingRing))
	return &pings{base: base{w}, echoes: newEchoes(w.plan, w.part, w.shared.parts)}
}

// connect opens the socket and waits for one answer: the addresses of the link are known
// then on both sides.
func (g *pings) connect(limitAt int64) {
	err := g.openSocket(&g.addr, g.plan.Load.Connections)
	if err == nil {
		if e := g.poll.add(g.fd, driverTag, unix.EPOLLIN); e != 0 {
			err = e
		}
	}
	if err != nil {
		g.faults.add("connect "+errnoName(err), 1, "pinging %v: %v", g.plan.Addr.Addr(), err)
		g.dismiss()
		return
	}
	for i := range g.conns {
		g.conns[i].state, g.conns[i].writable = connOpen, true
	}
	first, giveUp := &g.conns[0], min(limitAt, nanotime()+int64(connectTime))
	for again := int64(0); first.answered == 0; {
		if g.now = nanotime(); g.now > giveUp {
			g.faults.add("connect ETIMEDOUT", 1, "nobody at %v answered a ping within %v",
				g.plan.Addr.Addr(), connectTime)
			g.dismiss()
			return
		}
		if g.now >= again {
			g.issue(first, g.now)
			g.send(first)
			again = g.now + int64(sweepEvery)
		}
		if !g.listenAWhile("the first answer") {
			return
		}
	}
	for n := first.answered; n < first.issued; n++ { // pings that were sent before the first answer
		g.endPing(first, n, pingLost)
	}
	first.answered = first.issued
	g.total, g.lostInWindow = 0, 0
}

func (g *pings) rate() float64 { return g.plan.pingRate() }

// dismiss gives all pingers up.
func (g *pings) dismiss() {
	for i := range g.conns {
		g.closeConn(&g.conns[i], connDead)
	}
}

// send sends what a pinger has issued.
func (g *pings) send(c *conn) {
	for c.sent < c.issued {
		g.compose(c)
		_, e := rawWrite(g.fd, g.packet)
		switch e {
		// the device's queue is full, which the kernel mostly does not say: it is lost
		case 0, unix.ENOBUFS:
		default:
			g.fail(c, ioKind(e), "pinger %d, sending ping %d: %v", c.id, c.sent, e)
			return
		}
		g.bytesOut += int64(len(g.packet))
		g.noteSent(c)
	}
}

// pingBatch is how many replies are read before the loop looks at the time for other reasons.
const pingBatch = 64

// ready takes what has arrived. The socket is watched by level, so the rest is reported again.
func (g *pings) ready(*conn, uint32) {
	for range pingBatch {
		n, e := rawRead(g.fd, g.in)
		switch {
		case e == unix.EAGAIN:
			return
		case e != 0:
			g.faults.add(ioKind(e), 1, "reading replies: %v", e)
			return
		}
		g.now = nanotime()
		g.bytesIn += int64(n - ipv4Header)
		g.replied(g.in[:n])
		if g.now >= g.schedule.next {
			g.sendDue()
		}
	}
}

// replied holds one packet against what was sent.
func (g *pings) replied(p []byte) {
	r, ok := g.parseReply(p)
	i := int(r.pinger) / g.shared.parts
	if !ok || int(r.pinger)%g.shared.parts != g.worker.part || i >= len(g.conns) {
		g.faults.add(WrongReply, 1, "a packet of %d bytes that is no whole reply to any pinger",
			len(p))
		return
	}
	c := &g.conns[i]
	n, known := c.number(r.number)
	switch {
	case !known || c.sent-n > g.rings.size:
		g.faults.add(Extra, 1, "pinger %d: a reply to ping %d, which was not sent or long ago",
			c.id, r.number)
		return
	case c.state != connOpen:
		return
	case len(r.payload) != int(g.pattern.size), checkPattern(g.pattern.key(c), n, 0,
		r.payload) >= 0:
		g.fail(c, WrongReply, "pinger %d: the reply to ping %d does not carry what was sent", c.id,
			n)
		return
	}
	switch f := g.rings.at(c.index, n); f.sent {
	case pingAnswered:
		g.faults.add(Extra, 1, "pinger %d: ping %d was answered twice", c.id, n)
	case pingLost: // it is late, and has been counted as lost
	default:
		g.endPing(c, n, pingAnswered)
		if !g.scheduled {
			g.topUp(c)
		}
	}
}

// endPing counts a ping that has been answered or is lost, and forgets it.
func (g *pings) endPing(c *conn, n uint64, how int64) {
	f := g.rings.at(c.index, n)
	counts := g.measuring
	if g.scheduled {
		counts = g.inWindow(f.due)
	}
	took, trip := g.now-f.due, g.now-f.sent
	if how == pingLost {
		took = int64(lostTime)
		if counts {
			g.lostInWindow++
		}
	} else {
		g.count(1)
		if counts {
			g.service.Record(trip)
		}
	}
	if g.scheduled && counts {
		g.latency.Record(took)
	}
	f.sent = how
	g.inFlight--
	for c.answered < c.sent && g.rings.at(c.index, c.answered).sent < 0 {
		c.answered++
	}
}

// tick finds what is lost.
func (g *pings) tick() int64 {
	if g.now >= g.sweepAt {
		g.sweep(g.now - int64(lostTime))
		g.sweepAt = g.now + int64(sweepEvery)
	}
	return g.sweepAt
}

// sweep takes what was sent before a time, and has not been answered, as lost.
func (g *pings) sweep(before int64) {
	for i := range g.conns {
		c := &g.conns[i]
		if c.state != connOpen {
			continue
		}
		for n := c.answered; n < c.sent; n++ {
			if f := g.rings.at(c.index, n); f.sent >= 0 {
				if f.sent > before {
					break
				}
				g.endPing(c, n, pingLost)
			}
		}
		if !g.scheduled {
			g.topUp(c)
		}
	}
}

// expire counts the pings that are under way as lost: no host has to answer.
func (g *pings) expire() { g.sweep(g.now) }

func (g *pings) part() Part {
	p := &Pings{Answered: g.served, Total: g.total, Lost: g.lostInWindow, Offered: g.offered,
		BytesOut: g.windowOut, BytesIn: g.windowIn, Trip: &g.service}
	if g.scheduled {
		p.Latency, p.Late = &g.latency, &g.late
	}
	return p
}

func (g *pings) close() { g.echoes.close() }
