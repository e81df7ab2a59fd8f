package tcp

import "time"

// timers holds the instants at which the timers expire; 0: not set.
type timers struct {
	retransmit Time // RFC 6298
	tail       Time // RFC 8985 section 7
	reorder    Time // RFC 8985 section 6
	ack        Time // the delayed ACK timer
	persist    Time // RFC 9293 section 3.8.6.1
	keep       Time
	twoMSL     Time // the end of TIME-WAIT, and of FIN-WAIT-2 after Close, as in BSD
	// Start of the current wait for the peer, from which UserTimeout and SynTimeout count.
	since     Time
	lastInput Time   // when the last segment of the peer arrived
	probes    int32  // unanswered keep-alive probes
	doubled   uint32 // backoff of persist
}

func (t *timers) segmentArrived(now Time) {
	t.lastInput, t.probes, t.keep = now, 0, 0
}

// Deadline returns when Expire must be called; false means never.
func (c *Conn) Deadline() (Time, bool) {
	t := &c.timers
	t.setKeepAlive(c)
	var first Time
	for _, at := range [...]Time{t.retransmit, t.tail, t.reorder, t.ack, t.persist, t.keep,
		t.twoMSL} {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first, first != 0
}

// setKeepAlive sets the keep-alive timer, which runs while nothing is in flight.
func (t *timers) setKeepAlive(c *Conn) {
	if c.cfg.KeepAlive == 0 || !c.synchronized() || c.state == TimeWait || c.send.flightSize() > 0 {
		t.keep = 0
		return
	}
	if t.keep == 0 {
		t.keep = t.lastInput.Add(c.cfg.KeepAlive)
	}
}

// sent sets the timers that watch a segment which was just sent.
func (t *timers) sent(c *Conn, now Time) {
	s := &c.send
	if t.retransmit == 0 {
		t.retransmit, t.since = now.Add(s.rtt.rto()), now
	}
	t.persist, t.tail = 0, 0
	if c.sack && !s.recovering && !s.tail.out && s.rtt.known && s.window > 0 &&
		s.scoreboard.sacked == 0 {
		wait := 2 * s.rtt.smoothed
		if s.flightSize() <= s.mss {
			wait += minRTO // the peer may delay its acknowledgement
		}
		t.tail = min(now.Add(max(wait, leastTail)), t.retransmit)
	}
}

// leastTail is the least delay of the tail loss probe, so that jitter on a fast path does not cause
// one (Linux: two ticks).
const leastTail = 2 * time.Millisecond

// rearm sets the timers after an acknowledgement.
func (c *Conn) rearm(n ackInfo, now Time) {
	s, t := &c.send, &c.timers
	if s.window > 0 {
		t.doubled = 0
	}
	if s.flightSize() == 0 {
		t.retransmit, t.tail, t.reorder = 0, 0, 0
		return
	}
	if n.acked > 0 || n.delivered > 0 {
		t.retransmit = now.Add(s.rtt.rto())
		if n.acked > 0 {
			t.since = now
		}
		t.sent(c, now)
	}
}

// startPersist sets the persist timer when the window has no room for the data to be sent.
func (t *timers) startPersist(c *Conn, now Time) {
	s := &c.send
	if s.flightSize() > 0 || t.persist != 0 || s.out.n == 0 && !s.closing {
		return
	}
	if t.doubled == 0 {
		t.since = now
	}
	wait := s.rtt.rto() << min(t.doubled, 16)
	t.persist = now.Add(min(wait, maxRTO))
}

// Expire runs the timers that are due at now.
func (c *Conn) Expire(now Time) {
	t := &c.timers
	due := func(at *Time) bool {
		if *at == 0 || *at > now {
			return false
		}
		*at = 0
		return true
	}
	if due(&t.twoMSL) {
		c.end(nil)
		return
	}
	if due(&t.ack) {
		c.ackAtOnce() // it was delayed already
	}
	if due(&t.reorder) {
		if found, next := c.send.rack.detectLoss(&c.send, now); found && !c.send.recovering {
			c.recover(now)
		} else if next > 0 {
			t.reorder = now.Add(next)
		}
	}
	if due(&t.tail) && c.probeTail(now) {
		// the probe comes before the time-out (section 7.3)
		t.retransmit = now.Add(c.send.rtt.rto())
	}
	if due(&t.retransmit) {
		t.tail = 0
		c.retransmit(now)
	}
	if due(&t.persist) {
		c.probeWindow(now)
	}
	if due(&t.keep) {
		c.keepAlive(now)
	}
}

// retransmit runs when the retransmission timer has expired: everything in flight is lost, and the
// window starts from one segment.
func (c *Conn) retransmit(now Time) {
	s, t := &c.send, &c.timers
	if !c.synchronized() {
		if now.Sub(t.since) >= c.handshakeTimeout() {
			c.giveUp()
			return
		}
		s.rtt.expired()
		s.synDue = true
		t.retransmit = min(now.Add(s.rtt.rto()), t.since.Add(c.handshakeTimeout()))
		return
	}
	if s.flightSize() == 0 {
		return
	}
	if now.Sub(c.waitingSince()) >= orElse(c.cfg.UserTimeout, defaultUserTimeout) {
		c.giveUp()
		return
	}
	first := !s.recovering || !s.expired
	if first {
		c.beginRecovery(now)
	}
	if s.window == 0 && s.flightSize() == 1 {
		// An unacknowledged probe of a closed window says nothing of the path.
		s.recovery.undoable, s.recovery.spurious.on = false, false
	} else {
		s.control.timedOut(s.flightSize(), first, now)
		c.sendCWR()
		c.detectBlackHole(now)
	}
	if s.probing() {
		s.search.probeFailed(s.mss, now)
	}
	// If the first piece is sacked but not acknowledged, the peer has discarded what it reported
	// (RFC 2018 section 8).
	s.scoreboard.markAllLost(first && !s.scoreboard.flights[0].sacked)
	s.recovering, s.expired, s.recover = true, true, s.next
	s.dups, s.recovery.prr, s.tail.out, s.probe = 0, prr{}, false, true
	t.reorder = 0
	s.rtt.expired()
	t.retransmit = now.Add(s.rtt.rto())
	if s.window > 0 {
		t.retransmit = min(t.retransmit, t.since.Add(orElse(c.cfg.UserTimeout, defaultUserTimeout)))
	}
}

// handshakeTimeout returns how long the handshake may last. The user timeout bounds one that our
// user has begun, too, as in Linux. One that a peer has begun is the listener's, which has no user
// that waits.
func (c *Conn) handshakeTimeout() time.Duration {
	limit := orElse(c.cfg.SynTimeout, defaultSynTimeout)
	if c.cfg.UserTimeout > 0 && !c.passive {
		limit = min(limit, c.cfg.UserTimeout)
	}
	return limit
}

// waitingSince returns the instant from which UserTimeout counts. While the window is closed, it is
// the peer's user who does not read: that may last as long as the peer itself answers. But once our
// user has closed, nobody is left who could give up, and a peer that takes nothing must not hold
// our memory for ever (RFC 6429 section 3).
func (c *Conn) waitingSince() Time {
	if c.send.window == 0 && !c.closed {
		return c.timers.lastInput
	}
	return c.timers.since
}

// giveUp ends a connection whose peer does not answer, with the last ICMP error if there was one.
func (c *Conn) giveUp() {
	if c.err == nil {
		c.err = ErrTimeout
	}
	c.end(c.err)
}

// probeTail makes a tail loss probe due, whose acknowledgement reveals a loss before it. It returns
// false if there is no segment to send.
func (c *Conn) probeTail(now Time) bool {
	s := &c.send
	if s.recovering {
		return false
	}
	if s.next.Before(s.dataEnd()) && s.next.Before(s.una.Plus(s.window)) {
		s.tail, s.probe = tail{end: s.next, out: true}, true
		return true
	}
	for i := len(s.scoreboard.flights) - 1; i >= 0; i-- {
		f := &s.scoreboard.flights[i]
		if f.sacked || f.lost {
			continue
		}
		if f.len() > s.mss {
			s.scoreboard.cut(i, f.end.Plus(-s.mss))
			f = &s.scoreboard.flights[i+1]
		}
		s.scoreboard.markLost(f)
		s.lostProbe(f, now)
		s.tail, s.probe = tail{end: s.next, out: true, resent: true}, true
		return true
	}
	return false
}

// probeWindow makes a window probe due: a byte beyond the closed window, to learn whether it has
// opened.
func (c *Conn) probeWindow(now Time) {
	t := &c.timers
	if now.Sub(c.waitingSince()) >= orElse(c.cfg.UserTimeout, defaultUserTimeout) && t.doubled > 0 {
		c.giveUp()
		return
	}
	t.doubled++
	c.send.probe = true
}

// keepAlive makes a keep-alive probe due (RFC 9293 section 3.8.4).
func (c *Conn) keepAlive(now Time) {
	t := &c.timers
	if int(t.probes) >= orElse(c.cfg.KeepCount, defaultKeepCount) {
		c.giveUp()
		return
	}
	t.probes++
	c.send.keepalive = true
	t.keep = now.Add(orElse(c.cfg.KeepInterval, defaultKeepInterval))
}
