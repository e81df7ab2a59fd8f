package tcp

import "time"

// rtt estimates the round trip and from it the time-out of retransmission (RFC 6298).
type rtt struct {
	smoothed, deviation time.Duration
	least               time.Duration // the shortest that was seen: RACK's measure of reordering
	latest              time.Duration
	backoff             uint // how often the time-out has been doubled
	known               bool // a round trip has been measured
	careful             bool // our SYN had to go again
}

// The bounds of the time-out. RFC 6298 section 2.4 asks for a second at least, "SHOULD", from the
// days of coarse clocks; Linux takes 200 ms, more than a delayed acknowledgement lasts, and so
// does this stack.
const (
	initialRTO = time.Second
	carefulRTO = 3 * time.Second // section 5.7: longer than paths are
	minRTO     = 200 * time.Millisecond
	maxRTO     = 120 * time.Second // RFC 6298 section 2.5: at least 60 s
)

// sample takes a measured round trip, of a segment that was sent once or that a timestamp tells
// apart (Karn). among is how many samples a window yields, as RFC 7323 appendix G asks where each
// segment gives one.
func (r *rtt) sample(d time.Duration, among int) {
	d = max(d, 1)
	r.latest, r.backoff = d, 0
	if !r.known {
		r.smoothed, r.deviation, r.least, r.known = d, d/2, d, true
		return
	}
	r.least = min(r.least, d)
	among = max(among, 1)
	r.deviation += ((r.smoothed - d).Abs() - r.deviation) / time.Duration(4*among)
	r.smoothed += (d - r.smoothed) / time.Duration(8*among)
}

// rto is the time-out, doubled for each that has passed without an answer.
func (r *rtt) rto() time.Duration {
	d := initialRTO
	switch {
	case r.known:
		d = max(r.smoothed+4*r.deviation, minRTO)
	case r.careful:
		d = carefulRTO
	}
	for range r.backoff {
		if d *= 2; d >= maxRTO {
			return maxRTO
		}
	}
	return min(d, maxRTO)
}

// moved says that something has arrived without a measure. The doubling stays, or a path that is
// longer than the time-out would never be measured (Karn); but what has waited for minutes on a bad
// path begins again below what any path takes.
func (r *rtt) moved() {
	for r.backoff > 0 && r.rto() > carefulRTO {
		r.backoff--
	}
}

// expired doubles the time-out.
func (r *rtt) expired() {
	if r.backoff < 30 {
		r.backoff++
	}
}
