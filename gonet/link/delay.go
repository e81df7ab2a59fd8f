package link

import (
	"container/heap"
	"sync"
	"time"
)

// delayLine keeps frames until they are due. Frames that are due at the same instant are delivered
// in the order in which they came, so a constant delay reorders nothing.
type delayLine struct {
	mu     sync.Mutex // guards all fields, and is held during a delivery
	frames delayHeap
	order  uint64
}

// put has deliver called after wait, in another goroutine.
func (l *delayLine) put(wait time.Duration, deliver func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order++
	heap.Push(&l.frames, delayedFrame{time.Now().Add(wait), l.order, deliver})
	time.AfterFunc(wait, l.deliverFirst)
}

// deliverFirst delivers the frame that is due first. Each frame has a timer, but the timers'
// goroutines run in any order.
func (l *delayLine) deliverFirst() {
	l.mu.Lock()
	defer l.mu.Unlock()
	heap.Pop(&l.frames).(delayedFrame).deliver()
}

// delayedFrame is a frame that waits.
type delayedFrame struct {
	due     time.Time
	order   uint64
	deliver func()
}

// delayHeap is a heap of the frames that wait, the earliest on top.
type delayHeap []delayedFrame

func (h delayHeap) Len() int { return len(h) }
func (h delayHeap) Less(i, j int) bool {
	if c := h[i].due.Compare(h[j].due); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}
func (h delayHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *delayHeap) Push(x any)   { *h = append(*h, x.(delayedFrame)) }
func (h *delayHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = delayedFrame{}
	*h = (*h)[:len(*h)-1]
	return last
}
