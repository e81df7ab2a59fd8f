package gonet

import (
	"sync"

	"interleave/gonet/link"
)

// loopback is the queue of frames that the stack sends to itself. The dealer empties it between
// batches.
type loopback struct {
	mu     sync.Mutex
	frames []link.Frame
	spare  []link.Frame // the frames that the dealer took last; their memory is used again
}

// loopbackLen bounds the queue in frames, as Linux does for a device (txqueuelen).
const loopbackLen = 1000

// sendLoopback queues a frame to the stack itself. Any goroutine.
func (s *Stack) sendLoopback(gso link.GSO, pieces [][]byte) error {
	l := &s.loopback
	l.mu.Lock()
	if len(l.frames) >= loopbackLen {
		l.mu.Unlock()
		s.stats.droppedLoop.Add(1)
		return nil
	}
	gso.Valid = true // the frame never leaves memory
	var data []byte
	if n := len(l.frames); n < cap(l.frames) {
		data = l.frames[:n+1][n].Data[:0]
	}
	for _, p := range pieces {
		data = append(data, p...)
	}
	l.frames = append(l.frames, link.Frame{Data: data, GSO: gso})
	first := len(l.frames) == 1
	l.mu.Unlock()
	if first {
		s.link.Interrupt()
	}
	return nil
}

// drainLoopback runs the queued frames through the layers, until none is left.
func (s *Stack) drainLoopback() {
	l := &s.loopback
	for {
		l.mu.Lock()
		frames := l.frames
		l.frames, l.spare = l.spare[:0], frames
		l.mu.Unlock()
		if len(frames) == 0 {
			return
		}
		s.now, s.fromLoopback = s.clock(), true
		for i := range frames {
			s.input(&frames[i])
		}
		s.fromLoopback = false
		s.flush()
	}
}
