package tcp

import "time"

// rack notices losses by time (RFC 8985): what was sent before something that has arrived, by more
// than the reordering that the path is known for, is lost.
type rack struct {
	at        Time // when the latest of what has arrived was sent
	end       Seq
	forward   Seq // the highest that has arrived
	trip      time.Duration
	reordered bool // the path has been seen to reorder
	factor    int  // of the reordering window, in quarters of the least round trip
	raisedAt  Seq  // factor is raised at most once for each window
	keep      int  // recoveries that factor is kept for
}

// delivered learns from a piece that has arrived.
func (r *rack) delivered(f *flight, s *sender, now Time) {
	trip := now.Sub(f.at)
	if f.again {
		if trip < s.rtt.least {
			return // the acknowledgement is of the first sending
		}
	} else if f.end.Before(r.forward) {
		r.reordered = true
	}
	r.forward = later(r.forward, f.end)
	if f.at > r.at || f.at == r.at && f.end.After(r.end) {
		r.at, r.end, r.trip = f.at, f.end, trip
	}
}

// window is for how long a hole may still be reordering (section 6.2 step 4).
func (r *rack) window(s *sender) time.Duration {
	if !r.reordered && (s.recovering || s.board.sacked >= dupThresh*s.mss) {
		return 0
	}
	return min(time.Duration(max(r.factor, 1))*s.rtt.least/4, s.rtt.smoothed)
}

// dupThresh is how many segments must have arrived behind a hole to make it a loss (RFC 5681).
const dupThresh = 3

// widen makes the window larger after a retransmission that was not needed, and narrower after 16
// recoveries without one.
func (r *rack) widen(s *sender, duplicate bool) {
	if duplicate && !s.una.Before(r.raisedAt) {
		r.factor, r.raisedAt, r.keep = max(r.factor, 1)+1, s.next, 16
	}
}

// find marks what is lost, and returns when the next piece would be, 0 if none waits.
func (r *rack) find(s *sender, now Time) (found bool, next time.Duration) {
	if r.at == 0 {
		return false, 0
	}
	window := r.window(s)
	for i := range s.board.flights {
		f := &s.board.flights[i]
		if f.sacked || f.lost || f.at > r.at || f.at == r.at && !f.end.Before(r.end) {
			continue
		}
		if left := f.at.Add(r.trip + window).Sub(now); left > 0 {
			next = max(next, left)
			continue
		}
		s.board.lose(f)
		found = !s.lostProbe(f, now) || found
	}
	return found, next
}

// detect looks for losses after news, and begins a recovery where there are any. It tells whether a
// loss that a probe has repaired has lowered the window.
func (c *Conn) detect(n news, now Time) (lowered bool) {
	s := &c.send
	lowered = s.tail.answered(c, n, now)
	if c.undo(n) {
		return lowered
	}
	var found bool
	if c.sack {
		s.rack.widen(s, n.duplicate)
		var next time.Duration
		found, next = s.rack.find(s, now)
		if next > 0 {
			c.timers.reorder = now.Add(next)
		} else {
			c.timers.reorder = 0
		}
	} else {
		found = s.byDuplicates(n, now)
	}
	if found && !s.recovering {
		c.recover(now)
	}
	return lowered
}

// byDuplicates is the detection of RFC 5681 and RFC 6582, without SACK: the third acknowledgement
// that says nothing new, and in recovery each that does not say all.
func (s *sender) byDuplicates(n news, now Time) bool {
	if s.flightSize() == 0 || len(s.board.flights) == 0 {
		return false
	}
	third := !s.recovering && s.dups == dupThresh && s.una.After(s.recover)
	partial := s.recovering && n.acked > 0
	f := &s.board.flights[0]
	if !third && !partial || f.lost {
		return false
	}
	if s.lostProbe(f, now) {
		s.board.lose(f)
		return false
	}
	s.board.cut(0, f.seq.Plus(s.mss))
	s.board.lose(&s.board.flights[0])
	return true
}

// forgetDuplicates counts anew after an acknowledgement of n bytes: each that said nothing new
// stood for a segment that had arrived, and in recovery those behind the one that was missing are
// among the n (RFC 6582 section 3.2: partial window deflation).
func (s *sender) forgetDuplicates(n int) {
	if !s.recovering || s.expired {
		s.dups = 0
		return
	}
	s.dups = max(s.dups-n/s.mss+1, 0)
}

// recover begins to repair losses: the window is lowered once for all of what was on its way.
func (c *Conn) recover(now Time) {
	s := &c.send
	s.recovering, s.expired, s.recover = true, false, s.next
	s.undoStamp, s.undoable = c.stamp(now), c.timestamps
	s.prr = prr{flight: s.flightSize()}
	s.control.lost(s.flightSize(), now)
	c.saysLess()
	s.probe = true // the first goes whatever the window says
	if s.rack.keep--; s.rack.keep <= 0 {
		s.rack.factor = 1
	}
}

// undo ends a recovery that was a mistake: the acknowledgement is of the first sending, since it
// echoes a timestamp from before the second (Eifel: RFC 3522, RFC 4015).
func (c *Conn) undo(n news) bool {
	s := &c.send
	if !s.recovering || !s.undoable || n.acked == 0 {
		return false
	}
	s.undoable = false // only the first acknowledgement can tell
	if int32(n.echo-s.undoStamp) >= 0 || n.echo == 0 {
		return false
	}
	s.control.undo()
	s.recovering, s.expired = false, false
	for i := range s.board.flights {
		if f := &s.board.flights[i]; f.lost {
			s.board.count(f, -1)
			f.lost = false
			s.board.count(f, 1)
		}
	}
	return true
}

// prr spreads the lowering of the window over the recovery (RFC 6937), so that it sends all along.
type prr struct {
	flight int // what was on its way at the start
	got    int // delivered since
	sent   int // sent since
	credit int // may be sent now
}

func (p *prr) delivered(n news, s *sender, active bool) {
	if !active || p.flight == 0 {
		return
	}
	p.got += n.delivered
	threshold := s.control.threshold()
	if pipe := s.board.inFlight; pipe > threshold {
		p.credit = (p.got*threshold+p.flight-1)/p.flight - p.sent
	} else {
		limit := max(p.got-p.sent, n.delivered)
		if n.acked > 0 {
			limit += s.mss
		}
		p.credit = min(threshold-pipe, limit)
	}
	p.credit = max(p.credit, 0)
}

// tail is the probe for a loss at the end of a burst, that nothing behind would tell of (RFC
// 8985 section 7).
type tail struct {
	end   Seq
	out   bool // a probe is on its way
	again bool // it was a retransmission
}

// answered ends the episode of a probe: if it was a retransmission that filled a hole, the window
// must be lowered for the loss that nobody has noticed.
func (t *tail) answered(c *Conn, n news, now Time) (lowered bool) {
	s := &c.send
	if !t.out || s.una.Before(t.end) {
		return false
	}
	// An acknowledgement of just the end may be of the segment or of the probe: only the next tells
	// (section 7.4.2).
	repaired := t.again && !n.duplicate && s.una.After(t.end)
	t.out = t.again && !n.duplicate && !repaired && !n.idle
	if !repaired || s.recovering {
		return false
	}
	s.control.lost(s.flightSize()+n.acked, now)
	c.saysLess()
	return true
}
