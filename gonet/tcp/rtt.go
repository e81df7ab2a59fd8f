package tcp

import "time"

// rtt estimates the round-trip time and the retransmission time-out (RFC 6298).
type rtt struct {
	smoothed, deviation time.Duration
	least               time.Duration // the shortest sample, which RACK uses
	backoff             uint8         // how often the time-out was doubled
	known               bool          // there was a sample
	synResent           bool          // our SYN was retransmitted
}

// The bounds of the time-out. RFC 6298 section 2.4 recommends at least a second, from the days of
// coarse clocks. Linux uses 200 ms, more than a delayed acknowledgement takes, and so does this
// stack. As in Linux it is the least margin beyond the round trip, in place of the granularity G of
// section 2.3: on a steady path the deviation falls to nothing, and the first late answer would
// count as lost.
const (
	initialRTO   = time.Second
	synResentRTO = 3 * time.Second // after a retransmitted SYN (section 5.7)
	minRTO       = 200 * time.Millisecond
	maxRTO       = 120 * time.Second // RFC 6298 section 2.5: at least 60 s
)

// sample takes a measured round trip. It must belong to a segment that was sent once, or be
// measured by a timestamp (Karn's algorithm). among is the number of samples in a window, whose
// weight is divided by it (RFC 7323 appendix G).
func (r *rtt) sample(d time.Duration, among int) {
	d = max(d, 1)
	r.backoff = 0
	if !r.known {
		r.smoothed, r.deviation, r.least, r.known = d, d/2, d, true
		return
	}
	r.least = min(r.least, d)
	among = max(among, 1)
	r.deviation += ((r.smoothed - d).Abs() - r.deviation) / time.Duration(4*among)
	r.smoothed += (d - r.smoothed) / time.Duration(8*among)
}

// rto returns the time-out, doubled for each expiry in a row.
func (r *rtt) rto() time.Duration {
	d := initialRTO
	switch {
	case r.known:
		d = r.smoothed + max(4*r.deviation, minRTO)
	case r.synResent:
		d = synResentRTO
	}
	for range r.backoff {
		if d *= 2; d >= maxRTO {
			return maxRTO
		}
	}
	return min(d, maxRTO)
}

// ackedWithoutSample notes that data was acknowledged without a sample. The backoff stays, or a
// path longer than the time-out would never be measured (Karn's algorithm). But it falls until the
// time-out is at most synResentRTO, more than any path takes, so that a connection recovers from
// minutes of loss.
func (r *rtt) ackedWithoutSample() {
	for r.backoff > 0 && r.rto() > synResentRTO {
		r.backoff--
	}
}

// expired doubles the time-out.
func (r *rtt) expired() {
	if r.backoff < 30 {
		r.backoff++
	}
}
