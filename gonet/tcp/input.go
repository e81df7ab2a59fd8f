package tcp

import "interleave/gonet/wire"

// InputLoan is Input for a payload in a buffer that may be kept, which saves a copy.
func (c *Conn) InputLoan(h *wire.TCP, p []byte, loan Loan, now Time) {
	c.input(h, text{data: p, loan: loan}, now)
}

// Input processes a segment for this connection, as RFC 9293 section 3.10.7 says, with the defences
// of RFC 5961. The checksum must have been verified. The payload may be that of several segments
// that the link has merged.
func (c *Conn) Input(h *wire.TCP, p []byte, now Time) { c.input(h, text{data: p}, now) }

func (c *Conn) input(h *wire.TCP, t text, now Time) {
	p := t.data
	c.receive.ack.begin()
	ce := c.ecn.ce
	c.ecn.ce = false
	switch c.state {
	case Closed:
		return
	case SynSent:
		c.inputSynSent(h, t, now)
		return
	case SynReceived:
		if c.forgedBefore(h) {
			c.inputSynSent(h, t, now)
			return
		}
	}
	if !c.passesPAWS(h, len(p), now) || !c.acceptable(h, p, now) {
		return
	}
	switch {
	case h.Flags&wire.RST != 0:
		c.inputReset(h, now)
		return
	case h.Flags&wire.SYN != 0 && !c.answersSyn(h):
		c.challenge(now)
		return
	case h.Flags&wire.ACK == 0:
		return
	}
	if c.state == SynReceived && !c.establish(h, now) {
		return
	}
	if h.Flags&wire.SYN != 0 {
		c.fromPeer(h, now)
		c.ackAtOnce()
		return // its payload, if any, is sent again
	}
	if !c.acknowledge(h, len(p), now) || c.state == Closed {
		return
	}
	if c.ecn.on {
		c.inputCE(h.Flags, ce, len(p))
	}
	c.inputText(h, t, now)
}

// inputSynSent processes a segment in SYN-SENT (RFC 9293 section 3.10.7.3).
func (c *Conn) inputSynSent(h *wire.TCP, t text, now Time) {
	acked := false
	if h.Flags&wire.ACK != 0 {
		ack := Seq(h.Ack)
		if acked = ack.After(c.send.una) && !ack.After(c.send.next); !acked {
			if h.Flags&wire.RST == 0 {
				c.reset, c.resetSeq, c.resetAck = true, ack, false
			}
			return
		}
	}
	if h.Flags&wire.RST != 0 {
		if acked {
			c.end(ErrRefused)
		}
		return
	}
	if h.Flags&wire.SYN == 0 {
		return
	}
	c.timers.segmentArrived(now)
	c.takeSyn(h, now)
	c.receive.advertise(c.cfg.MSS, false) // the window that our SYN has announced
	// A simultaneous open: answer with our SYN again, and an acknowledgement.
	if !acked {
		c.state = SynReceived
		c.send.synDue = true
		return
	}
	c.ackSyn(h, now)
	c.state = Established
	c.ackAtOnce()
	if len(t.data) > 0 || h.Flags&wire.FIN != 0 {
		behind := *h // the SYN
		behind.Seq++
		c.inputText(&behind, t, now)
	}
}

// forgedBefore tells whether h shows that the SYN of a simultaneous open was forged: h acknowledges
// our SYN, so its sender has seen our initial sequence number, and it is another SYN than that one.
func (c *Conn) forgedBefore(h *wire.TCP) bool {
	return !c.passive && h.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN|wire.ACK &&
		Seq(h.Ack) == c.send.iss.Plus(1) && Seq(h.Seq) != c.receive.irs
}

// inputReset accepts a reset only at RCV.NXT; elsewhere in the window it sends a challenge ACK (RFC
// 5961 section 3.2). In TIME-WAIT a reset is ignored: it may be caused by our answer to an old
// duplicate (RFC 1337).
func (c *Conn) inputReset(h *wire.TCP, now Time) {
	if c.state == TimeWait {
		return
	}
	if Seq(h.Seq) != c.receive.next {
		c.challenge(now)
		return
	}
	switch c.state {
	case SynReceived:
		if c.passive {
			c.end(ErrReset)
		} else {
			c.end(ErrRefused)
		}
	case Closing, LastAck:
		c.end(nil)
	default:
		c.end(ErrReset)
	}
}

// establish ends SYN-RECEIVED. It returns false for an acknowledgement that is not of our SYN, and
// resets it.
func (c *Conn) establish(h *wire.TCP, now Time) bool {
	ack := Seq(h.Ack)
	if !ack.After(c.send.una) || ack.After(c.send.next) {
		c.reset, c.resetSeq, c.resetAck = true, ack, false
		return false
	}
	c.ackSyn(h, now)
	c.send.window = int(h.Window)
	if h.Flags&wire.SYN == 0 {
		c.send.window <<= c.send.shift
	} else {
		c.negotiate(h.Flags)
	}
	c.send.maxWindow = int32(c.send.window)
	c.send.wl1, c.send.wl2 = Seq(h.Seq), ack
	c.state = Established
	if c.send.closing {
		c.state = FinWait1
	}
	return true
}

// inputText processes the segment text and the FIN: the seventh and the eighth step of section
// 3.10.7.4.
func (c *Conn) inputText(h *wire.TCP, t text, now Time) {
	r, p := &c.receive, t.data
	fin := h.Flags&wire.FIN != 0
	switch c.state {
	case Established, FinWait1, FinWait2:
	case TimeWait:
		c.inputFinAgain(h, len(p), now)
		return
	default: // nothing can follow the peer's FIN
		if len(p) > 0 || fin {
			c.ackAtOnce()
		}
		return
	}
	end := Seq(h.Seq).Plus(len(p))
	if len(p) > 0 {
		if c.closed && end.After(r.next) { // nobody will read the data (RFC 2525 section 2.17)
			c.refuseText()
			return
		}
		inOrder := !Seq(h.Seq).After(r.next)
		before := r.next
		c.receiveText(Seq(h.Seq), t)
		c.ackText(inOrder && r.next != before, now)
	}
	if fin && !end.After(r.edge) && !r.fin {
		r.fin, r.finAt = true, end
	}
	if r.fin && r.next == r.finAt {
		c.inputFin(now)
	} else if fin {
		c.ackAtOnce() // the FIN is out of order, or a duplicate
	}
}

// refuseText ends the connection with a reset for data that nobody will read. The peer accepts one
// only at the sequence number that it expects next (RFC 5961 section 3.2). That is what it has
// acknowledged (RFC 9293 section 3.5.2), unless our FIN has arrived meanwhile: while the FIN is in
// flight, a second reset follows behind it.
func (c *Conn) refuseText() {
	c.end(ErrClosed)
	c.reset, c.resetSeq, c.resetAck = true, c.send.una, false
	c.resetNext = c.send.next != c.send.una
}

// inputFin processes the peer's FIN once all data before it has arrived.
func (c *Conn) inputFin(now Time) {
	r := &c.receive
	c.ackFin()
	r.finished, r.queue = true, nil
	r.next = r.next.Plus(1)
	r.edge = later(r.edge, r.next)
	switch c.state {
	case Established:
		c.state = CloseWait
	case FinWait1: // our FIN is not acknowledged, or the state would be FIN-WAIT-2
		c.state = Closing
	case FinWait2:
		c.timeWait(now)
	}
}
