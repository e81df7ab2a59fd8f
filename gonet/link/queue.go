package link

import (
	"sync"
	"sync/atomic"
)

// queue is a bounded queue of frames in memory. Many goroutines write, one reads in batches. The
// reader waits on a channel, so a queue works in the fake time of testing/synctest.
type queue struct {
	mu          sync.Mutex
	frames      []Frame
	spare       [][]byte // buffers for reuse, from frames that the reader is done with
	closed      bool
	finished    bool // nothing more is put, and what is there may still be read
	interrupted bool // an Interrupt that no Read has seen yet
	notEmpty    chan struct{}
	lent        []Frame // the frames that the last Read returned
	dropped     atomic.Uint64
}

// queueLen bounds a queue in frames, as Linux does for a device (txqueuelen).
const queueLen = 1000

// keptBuffers bounds the buffers that are kept for reuse.
const keptBuffers = 64

func newQueue() *queue { return &queue{notEmpty: make(chan struct{}, 1)} }

func (q *queue) wakeReader() {
	select {
	case q.notEmpty <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// put appends a copy of the pieces as one frame, or drops it if the queue is full or closed.
// It returns nil, as a link's Write does.
func (q *queue) put(gso GSO, pieces [][]byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.finished || len(q.frames) >= queueLen {
		q.dropped.Add(1)
		return nil
	}
	var data []byte
	if n := len(q.spare); n > 0 {
		data, q.spare = q.spare[n-1][:0], q.spare[:n-1]
	}
	for _, p := range pieces {
		data = append(data, p...)
	}
	q.frames = append(q.frames, Frame{Data: data, GSO: gso})
	q.wakeReader()
	return nil
}

func (q *queue) read(batch []Frame) (int, error) {
	for {
		q.mu.Lock()
		for _, f := range q.lent {
			if len(q.spare) < keptBuffers {
				q.spare = append(q.spare, f.Data)
			}
		}
		q.lent = q.lent[:0]
		switch {
		case q.closed:
			q.mu.Unlock()
			return 0, ErrClosed
		case len(q.frames) > 0:
			n := copy(batch, q.frames)
			q.frames = append(q.frames[:0], q.frames[n:]...)
			q.lent = append(q.lent, batch[:n]...)
			q.mu.Unlock()
			return n, nil
		case q.finished:
			q.mu.Unlock()
			return 0, ErrClosed
		case q.interrupted:
			q.interrupted = false
			q.mu.Unlock()
			return 0, nil
		}
		q.mu.Unlock()
		<-q.notEmpty
	}
}

func (q *queue) interrupt() {
	q.mu.Lock()
	q.interrupted = true
	q.wakeReader()
	q.mu.Unlock()
}

// finish is close for a queue whose frames may still be read.
func (q *queue) finish() {
	q.mu.Lock()
	q.finished = true
	q.wakeReader()
	q.mu.Unlock()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed, q.frames = true, nil
	q.wakeReader()
	q.mu.Unlock()
}
