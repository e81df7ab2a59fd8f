package tcp

import (
	"math"
	"testing"
	"time"
)

const mss = 1460

// window acknowledges one window of c, segment by segment.
func window(c congestion, now Time, r *rtt) {
	for n := c.window(); n > 0; n -= mss {
		c.acked(min(n, mss), now, r)
	}
}

func TestInitialWindow(t *testing.T) {
	for size, want := range map[int]int{536: 5360, 1460: 14600, 4096: 14600, 8960: 17920} {
		if got := initialWindow(size); got != want {
			t.Errorf("of segments of %d bytes: %d, want %d (RFC 6928)", size, got, want)
		}
	}
}

func TestSlowStartDoublesAWindow(t *testing.T) {
	for _, name := range []string{NewReno, CUBIC} {
		c, r := newCongestion(name, mss, new(cubic)), &rtt{smoothed: 10 * ms}
		window(c, 0, r)
		window(c, Time(10*ms), r)
		if got := c.window(); got != 4*initialWindow(mss) {
			t.Errorf("%s: %d after two round trips, want %d", name, got, 4*initialWindow(mss))
		}
	}
}

func TestRenoGrowsByASegmentARoundTrip(t *testing.T) {
	c, r := newCongestion(NewReno, mss, new(cubic)), &rtt{}
	c.lost(100*mss, 0)
	if c.window() != 50*mss || c.threshold() != 50*mss {
		t.Fatalf("after a loss of 100 segments: %d, threshold %d, want the half", c.window(),
			c.threshold())
	}
	for i := range 10 {
		window(c, 0, r)
		if got, want := c.window(), (51+i)*mss; got != want {
			t.Fatalf("round trip %d: %d, want %d", i, got, want)
		}
	}
	c.timedOut(60*mss, true, 0)
	if c.window() != mss || c.threshold() != 30*mss {
		t.Errorf("after a time-out: %d, threshold %d", c.window(), c.threshold())
	}
	c.timedOut(mss, false, 0)
	if c.threshold() != 30*mss {
		t.Errorf("a second time-out moved the threshold to %d", c.threshold())
	}
	c.lost(mss, 0)
	if c.threshold() != 2*mss {
		t.Errorf("the least threshold: %d, want two segments", c.threshold())
	}
}

func TestUndo(t *testing.T) {
	for _, name := range []string{NewReno, CUBIC} {
		c, r := newCongestion(name, mss, new(cubic)), &rtt{smoothed: 10 * ms}
		for i := range 4 {
			window(c, Time(i)*Time(10*ms), r)
		}
		was := c.window()
		c.lost(was, 0)
		if c.window() >= was {
			t.Fatalf("%s: a loss left the window at %d", name, c.window())
		}
		if c.undo(); c.window() != was || c.threshold() != unlimited {
			t.Errorf("%s: undone: %d, threshold %d, want %d and none", name, c.window(),
				c.threshold(), was)
		}
	}
}

// TestCubicFollowsItsCurve holds that the window follows W_cubic(t) of RFC 9438 after a loss at
// 1000 segments: 700 at once, 1000 again after K = cbrt(1000 x .3 / .4) = 9.09 s, flat around that
// time, and steep beyond.
func TestCubicFollowsItsCurve(t *testing.T) {
	const trip = 100 * ms
	c := newCongestion(CUBIC, mss, new(cubic)).(*cubic)
	c.cwnd, c.ssthresh = 1000*mss, 500*mss
	c.lost(1000*mss, 0)
	if d := c.window() - 700*mss; d < -mss || d > mss {
		t.Fatalf("after the loss: %d segments, want 700", c.window()/mss)
	}
	r := &rtt{smoothed: trip, known: true}
	k := math.Cbrt(1000 * .3 / .4)
	for now := Time(0); now < Time(14*time.Second); now = now.Add(trip) {
		window(c, now, r)
		at := secondsOf(time.Duration(now)) + trip.Seconds()
		want := .4*(at-k)*(at-k)*(at-k) + 1000
		if got := c.segments(); math.Abs(got-want) > .03*want {
			t.Fatalf("after %.1f s: %.0f segments, want %.0f", at, got, want)
		}
	}
	if c.segments() < 1040 {
		t.Errorf("it does not probe beyond the old maximum: %.0f segments", c.segments())
	}
}

// TestCubicIsFriendlyToReno holds that CUBIC keeps up with Reno on a short path, where its curve
// alone would be slower.
func TestCubicIsFriendlyToReno(t *testing.T) {
	const trip = ms
	cub, ren := newCongestion(CUBIC, mss, new(cubic)), newCongestion(NewReno, mss, new(cubic))
	cub.lost(100*mss, 0)
	r := &rtt{smoothed: trip, known: true}
	start := cub.window()
	ren.lost(2*start, 0)
	for i := range 100 {
		window(cub, Time(i)*Time(trip), r)
		window(ren, Time(i)*Time(trip), r)
	}
	// α is .53 up to the old maximum and 1 beyond: at least half of Reno's growth.
	if got, want := cub.window()-start, (ren.window()-start)/2; got < want {
		t.Errorf("grew by %d bytes in 100 round trips, Reno's half is %d", got, want)
	}
}

// TestCubicForgetsItsCurve holds that undo restores the curve, and that idle time ends it: elapsed
// time must not let the window jump.
func TestCubicForgetsItsCurve(t *testing.T) {
	for _, timeout := range []bool{false, true} {
		c := newCongestion(CUBIC, mss, new(cubic)).(*cubic)
		r := &rtt{smoothed: 100 * ms, known: true}
		c.cwnd = 100 * mss
		c.lost(100*mss, 0)
		window(c, 0, r)
		if timeout {
			c.timedOut(70*mss, true, 0)
		} else {
			c.lost(70*mss, 0)
		}
		if c.undo(); c.max != 100 || c.started {
			t.Errorf("undone: the maximum is %.1f segments, want 100; started %v", c.max, c.started)
		}
		window(c, 0, r)
		if c.idle(); c.started {
			t.Error("the curve goes on after silence")
		}
	}
}

func TestFastConvergence(t *testing.T) {
	c := newCongestion(CUBIC, mss, new(cubic)).(*cubic)
	c.cwnd = 100 * mss
	c.lost(100*mss, 0) // at 100
	c.lost(c.cwnd, 0)  // at 70, below the last maximum: another flow needs its share
	if want := 70 * (1 + cubicFactor) / 2; math.Abs(c.max-want) > .1 {
		t.Errorf("the maximum is %.1f segments, want %.1f", c.max, want)
	}
}

// TestCubicStartsAnewAfterATimeout holds that the curve starts flat where slow start has ended (RFC
// 9438 section 4.8).
func TestCubicStartsAnewAfterATimeout(t *testing.T) {
	c, r := newCongestion(CUBIC, mss, new(cubic)).(*cubic), &rtt{smoothed: 100 * ms, known: true}
	c.cwnd, c.ssthresh = 100*mss, 50*mss
	c.timedOut(100*mss, true, 0)
	if c.window() != mss || c.threshold() != 70*mss {
		t.Fatalf("after the time-out: %d, threshold %d segments, want 1 and 70", c.window()/mss,
			c.threshold()/mss)
	}
	now := Time(0)
	for c.window() < c.threshold() {
		window(c, now, r)
		now = now.Add(100 * ms)
	}
	window(c, now, r)
	if c.k != 0 || math.Abs(c.max-70) > 1 {
		t.Errorf("K is %.1f s, W_max %.1f segments, want 0 and 70", c.k, c.max)
	}
}

func TestSmallerSegmentsKeepTheirNumber(t *testing.T) {
	for _, name := range []string{NewReno, CUBIC} {
		c := newCongestion(name, mss, new(cubic))
		if c.resized(1000); c.window() != 10_000 {
			t.Errorf("%s: ten segments of 1000 bytes have a window of %d", name, c.window())
		}
		if c.lost(1000, 0); c.threshold() < 2000 || c.threshold() > 7000 {
			t.Errorf("%s: the threshold after a loss is %d, want two segments of 1000 bytes at "+
				"least", name, c.threshold())
		}
	}
}

func TestIdleStartsFromTheInitialWindow(t *testing.T) {
	for _, name := range []string{NewReno, CUBIC} {
		c, r := newCongestion(name, mss, new(cubic)), &rtt{}
		window(c, 0, r)
		window(c, 0, r)
		if c.idle(); c.window() != initialWindow(mss) {
			t.Errorf("%s: %d after silence, want %d", name, c.window(), initialWindow(mss))
		}
	}
}

// TestCubicGivesLessForAMark holds that a CE mark, which comes from a short queue, leaves 0.85 of
// the window (RFC 8511 section 3.1), and 0.8 with NewReno. CUBIC's curve starts from there. In slow
// start a mark counts as a loss.
func TestCubicGivesLessForAMark(t *testing.T) {
	for name, parts := range map[string][2]int{CUBIC: {70, 85}, NewReno: {50, 80}} {
		c := newCongestion(name, mss, new(cubic))
		c.resized(mss) // the same size changes nothing
		window(c, 0, &rtt{smoothed: 10 * ms})
		c.marked(20*mss, 0)
		if got, want := c.window(), 20*mss*parts[0]/100; got != want {
			t.Errorf("%s, in slow start: %d of %d bytes are left, want %d", name, got, 20*mss, want)
		}
		now := c.window()
		c.marked(now, 0)
		if got, want := c.window(), now*parts[1]/100; got != want || c.threshold() != want {
			t.Errorf("%s: %d of %d bytes are left, threshold %d, want %d", name, got, now,
				c.threshold(), want)
		}
		if c, ok := c.(*cubic); ok && (c.started || c.max <= c.segments()) {
			t.Errorf("the maximum is %.1f segments, the window %.1f: want it to lie ahead", c.max,
				c.segments())
		}
	}
}

// TestLargerSegmentsAreFewer holds that larger segments let neither the window nor the curve jump.
func TestLargerSegmentsAreFewer(t *testing.T) {
	for _, name := range []string{NewReno, CUBIC} {
		c := newCongestion(name, 1000, new(cubic))
		if c.resized(mss); c.window() != 10_000 {
			t.Errorf("%s: 10000 bytes of window are %d with larger segments", name, c.window())
		}
		if c.resized(16_000); c.window() != 16_000 {
			t.Errorf("%s: a window of %d bytes has no room for a segment", name, c.window())
		}
	}
	c := newCongestion(CUBIC, 1000, new(cubic)).(*cubic)
	c.lost(10_000, 0)
	window(c, 0, &rtt{smoothed: 10 * ms})
	if c.resized(2000); c.max != 5 || c.started {
		t.Errorf("the maximum is %.1f segments of twice the size, want 5; the curve goes on: %v",
			c.max, c.started)
	}
}
