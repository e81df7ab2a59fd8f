package tcp

import "time"

// congestion is a congestion control: it decides how many bytes may be in flight, by slow start and
// congestion avoidance. Loss detection and retransmission are elsewhere. All sizes are in bytes.
type congestion interface {
	// acked reports that n more bytes have arrived while the window limited the sender.
	acked(n int, now Time, r *rtt)
	// lost reports a loss: once for each window of data, with the bytes that were in flight.
	lost(flight int, now Time)
	// marked reports CE marks without a loss: once for each window of data, with the bytes that
	// were in flight.
	marked(flight int, now Time)
	// timedOut reports that the retransmission timer has expired. first is true for the first
	// expiry in a row.
	timedOut(flight int, first bool, now Time)
	// idle reports that nothing was sent for longer than a time-out (RFC 5681 section 4.1).
	idle()
	// restart reports that the handshake has lost segments: the window begins with one segment.
	restart()
	// window returns how many bytes may be in flight.
	window() int
	// threshold returns the slow start threshold.
	threshold() int
	// resized reports a new segment size.
	resized(mss int)
	// undo takes back the last lost or timedOut, because it was spurious.
	undo()
}

// usage is how far a sender has used the congestion window during the last window of data. A window
// that was not used says nothing of the path, and does not grow (RFC 7661). What counts is the use
// when the data was sent: while it is acknowledged, less and less is in flight (Linux:
// tcp_cwnd_validate).
type usage struct {
	most    int32 // if the window was not full: the most bytes in flight
	end     Seq   // SND.NXT when this was noted, the end of that window of data
	limited bool  // the window was full
}

// note notes the use of the window after a segment was sent.
func (u *usage) note(s *sender) {
	flight := s.scoreboard.inFlight
	limited := flight+s.mss > s.control.window()
	if limited || !s.una.Before(u.end) || !u.limited && flight > int(u.most) {
		*u = usage{int32(flight), s.next, limited}
	}
}

// validates tells whether the window may grow: it was full, or in slow start more than half full
// (RFC 7661 section 4.3).
func (u *usage) validates(c congestion) bool {
	return u.limited || c.window() < c.threshold() && c.window() < 2*int(u.most)
}

// The names of the congestion controls, for Config.Congestion.
const (
	CUBIC   = "cubic"
	NewReno = "newreno"
)

// newCongestion returns a congestion control that begins, in the memory of a CUBIC.
func newCongestion(name string, mss int, memory *cubic) congestion {
	*memory = cubic{reno: reno{mss: mss, cwnd: initialWindow(mss), ssthresh: unlimited}}
	if name == NewReno {
		return &memory.reno
	}
	return memory
}

// unlimited is the initial slow start threshold, the largest window.
const unlimited = 1 << 30

// initialWindow is ten segments (RFC 6928).
func initialWindow(mss int) int { return min(10*mss, max(2*mss, 14600)) }

// reno is the congestion control of RFC 5681 with the byte counting of RFC 3465. The part of
// NewReno (RFC 6582) that stays in recovery until all that was in flight is acknowledged is in
// recovery.go.
type reno struct {
	mss            int
	cwnd, ssthresh int
	*stage         // nil in the first slow start
}

// stage is what is noted of congestion avoidance. Most connections end, or are idle, in their first
// slow start, so it is allocated when that has ended.
type stage struct {
	credit int                          // bytes acknowledged since the window last grew
	before struct{ cwnd, ssthresh int } // before the last reduction
	cubicStage
}

// leaveSlowStart notes that congestion avoidance begins.
func (c *reno) leaveSlowStart() {
	if c.stage == nil {
		c.stage = new(stage)
	}
}

func (c *reno) acked(n int, _ Time, _ *rtt) {
	if n = c.slowStart(n); n > 0 {
		c.leaveSlowStart()
		c.credit += n
	}
	if c.stage != nil && c.credit >= c.cwnd {
		c.credit -= c.cwnd
		c.grow(c.mss)
	}
}

// slowStart grows the window by n acknowledged bytes, up to the threshold, and returns the bytes
// beyond it. The limit of two segments of RFC 3465 is not applied: a merged acknowledgement covers
// many segments, and Linux has no limit either.
func (c *reno) slowStart(n int) int {
	if c.cwnd >= c.ssthresh {
		return n
	}
	used := min(n, c.ssthresh-c.cwnd)
	c.grow(used)
	return n - used
}

func (c *reno) grow(n int) { c.cwnd = min(c.cwnd+n, unlimited) }

func (c *reno) lost(flight int, _ Time) { c.reduce(flight / 2) }

func (c *reno) marked(flight int, now Time) {
	if c.cwnd < c.ssthresh {
		c.lost(flight, now)
		return
	}
	c.reduce(flight * 4 / 5)
}

func (c *reno) reduce(to int) {
	c.leaveSlowStart()
	c.before.cwnd, c.before.ssthresh = c.cwnd, c.ssthresh
	c.ssthresh = max(to, 2*c.mss)
	c.cwnd, c.credit = c.ssthresh, 0
}

func (c *reno) timedOut(flight int, first bool, _ Time) { c.collapse(flight/2, first) }

func (c *reno) collapse(to int, first bool) {
	c.leaveSlowStart()
	if first { // a repeated loss says nothing new of the path
		c.reduce(to)
	}
	c.cwnd, c.credit = c.mss, 0
}

func (c *reno) idle() { c.cwnd = min(c.cwnd, initialWindow(c.mss)) }

func (c *reno) restart() { c.cwnd = c.mss }

func (c *reno) window() int { return c.cwnd }

func (c *reno) threshold() int { return c.ssthresh }

func (c *reno) resized(mss int) {
	if mss < c.mss { // keep the number of smaller segments; larger segments keep the bytes
		c.cwnd = c.cwnd / c.mss * mss
	}
	c.mss, c.cwnd = mss, max(c.cwnd, mss)
}

func (c *reno) undo() {
	if c.stage != nil && c.before.cwnd > 0 {
		c.cwnd, c.ssthresh = max(c.cwnd, c.before.cwnd), max(c.ssthresh, c.before.ssthresh)
	}
}

func secondsOf(d time.Duration) float64 { return float64(d) / float64(time.Second) }
