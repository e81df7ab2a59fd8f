package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// This file decides which segments are acceptable: their timestamp is not older than that of the
// last segment in order, and part of them is in the window. A segment that is not acceptable is
// answered by an acknowledgement, at a limited rate, so that a peer that is out of step learns our
// sequence numbers.

// passesPAWS refuses old duplicates: segments whose timestamp is older than that of the last
// segment in order (RFC 7323 section 5).
func (c *Conn) passesPAWS(h *wire.TCP, n int, now Time) bool {
	if !c.timestamps || h.Flags&(wire.RST|wire.SYN) != 0 {
		return true
	}
	if !h.Options.HasTimestamp {
		return false // dropped silently (section 3.2)
	}
	if c.notOlder(h, now) {
		return true
	}
	c.ackUnacceptable(n, now)
	return false
}

// notOlder tells whether a segment's timestamp is not older than TS.Recent. After 24 days TS.Recent
// is invalid, and any timestamp passes.
func (c *Conn) notOlder(h *wire.TCP, now Time) bool {
	return int32(h.Options.TSVal-c.recent) >= 0 || now.Sub(c.recentAt) > outdated
}

// fromPeer notes that a segment is the peer's: its sequence number and its acknowledgement are both
// valid. Only then may it change state: an attacker who does not see the connection would have to
// guess both. An old acknowledgement is valid (RFC 5961 section 5), but stores no timestamp: it
// is much easier to guess, and a forged timestamp makes PAWS refuse all that the peer sends.
func (c *Conn) fromPeer(h *wire.TCP, now Time) {
	c.timers.segmentArrived(now)
	if c.timestamps && !Seq(h.Ack).Before(c.send.una) && !Seq(h.Seq).After(c.receive.ack.last) &&
		c.notOlder(h, now) {
		c.recent, c.recentAt = h.Options.TSVal, now
	}
}

// noteRepeated notes that a retransmitted segment has arrived before: the next acknowledgement
// reports it. It also stores the segment's timestamp. The peer whose acknowledgement was lost then
// measures the round trip of its retransmission, and not its own time-out as well. As in fromPeer,
// the acknowledgement must be valid and not old.
func (c *Conn) noteRepeated(h *wire.TCP, n int, now Time) {
	s, ack := &c.send, Seq(h.Ack)
	old := Seq(h.Seq).Within(c.receive.next.Plus(-maxRepeated), maxRepeated)
	if n == 0 || !old || h.Flags&wire.ACK == 0 || ack.After(s.next) || ack.Before(s.una) {
		return
	}
	c.receive.noteDuplicate(Seq(h.Seq), earlier(Seq(h.Seq).Plus(n), c.receive.next))
	if c.timestamps && c.notOlder(h, now) {
		c.recent, c.recentAt = h.Options.TSVal, now
	}
}

// maxRepeated is how far back of the next byte the data may start, in bytes: a window without
// scaling.
const maxRepeated = 64 << 10

// ackUnacceptable answers a segment of n bytes that is not acceptable by an acknowledgement. The
// answer to an empty segment is limited in rate: two ends that are out of step must not answer each
// other for ever.
func (c *Conn) ackUnacceptable(n int, now Time) {
	if n > 0 {
		c.ackAtOnce()
		return
	}
	c.challenge(now)
}

// outdated is the age at which TS.Recent becomes invalid, as the peer's timestamp clock may have
// wrapped: 24 days (RFC 7323 section 5.5).
const outdated = 24 * 24 * time.Hour

// acceptable is the first check of RFC 9293 section 3.10.7.4: part of the segment must be in the
// window. A segment that is not acceptable is answered by an acknowledgement.
func (c *Conn) acceptable(h *wire.TCP, p []byte, now Time) bool {
	r := &c.receive
	seq, n := Seq(h.Seq), len(p)
	switch {
	case h.Flags&wire.RST != 0:
		n = 0 // its text is a diagnostic, and takes no sequence numbers (section 3.5.3)
	case h.Flags&(wire.SYN|wire.FIN) != 0:
		n++
	}
	window := uint32(r.window())
	last := seq.Plus(max(n-1, 0))
	switch {
	case seq.Within(r.next, window), last.Within(r.next, window), n == 0 && seq == r.next:
		return true
	case window > 0 && !seq.After(r.next) && !last.Before(r.edge):
		return true // the segment covers the whole window
	case n == 0 && (seq == r.edge || window == 0 && seq == r.edge.Plus(1)) &&
		h.Flags&(wire.SYN|wire.RST) == 0:
		// A bare acknowledgement from a peer that has sent all that our window allows, or a window
		// probe as well.
		return true
	case seq == r.next && h.Flags&(wire.SYN|wire.RST) == 0:
		// A probe of our closed window: its acknowledgement counts, its byte is not taken.
		c.ackAtOnce()
		if h.Flags&wire.ACK != 0 && c.synchronized() {
			c.acknowledge(h, 0, now)
		}
		return false
	case h.Flags&wire.RST != 0:
		return false
	case c.answersSyn(h):
		return true
	case c.state == SynReceived && h.Flags&wire.SYN != 0 && seq == r.irs:
		c.send.synDue = true // our SYN-ACK was lost
		return false
	case h.Flags&wire.SYN != 0:
		c.challenge(now) // whatever its sequence number is (RFC 5961 section 4.2)
		return false
	}
	c.noteRepeated(h, n, now)
	c.ackUnacceptable(n, now)
	if c.state == TimeWait {
		c.inputFinAgain(h, len(p), now)
	}
	return false
}

// challenge sends a challenge ACK (RFC 5961), at most two a second, for a segment that only a blind
// attacker or a restarted peer would send.
func (c *Conn) challenge(now Time) {
	if now >= c.challengeAt {
		c.challengeAt = now.Add(challengeInterval)
		c.ackAtOnce()
	}
}

const challengeInterval = 500 * time.Millisecond

// answersSyn tells whether a segment is the peer's SYN again, with an acknowledgement of ours. In a
// simultaneous open it ends the handshake (RFC 9293 section 3.5, figure 8).
func (c *Conn) answersSyn(h *wire.TCP) bool {
	return c.state == SynReceived && h.Flags&(wire.SYN|wire.ACK) == wire.SYN|wire.ACK &&
		Seq(h.Seq) == c.receive.irs && Seq(h.Ack) == c.send.iss.Plus(1)
}
