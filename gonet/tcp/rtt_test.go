package tcp

import (
	"testing"
	"time"

	"interleave/gonet/wire"
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
	// the margin beyond the round trip does not fall with the deviation
	for d := r.smoothed; d > 100*time.Microsecond; d = r.smoothed {
		if r.sample(100*time.Microsecond, 1); r.smoothed == d {
			break
		}
	}
	least := r.smoothed + minRTO
	if got := r.rto(); got != least || least > minRTO+ms {
		t.Errorf("on a fast path: %v, want %v", got, least)
	}
	for i, want := range []time.Duration{2 * least, 4 * least, 8 * least} {
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
	if r.sample(100*time.Microsecond, 1); r.rto() != least {
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

// TestLateAnswersAreNotSentAgain has requests on a steady path of 250 ms, with one answer in ten
// 100 ms late. No request is sent again.
func TestLateAnswersAreNotSentAgain(t *testing.T) {
	p := newPair(&Config{MSS: 1460})
	for range 20 { // the handshake took no time
		p.exchange(125*ms, 125*ms)
	}
	before := p.x.Info().Resent
	for i := range 200 {
		late := time.Duration(0)
		if i%10 == 9 {
			late = 100 * ms
		}
		p.exchange(125*ms, 125*ms+late)
	}
	if i := p.x.Info(); i.Resent > before || i.Backoff > 0 {
		t.Errorf("%d requests of 200 were sent again; the time-out is %v at a round trip of %v",
			i.Resent-before, i.RTO, i.RTT)
	}
}

// exchange has x send a request and y answer it, with the delays of both directions. What x sends
// meanwhile is lost.
func (p *pair) exchange(there, back time.Duration) {
	for _, way := range []struct {
		from, to *Conn
		delay    time.Duration
	}{{p.x, p.y, there}, {p.y, p.x, back}} {
		way.from.Write(make([]byte, 100))
		type sent struct {
			h wire.TCP
			n int
		}
		var all []sent
		for way.from.Output(&p.s, p.now) {
			all = append(all, sent{p.s.Header, p.s.Len()})
		}
		p.passTime(way.delay)
		for _, s := range all {
			way.to.Input(&s.h, make([]byte, s.n), p.now)
		}
		way.to.Read(make([]byte, 1000), p.now)
	}
}

// passTime lets time pass, with the timers of x.
func (p *pair) passTime(d time.Duration) {
	end := p.now.Add(d)
	for {
		due, ok := p.x.Deadline()
		if !ok || due > end {
			break
		}
		p.now = max(due, p.now)
		p.x.Expire(p.now)
		for p.x.Output(&p.s, p.now) {
			continue
		}
	}
	p.now = end
}
