package tcp

import "time"

// timers are the instants at which something is due; 0: not set.
type timers struct {
	retransmit Time // RFC 6298
	tail       Time // RFC 8985 section 7
	reorder    Time // RFC 8985 section 6
	ack        Time
	persist    Time // RFC 9293 section 3.8.6.1
	keep       Time
	linger     Time // TIME-WAIT, and FIN-WAIT-2 that nobody reads
	since      Time // when what is waited for was asked: UserTimeout and SynTimeout count from here
	heard      Time // when the peer was heard last
	probes     int  // keep-alives without an answer
	doubled    uint // of persist
}

func (t *timers) hear(now Time) {
	t.heard, t.probes, t.keep = now, 0, 0
}

// Deadline is when Expire is to be called, false if never.
func (c *Conn) Deadline() (Time, bool) {
	t := &c.timers
	t.aim(c)
	var first Time
	for _, at := range [...]Time{t.retransmit, t.tail, t.reorder, t.ack, t.persist, t.keep,
		t.linger} {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first, first != 0
}

// aim sets the timer of keep-alive, which runs while nothing is on its way.
func (t *timers) aim(c *Conn) {
	if c.cfg.KeepAlive == 0 || !c.synchronized() || c.state == TimeWait || c.send.flightSize() > 0 {
		t.keep = 0
		return
	}
	if t.keep == 0 {
		t.keep = t.heard.Add(c.cfg.KeepAlive)
	}
}

// sent arms what watches over a segment that has just gone.
func (t *timers) sent(c *Conn, now Time) {
	s := &c.send
	if t.retransmit == 0 {
		t.retransmit, t.since = now.Add(s.rtt.rto()), now
	}
	t.persist, t.tail = 0, 0
	if c.sack && !s.recovering && !s.tail.out && s.rtt.known && s.window > 0 &&
		s.board.sacked == 0 {
		wait := 2 * s.rtt.smoothed
		if s.flightSize() <= s.mss {
			wait += minRTO // the peer may hold its acknowledgement back
		}
		t.tail = min(now.Add(max(wait, leastTail)), t.retransmit)
	}
}

// leastTail keeps the probe from the jitter of a fast path (Linux: two ticks).
const leastTail = 2 * time.Millisecond

// rearm sets the timers after an acknowledgement.
func (c *Conn) rearm(n news, now Time) {
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

// watch starts the probing of a window that has no room for what there is to send.
func (t *timers) watch(c *Conn, now Time) {
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

// Expire does what is due at now.
func (c *Conn) Expire(now Time) {
	t := &c.timers
	due := func(at *Time) bool {
		if *at == 0 || *at > now {
			return false
		}
		*at = 0
		return true
	}
	if due(&t.linger) {
		c.end(nil)
		return
	}
	if due(&t.ack) {
		c.receive.ackDue, c.receive.mayWait = true, false // it has waited
	}
	if due(&t.reorder) {
		if found, next := c.send.rack.find(&c.send, now); found && !c.send.recovering {
			c.recover(now)
		} else if next > 0 {
			t.reorder = now.Add(next)
		}
	}
	if due(&t.tail) && c.probeTail(now) {
		t.retransmit = now.Add(c.send.rtt.rto()) // section 7.3: the probe goes first
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

// retransmit is the time-out: all that is on its way is lost, and the window starts
// from one segment.
func (c *Conn) retransmit(now Time) {
	s, t := &c.send, &c.timers
	if !c.synchronized() {
		if now.Sub(t.since) >= orElse(c.cfg.SynTimeout, defaultSynTimeout) {
			c.giveUp()
			return
		}
		s.rtt.expired()
		s.synDue = true
		t.retransmit = min(now.Add(s.rtt.rto()),
			t.since.Add(orElse(c.cfg.SynTimeout, defaultSynTimeout)))
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
		s.undoStamp, s.undoable = c.stamp(now), c.timestamps
	}
	if s.window == 0 && s.flightSize() == 1 {
		// a probe of a closed window: that it is not taken says nothing of the path
		s.undoable = false
	} else {
		s.control.timedOut(s.flightSize(), first, now)
		c.saysLess()
		c.swallowed(now)
	}
	if s.search.out {
		s.search.failed(s.mss, now)
	}
	// A first piece that was reported and not acknowledged has been thrown away since (RFC
	// 2018 section 8).
	s.board.loseAll(first && !s.board.flights[0].sacked)
	s.recovering, s.expired, s.recover = true, true, s.next
	s.dups, s.prr, s.tail.out, s.probe = 0, prr{}, false, true
	t.reorder = 0
	s.rtt.expired()
	t.retransmit = now.Add(s.rtt.rto())
	if s.window > 0 {
		t.retransmit = min(t.retransmit, t.since.Add(orElse(c.cfg.UserTimeout, defaultUserTimeout)))
	}
}

// waitingSince is from when on the peer has kept us waiting. It is its user who does not read when
// the window is closed: that may last as long as the end itself answers. But where our user has
// closed, nobody is left who could give up, and who asks for much and takes nothing must not hold
// our memory for ever (RFC 6429 section 3).
func (c *Conn) waitingSince() Time {
	if c.send.window == 0 && !c.closed {
		return c.timers.heard
	}
	return c.timers.since
}

// giveUp ends a connection whose peer does not answer, with what ICMP has said of the way if it
// has said anything.
func (c *Conn) giveUp() {
	if c.softError != nil {
		c.end(c.softError)
		return
	}
	c.end(ErrTimeout)
}

// probeTail sends a segment so that its acknowledgement tells of a loss before it, and tells
// whether there is one to be sent.
func (c *Conn) probeTail(now Time) bool {
	s := &c.send
	if s.recovering {
		return false
	}
	if s.next.Before(s.dataEnd()) && s.next.Before(s.una.Plus(s.window)) {
		s.tail, s.probe = tail{end: s.next, out: true}, true
		return true
	}
	for i := len(s.board.flights) - 1; i >= 0; i-- {
		f := &s.board.flights[i]
		if f.sacked || f.lost {
			continue
		}
		if f.len() > s.mss {
			s.board.cut(i, f.end.Plus(-s.mss))
			f = &s.board.flights[i+1]
		}
		s.board.lose(f)
		s.lostProbe(f, now)
		s.tail, s.probe = tail{end: s.next, out: true, again: true}, true
		return true
	}
	return false
}

// probeWindow sends a byte beyond a window that has closed, to hear whether it has opened.
func (c *Conn) probeWindow(now Time) {
	t := &c.timers
	if now.Sub(c.waitingSince()) >= orElse(c.cfg.UserTimeout, defaultUserTimeout) && t.doubled > 0 {
		c.giveUp()
		return
	}
	t.doubled++
	c.send.probe = true
}

// keepAlive asks a silent peer whether it is still there (RFC 9293 section 3.8.4).
func (c *Conn) keepAlive(now Time) {
	t := &c.timers
	if t.probes >= orElse(c.cfg.KeepCount, defaultKeepCount) {
		c.giveUp()
		return
	}
	t.probes++
	c.send.keepalive = true
	t.keep = now.Add(orElse(c.cfg.KeepInterval, defaultKeepInterval))
}
