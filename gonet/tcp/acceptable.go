package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// Which segments count: those that are not older than what has arrived, by their timestamp, and
// stand in the window. What does not is answered, so that a peer that is out of step learns where
// we are, but not without end.

// passesPAWS refuses segments whose timestamp is older than the last in order: old duplicates (RFC
// 7323 section 5).
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

// younger tells whether a timestamp is not older than the one that was kept, if that
// still says anything.
func (c *Conn) younger(h *wire.TCP, now Time) bool {
	return int32(h.Options.TSVal-c.recent) >= 0 || now.Sub(c.recentAt) > outdated
}

// noteRepeated keeps the timestamp of data that has arrived before, so that a peer whose
// acknowledgement was lost measures the way of what it has sent again, and not how long it has
// waited. Who sends blindly must guess both numbers.
func (c *Conn) noteRepeated(h *wire.TCP, n int, now Time) {
	s, ack := &c.send, Seq(h.Ack)
	old := Seq(h.Seq).Within(c.receive.next.Plus(-maxRepeated), maxRepeated)
	if c.timestamps && n > 0 && old && !ack.After(s.next) &&
		!ack.Before(s.una.Plus(-s.maxWindow)) && c.younger(h, now) {
		c.recent, c.recentAt = h.Options.TSVal, now
	}
}

// maxRepeated is how far back repeated data may stand, in bytes: a window without scale.
const maxRepeated = 64 << 10

// correct acknowledges a segment of n bytes that cannot be used, so that a peer that is out of step
// learns where we are. What holds nothing is answered rarely: two ends out of step must not answer
// each other for ever.
func (c *Conn) correct(n int, now Time) {
	if n > 0 {
		c.receive.ackDue = true
		return
	}
	c.challenge(now)
}

// outdated is when the peer's clock may have wrapped in silence: 24 days (RFC 7323 section 5.5).
const outdated = 24 * 24 * time.Hour

// acceptable is the first check of section 3.10.7.4: some of the segment must stand in the
// window. What does not is answered by an acknowledgement, so that a peer that is out of step
// learns where we are.
func (c *Conn) acceptable(h *wire.TCP, p []byte, now Time) bool {
	r := &c.receive
	seq, n := Seq(h.Seq), len(p)
	switch {
	case h.Flags&wire.RST != 0:
		n = 0 // what it carries says why, and takes no room (section 3.5.3)
	case h.Flags&(wire.SYN|wire.FIN) != 0:
		n++
	}
	window := uint32(r.window())
	last := seq.Plus(max(n-1, 0))
	switch {
	case seq.Within(r.next, window), last.Within(r.next, window), n == 0 && seq == r.next:
		return true
	case window > 0 && !seq.After(r.next) && !last.Before(r.edge):
		return true // it covers the whole window
	case n == 0 && (seq == r.edge || window == 0 && seq == r.edge.Plus(1)) &&
		h.Flags&(wire.SYN|wire.RST) == 0:
		// an acknowledgement behind the last byte that our window has room for, or
		// behind a probe of it
		return true
	case seq == r.next && h.Flags&(wire.SYN|wire.RST) == 0:
		// a probe of our closed window: its acknowledgement counts, its byte does not
		r.ackDue = true
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

// challenge acknowledges what only a blind attacker or a peer that has forgotten us would send (RFC
// 5961), at most twice a second.
func (c *Conn) challenge(now Time) {
	if now >= c.challengeAt {
		c.challengeAt = now.Add(challengeInterval)
		c.receive.ackDue = true
	}
}

const challengeInterval = 500 * time.Millisecond

// answersSyn tells whether a segment is the peer's SYN once more, which acknowledges ours: where
// both ends have opened at once it ends the handshake (RFC 9293 section 3.5, figure 8).
func (c *Conn) answersSyn(h *wire.TCP) bool {
	return c.state == SynReceived && h.Flags&(wire.SYN|wire.ACK) == wire.SYN|wire.ACK &&
		Seq(h.Seq) == c.receive.irs && Seq(h.Ack) == c.send.iss.Plus(1)
}
