package tcp

import "time"

// rack detects losses by time (RFC 8985): a segment is lost if it was sent before one that has
// arrived, by more than the reordering window. The fields have the names of the RFC where it has
// some.
type rack struct {
	at  Time // RACK.xmit_ts: send time of the most recently sent segment that has arrived
	rtt time.Duration
	end Seq
	// RACK.fack: the highest sequence number that has arrived
	fack Seq
	// RACK.dsack_round: windowMult is raised at most once for each window of data
	dsackRound Seq
	// RACK.reo_wnd_mult: the reordering window in quarters of the least round trip
	windowMult    uint16
	windowPersist uint8 // RACK.reo_wnd_persist: recoveries before windowMult is reset
	reordered     bool  // RACK.reordering_seen
}

// delivered updates the state for a piece that has arrived (section 6.2 steps 2 and 3).
func (r *rack) delivered(f *flight, s *sender, now Time) {
	trip := now.Sub(f.at)
	if f.resent {
		if trip < s.rtt.least {
			return // the acknowledgement is of the original transmission
		}
	} else if f.end.Before(r.fack) {
		r.reordered = true
	}
	r.fack = later(r.fack, f.end)
	if f.at > r.at || f.at == r.at && f.end.After(r.end) {
		r.at, r.end, r.rtt = f.at, f.end, trip
	}
}

// window returns the reordering window (section 6.2 step 4).
func (r *rack) window(s *sender) time.Duration {
	if !r.reordered && (s.recovering || s.scoreboard.sacked >= dupThresh*s.mss) {
		return 0
	}
	return min(time.Duration(max(r.windowMult, 1))*s.rtt.least/4, s.rtt.smoothed)
}

// dupThresh is how many segments behind a hole must have arrived to make it a loss (RFC 5681
// section 3.2).
const dupThresh = 3

// maxWindowMult bounds windowMult. The smoothed round trip bounds the window long before.
const maxWindowMult = 1 << 15

// adaptWindow widens the reordering window after a DSACK, which reports a spurious retransmission.
// recover narrows it again after 16 recoveries without one.
func (r *rack) adaptWindow(s *sender, duplicate bool) {
	if duplicate && !s.una.Before(r.dsackRound) {
		r.windowMult = min(max(r.windowMult, 1)+1, maxWindowMult)
		r.dsackRound, r.windowPersist = s.next, 16
	}
}

// detectLoss marks lost pieces (section 6.2 step 5). It returns whether one is a sign of
// congestion, and after which time the next piece would be lost, 0 if none waits.
func (r *rack) detectLoss(s *sender, now Time) (found bool, next time.Duration) {
	if r.at == 0 {
		return false, 0
	}
	window := r.window(s)
	for i := range s.scoreboard.flights {
		f := &s.scoreboard.flights[i]
		if f.sacked || f.lost || f.at > r.at || f.at == r.at && !f.end.Before(r.end) {
			continue
		}
		if left := f.at.Add(r.rtt + window).Sub(now); left > 0 {
			next = max(next, left)
			continue
		}
		s.scoreboard.markLost(f)
		found = !s.lostProbe(f, now) || found
	}
	return found, next
}

// detect looks for losses after an acknowledgement, and begins a recovery if there are any. It
// returns whether it has set the congestion window: for a loss, for one that a tail loss probe had
// repaired, or since the last reduction was spurious.
func (c *Conn) detect(n ackInfo, now Time) (set bool) {
	s := &c.send
	set = s.tail.probeAcked(c, n, now)
	if c.sack {
		s.rack.adaptWindow(s, n.duplicate)
	}
	if c.undo(n, now) || c.undoByDSACK(n) {
		return true
	}
	var found bool
	if c.sack {
		var next time.Duration
		found, next = s.rack.detectLoss(s, now)
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
		return true
	}
	return set
}

// byDuplicates detects losses without SACK (RFC 5681, RFC 6582): by the third duplicate
// acknowledgement, and in recovery by each partial acknowledgement.
func (s *sender) byDuplicates(n ackInfo, now Time) bool {
	if s.flightSize() == 0 || len(s.scoreboard.flights) == 0 {
		return false
	}
	third := !s.recovering && s.dups == dupThresh && s.una.After(s.recover)
	partial := s.recovering && n.acked > 0
	f := &s.scoreboard.flights[0]
	if !third && !partial || f.lost {
		return false
	}
	if s.lostProbe(f, now) {
		s.scoreboard.markLost(f)
		return false
	}
	s.scoreboard.cut(0, f.seq.Plus(s.mss))
	s.scoreboard.markLost(&s.scoreboard.flights[0])
	return true
}

// deflateDuplicates adjusts the count of duplicate acknowledgements after n bytes were
// acknowledged. Each duplicate stood for a segment that had arrived. In recovery those behind the
// missing segment are among the n bytes (RFC 6582 section 3.2: partial window deflation).
func (s *sender) deflateDuplicates(n int) {
	if !s.recovering || s.expired {
		s.dups = 0
		return
	}
	s.dups = max(s.dups-int32(n/s.mss)+1, 0)
}

// recovery is what a sender notes of a loss recovery.
type recovery struct {
	undoTimestamp uint32 // our timestamp at the first retransmission (Eifel)
	undoable      bool
	spurious      spurious
	prr           prr
}

// beginRecovery notes that a recovery of all data in flight begins.
func (c *Conn) beginRecovery(now Time) {
	s := &c.send
	if s.recovery == nil {
		s.recovery = new(recovery)
	}
	*s.recovery = recovery{undoTimestamp: c.timestamp(now), undoable: c.timestamps,
		spurious: spurious{from: s.una, to: s.next, on: true}}
}

// keepReduction notes that the last reduction of the window must not be taken back.
func (s *sender) keepReduction() {
	if s.recovery != nil {
		s.recovery.spurious.on = false
	}
}

// recover begins a loss recovery: the window is reduced once for all data in flight.
func (c *Conn) recover(now Time) {
	s := &c.send
	s.recovering, s.expired, s.recover = true, false, s.next
	c.beginRecovery(now)
	s.recovery.prr.recoverFS = s.flightSize()
	s.control.lost(s.flightSize(), now)
	c.sendCWR()
	s.probe = true // the first retransmission may exceed the window
	if s.rack.windowPersist > 0 {
		s.rack.windowPersist--
	}
	if s.rack.windowPersist == 0 {
		s.rack.windowMult = 1
	}
}

// undo ends a spurious recovery. The acknowledgement is of the original transmission if it echoes a
// timestamp from before the first retransmission (Eifel: RFC 3522, RFC 4015). It may have ended the
// recovery, being of all the data. Then it is no sample of the round trip: an acknowledgement that
// came before it may have been lost.
func (c *Conn) undo(n ackInfo, now Time) bool {
	s := &c.send
	if !n.recovering || !s.recovery.undoable || n.acked == 0 {
		return false
	}
	s.recovery.undoable = false // only the first acknowledgement can tell
	if int32(n.echo-s.recovery.undoTimestamp) >= 0 || n.echo == 0 {
		return false
	}
	if s.expired && !n.duplicate {
		// The round trip that was longer than the time-out counts, or the next one as long would
		// end in a time-out too (RFC 4015 section 3.2).
		s.rtt.sample(time.Duration(c.timestamp(now)-n.echo)*time.Millisecond, 1)
	}
	s.restore()
	return true
}

// spurious counts what was retransmitted in a recovery, until DSACKs have reported that all of it
// was spurious. Then nothing was lost, and the reduction of the window is taken back, also after
// the recovery has ended (RFC 3708; Linux: tcp_try_undo_dsack).
type spurious struct {
	from, to Seq  // the data that was in flight when the recovery began
	bytes    int  // retransmitted, and not reported as arrived before
	on       bool // the reduction can be taken back
}

// undoByDSACK processes a DSACK. It returns whether it has ended a spurious recovery.
func (c *Conn) undoByDSACK(n ackInfo) bool {
	s := &c.send
	if !n.duplicate || s.recovery == nil {
		return false
	}
	d := &s.recovery.spurious
	left, right := Seq(n.twice.Left), Seq(n.twice.Right)
	if !d.on || d.bytes == 0 || left.Before(d.from) || right.After(d.to) ||
		!left.Before(right) {
		return false
	}
	if d.bytes -= left.To(right); d.bytes > 0 {
		return false
	}
	s.restore()
	return true
}

// restore takes back the last reduction of the window, and what was marked as lost for it.
func (s *sender) restore() {
	s.control.undo()
	s.recovering, s.expired, s.recovery.spurious = false, false, spurious{}
	for i := range s.scoreboard.flights {
		if f := &s.scoreboard.flights[i]; f.lost {
			s.scoreboard.count(f, -1)
			f.lost = false
			s.scoreboard.count(f, 1)
		}
	}
}

// prr is proportional rate reduction (RFC 6937): it spreads the reduction of the window over the
// recovery, so that segments are sent all along.
type prr struct {
	recoverFS int // RecoverFS: bytes in flight when the recovery began
	total     int // prr_delivered: bytes delivered since then
	out       int // prr_out: bytes sent since then
	sndcnt    int // sndcnt: bytes that may be sent now
}

func (p *prr) delivered(n ackInfo, s *sender, active bool) {
	if !active || p.recoverFS == 0 {
		return
	}
	p.total += n.delivered
	threshold := s.control.threshold()
	if pipe := s.scoreboard.inFlight; pipe > threshold {
		p.sndcnt = (p.total*threshold+p.recoverFS-1)/p.recoverFS - p.out
	} else {
		limit := max(p.total-p.out, n.delivered)
		if n.acked > 0 {
			limit += s.mss
		}
		p.sndcnt = min(threshold-pipe, limit)
	}
	p.sndcnt = max(p.sndcnt, 0)
}

// sent notes that n bytes are sent.
func (p *prr) sent(n int) {
	p.out += n
	p.sndcnt = max(p.sndcnt-n, 0)
}

// tail is the state of the tail loss probe, which detects a loss at the end of a burst (RFC 8985
// section 7).
type tail struct {
	end    Seq  // TLP.end_seq: SND.NXT when the probe was sent
	out    bool // a probe is in flight
	resent bool // TLP.is_retrans: the probe was a retransmission
}

// probeAcked ends the episode of a probe. If the probe was a retransmission that repaired a loss,
// the window must be reduced for that loss (section 7.4).
func (t *tail) probeAcked(c *Conn, n ackInfo, now Time) (lowered bool) {
	s := &c.send
	if !t.out || s.una.Before(t.end) {
		return false
	}
	// An acknowledgement of exactly tail.end may be that of the original segment or of the probe.
	// Only the next one tells (section 7.4.2).
	repaired := t.resent && !n.duplicate && s.una.After(t.end)
	t.out = t.resent && !n.duplicate && !repaired && !n.duplicateACK
	if !repaired || s.recovering {
		return false
	}
	s.keepReduction() // it was another loss
	s.control.lost(s.flightSize()+n.acked, now)
	c.sendCWR()
	return true
}
