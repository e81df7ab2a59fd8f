package tcp

import "interleave/gonet/wire"

// ecn is explicit congestion notification (RFC 3168). Routers mark packets in place of dropping
// them. The receiver echoes a mark with ECE until the sender has answered with CWR, having reduced
// its window.
type ecn struct {
	on    bool // both ends have agreed on ECN
	ce    bool // the packet of the next Input has the codepoint CE
	echo  bool // send ECE until the peer's CWR arrives
	cwr   bool // send CWR with the next new data
	until Seq  // marks on data before this have been answered already
}

// echoes returns the ECN flags of a segment: ECE, CWR, both or none.
func echoes(f wire.Flags) wire.Flags { return f & (wire.ECE | wire.CWR) }

// negotiate decides by the peer's SYN whether ECN is used. A request is always granted. An answer
// to our request must have ECE alone: some hosts send back whatever flags they receive (RFC 3168
// section 6.1.1).
func (c *Conn) negotiate(f wire.Flags) {
	if f&wire.ACK != 0 {
		c.ecn.on = echoes(f) == wire.ECE && (c.cfg.ECN || c.ecn.on)
	} else {
		c.ecn.on = echoes(f) == wire.ECE|wire.CWR
	}
	c.ecn.until = c.send.iss
}

// Marked tells the machine that the packet of the next Input has the codepoint CE, congestion
// experienced.
func (c *Conn) Marked() { c.ecn.ce = true }

// inputCE is the receiver's part. A CE mark on data is echoed until the peer's CWR arrives; the
// first one is acknowledged at once.
func (c *Conn) inputCE(f wire.Flags, ce bool, n int) {
	if f&wire.CWR != 0 {
		c.ecn.echo = false
	}
	if ce && n > 0 {
		if !c.ecn.echo {
			c.ackAtOnce()
		}
		c.ecn.echo = true
	}
}

// inputECE is the sender's part. The window is reduced as for a loss, once for each window of data
// (section 6.1.2).
func (c *Conn) inputECE(acked int, now Time) {
	s, e := &c.send, &c.ecn
	if s.recovering || !s.una.After(e.until) {
		return
	}
	s.keepReduction() // the congestion is real
	s.control.marked(s.flightSize()+acked, now)
	c.sendCWR()
}

// sendCWR has the peer told that the window was reduced, for whatever reason.
func (c *Conn) sendCWR() {
	c.ecn.cwr, c.ecn.until = c.ecn.on, c.send.next
}

// mark sets ECT on a segment with n bytes of new data. Retransmissions, probes and pure
// acknowledgements must not be ECN-capable (sections 6.1.4 to 6.1.6).
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
