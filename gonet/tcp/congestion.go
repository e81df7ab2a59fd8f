package tcp

import "time"

// congestion decides how many bytes may be on their way: slow start and congestion avoidance. What
// is lost, and when to send it again, is decided elsewhere. All sizes are in bytes.
type congestion interface {
	// acked says that n bytes more have arrived, while the window was the bound.
	acked(n int, now Time, r *rtt)
	// lost says that segments of the window were lost: once for each window, with what
	// was on its way.
	lost(flight int, now Time)
	// marked says that routers have met congestion and dropped nothing: once for each window, with
	// what was on its way.
	marked(flight int, now Time)
	// timedOut says that the retransmission timer has expired: first is true for the
	// first time in a row.
	timedOut(flight int, first bool, now Time)
	// idle says that nothing was sent for longer than a time-out (RFC 5681 section 4.1).
	idle()
	// restart says that the handshake found a bad path: begin with one segment.
	restart()
	// window is how many bytes may be on their way.
	window() int
	// threshold is where slow start ends.
	threshold() int
	// resized says that segments are now of another size.
	resized(mss int)
	// undo takes back the last lost or timedOut, which was spurious.
	undo()
}

// The names of congestion controls.
const (
	CUBIC   = "cubic"
	NewReno = "newreno"
)

func newCongestion(name string, mss int) congestion {
	base := reno{mss: mss, cwnd: initialWindow(mss), ssthresh: unlimited}
	if name == NewReno {
		return &base
	}
	return &cubic{reno: base}
}

// unlimited is a threshold of slow start that nothing has lowered yet: as large as windows get.
const unlimited = 1 << 30

// initialWindow is ten segments (RFC 6928).
func initialWindow(mss int) int { return min(10*mss, max(2*mss, 14600)) }

// reno is the control of RFC 5681, with the counting of bytes of RFC 3465. NewReno's own part (RFC
// 6582), to stay in recovery until all that was on its way has arrived, is that of the scoreboard.
type reno struct {
	mss            int
	cwnd, ssthresh int
	credit         int // bytes that have arrived since the last growth in congestion avoidance
	before         struct{ cwnd, ssthresh int }
}

func (c *reno) acked(n int, _ Time, _ *rtt) {
	c.credit += c.slowStart(n)
	if c.credit >= c.cwnd {
		c.credit -= c.cwnd
		c.grow(c.mss)
	}
}

// slowStart grows the window by what has arrived, up to the threshold, and returns what is beyond
// it. Merged acknowledgements cover many segments; the limit of two of RFC 3465 would hold them
// back, so Linux has none.
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
	c.before.cwnd, c.before.ssthresh = c.cwnd, c.ssthresh
	c.ssthresh = max(to, 2*c.mss)
	c.cwnd, c.credit = c.ssthresh, 0
}

func (c *reno) timedOut(flight int, first bool, _ Time) { c.collapse(flight/2, first) }

func (c *reno) collapse(to int, first bool) {
	if first { // a segment lost again says nothing new of the path
		c.reduce(to)
	}
	c.cwnd, c.credit = c.mss, 0
}

func (c *reno) idle() { c.cwnd = min(c.cwnd, initialWindow(c.mss)) }

func (c *reno) restart() { c.cwnd = c.mss }

func (c *reno) window() int { return c.cwnd }

func (c *reno) threshold() int { return c.ssthresh }

func (c *reno) resized(mss int) {
	if mss < c.mss { // as many segments as before; larger ones are fewer, or the window would jump
		c.cwnd = c.cwnd / c.mss * mss
	}
	c.mss, c.cwnd = mss, max(c.cwnd, mss)
}

func (c *reno) undo() {
	if c.before.cwnd > 0 {
		c.cwnd, c.ssthresh = max(c.cwnd, c.before.cwnd), max(c.ssthresh, c.before.ssthresh)
	}
}

func secondsOf(d time.Duration) float64 { return float64(d) / float64(time.Second) }
