package tcp

import "time"

// This file decides when what the peer has sent is acknowledged (RFC 9293 section 3.8.6.3, RFC 5681
// section 4.2). Each segment that is sent acknowledges all that has arrived, so what is decided is
// when an acknowledgement is sent alone. It is in one of four states:
//
//	                 ┌────────────────────── a segment was sent: noteAck ◀──────────────────┐
//	                 ▼                                                                      │
//	             ┌──────┐    text in order, less than    ┌─────────┐                        │
//	             │ none │ ────── two full segments ────▶ │ delayed │ ───────────────────────┤
//	             └──────┘                                └─────────┘                        │
//	              │    │                                  │  ▲   │                          │
//	              │    │ the second full segment,         │  │   │                          │
//	              │    │ the peer's FIN, or reading has   │  │   │ the timer has            │
//	              │    │ opened the window                │  │   │ expired                  │
//	              │    └──────────────┐   ┌───────────────┘  │   │                          │
//	              │                   ▼   ▼                  │   │                          │
//	              │                ┌──────────┐ ── a FIN: ───┘   │                          │
//	              │                │ holdable │    Postpone      │                          │
//	              │                └──────────┘ ─────────────────┼──────────────────────────┤
//	              │ missing or repeated   │                      │                          │
//	              │ data, SYN, challenge, │ the peer's next      │                          │
//	              │ first CE mark         │ segment: begin       │                          │
//	              │                       ▼                      ▼                          │
//	              │                ┌────────────────────────────────┐                       │
//	              └──────────────▶ │             urgent             │ ──────────────────────┘
//	                               └────────────────────────────────┘
//
// The causes for which none becomes urgent make the other states urgent, too. The peer's next
// segment leaves an acknowledgement holdable if it is in order itself, and the second one.

// ackState is the state of the acknowledgement that is due next.
type ackState uint8

const (
	ackNone     ackState = iota // nothing is to be acknowledged
	ackDelayed                  // the delayed ACK timer runs: timers.ack is set
	ackHoldable                 // due; it reports only new data in order, so OutputNow may hold it
	ackUrgent                   // due; it must not be held
)

// acknowledging is what a receiver knows of its acknowledgements.
type acknowledging struct {
	state   ackState
	before  ackState // the state in which the current segment found it
	quick   int8     // how many more segments are acknowledged at once
	last    Seq      // the ACK field of the last acknowledgement
	unacked int32    // bytes since the last acknowledgement, at most a window
	full    int32    // the largest segment that has arrived, in bytes
}

// quickStart is the number of segments at the start that are each acknowledged at once, which helps
// the peer's slow start (Linux: 16).
const quickStart = 16

// delayedAck is the delay of an acknowledgement: Linux's least, and below the 500 ms of RFC 9293
// section 3.8.6.3.
const delayedAck = 40 * time.Millisecond

// endDelay is the delay of the acknowledgement of a FIN. It is shorter than the time after which a
// peer sends a tail loss probe: two round trips plus 2 ms (Linux: TCP_TIMEOUT_MIN).
const endDelay = 2 * time.Millisecond

// begin begins with a segment of the peer. An acknowledgement that was held till then is held no
// longer, unless ackInOrder decides so.
func (a *acknowledging) begin() {
	if a.before = a.state; a.state == ackHoldable {
		a.state = ackUrgent
	}
}

// setAck changes the state. timer is when the delayed ACK timer expires, 0 for the other states.
func (c *Conn) setAck(s ackState, timer Time) { c.receive.ack.state, c.timers.ack = s, timer }

// ackAtOnce makes an acknowledgement due that must not be held.
func (c *Conn) ackAtOnce() { c.setAck(ackUrgent, 0) }

// ackInOrder makes an acknowledgement due that may be held, unless one that must not be held was
// due when the current segment arrived.
func (c *Conn) ackInOrder() {
	if c.receive.ack.before == ackUrgent {
		c.ackAtOnce()
		return
	}
	c.setAck(ackHoldable, 0)
}

// ackText decides when received text is acknowledged: at once when data is missing, and for every
// second full segment; otherwise by the delayed ACK timer.
func (c *Conn) ackText(inOrder bool, now Time) {
	r, a := &c.receive, &c.receive.ack
	switch {
	case !inOrder, r.queue.len() > 0, c.cfg.QuickAck:
		c.ackAtOnce()
	case a.quick > 0, int(a.unacked) >= 2*c.fullSegment():
		c.ackInOrder()
	case a.state == ackNone:
		c.setAck(ackDelayed, now.Add(delayedAck))
		return
	default:
		return
	}
	a.quick = max(a.quick-1, 0)
}

// fullSegment returns the size of the peer's full segments, as far as one has arrived.
func (c *Conn) fullSegment() int {
	return min(max(int(c.receive.ack.full), defaultMSS), c.peerMSS())
}

// ackFin acknowledges the peer's FIN, before which all data has arrived.
func (c *Conn) ackFin() {
	if c.receive.queue.len() > 0 {
		c.ackAtOnce()
		return
	}
	c.ackInOrder()
}

// ackWindow has the peer told that its window has opened.
func (c *Conn) ackWindow() {
	if !c.receive.ack.isDue() {
		c.setAck(ackHoldable, 0)
	}
}

func (a *acknowledging) isDue() bool { return a.state >= ackHoldable }

// AckDue tells whether an acknowledgement must be sent.
func (c *Conn) AckDue() bool {
	return c.receive.ack.isDue() && c.state != SynSent && c.state != Closed
}

// outputAck fills in an acknowledgement that is sent alone, if one is due.
func (c *Conn) outputAck(seg *Segment, now Time) bool {
	if !c.AckDue() {
		return false
	}
	c.fill(seg, c.acceptableSeq(), 0, now)
	return true
}

// OutputNow is Output without acknowledgements that report only new data in order and would be sent
// alone. A caller that expects the user to write soon holds those until they can go with the user's
// data. During retransmission and loss recovery none is held, since the segment that takes it along
// might be lost.
func (c *Conn) OutputNow(seg *Segment, now Time) bool {
	return c.output(seg, now) || !c.mayHoldAck() && c.outputAck(seg, now)
}

func (c *Conn) mayHoldAck() bool {
	return c.receive.ack.state == ackHoldable && c.send.rtt.backoff == 0 && !c.send.recovering
}

// Postpone delays the acknowledgement of the peer's FIN by endDelay, if it may be held. The peer
// has nothing more to send, and a user who has read the end of the stream soon closes too. Then our
// FIN takes the acknowledgement along.
func (c *Conn) Postpone(now Time) {
	if c.mayHoldAck() && c.receive.finished && c.state == CloseWait {
		c.setAck(ackDelayed, now.Add(endDelay))
	}
}

// noteAck notes that a segment acknowledges all that has arrived. reported is false if it had no
// room for the SACK blocks: then an acknowledgement that is due stays so.
func (c *Conn) noteAck(reported bool) {
	r, a := &c.receive, &c.receive.ack
	if reported || !a.isDue() {
		a.state = ackNone
	}
	a.unacked, a.last = 0, r.next
	c.timers.ack = 0
}
