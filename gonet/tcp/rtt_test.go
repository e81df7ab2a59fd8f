package tcp

import (
	"testing"
	"time"
)

const ms = time.Millisecond

func TestRTO(t *testing.T) {
	var r rtt
	if got := r.rto(); got != time.Second {
		t.Errorf("before a sample: %v, want 1s (RFC 6298 section 2.1)", got)
	}
	r.sample(100*ms, 1)
	if got := r.rto(); got != 300*ms {
		t.Errorf("after the first sample of 100ms: %v, want SRTT + 4 x SRTT/2 = 300ms (2.2)", got)
	}
	r.sample(200*ms, 1)
	// RTTVAR = 3/4 x 50 + 1/4 x 100 = 62.5 ms, SRTT = 7/8 x 100 + 1/8 x 200 = 112.5 ms (2.3)
	if got := r.rto(); got != 362500*time.Microsecond {
		t.Errorf("after a second of 200ms: %v, want 362.5ms", got)
	}
	for range 100 {
		r.sample(100*time.Microsecond, 1)
	}
	if got := r.rto(); got != minRTO {
		t.Errorf("on a fast path: %v, want %v", got, minRTO)
	}
	for i, want := range []time.Duration{400 * ms, 800 * ms, 1600 * ms} {
		if r.expired(); r.rto() != want {
			t.Errorf("expired %d times: %v, want %v (5.5)", i+1, r.rto(), want)
		}
	}
	for range 40 {
		r.expired()
	}
	if r.rto() != maxRTO {
		t.Errorf("expired often: %v, want %v", r.rto(), maxRTO)
	}
	if r.sample(100*time.Microsecond, 1); r.rto() != minRTO {
		t.Errorf("an answer ends the doubling: %v", r.rto())
	}
	if r.least != 100*time.Microsecond {
		t.Errorf("the least round trip: %v", r.least)
	}
}

func TestManySamplesOfAWindowCountAsOne(t *testing.T) {
	var one, many rtt
	one.sample(100*ms, 1)
	many.sample(100*ms, 1)
	one.sample(200*ms, 1)
	for range 10 {
		many.sample(200*ms, 10)
	}
	if d := (one.smoothed - many.smoothed).Abs(); d > ms {
		t.Errorf("smoothed: %v of one sample, %v of ten in its window", one.smoothed, many.smoothed)
	}
}
