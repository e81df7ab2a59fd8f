package tcp

import "interleave/gonet/wire"

// ecn is explicit congestion notification (RFC 3168): routers mark packets in place of dropping
// them, the receiver echoes a mark until the sender says that it has lowered its window.
type ecn struct {
	on    bool // both ends speak it
	ce    bool // the segment that comes next is marked
	echo  bool // a mark has arrived, and the peer has not said yet that it sends less
	cwr   bool // we send less: the next new segment says so
	until Seq  // what was sent before has lowered the window already
}

// echoes is what the flags of a segment say: ECE, CWR, both or none.
func echoes(f wire.Flags) wire.Flags { return f & (wire.ECE | wire.CWR) }

// negotiate learns from the peer's SYN whether it speaks ECN. Who is asked agrees; who has asked
// needs an answer with ECE alone: some send back whatever flags they got (section 6.1.1).
func (c *Conn) negotiate(f wire.Flags) {
	if f&wire.ACK != 0 {
		c.ecn.on = echoes(f) == wire.ECE && (c.cfg.ECN || c.ecn.on)
	} else {
		c.ecn.on = echoes(f) == wire.ECE|wire.CWR
	}
	c.ecn.until = c.send.iss
}

// Marked says that the packet of the segment which Input gets next has met congestion: the
// codepoint CE of IP.
func (c *Conn) Marked() { c.ecn.ce = true }

// hearMark is the receiver's part: a mark on data is echoed, at once for the first time, until the
// peer has lowered its window.
func (c *Conn) hearMark(f wire.Flags, ce bool, n int) {
	if f&wire.CWR != 0 {
		c.ecn.echo = false
	}
	if ce && n > 0 {
		c.receive.ackDue = c.receive.ackDue || !c.ecn.echo
		c.ecn.echo = true
	}
}

// hearEcho is the sender's part: the window is lowered once for each window that has met
// congestion, as for a loss (section 6.1.2).
func (c *Conn) hearEcho(acked int, now Time) {
	s, e := &c.send, &c.ecn
	if s.recovering || !s.una.After(e.until) {
		return
	}
	s.control.marked(s.flightSize()+acked, now)
	c.saysLess()
}

// saysLess has the peer told that the window has been lowered, for whatever reason.
func (c *Conn) saysLess() {
	c.ecn.cwr, c.ecn.until = c.ecn.on, c.send.next
}

// mark lets routers mark a segment with n new bytes in place of dropping it. What goes again,
// probes and acknowledgements alone may not be marked (sections 6.1.4 to 6.1.6).
func (c *Conn) mark(seg *Segment, n int) {
	if n == 0 {
		return
	}
	seg.Markable = true
	if c.ecn.cwr {
		c.ecn.cwr = false
		seg.Header.Flags |= wire.CWR
	}
}
