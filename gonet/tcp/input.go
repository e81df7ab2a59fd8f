package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// InputLoan is Input for a payload in memory that may be kept: it is copied once less.
func (c *Conn) InputLoan(h *wire.TCP, p []byte, loan Loan, now Time) {
	c.receive.loan = loan
	c.Input(h, p, now)
	c.receive.loan = nil
}

// Input takes a segment that has arrived for this connection: RFC 9293 section 3.10.7, with the
// defences of RFC 5961. The payload may be that of several segments that the link has merged. Its
// checksum has been verified.
func (c *Conn) Input(h *wire.TCP, p []byte, now Time) {
	r := &c.receive
	r.calm, r.mayWait = !r.ackDue || r.mayWait, false
	ce := c.ecn.ce
	c.ecn.ce = false
	switch c.state {
	case Closed:
		return
	case SynSent:
		c.inputSynSent(h, p, now)
		return
	}
	c.timers.hear(now)
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
	if c.timestamps && !Seq(h.Seq).After(c.receive.lastAck) && c.younger(h, now) {
		c.recent, c.recentAt = h.Options.TSVal, now
	}
	if c.state == SynReceived && !c.establish(h, now) {
		return
	}
	if h.Flags&wire.SYN != 0 {
		c.receive.ackDue = true
		return // its text, if any, comes again
	}
	if !c.acknowledge(h, len(p), now) || c.state == Closed {
		return
	}
	if c.ecn.on {
		c.hearMark(h.Flags, ce, len(p))
	}
	c.inputText(h, p, now)
}

// inputSynSent is section 3.10.7.3.
func (c *Conn) inputSynSent(h *wire.TCP, p []byte, now Time) {
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
	c.timers.hear(now)
	c.takeSyn(h, now)
	c.receive.advertise(c.cfg.MSS, false) // what our SYN said
	// both ends have sent a SYN at once: answer with ours again, and an acknowledgement
	if !acked {
		c.state = SynReceived
		c.send.synDue = true
		return
	}
	c.ackSyn(h, now)
	c.state = Established
	c.receive.ackDue = true
	if len(p) > 0 || h.Flags&wire.FIN != 0 {
		text := *h
		text.Seq++
		c.inputText(&text, p, now)
	}
}

// inputReset heeds a reset only at the very next byte: elsewhere in the window it is challenged
// (RFC 5961 section 3.2). In TIME-WAIT it may be the answer to our answer to an old duplicate, and
// must not end the wait (RFC 1337).
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

// establish ends SYN-RECEIVED, or refuses an acknowledgement of something else.
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
	c.send.maxWindow = c.send.window
	c.send.wl1, c.send.wl2 = Seq(h.Seq), ack
	c.state = Established
	if c.send.closing {
		c.state = FinWait1
	}
	return true
}

// inputText is the seventh and the eighth step: the payload and the FIN.
func (c *Conn) inputText(h *wire.TCP, p []byte, now Time) {
	r := &c.receive
	fin := h.Flags&wire.FIN != 0
	switch c.state {
	case Established, FinWait1, FinWait2:
	case TimeWait:
		if fin {
			r.ackDue = true
			c.lingerFrom(now)
		}
		return
	default: // the peer has sent its FIN: nothing can follow
		r.ackDue = r.ackDue || len(p) > 0 || fin
		return
	}
	end := Seq(h.Seq).Plus(len(p))
	if len(p) > 0 {
		if c.closed && end.After(r.next) { // nobody will read it (RFC 2525 section 2.17)
			c.Abort()
			return
		}
		inOrder := !Seq(h.Seq).After(r.next)
		before := r.next
		c.text(Seq(h.Seq), p)
		c.decideAck(inOrder && r.next != before, now)
	}
	if fin && !end.After(r.edge) && !r.fin {
		r.fin, r.finAt = true, end
	}
	if r.fin && r.next == r.finAt {
		c.inputFin(now)
	} else if fin {
		r.ackDue = true // it came ahead of its turn, or again
	}
}

// inputFin is the end of the peer's stream.
func (c *Conn) inputFin(now Time) {
	r := &c.receive
	r.mayWait = r.calm && r.queue.len() == 0
	r.finished, r.ackDue, r.queue = true, true, reassembly{}
	r.next = r.next.Plus(1)
	r.edge = later(r.edge, r.next)
	switch c.state {
	case Established:
		c.state = CloseWait
	case FinWait1: // had our FIN been acknowledged, this would be FIN-WAIT-2
		c.state = Closing
	case FinWait2:
		c.timeWait(now)
	}
}

// timeWait begins the wait that keeps old segments from a new connection.
func (c *Conn) timeWait(now Time) {
	c.state = TimeWait
	c.send.board.free()
	c.timers = timers{heard: c.timers.heard, since: c.timers.since}
	c.lingerFrom(now)
}

// lingerFrom starts 2 MSL again, in TIME-WAIT, and the time that an end that nobody reads waits for
// the peer's FIN in FIN-WAIT-2.
func (c *Conn) lingerFrom(now Time) {
	c.timers.linger = now.Add(orElse(c.cfg.TimeWait, defaultTimeWait))
}

// Yields tells whether we may begin a new connection in the place of this one in TIME-WAIT:
// its timestamps tell old segments from new ones, once their clock has moved on (RFC 6191;
// Linux: tcp_tw_reuse).
func (c *Conn) Yields(now Time) bool {
	waited := orElse(c.cfg.TimeWait, defaultTimeWait) - c.timers.linger.Sub(now)
	return c.state == TimeWait && c.timestamps && waited >= yieldAfter
}

// yieldAfter is how long a connection stays in TIME-WAIT at least, if nothing else
// ends it: as Linux.
const yieldAfter = time.Second

// Reusable tells whether a SYN may begin a new connection in the place of this one in TIME-WAIT: it
// must be newer by its timestamp, or by its sequence number (RFC 6191, RFC 9293 section 3.6.1).
func (c *Conn) Reusable(syn *wire.TCP) bool {
	if c.state != TimeWait {
		return false
	}
	if c.timestamps && syn.Options.HasTimestamp && syn.Options.TSVal != c.recent {
		return int32(syn.Options.TSVal-c.recent) > 0
	}
	return Seq(syn.Seq).After(c.receive.next)
}
