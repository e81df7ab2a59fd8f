package tcp

import (
	"math/bits"
	"sync"
)

// ring is a queue of bytes that grows as it is filled and holds no memory while it is empty, so
// that an idle connection costs none. Its room is a power of two; the pools keep rooms of one size
// for the next that fills.
type ring struct {
	room  []byte
	lent  *[]byte // room as the pool knows it: to give it back allocates nothing
	start int     // of the queue, in room
	n     int     // bytes in the queue
}

// minRing is the smallest room in bytes: two segments of Ethernet. maxRing is the largest that is
// kept for others.
const (
	minRing = 4 << 10
	maxRing = 8 << 20
)

// pools holds rooms by the logarithm of their size.
var pools [32]sync.Pool

func newRoom(size int) *[]byte {
	class := bits.Len(uint(size - 1))
	if size <= maxRing {
		if room, ok := pools[class].Get().(*[]byte); ok {
			return room
		}
	}
	room := make([]byte, 1<<class)
	return &room
}

func freeRoom(room *[]byte) {
	if room != nil && len(*room) <= maxRing {
		pools[bits.Len(uint(len(*room)-1))].Put(room)
	}
}

// grow makes room for n bytes more.
func (r *ring) grow(n int) {
	if r.n+n <= len(r.room) {
		return
	}
	lent := newRoom(max(r.n+n, minRing))
	room := *lent
	a, b := r.view(0, r.n)
	copy(room[copy(room, a):], b)
	freeRoom(r.lent)
	r.room, r.lent, r.start = room, lent, 0
}

// view returns n bytes of the queue, the first of them at bytes after its start, in two pieces.
func (r *ring) view(at, n int) (a, b []byte) {
	if n == 0 {
		return nil, nil
	}
	from := (r.start + at) & (len(r.room) - 1)
	to := from + n
	if to <= len(r.room) {
		return r.room[from:to], nil
	}
	return r.room[from:], r.room[:to-len(r.room)]
}

// push puts p at the end of the queue.
func (r *ring) push(p []byte) {
	r.grow(len(p))
	r.n += len(p)
	a, b := r.view(r.n-len(p), len(p))
	copy(b, p[copy(a, p):])
}

// pop moves bytes from the start of the queue to p and returns how many.
func (r *ring) pop(p []byte) int {
	a, b := r.view(0, min(len(p), r.n))
	n := copy(p, a)
	n += copy(p[n:], b)
	r.drop(n)
	return n
}

// drop takes n bytes from the start of the queue.
func (r *ring) drop(n int) {
	r.n -= n
	if r.n == 0 {
		r.free()
		return
	}
	r.start = (r.start + n) & (len(r.room) - 1)
}

// free forgets the queue.
func (r *ring) free() {
	freeRoom(r.lent)
	*r = ring{}
}
