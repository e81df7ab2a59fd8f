package gonet

import (
	"sync"

	"interleave/gonet/link"
)

// loopback carries what the stack sends to itself: a queue that the dealer empties between batches.
type loopback struct {
	mu     sync.Mutex
	frames []link.Frame
	spare  []link.Frame // the frames that the dealer took last, whose memory is used again
}

// loopLen is how many frames may wait, as in the queue of a device.
const loopLen = 1000

// loop sends a frame to ourselves. Any goroutine.
func (s *Stack) loop(gso link.GSO, pieces [][]byte) error {
	l := &s.self
	l.mu.Lock()
	if len(l.frames) >= loopLen {
		l.mu.Unlock()
		s.stats.droppedLoop.Add(1)
		return nil
	}
	gso.Valid = true // it never leaves memory
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

// drainLoop runs what the stack has sent to itself through the layers, until nothing is left.
func (s *Stack) drainLoop() {
	l := &s.self
	for {
		l.mu.Lock()
		frames := l.frames
		l.frames, l.spare = l.spare[:0], frames
		l.mu.Unlock()
		if len(frames) == 0 {
			return
		}
		s.now, s.looping = s.clock(), true
		for i := range frames {
			s.input(&frames[i])
		}
		s.looping = false
		s.flush()
	}
}
