package tcp

import (
	"math/bits"
	"sync"
)

// ring is a queue of bytes that grows as it is filled and holds no memory while it is empty, so
// that an idle connection costs none. Its buffer's length is a power of two. Pools keep buffers of
// each length for reuse.
type ring struct {
	buffer *[]byte // of a pool; nil while the queue is empty
	start  int     // index in buffer of the first byte
	n      int     // bytes in the queue
}

// minRing is the smallest buffer in bytes: two segments of Ethernet. maxRing is the largest that is
// kept in a pool.
const (
	minRing = 4 << 10
	maxRing = 8 << 20
)

// pools holds buffers by the logarithm of their length.
var pools [32]sync.Pool

func newBuffer(size int) *[]byte {
	class := bits.Len(uint(size - 1))
	if size <= maxRing {
		if buffer, ok := pools[class].Get().(*[]byte); ok {
			return buffer
		}
	}
	buffer := make([]byte, 1<<class)
	return &buffer
}

func freeBuffer(buffer *[]byte) {
	if buffer != nil && len(*buffer) <= maxRing {
		pools[bits.Len(uint(len(*buffer)-1))].Put(buffer)
	}
}

// grow makes room for n more bytes.
func (r *ring) grow(n int) {
	if n == 0 || r.buffer != nil && r.n+n <= len(*r.buffer) {
		return
	}
	buffer := newBuffer(max(r.n+n, minRing))
	a, b := r.view(0, r.n)
	copy((*buffer)[copy(*buffer, a):], b)
	freeBuffer(r.buffer)
	r.buffer, r.start = buffer, 0
}

// view returns n bytes of the queue from offset at on, in two slices.
func (r *ring) view(at, n int) (a, b []byte) {
	if n == 0 {
		return nil, nil
	}
	buffer := *r.buffer
	from := (r.start + at) & (len(buffer) - 1)
	to := from + n
	if to <= len(buffer) {
		return buffer[from:to], nil
	}
	return buffer[from:], buffer[:to-len(buffer)]
}

// push appends p to the queue.
func (r *ring) push(p []byte) {
	r.grow(len(p))
	r.n += len(p)
	a, b := r.view(r.n-len(p), len(p))
	copy(b, p[copy(a, p):])
}

// pop moves bytes from the front of the queue to p and returns how many.
func (r *ring) pop(p []byte) int {
	a, b := r.view(0, min(len(p), r.n))
	n := copy(p, a)
	n += copy(p[n:], b)
	r.drop(n)
	return n
}

// drop removes n bytes from the front of the queue.
func (r *ring) drop(n int) {
	if r.skip(n); r.n == 0 {
		r.free()
	}
}

// skip is drop for a queue that keeps its buffer when it is empty.
func (r *ring) skip(n int) {
	if n > 0 {
		r.n -= n
		r.start = (r.start + n) & (len(*r.buffer) - 1)
	}
}

// free empties the queue and returns its buffer to the pool.
func (r *ring) free() {
	freeBuffer(r.buffer)
	*r = ring{}
}
