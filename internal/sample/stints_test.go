package sample

import (
	"testing"
	"time"

	"interleave/internal/group"
)

// TestStints burns CPU in stints that count, in others, and at rest: each is where it belongs.
func TestStints(t *testing.T) {
	both(t, func(t *testing.T, o group.Options) {
		const each = 30 * time.Millisecond // of the window, whatever the clock says
		h := startHelper(t, o)
		s := NewStints(h.group, each)
		s.Idle()
		h.do("burn 20") // a warm-up
		s.Open()
		var counted, resting, window time.Duration
		var inside, outside time.Duration // the time of the stints: no less than, no more than
		use := func(command string) time.Duration {
			before := h.do("nothing")
			after := h.do(command)
			return after.self + after.kids - before.self - before.kids
		}
		for range 5 {
			resting += use("burn 5")
			s.Rested()
			use("burn 10") // a stint that does not count
			before := time.Now()
			s.Begin()
			begun := time.Now()
			counted += use("burn 20")
			inside += time.Since(begun)
			window += each
			s.End(window)
			outside += time.Since(before)
		}
		s.Close()
		series := s.Series()
		d, ok := series.Between(MarkOpen, MarkClosed)
		if !ok || d.Wall != window || d.Wall != 5*each {
			t.Fatalf("marks: %v, a window of %v, want %v", ok, d.Wall, window)
		}
		if s.Spent() < inside || s.Spent() > outside {
			t.Errorf("stints of %v by the clock, want %v to %v", s.Spent(), inside, outside)
		}
		within := 5 * slack(o).Seconds() * 1e3
		near(t, "CPU ms in stints", d.CPU().Seconds()*1e3, counted.Seconds()*1e3, within)
		near(t, "CPU ms at rest", s.Resting().Seconds()*1e3, resting.Seconds()*1e3, within)
		if n := len(series.CPUByInterval(each)); n != 5 {
			t.Errorf("got %d intervals, want one for each stint", n)
		}
		last := series.Samples[len(series.Samples)-1]
		if idle, ok := series.Mark(MarkIdle); !ok || idle.PSS == 0 || last.Mark != MarkClosed ||
			last.PSS == 0 || last.Threads == 0 || d.Busy < counted/2 {
			t.Errorf("got idle %+v and closed %+v", idle, last)
		}
	})
}

// TestStintsOfTheDead: a server that has ended leaves what was read before.
func TestStintsOfTheDead(t *testing.T) {
	h := startHelper(t, group.Options{})
	s := NewStints(h.group, never)
	s.Idle()
	s.Open()
	s.Begin()
	h.do("burn 20")
	s.End(time.Second)
	if err := h.group.Close(); err != nil {
		t.Fatal(err)
	}
	s.Rested()
	s.Begin()
	s.End(2 * time.Second)
	s.Close()
	series := s.Series()
	if _, ok := series.Mark(MarkClosed); ok || len(series.Samples) != 3 {
		t.Errorf("got %d samples, want those of idle, open and one stint", len(series.Samples))
	}
}
