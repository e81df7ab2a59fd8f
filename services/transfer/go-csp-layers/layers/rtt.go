package layers

import "time"

// The bounds of the time after which a segment is sent again (RFC 6298 section 2).
const (
	firstRTO = time.Second
	minRTO   = time.Second
	maxRTO   = time.Minute
)

// rtt estimates the time of a round trip (RFC 6298).
type rtt struct {
	smoothed, variation time.Duration
	rto                 time.Duration
}

func newRTT() rtt { return rtt{rto: firstRTO} }

// sample takes the time of one round trip, of a segment that was sent once.
func (r *rtt) sample(d time.Duration) {
	if r.smoothed == 0 {
		r.smoothed, r.variation = d, d/2
	} else {
		r.variation += ((r.smoothed - d).Abs() - r.variation) / 4
		r.smoothed += (d - r.smoothed) / 8
	}
	r.rto = min(max(r.smoothed+4*r.variation, minRTO), maxRTO)
}

// backOff doubles the time, until the next sample.
func (r *rtt) backOff() { r.rto = min(2*r.rto, maxRTO) }
