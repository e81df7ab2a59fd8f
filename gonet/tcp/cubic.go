package tcp

import (
	"math"
)

// cubic is the congestion control of RFC 9438. After a loss the window grows along a cubic function
// of time, which is flat around the window at the loss. So growth does not depend on the round
// trip. Windows are in segments here.
type cubic struct {
	reno
}

// cubicStage is what CUBIC notes of its stages of congestion avoidance.
type cubicStage struct {
	epoch     Time    // when the current congestion avoidance stage began
	started   bool    // epoch is set
	max       float64 // W_max: the window before the last loss, segments
	k         float64 // K: seconds from the epoch until the window is max again
	estimate  float64 // W_est: Reno's window at this time, segments
	part      float64 // growth of less than a byte that was not applied yet
	maxBefore float64 // max before the last loss
}

// The constants of RFC 9438: C, the scale of the curve (section 5), and β, the part of the window
// that stays after a loss (section 4.6).
const (
	cubicScale  = 0.4
	cubicFactor = 0.7
	// cubicMarked is the part of the window that stays after a CE mark in congestion avoidance (RFC
	// 8511 section 3.1). A queue that marks is short, so less is given up than after a loss.
	// NewReno keeps 0.8.
	cubicMarked = 0.85
	// renoGrowth is α of section 4.3: with it Reno with a decrease factor of cubicFactor is as fast
	// as Reno with 0.5.
	renoGrowth = 3 * (1 - cubicFactor) / (1 + cubicFactor)
)

func (c *cubic) acked(n int, now Time, r *rtt) {
	if n = c.slowStart(n); n == 0 {
		return
	}
	c.leaveSlowStart()
	window := c.segments()
	if !c.started {
		c.begin(now, window)
	}
	t := secondsOf(now.Sub(c.epoch))
	// The Reno-friendly region (section 4.3): CUBIC is never slower than Reno. Back at the window
	// of the loss, Reno's estimate grows by one segment a round trip.
	alpha := renoGrowth
	if c.estimate >= c.max {
		alpha = 1
	}
	c.estimate += alpha * float64(n) / float64(c.cwnd)
	if c.curve(t) < c.estimate {
		c.grow(max(int((c.estimate-window)*float64(c.mss)), 0))
		return
	}
	target := min(max(c.curve(t+secondsOf(r.smoothed)), window), 1.5*window)
	c.part += (target - window) / window * float64(n)
	c.grow(int(c.part))
	c.part -= math.Trunc(c.part)
}

func (c *cubic) begin(now Time, window float64) {
	c.epoch, c.started, c.estimate = now, true, window
	if window >= c.max {
		c.max, c.k = window, 0
		return
	}
	c.k = math.Cbrt((c.max - window) / cubicScale)
}

// curve returns W_cubic(t) of section 4.2, in segments.
func (c *cubic) curve(t float64) float64 {
	d := t - c.k
	return cubicScale*d*d*d + c.max
}

func (c *cubic) segments() float64 { return float64(c.cwnd) / float64(c.mss) }

func (c *cubic) lost(flight int, _ Time) { c.congested(flight, cubicFactor) }

// congested reduces the window to a part of it.
func (c *cubic) congested(flight int, part float64) {
	c.setMax(part)
	c.reduce(int(float64(min(c.cwnd, max(flight, 2*c.mss))) * part))
}

func (c *cubic) marked(flight int, now Time) {
	if c.cwnd < c.ssthresh {
		c.lost(flight, now)
		return
	}
	c.congested(flight, cubicMarked)
}

func (c *cubic) resized(mss int) {
	if mss > c.mss && c.stage != nil { // W_max is in segments
		c.max *= float64(c.mss) / float64(mss)
		c.started = false
	}
	c.reno.resized(mss)
}

func (c *cubic) timedOut(flight int, first bool, _ Time) {
	if first {
		c.leaveSlowStart()
		// The curve starts anew when congestion avoidance begins, with K = 0 and W_max as the
		// window then (section 4.8).
		c.maxBefore, c.max, c.started = c.max, 0, false
	}
	c.collapse(int(float64(max(flight, 2*c.mss))*cubicFactor), first)
}

// setMax sets W_max to the window at the loss. A flow that loses below its last maximum gives way
// to a new flow, and releases more (fast convergence, section 4.7).
func (c *cubic) setMax(part float64) {
	c.leaveSlowStart()
	c.maxBefore = c.max
	window := c.segments()
	if window < c.max {
		c.max = window * (1 + part) / 2
	} else {
		c.max = window
	}
	c.started = false
}

func (c *cubic) idle() {
	c.reno.idle()
	c.endStage() // idle time must not let the window jump (section 5.8)
}

func (c *cubic) undo() {
	c.reno.undo()
	if c.stage != nil {
		c.max = c.maxBefore
	}
	c.endStage()
}

// endStage has the next congestion avoidance begin anew.
func (c *cubic) endStage() {
	if c.stage != nil {
		c.started = false
	}
}
