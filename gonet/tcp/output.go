package tcp

import "interleave/gonet/wire"

// Segment is a segment to be sent. Its payload is a view of the send buffer in two slices, valid
// until the next call of the connection. It may be many times the MSS if Config.Burst lets the link
// cut it.
type Segment struct {
	Header            wire.TCP // without ports and checksum
	Payload, Payload2 []byte
	MSS               int // payload in bytes of each segment into which the link cuts it
	// Markable: the packet is to be sent with ECT(0) (RFC 3168 section 5), so that routers may mark
	// it in place of dropping it.
	Markable bool
}

// Len returns the length of the payload in bytes.
func (s *Segment) Len() int { return len(s.Payload) + len(s.Payload2) }

// Output fills in the next segment that is due, and returns false when none is. Call it until then
// after each call that may make one due: Input, Write, Read, Close, Expire.
func (c *Conn) Output(seg *Segment, now Time) bool {
	return c.output(seg, now) || c.outputAck(seg, now)
}

// acceptableSeq returns the sequence number for a segment without data. It is SND.NXT, but not
// beyond the peer's window: after a window probe SND.NXT lies there, and the peer would not accept
// the segment.
func (c *Conn) acceptableSeq() Seq {
	if s := &c.send; s.una != s.iss { // before our SYN is acknowledged there is no window
		return earlier(s.next, s.una.Plus(s.window))
	}
	return c.send.next
}

// output fills in the next segment that is more than a bare acknowledgement.
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
	c.reset = c.resetNext
	seg.Header = wire.TCP{Seq: uint32(c.resetSeq), Flags: wire.RST}
	c.resetSeq, c.resetNext = c.send.next, false
	if c.resetAck {
		seg.Header.Flags |= wire.ACK
		seg.Header.Ack = uint32(c.receive.next)
		c.putTimestamp(&seg.Header.Options, now)
	}
	return true
}

// outputSyn fills in our SYN, with an acknowledgement if the peer's SYN has arrived.
func (c *Conn) outputSyn(seg *Segment, now Time) {
	s, r := &c.send, &c.receive
	s.synDue = false
	s.synSent++
	if len(s.scoreboard.flights) == 0 {
		s.next = s.iss.Plus(1)
		s.scoreboard.sent(s.iss, s.next, now)
	} else {
		s.scoreboard.flights[0].resent, s.scoreboard.flights[0].at = true, now
		c.traffic.countResent(0)
	}
	seg.Header = wire.TCP{Seq: uint32(s.iss), Flags: wire.SYN, Window: uint16(min(r.limit, 0xffff))}
	o := &seg.Header.Options
	o.MSS, o.SACKPermitted, o.HasTimestamp = uint16(min(c.cfg.MSS, 0xffff)), c.sack, c.timestamps
	if c.state == SynReceived {
		seg.Header.Flags |= wire.ACK
		seg.Header.Ack = uint32(r.next)
		seg.Header.Window = r.advertise(c.cfg.MSS, false)
		c.noteAck(true)
		o.HasWindowScale, o.WindowScale = c.scaling, r.shift
		if c.ecn.on {
			seg.Header.Flags |= wire.ECE
		}
	} else {
		o.HasWindowScale, o.WindowScale = !c.cfg.NoScale, c.scale()
		// Some networks drop a SYN that requests ECN, so a retransmitted SYN does not (RFC 3168
		// section 6.1.1.1).
		if c.cfg.ECN && s.synSent == 1 {
			seg.Header.Flags |= wire.ECE | wire.CWR
		}
	}
	c.putTimestamp(o, now)
	c.traffic.sent(0)
	if t := &c.timers; t.retransmit == 0 {
		t.retransmit = min(now.Add(s.rtt.rto()), t.since.Add(c.handshakeTimeout()))
	}
}

func (c *Conn) putTimestamp(o *wire.TCPOptions, now Time) {
	if c.timestamps {
		o.HasTimestamp, o.TSVal, o.TSEcr = true, c.timestamp(now), c.recent
	}
}

// dataEnd returns the sequence number behind the last written byte, which is that of the FIN.
func (s *sender) dataEnd() Seq {
	if s.finAcked {
		return s.una.Plus(-1)
	}
	return s.una.Plus(s.out.n)
}

// allowance returns how many bytes congestion control allows to send now.
func (c *Conn) allowance() int {
	s := &c.send
	if s.recovering && !s.expired && c.sack {
		return s.recovery.prr.sndcnt
	}
	pipe := s.scoreboard.inFlight
	if !s.expired {
		// without SACK, each duplicate acknowledgement stands for a segment that has arrived
		pipe = max(pipe-int(s.dups)*s.mss, 0)
	}
	return s.control.window() - pipe
}

// burst returns the largest payload of one Segment: a multiple of the MSS.
func (c *Conn) burst() int { return max(c.cfg.Burst/c.send.mss, 1) * c.send.mss }

// outputLost fills in a retransmission of the first lost piece.
func (c *Conn) outputLost(seg *Segment, now Time) bool {
	s := &c.send
	i := s.scoreboard.firstLost()
	if i < 0 {
		return false
	}
	n := min(s.scoreboard.flights[i].len(), c.burst())
	if allowed := c.allowance(); allowed < n {
		if n = min(n, max(allowed/s.mss, 0)*s.mss); s.probe {
			n = min(max(n, s.mss), s.scoreboard.flights[i].len())
		}
	}
	if n <= 0 {
		return false
	}
	s.probe = false
	if s.recovering {
		s.recovery.spurious.bytes += n
	}
	s.scoreboard.resent(i, n, now)
	f := s.scoreboard.flights[i]
	c.noteSent(n, now)
	c.fill(seg, f.seq, n, now)
	c.traffic.countResent(seg.Len())
	return true
}

// outputNew fills in a segment with data that was not sent yet, and the FIN.
func (c *Conn) outputNew(seg *Segment, now Time) bool {
	s := &c.send
	end := s.dataEnd()
	if s.next.After(end) || s.next == end && !s.closing {
		return false
	}
	unsent := s.next.To(end)
	room := int(int32(s.una.Plus(s.window) - s.next))
	if s.scoreboard.inFlight == 0 && s.lastSent != 0 && now.Sub(s.lastSent) > s.rtt.rto() {
		s.control.idle()
	}
	n := min(unsent, max(room, 0), c.burst())
	if c.ecn.cwr {
		n = min(n, s.mss) // a link that cuts the segment could copy CWR to every part
	}
	tried := 0
	if s.search != nil && s.search.high > s.mss {
		tried = c.pathProbe(min(unsent, room), now)
	}
	allowed := c.allowance()
	switch {
	case tried > 0:
		n = tried
	case s.probe && room > 0: // a tail loss probe may exceed the congestion window
		n = min(n, max(allowed/s.mss*s.mss, s.mss))
	case s.probe:
		n = min(unsent, 1)
	case n > allowed:
		if n = max(allowed/s.mss, 0) * s.mss; n == 0 {
			return false
		}
	}
	// the FIN takes a sequence number of the window too
	fin := s.closing && n == unsent && (room > n || s.probe)
	if !s.probe && !fin && !c.worthSending(n, unsent) || n == 0 && !fin {
		c.timers.startPersist(c, now)
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
	s.scoreboard.sent(seq, s.next, now)
	c.noteSent(took, now)
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

// worthSending is the sender's silly window avoidance and Nagle's algorithm (RFC 9293 sections
// 3.8.6.2.1 and 3.7.4).
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
	return n >= int(s.maxWindow)/2
}

// noteSent accounts for n bytes that are sent, and sets the timers.
func (c *Conn) noteSent(n int, now Time) {
	s := &c.send
	if s.recovering {
		s.recovery.prr.sent(n)
	}
	s.lastSent = now
	s.usage.note(s)
	c.timers.sent(c, now)
}

// fill fills in a segment of n sequence numbers from seq on: data, and the FIN behind the last
// byte.
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
	c.putTimestamp(&h.Options, now)
	c.noteAck(c.putSACK(h, n))
}

// putSACK adds SACK blocks to a segment of n bytes. It returns false if there was no room: a full
// segment has none (RFC 6691), and the acknowledgement that is due must follow on its own.
func (c *Conn) putSACK(h *wire.TCP, n int) bool {
	r := &c.receive
	if !c.sack || r.queue.len() == 0 && !r.hasDuplicate {
		return true
	}
	most := 4
	if c.timestamps {
		most = 3
	}
	if n > 0 {
		most = min(most, (c.send.mss-n-4)/8)
	}
	if r.hasDuplicate && most > 0 { // the first block, and in one acknowledgement only
		h.Options.SACK[0], h.Options.SACKCount = r.duplicate, 1
		r.hasDuplicate = false
	}
	if r.queue != nil {
		r.queue.blocks(&h.Options, most)
	}
	return most > 0
}
