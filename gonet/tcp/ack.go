package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// sender is our stream (RFC 9293 section 3.3.1, the SND variables) and what is known of its way.
type sender struct {
	iss, una, next Seq
	window         int // SND.WND, of the last acceptable segment
	maxWindow      int // the largest that was seen
	wl1, wl2       Seq
	shift          uint8
	mss            int  // payload in bytes of a full segment
	out            ring // from una on, but for SYN and FIN
	closing        bool // a FIN follows what is in out
	finAcked       bool // and has arrived
	synDue         bool // the SYN is to be sent (again)
	synSent        int  // how often it was

	board   scoreboard
	control congestion
	rtt     rtt
	rack    rack

	recovering bool // until recover is acknowledged
	expired    bool // it began with a time-out, not with a loss that was noticed
	recover    Seq
	dups       int    // acknowledgements that said nothing new, without SACK
	undoStamp  uint32 // our timestamp when the first segment went again
	undoable   bool
	prr        prr

	probe     bool // a segment is to go beyond what the windows allow
	keepalive bool // a keep-alive is to be sent
	tail      tail
	search    search
	lastSent  Time
}

func (s *sender) init(iss Seq, cfg *Config) {
	s.iss, s.una, s.next, s.recover = iss, iss, iss, iss
	s.rack.forward, s.rack.raisedAt = iss, iss
	s.mss = min(defaultMSS, cfg.MSS)
}

// ackSyn notes that our SYN has arrived, by the segment h. One that had to go again tells of a slow
// or a bad path: without a round trip that a timestamp measures the time-out starts from 3 s (RFC
// 6298 section 5.7), and after a second time the window from one segment (RFC 5681 section 3.1, RFC
// 6928 section 2).
func (c *Conn) ackSyn(h *wire.TCP, now Time) {
	s := &c.send
	s.board.acked(s.iss.Plus(1), func(f *flight) {
		switch d := int32(c.stamp(now) - h.Options.TSEcr); {
		case !f.again:
			s.rtt.sample(now.Sub(f.at), 1)
		case c.timestamps && h.Options.TSEcr != 0 && d >= 0:
			s.rtt.sample(time.Duration(d)*time.Millisecond, 1)
		default:
			s.rtt.careful = true
		}
	})
	if s.synSent > 2 {
		s.control.restart()
	}
	s.una, s.synDue, s.rtt.backoff = s.iss.Plus(1), false, 0
	c.timers.retransmit = 0
}

// flightSize is what was sent and not acknowledged, in bytes.
func (s *sender) flightSize() int { return s.una.To(s.next) }

// news is what an acknowledgement has told.
type news struct {
	acked     int // bytes that una has moved by
	delivered int // bytes that have arrived and were not known to
	sampled   bool
	at        Time // when the last of them was sent that was sent only once
	repaired  bool // some of it was sent again: the rest may have waited behind that for long
	resent    Time // when, for the last time
	duplicate bool // a SACK reports something that had arrived before (RFC 2883)
	// neither una, the window, a SACK nor the payload says anything: a plain duplicate
	idle bool
	echo uint32 // the timestamp of ours that came back, 0 if none did
}

// acknowledge takes the ACK field, the window and the SACK blocks of an acceptable segment: the
// fifth step of section 3.10.7.4. It returns whether the segment may be used further.
func (c *Conn) acknowledge(h *wire.TCP, payload int, now Time) bool {
	s := &c.send
	ack := Seq(h.Ack)
	if ack.After(s.next) || ack.Before(s.una.Plus(-s.maxWindow)) { // RFC 5961 section 5
		c.challenge(now)
		return false
	}
	if ack.Before(s.una) {
		return true // old, but its payload may be new
	}
	flight, recovering := s.board.inFlight, s.recovering
	moved := c.updateWindow(h, ack)
	n := c.deliveries(h, ack, now)
	n.idle = n.acked == 0 && payload == 0 && !moved && s.flightSize() > 0 &&
		h.Flags&(wire.SYN|wire.FIN) == 0 && h.Options.SACKCount == 0
	c.sampleRTT(n, now)
	if n.acked > 0 {
		s.forgetDuplicates(n.acked)
		c.advance(ack, n, now)
		if c.state == Closed || c.state == TimeWait {
			return c.state == TimeWait
		}
	} else if !c.sack && n.idle {
		s.dups++
	}
	lowered := c.detect(n, now)
	if c.ecn.on && h.Flags&wire.ECE != 0 {
		c.hearEcho(n.acked, now)
		lowered = true
	}
	if !s.recovering && !recovering && !lowered && n.acked > 0 {
		// The window grows only where it was the bound (RFC 7661): a sender that has less to send
		// learns nothing.
		if w := s.control.window(); flight+s.mss > w || w < s.control.threshold() && w < 2*flight {
			s.control.acked(n.acked, now, &s.rtt)
		}
	} else if s.recovering {
		if s.expired && n.acked > 0 {
			s.control.acked(n.acked, now, &s.rtt)
		}
		s.prr.delivered(n, s, !s.expired)
	}
	c.rearm(n, now)
	return true
}

// updateWindow takes the window of a segment that is not older than the last that was taken.
func (c *Conn) updateWindow(h *wire.TCP, ack Seq) (moved bool) {
	s := &c.send
	seq := Seq(h.Seq)
	if seq.Before(s.wl1) || seq == s.wl1 && ack.Before(s.wl2) {
		return false
	}
	window := int(h.Window) << s.shift
	moved = window != s.window
	s.window, s.wl1, s.wl2 = window, seq, ack
	s.maxWindow = max(s.maxWindow, window)
	return moved
}

// deliveries finds out what has arrived.
func (c *Conn) deliveries(h *wire.TCP, ack Seq, now Time) (n news) {
	s := &c.send
	if c.timestamps {
		n.echo = h.Options.TSEcr
	}
	seen := func(f *flight) {
		if f.sacked {
			return // a SACK has told of it already
		}
		n.delivered += f.len()
		if f.again {
			n.repaired, n.resent = true, max(n.resent, f.at)
		}
		if !f.again && (!n.sampled || f.at > n.at) {
			n.sampled, n.at = true, f.at
		}
		s.rack.delivered(f, s, now)
		if s.search.out && f.end == s.search.end {
			s.passed(f, now)
		}
	}
	if ack.After(s.una) {
		n.acked = s.una.To(ack)
		s.board.acked(ack, seen)
	}
	if !c.sack {
		return n
	}
	for i, block := range h.Options.SACK[:h.Options.SACKCount] {
		left, right := Seq(block.Left), Seq(block.Right)
		if i == 0 && (left.Before(ack) || h.Options.SACKCount > 1 &&
			insideOf(block, h.Options.SACK[1])) {
			n.duplicate = true
		}
		if left.Before(ack) || !left.Before(right) || right.After(s.next) {
			continue // old, or not of what we sent
		}
		s.board.sack(left, right, seen)
	}
	return n
}

func insideOf(a, b wire.SACKBlock) bool {
	return !Seq(a.Left).Before(Seq(b.Left)) && !Seq(a.Right).After(Seq(b.Right))
}

// sampleRTT measures the round trip: by a segment that was sent only once, or else by the timestamp
// that came back. One from before the last sending may be of a segment whose acknowledgement was
// lost, and then tells how long we have waited; so the doubled time-out stays until there is a
// measure (Karn's algorithm).
func (c *Conn) sampleRTT(n news, now Time) {
	s := &c.send
	switch {
	case n.sampled && !n.repaired:
		s.rtt.sample(now.Sub(n.at), (s.flightSize()+2*s.mss-1)/(2*s.mss))
	case n.acked > 0 && n.echo != 0 && (!n.repaired || int32(n.echo-c.stamp(n.resent)) >= 0):
		if d := c.stamp(now) - n.echo; int32(d) >= 0 {
			s.rtt.sample(time.Duration(d)*time.Millisecond, 1)
		}
	case n.acked > 0:
		s.rtt.moved()
	}
}

// advance moves una: what was acknowledged leaves the ring, and our FIN may be among it.
func (c *Conn) advance(ack Seq, n news, now Time) {
	s := &c.send
	s.una = ack
	bytes := min(n.acked, s.out.n)
	s.out.drop(bytes)
	if s.recovering && !ack.Before(s.recover) {
		s.recovering, s.expired, s.dups = false, false, 0
	}
	if n.acked == bytes || !s.closing { // more than the ring held is our FIN
		return
	}
	s.finAcked = true
	switch c.state {
	case FinWait1:
		c.state = FinWait2
		if c.closed {
			c.lingerFrom(now)
		}
	case Closing:
		c.timeWait(now)
	case LastAck:
		c.end(nil)
	}
}

// stamp is our clock of RFC 7323 at now: milliseconds, from a start of its own in each connection.
func (c *Conn) stamp(now Time) uint32 {
	return c.cfg.Clock + uint32(time.Duration(now)/time.Millisecond)
}
