package link

import (
	"container/heap"
	"sync"
	"time"
)

// line keeps frames until they are due. Those that are due at one instant leave in the order in
// which they came: a delay alone has no frame overtake another.
type line struct {
	mu   sync.Mutex // guards all, and is held while a frame leaves
	late lateness
	came uint64
}

// put has leave called after wait, in a goroutine of its own.
func (l *line) put(wait time.Duration, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.came++
	heap.Push(&l.late, late{time.Now().Add(wait), l.came, leave})
	time.AfterFunc(wait, l.next)
}

// next lets the first go. Each frame has a timer, whose goroutines come in any order.
func (l *line) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	heap.Pop(&l.late).(late).leave()
}

// late is a frame that waits.
type late struct {
	due   time.Time
	came  uint64
	leave func()
}

// lateness is a heap of what waits, the first to leave on top.
type lateness []late

func (h lateness) Len() int { return len(h) }
func (h lateness) Less(i, j int) bool {
	if c := h[i].due.Compare(h[j].due); c != 0 {
		return c < 0
	}
	return h[i].came < h[j].came
}
func (h lateness) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *lateness) Push(x any)   { *h = append(*h, x.(late)) }
func (h *lateness) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = late{}
	*h = (*h)[:len(*h)-1]
	return last
}
