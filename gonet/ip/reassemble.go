// Package ip holds the parts of IP that need no I/O: reassembly of fragments, routes, and the
// choice of source addresses.
package ip

import "errors"

// The errors for which a datagram cannot be reassembled. All of its fragments are dropped.
var (
	ErrOverlap = errors.New("fragments overlap") // RFC 5722, for IPv4 too: an overlap is an attack
	ErrLong    = errors.New("fragments of more than 64 KiB")
	ErrLength  = errors.New("a fragment before the last is not a multiple of 8 bytes")
	ErrMany    = errors.New("too many fragments")
)

// maxFragments bounds the fragments of one datagram: 64 KiB over the smallest MTU are 1366, over
// Ethernet 45.
const maxFragments = 1366

// Reassembly reassembles one datagram from fragments that arrive in any order.
type Reassembly struct {
	data   []byte
	runs   []span // the ranges that have arrived, in order; no two touch
	total  int    // length of the payload in bytes, -1 until the last fragment has arrived
	pieces int
}

// span is a range of bytes, from start up to end.
type span struct{ start, end int }

// NewReassembly returns the Reassembly of a new datagram.
func NewReassembly() *Reassembly { return &Reassembly{total: -1} }

// Add adds the fragment at offset, in bytes from the start of the payload. It returns the payload
// once that is whole. Exact duplicates are ignored, as networks make them. Any other overlap is an
// error, after which the datagram must be dropped.
func (r *Reassembly) Add(offset int, b []byte, more bool) ([]byte, error) {
	end := offset + len(b)
	switch {
	case more && len(b)%8 != 0 || len(b) == 0:
		return nil, ErrLength
	case end > 65535:
		return nil, ErrLong
	case r.pieces == maxFragments:
		return nil, ErrMany
	}
	if r.duplicate(offset, end, b) {
		return nil, nil
	}
	if r.total >= 0 && (end > r.total || !more) || !more && r.last() > end {
		return nil, ErrOverlap
	}
	if err := r.insert(span{offset, end}); err != nil {
		return nil, err
	}
	r.pieces++
	if !more {
		r.total = end
	}
	if len(r.data) < end {
		r.data = append(r.data, make([]byte, end-len(r.data))...)
	}
	copy(r.data[offset:], b)
	if len(r.runs) == 1 && r.runs[0] == (span{0, r.total}) {
		return r.data[:r.total], nil
	}
	return nil, nil
}

// last returns the end of the last range.
func (r *Reassembly) last() int {
	if len(r.runs) == 0 {
		return 0
	}
	return r.runs[len(r.runs)-1].end
}

// duplicate tells whether the same bytes have arrived already.
func (r *Reassembly) duplicate(start, end int, b []byte) bool {
	for _, s := range r.runs {
		if s.start <= start && end <= s.end {
			return string(r.data[start:end]) == string(b)
		}
	}
	return false
}

// insert adds a range, and joins it with the ranges that it touches.
func (r *Reassembly) insert(n span) error {
	at := 0
	for at < len(r.runs) && r.runs[at].end < n.start {
		at++
	}
	to := at
	for to < len(r.runs) && r.runs[to].start <= n.end {
		if s := r.runs[to]; s.start < n.end && n.start < s.end {
			return ErrOverlap
		}
		n = span{min(n.start, r.runs[to].start), max(n.end, r.runs[to].end)}
		to++
	}
	r.runs = append(r.runs[:at], append([]span{n}, r.runs[to:]...)...)
	return nil
}
