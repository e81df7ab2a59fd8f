package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// sender is the stream that we send: the SND variables of RFC 9293 section 3.3.1, and the state of
// retransmission and congestion control.
type sender struct {
	iss, una, next Seq
	wl1, wl2       Seq
	recover        Seq  // see recovering
	tail           tail // the tail loss probe

	recovering bool // in loss recovery, until the sequence number recover is acknowledged
	expired    bool // the recovery began with a time-out, not with a detected loss
	probe      bool // one segment may be sent beyond the windows
	keepalive  bool // a keep-alive probe must be sent
	closing    bool // a FIN follows the bytes in out
	finAcked   bool // the FIN was acknowledged
	synDue     bool // the SYN must be sent, or sent again
	shift      uint8
	synSent    int32 // how often the SYN was sent
	dups       int32 // duplicate acknowledgements in a row, without SACK
	maxWindow  int32 // the largest window that the peer has announced: at most 1 GiB
	usage      usage

	window   int  // SND.WND
	mss      int  // largest payload of a segment, in bytes
	out      ring // the bytes from una on, without SYN and FIN
	lastSent Time

	scoreboard scoreboard
	control    congestion // in the memory of cubic; nil before the peer's SYN
	cubic      cubic
	rtt        rtt
	rack       rack
	recovery   *recovery // the last one; nil before the first
	search     *search   // nil until the first time-out, or until the segments become smaller
}

func (s *sender) init(iss Seq, cfg *Config) {
	s.iss, s.una, s.next, s.recover = iss, iss, iss, iss
	s.rack.fack, s.rack.dsackRound = iss, iss
	s.mss = min(defaultMSS, cfg.MSS)
}

// ackSyn processes the acknowledgement of our SYN by the segment h. A SYN that had to be
// retransmitted suggests a slow or lossy path. Unless a timestamp measures the round trip, the
// time-out then starts from 3 s (RFC 6298 section 5.7). After a second retransmission the window
// starts from one segment (RFC 5681 section 3.1, RFC 6928 section 2).
func (c *Conn) ackSyn(h *wire.TCP, now Time) {
	s := &c.send
	s.scoreboard.acked(s.iss.Plus(1), func(f *flight) {
		switch d := int32(c.timestamp(now) - h.Options.TSEcr); {
		case !f.resent:
			s.rtt.sample(now.Sub(f.at), 1)
		case c.timestamps && h.Options.TSEcr != 0 && d >= 0:
			s.rtt.sample(time.Duration(d)*time.Millisecond, 1)
		default:
			s.rtt.synResent = true
		}
	})
	if s.synSent > 2 {
		s.control.restart()
	}
	s.una, s.synDue, s.rtt.backoff = s.iss.Plus(1), false, 0
	c.timers.retransmit = 0
}

// flightSize returns the number of bytes that were sent and not acknowledged.
func (s *sender) flightSize() int { return s.una.To(s.next) }

// ackInfo is what an acknowledgement reports.
type ackInfo struct {
	acked     int // how far una has moved, in bytes
	delivered int // bytes newly known to have arrived
	reported  int // those of them that duplicate acknowledgements have reported, without SACK
	sampled   bool
	at        Time // send time of the latest segment among them that was sent only once
	repaired  bool // a retransmission is among them: the others may have waited behind it
	resentAt  Time // the latest send time of a retransmission among them
	// recovering and expired are what they were in the sender before this acknowledgement.
	recovering, expired bool
	duplicate           bool // a DSACK reports bytes that arrived twice (RFC 2883)
	twice               wire.SACKBlock
	// A duplicate acknowledgement (RFC 5681 section 2): una and the window have not moved, and it
	// has neither SACK blocks nor payload.
	duplicateACK bool
	echo         uint32 // our timestamp in TSEcr, 0 if there is none
}

// acknowledge processes the ACK field, the window and the SACK blocks of an acceptable segment: the
// fifth step of RFC 9293 section 3.10.7.4. It returns whether the rest of the segment may be
// processed.
func (c *Conn) acknowledge(h *wire.TCP, payload int, now Time) bool {
	s := &c.send
	ack := Seq(h.Ack)
	if ack.After(s.next) || ack.Before(s.una.Plus(-int(s.maxWindow))) { // RFC 5961 section 5
		c.challenge(now)
		return false
	}
	c.fromPeer(h, now)
	if ack.Before(s.una) {
		c.sackOld(h, now)
		return true // its payload may be new
	}
	moved := c.updateWindow(h, ack)
	n := c.deliveries(h, ack, now)
	n.recovering, n.expired = s.recovering, s.expired
	n.duplicateACK = n.acked == 0 && payload == 0 && !moved && s.flightSize() > 0 &&
		h.Flags&(wire.SYN|wire.FIN) == 0 && h.Options.SACKCount == 0
	c.sampleRTT(n, now)
	if n.acked > 0 {
		n.reported = int(s.dups) * s.mss
		s.deflateDuplicates(n.acked)
		c.advance(ack, n, now)
		if c.state == Closed || c.state == TimeWait {
			return c.state == TimeWait
		}
	} else if !c.sack && n.duplicateACK {
		s.dups++
	}
	set := c.detect(n, now)
	if c.ecn.on && h.Flags&wire.ECE != 0 {
		c.inputECE(n.acked, now)
		set = true
	}
	if s.recovering {
		s.recovery.prr.delivered(n, s, !s.expired)
	}
	if !set {
		s.grow(n, now)
	}
	c.rearm(n, now)
	return true
}

// sackOld processes the SACK blocks of an acknowledgement that a newer one has overtaken (RFC 6675
// section 5). Nothing else of it counts: an old acknowledgement is easy to guess, but a block of
// data in flight is not.
func (c *Conn) sackOld(h *wire.TCP, now Time) {
	s := &c.send
	n := c.deliveries(h, s.una, now)
	if n.delivered == 0 {
		return
	}
	n.duplicate = false // a block below SND.UNA is only as old as the acknowledgement
	n.recovering, n.expired = s.recovering, s.expired
	c.detect(n, now)
	if s.recovering {
		s.recovery.prr.delivered(n, s, !s.expired)
	}
	c.rearm(n, now)
}

// grow grows the congestion window for new data that was acknowledged, if it was used. After a
// time-out slow start begins with the first such acknowledgement, also if it ends the recovery (RFC
// 5681 section 3.1).
//
// An acknowledgement that comes after reordering is of much data at once, most of which has been
// reported before, and has let new segments go (RFC 3042). It counts only with what is new, so that
// no burst follows it (RFC 3465 section 2.2), but with a segment at least (RFC 5681 section 3.1).
func (s *sender) grow(n ackInfo, now Time) {
	if n.acked == 0 || n.recovering && !n.expired {
		return
	}
	if s.usage.validates(s.control) {
		s.control.acked(max(n.delivered-n.reported, min(n.acked, s.mss)), now, &s.rtt)
	}
}

// updateWindow takes the send window of a segment, unless a newer segment has set it.
func (c *Conn) updateWindow(h *wire.TCP, ack Seq) (moved bool) {
	s := &c.send
	seq := Seq(h.Seq)
	if seq.Before(s.wl1) || seq == s.wl1 && ack.Before(s.wl2) {
		return false
	}
	window := int(h.Window) << s.shift
	moved = window != s.window
	s.window, s.wl1, s.wl2 = window, seq, ack
	s.maxWindow = max(s.maxWindow, int32(window))
	return moved
}

// deliveries finds what the acknowledgement reports as arrived, and marks it on the scoreboard.
func (c *Conn) deliveries(h *wire.TCP, ack Seq, now Time) (n ackInfo) {
	s := &c.send
	if c.timestamps {
		n.echo = h.Options.TSEcr
	}
	seen := func(f *flight) {
		if f.sacked {
			return // a SACK has reported it already
		}
		n.delivered += f.len()
		if f.resent {
			n.repaired, n.resentAt = true, max(n.resentAt, f.at)
		}
		if !f.resent && (!n.sampled || f.at > n.at) {
			n.sampled, n.at = true, f.at
		}
		s.rack.delivered(f, s, now)
		if s.probing() && f.end == s.search.end {
			s.probeArrived(f, now)
		}
	}
	if ack.After(s.una) {
		n.acked = s.una.To(ack)
		s.scoreboard.acked(ack, seen)
	}
	if !c.sack {
		return n
	}
	for i, block := range h.Options.SACK[:h.Options.SACKCount] {
		left, right := Seq(block.Left), Seq(block.Right)
		if i == 0 && (left.Before(ack) || h.Options.SACKCount > 1 &&
			insideOf(block, h.Options.SACK[1])) {
			n.duplicate, n.twice = true, block
		}
		if left.Before(ack) || !left.Before(right) || right.After(s.next) {
			continue // old, or not of bytes that were sent
		}
		s.scoreboard.sack(left, right, seen)
	}
	return n
}

func insideOf(a, b wire.SACKBlock) bool {
	return !Seq(a.Left).Before(Seq(b.Left)) && !Seq(a.Right).After(Seq(b.Right))
}

// sampleRTT measures the round trip by a segment that was sent only once, or else by the echoed
// timestamp. An echo from before the last retransmission may belong to a segment whose
// acknowledgement was lost. It would measure the time-out too, so it is not used, and the doubled
// time-out stays until there is a sample (Karn's algorithm).
func (c *Conn) sampleRTT(n ackInfo, now Time) {
	s := &c.send
	switch {
	case n.sampled && !n.repaired:
		s.rtt.sample(now.Sub(n.at), (s.flightSize()+2*s.mss-1)/(2*s.mss))
	case n.acked > 0 && n.echo != 0 && (!n.repaired || int32(n.echo-c.timestamp(n.resentAt)) >= 0):
		if d := c.timestamp(now) - n.echo; int32(d) >= 0 {
			s.rtt.sample(time.Duration(d)*time.Millisecond, 1)
		}
	case n.acked > 0:
		s.rtt.ackedWithoutSample()
	}
}

// advance moves una: acknowledged bytes leave the ring. The acknowledgement of our FIN changes the
// state.
func (c *Conn) advance(ack Seq, n ackInfo, now Time) {
	s := &c.send
	s.una = ack
	bytes := min(n.acked, s.out.n)
	if s.out.skip(bytes); s.out.n == 0 && !c.reserved {
		s.out.free()
	}
	if s.recovering && !ack.Before(s.recover) {
		s.recovering, s.expired, s.dups = false, false, 0
	}
	if n.acked == bytes || !s.closing { // bytes beyond the ring are our FIN
		return
	}
	s.finAcked = true
	switch c.state {
	case FinWait1:
		c.state = FinWait2
		if c.closed {
			c.startTwoMSL(now)
		}
	case Closing:
		c.timeWait(now)
	case LastAck:
		c.end(nil)
	}
}

// timestamp returns our timestamp clock at now (RFC 7323): milliseconds, with an offset for each
// connection.
func (c *Conn) timestamp(now Time) uint32 {
	return c.clock + uint32(time.Duration(now)/time.Millisecond)
}
