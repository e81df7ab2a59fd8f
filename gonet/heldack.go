package gonet

import (
	"slices"
	"time"

	"interleave/gonet/tcp"
)

// Held acknowledgements. An acknowledgement that the machine lets us hold (delayedack.go in package
// tcp) and that would be sent alone is held for a moment. Most users write or close next, and then
// it goes with their segment. That saves one of the three packets of a request and its answer.
//
//	            a batch has brought data in order: update
//	┌──────────┐ ───────────────────────────────────────────▶ ┌──────┐
//	│ not held │                                              │ held │
//	└──────────┘ ◀─────────────────────────────────────────── └──────┘
//	            the user writes or closes: a segment has taken it along
//	            the user waits for more data: awaitData sends it
//	            the next batch has been run: sendHeldACKs sends it
//	            no frame has come for ackHoldTime: likewise, after an empty batch
//
// A connection that holds one is on a list of the dealer's, which alone takes it off: when a user
// has sent the acknowledgement, the dealer finds none that is due.

// ackHoldTime bounds how long an acknowledgement is held while no frame arrives and the user does
// not read. It is as long as the hold for the acknowledgement of a FIN (endDelay in package tcp),
// which must be shorter than the time after which Linux sends a tail loss probe.
const ackHoldTime = 2 * time.Millisecond

// heldACKs lists the connections that hold an acknowledgement. Dealer only.
type heldACKs struct {
	young []*Conn // since the last read of the link
	old   []*Conn // since a read before it: they are sent at the end of this batch
}

// limitHeldACKs has the next read of the link end after ackHoldTime, if acknowledgements are held.
func (s *Stack) limitHeldACKs() {
	if len(s.tcp.heldACKs.young) > 0 {
		s.tcp.alarms.setDue(dueHeldACKs, s.dealer.now.Add(ackHoldTime), s.dealer.now)
	}
}

// ageHeldACKs begins a batch: what is held is to be sent at its end, unless it was sent already.
func (s *Stack) ageHeldACKs() {
	h := &s.tcp.heldACKs
	h.old, h.young = h.young, h.old
	if len(h.old) > 0 {
		s.tcp.alarms.setDue(dueHeldACKs, 0, s.dealer.now)
		h.old = slices.DeleteFunc(h.old, (*Conn).heldACKGone)
	}
}

// sendHeldACKs ends a batch.
func (s *Stack) sendHeldACKs() {
	h := &s.tcp.heldACKs
	for i, c := range h.old {
		c.sendHeldACK(s.dealer.now)
		h.old[i] = nil
	}
	h.old = h.old[:0]
}

// holdACK tells, after transmit has left an acknowledgement, whether the connection must be put on
// the list. The caller holds mu.
func (c *Conn) holdACK() bool {
	if c.holdsACK || !c.machine.AckDue() {
		return false
	}
	c.holdsACK = true
	return true
}

// heldACKGone tells whether the held acknowledgement was sent, with a segment or by a reader that
// waits for more. Dealer only.
func (c *Conn) heldACKGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holdsACK = c.machine.AckDue()
	return !c.holdsACK
}

// sendHeldACK sends the held acknowledgement, unless it has gone with a segment. Dealer only.
func (c *Conn) sendHeldACK(now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holdsACK = false
	if c.machine.AckDue() {
		now = c.machineTime(now)
		c.transmitByDealer(now, false)
		c.arm(now)
	}
}

// awaitData returns the reader's waiter. A user who waits for more data sends nothing with which a
// held acknowledgement could go, so it is sent now. The caller holds mu.
func (c *Conn) awaitData() <-chan struct{} {
	if c.holdsACK {
		c.transmit(c.machineTime(c.stack.clock()), false)
	}
	return makeWaiter(&c.readable)
}
