package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// Input takes a segment that has arrived for this connection: RFC 9293 section 3.10.7, with the defences of RFC 5961. The
// payload may be that of several segments that the link has merged. Its checksum has been verified.
func (c *Conn) Input(h *wire.TCP, p []byte, now Time) {
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
	c.inputText(h, p, now)
}

// answersSyn tells whether a segment is the peer's SYN once more, which acknowledges ours: where both ends have opened at once it
// ends the handshake (RFC 9293 section 3.5, figure 8).
func (c *Conn) answersSyn(h *wire.TCP) bool {
	return c.state == SynReceived && h.Flags&(wire.SYN|wire.ACK) == wire.SYN|wire.ACK &&
		Seq(h.Seq) == c.receive.irs && Seq(h.Ack) == c.send.iss.Plus(1)
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
	if !acked {                           // both ends have sent a SYN at once: answer with ours again, and an acknowledgement
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

// passesPAWS refuses segments whose timestamp is older than the last in order: old duplicates (RFC 7323 section 5).
func (c *Conn) passesPAWS(h *wire.TCP, n int, now Time) bool {
	if !c.timestamps || h.Flags&(wire.RST|wire.SYN) != 0 {
		return true
	}
	if !h.Options.HasTimestamp {
		return false // section 3.2: silently
	}
	if c.younger(h, now) {
		return true
	}
	c.correct(n, now)
	return false
}

// younger tells whether a timestamp is not older than the one that was kept, if that still says anything.
func (c *Conn) younger(h *wire.TCP, now Time) bool {
	return int32(h.Options.TSVal-c.recent) >= 0 || now.Sub(c.recentAt) > outdated
}

// noteRepeated keeps the timestamp of data that has arrived before, so that a peer whose acknowledgement was lost measures the way of
// what it has sent again, and not how long it has waited. Who sends blindly must guess both numbers.
func (c *Conn) noteRepeated(h *wire.TCP, n int, now Time) {
	s, ack := &c.send, Seq(h.Ack)
	old := Seq(h.Seq).Within(c.receive.next.Plus(-maxRepeated), maxRepeated)
	if c.timestamps && n > 0 && old && !ack.After(s.next) && !ack.Before(s.una.Plus(-s.maxWindow)) && c.younger(h, now) {
		c.recent, c.recentAt = h.Options.TSVal, now
	}
}

// maxRepeated is how far back repeated data may stand, in bytes: a window without scale.
const maxRepeated = 64 << 10

// correct acknowledges a segment of n bytes that cannot be used, so that a peer that is out of step learns where we are. What holds
// nothing is answered rarely: two ends out of step must not answer each other for ever.
func (c *Conn) correct(n int, now Time) {
	if n > 0 {
		c.receive.ackDue = true
		return
	}
	c.challenge(now)
}

// outdated is when the peer's clock may have wrapped in silence: 24 days (RFC 7323 section 5.5).
const outdated = 24 * 24 * time.Hour

// acceptable is the first check of section 3.10.7.4: some of the segment must stand in the window. What does not is
// answered by an acknowledgement, so that a peer that is out of step learns where we are.
func (c *Conn) acceptable(h *wire.TCP, p []byte, now Time) bool {
	r := &c.receive
	seq, n := Seq(h.Seq), len(p)
	switch {
	case h.Flags&wire.RST != 0:
		n = 0 // what it carries says why, and takes no room (section 3.5.3)
	case h.Flags&(wire.SYN|wire.FIN) != 0:
		n++
	}
	window := r.window()
	last := seq.Plus(max(n-1, 0))
	switch {
	case window == 0 && n == 0 && seq == r.next:
		return true
	case window > 0 && (seq.Within(r.next, uint32(window)) || n > 0 && last.Within(r.next, uint32(window))):
		return true
	case window > 0 && n > 0 && !seq.After(r.next) && !last.Before(r.edge):
		return true // it covers the whole window
	case n == 0 && seq == r.edge && h.Flags&(wire.SYN|wire.RST) == 0:
		return true // an acknowledgement behind the last byte that our window has room for
	case window == 0 && seq == r.next && h.Flags&(wire.SYN|wire.RST) == 0:
		r.ackDue = true // a probe of our closed window: its acknowledgement counts, its byte does not
		if h.Flags&wire.ACK != 0 && c.synchronized() {
			c.acknowledge(h, 0, now)
		}
		return false
	case h.Flags&wire.RST != 0:
		return false
	case c.answersSyn(h):
		return true
	case c.state == SynReceived && h.Flags&wire.SYN != 0 && seq == r.irs:
		c.send.synDue = true // our answer was lost
		return false
	case h.Flags&wire.SYN != 0:
		c.challenge(now) // RFC 5961 section 4.2: wherever it stands
		return false
	}
	c.noteRepeated(h, n, now)
	c.correct(n, now)
	if c.state == TimeWait && h.Flags&wire.FIN != 0 {
		c.lingerFrom(now)
	}
	return false
}

// challenge acknowledges what only a blind attacker or a peer that has forgotten us would send (RFC 5961), at most twice
// a second.
func (c *Conn) challenge(now Time) {
	if now >= c.challengeAt {
		c.challengeAt = now.Add(challengeInterval)
		c.receive.ackDue = true
	}
}

const challengeInterval = 500 * time.Millisecond

// inputReset heeds a reset only at the very next byte: elsewhere in the window it is challenged (RFC 5961 section 3.2). In TIME-WAIT it
// may be the answer to our answer to an old duplicate, and must not end the wait (RFC 1337).
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

// lingerFrom starts 2 MSL again, in TIME-WAIT, and the time that an end that nobody reads waits for the peer's FIN in
// FIN-WAIT-2.
func (c *Conn) lingerFrom(now Time) {
	c.timers.linger = now.Add(orElse(c.cfg.TimeWait, defaultTimeWait))
}

// Reusable tells whether a SYN may begin a new connection in the place of this one in TIME-WAIT: it must be newer by its
// timestamp, or by its sequence number (RFC 6191, RFC 9293 section 3.6.1).
func (c *Conn) Reusable(syn *wire.TCP) bool {
	if c.state != TimeWait {
		return false
	}
	if c.timestamps && syn.Options.HasTimestamp && syn.Options.TSVal != c.recent {
		return int32(syn.Options.TSVal-c.recent) > 0
	}
	return Seq(syn.Seq).After(c.receive.next)
}
