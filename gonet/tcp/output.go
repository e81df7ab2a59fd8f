package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// Segment is what Output has to send. Its payload is a view of what was written, in two pieces,
// valid until the next call of the connection; it may be many times the MSS, if Config.Burst lets
// the link cut it.
type Segment struct {
	Header            wire.TCP // without ports and checksum
	Payload, Payload2 []byte
	MSS               int // payload in bytes of each segment that the link makes of it
	// routers may mark it in place of dropping it: the codepoint 2 of RFC 3168
	Markable bool
}

// Len is the payload's length in bytes.
func (s *Segment) Len() int { return len(s.Payload) + len(s.Payload2) }

// Output returns the next segment that is due, false when there is none: call it until then, after
// whatever may have made one due (Input, Write, Read, Close, Expire).
func (c *Conn) Output(seg *Segment, now Time) bool {
	return c.output(seg, now) || c.outputAck(seg, now)
}

func (c *Conn) outputAck(seg *Segment, now Time) bool {
	if !c.AckDue() {
		return false
	}
	c.fill(seg, c.heeded(), 0, now)
	return true
}

// heeded is where a segment without data stands: behind what was sent, but not beyond the peer's
// window, where a probe may be and nothing is heeded.
func (c *Conn) heeded() Seq {
	if s := &c.send; s.una != s.iss { // a SYN that is not acknowledged stands in no window
		return earlier(s.next, s.una.Plus(s.window))
	}
	return c.send.next
}

// AckDue tells whether Output has an acknowledgement to send.
func (c *Conn) AckDue() bool {
	return c.receive.ackDue && c.state != SynSent && c.state != Closed
}

// OutputNow is Output without the acknowledgements that would go alone and tell of nothing but
// progress: who can tell that the user is about to write waits a moment for what they can go with.
// While losses are being mended they do not wait: what they went with might be lost.
func (c *Conn) OutputNow(seg *Segment, now Time) bool {
	if c.output(seg, now) {
		return true
	}
	if c.receive.mayWait && c.send.rtt.backoff == 0 && !c.send.recovering {
		return false
	}
	return c.outputAck(seg, now)
}

// Postpone has the acknowledgement of the peer's end, if it may wait, wait for endDelay: it would
// let the peer send nothing more, and a user who has read the end soon closes, too.
func (c *Conn) Postpone(now Time) {
	r := &c.receive
	calm := r.mayWait && c.send.rtt.backoff == 0 && !c.send.recovering
	if r.ackDue && calm && r.finished && c.state == CloseWait {
		r.ackDue, c.timers.ack = false, now.Add(endDelay)
	}
}

// endDelay is shorter than what a peer waits before it probes the tail: two round trips and 2 ms
// (Linux: TCP_TIMEOUT_MIN).
const endDelay = 2 * time.Millisecond

// output sends what is no mere acknowledgement.
func (c *Conn) output(seg *Segment, now Time) bool {
	*seg = Segment{}
	if c.reset {
		return c.outputReset(seg, now)
	}
	s := &c.send
	switch {
	case c.state == Closed:
		return false
	case s.synDue:
		c.outputSyn(seg, now)
		return true
	case c.synchronized() && c.state != TimeWait && (c.outputLost(seg, now) ||
		c.outputNew(seg, now)):
		return true
	case s.keepalive:
		s.keepalive = false
		c.fill(seg, s.una.Plus(-1), 0, now)
		return true
	}
	return false
}

func (c *Conn) outputReset(seg *Segment, now Time) bool {
	c.reset = false
	seg.Header = wire.TCP{Seq: uint32(c.resetSeq), Flags: wire.RST}
	if c.resetAck {
		seg.Header.Flags |= wire.ACK
		seg.Header.Ack = uint32(c.receive.next)
		c.putStamp(&seg.Header.Options, now)
	}
	return true
}

// outputSyn sends the SYN of our side, with the acknowledgement once the peer's is known.
func (c *Conn) outputSyn(seg *Segment, now Time) {
	s, r := &c.send, &c.receive
	s.synDue = false
	s.synSent++
	if len(s.board.flights) == 0 {
		s.next = s.iss.Plus(1)
		s.board.sent(s.iss, s.next, now)
	} else {
		s.board.flights[0].again, s.board.flights[0].at = true, now
		c.traffic.again(0)
	}
	seg.Header = wire.TCP{Seq: uint32(s.iss), Flags: wire.SYN, Window: uint16(min(r.limit, 0xffff))}
	o := &seg.Header.Options
	o.MSS, o.SACKPermitted, o.HasTimestamp = uint16(min(c.cfg.MSS, 0xffff)), c.sack, c.timestamps
	if c.state == SynReceived {
		seg.Header.Flags |= wire.ACK
		seg.Header.Ack = uint32(r.next)
		seg.Header.Window = r.advertise(c.cfg.MSS, false)
		r.ackDue, r.lastAck = false, r.next
		o.HasWindowScale, o.WindowScale = c.scaling, r.shift
		if c.ecn.on {
			seg.Header.Flags |= wire.ECE
		}
	} else {
		o.HasWindowScale, o.WindowScale = !c.cfg.NoScale, c.scale()
		// some drop what asks for it: the next does not (RFC 3168 section 6.1.1.1)
		if c.cfg.ECN && s.synSent == 1 {
			seg.Header.Flags |= wire.ECE | wire.CWR
		}
	}
	c.putStamp(o, now)
	c.traffic.sent(0)
	if c.timers.retransmit == 0 {
		c.timers.retransmit = now.Add(s.rtt.rto())
	}
}

func (c *Conn) putStamp(o *wire.TCPOptions, now Time) {
	if c.timestamps {
		o.HasTimestamp, o.TSVal, o.TSEcr = true, c.stamp(now), c.recent
	}
}

// dataEnd is where the bytes that were written end; a FIN stands there.
func (s *sender) dataEnd() Seq {
	if s.finAcked {
		return s.una.Plus(-1)
	}
	return s.una.Plus(s.out.n)
}

// allowance is how many bytes congestion control lets go now.
func (c *Conn) allowance() int {
	s := &c.send
	if s.recovering && !s.expired && c.sack {
		return s.prr.credit
	}
	pipe := s.board.inFlight
	if !s.expired {
		pipe = max(pipe-s.dups*s.mss, 0) // without SACK: what the duplicates stand for has arrived
	}
	return s.control.window() - pipe
}

// burst is the largest payload of one Segment.
func (c *Conn) burst() int { return max(c.cfg.Burst/c.send.mss, 1) * c.send.mss }

// outputLost sends the first lost piece again.
func (c *Conn) outputLost(seg *Segment, now Time) bool {
	s := &c.send
	i := s.board.firstLost()
	if i < 0 {
		return false
	}
	n := min(s.board.flights[i].len(), c.burst())
	if allowed := c.allowance(); allowed < n {
		if n = min(n, max(allowed/s.mss, 0)*s.mss); s.probe {
			n = min(max(n, s.mss), s.board.flights[i].len())
		}
	}
	if n <= 0 {
		return false
	}
	s.probe = false
	s.board.resent(i, n, now)
	f := s.board.flights[i]
	c.spend(n, now)
	c.fill(seg, f.seq, n, now)
	c.traffic.again(seg.Len())
	return true
}

// outputNew sends what was not sent yet, and the FIN.
func (c *Conn) outputNew(seg *Segment, now Time) bool {
	s := &c.send
	end := s.dataEnd()
	if s.next.After(end) || s.next == end && !s.closing {
		return false
	}
	unsent := s.next.To(end)
	room := int(int32(s.una.Plus(s.window) - s.next))
	if s.board.inFlight == 0 && s.lastSent != 0 && now.Sub(s.lastSent) > s.rtt.rto() {
		s.control.idle()
	}
	n := min(unsent, max(room, 0), c.burst())
	if c.ecn.cwr {
		n = min(n, s.mss) // a link that cuts would have many say so
	}
	tried := 0
	if s.search.high > s.mss {
		tried = c.pathProbe(min(unsent, room), now)
	}
	allowed := c.allowance()
	switch {
	case tried > 0:
		n = tried
	case s.probe && room > 0: // a tail's probe may pass the congestion window
		n = min(n, max(allowed/s.mss*s.mss, s.mss))
	case s.probe:
		n = min(unsent, 1)
	case n > allowed:
		if n = max(allowed/s.mss, 0) * s.mss; n == 0 {
			return false
		}
	}
	fin := s.closing && n == unsent && (room > n || s.probe) // it takes a place of the window, too
	if !s.probe && !fin && !c.worthSending(n, unsent) || n == 0 && !fin {
		c.timers.watch(c, now)
		return false
	}
	probe := s.probe
	s.probe = false
	took := n
	if fin {
		took++
	}
	seq := s.next
	s.next = seq.Plus(took)
	s.board.sent(seq, s.next, now)
	c.spend(took, now)
	c.fill(seg, seq, took, now)
	if c.ecn.on && !probe {
		c.mark(seg, n)
	}
	if tried > 0 {
		seg.MSS = n
		s.search.out, s.search.seq, s.search.end = true, seq, s.next
	}
	return true
}

// worthSending is the sender's part against silly windows, and Nagle's (RFC 9293 sections
// 3.8.6.2.1, 3.7.4).
func (c *Conn) worthSending(n, unsent int) bool {
	s := &c.send
	switch {
	case n >= s.mss:
		return true
	case n == 0:
		return false
	case n == unsent:
		return !c.cfg.Delay || s.flightSize() == 0
	}
	return n >= s.maxWindow/2
}

// spend accounts for n bytes that go out.
func (c *Conn) spend(n int, now Time) {
	s := &c.send
	s.prr.sent += n
	s.prr.credit = max(s.prr.credit-n, 0)
	s.lastSent = now
	c.timers.sent(c, now)
}

// fill makes the segment of n places from seq on: data, and behind its end the FIN.
func (c *Conn) fill(seg *Segment, seq Seq, n int, now Time) {
	s, r := &c.send, &c.receive
	h := &seg.Header
	h.Seq, h.Ack, h.Flags = uint32(seq), uint32(r.next), wire.ACK
	if c.ecn.echo {
		h.Flags |= wire.ECE
	}
	if n > 0 {
		data := n
		if end := s.dataEnd(); seq.Plus(n).After(end) {
			data--
			h.Flags |= wire.FIN
		} else if seq.Plus(n) == end {
			h.Flags |= wire.PSH
		}
		seg.Payload, seg.Payload2 = s.out.view(s.una.To(seq), data)
		if data > 0 && h.Flags&wire.FIN != 0 {
			h.Flags |= wire.PSH
		}
	}
	c.traffic.sent(seg.Len())
	h.Window = r.advertise(c.cfg.MSS, true)
	seg.MSS = s.mss
	c.putStamp(&h.Options, now)
	reported := c.putSACK(h, n)
	r.ackDue = r.ackDue && !reported
	r.unacked, r.lastAck = 0, r.next
	c.timers.ack = 0
}

// putSACK reports what has arrived out of order, in a segment of n bytes, and tells whether there
// was room: a full segment has none (RFC 6691), so an acknowledgement that is due follows it.
func (c *Conn) putSACK(h *wire.TCP, n int) bool {
	q := &c.receive.queue
	if !c.sack || q.len() == 0 {
		return true
	}
	most := 4
	if c.timestamps {
		most = 3
	}
	if n > 0 {
		most = min(most, (c.send.mss-n-4)/8)
	}
	q.blocks(&h.Options, most)
	return most > 0
}
