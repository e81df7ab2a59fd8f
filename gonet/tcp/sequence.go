package tcp

// Seq is a sequence number of RFC 9293 section 3.4: a position in a stream of bytes, modulo 2^32.
// Two that are compared must be less than 2^31 apart, which the largest window of 2^30 ensures.
type Seq uint32

// Before tells whether a is before b.
func (a Seq) Before(b Seq) bool { return int32(a-b) < 0 }

// After tells whether a is after b.
func (a Seq) After(b Seq) bool { return int32(a-b) > 0 }

// Within tells whether a is among the n sequence numbers from start on.
func (a Seq) Within(start Seq, n uint32) bool { return uint32(a-start) < n }

// To returns the number of bytes from a up to b, which must not be before a.
func (a Seq) To(b Seq) int { return int(uint32(b - a)) }

// Plus returns the sequence number n after a.
func (a Seq) Plus(n int) Seq { return a + Seq(uint32(n)) }

func later(a, b Seq) Seq {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b Seq) Seq {
	if a.Before(b) {
		return a
	}
	return b
}
