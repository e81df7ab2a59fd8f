package gonet

import (
	"sync"

	"interleave/gonet/internal/demux"
	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// loopback is the queue of frames that the stack sends to itself. The dealer takes a batch from it
// after each batch of the link.
type loopback struct {
	mu     sync.Mutex
	frames []looped
	awake  bool // the dealer will look at the queue again without an Interrupt
	kept   int  // the memory of all frames in bytes, also of those that were taken
	// Dealer only: the frames that it has taken, and how many of them are done. Their memory is
	// used again.
	taken []looped
	done  int
}

// looped is a frame, or a segment of a connection. The headers of a segment are not written: they
// would only be read and checked again.
type looped struct {
	link.Frame            // a segment has its payload as Data
	segment    bool       // it is a segment, with the fields below
	flow       demux.Flow // as the receiver has it
	header     wire.TCP
}

// loopbackLen bounds the queue in frames, as Linux does for a device (txqueuelen).
const loopbackLen = 1000

// loopbackKept bounds the memory in bytes that an empty queue keeps. A guess: it is more than one
// connection's window.
const loopbackKept = 16 << 20

// A batch of the loopback ends after so many frames or bytes, about 0.2 ms. Then come frames of the
// link, claims and timers: traffic within the stack must not delay a peer's.
const (
	loopbackBatchLen   = 128
	loopbackBatchBytes = 512 << 10
)

// sendLoopback queues a frame to the stack itself. Any goroutine.
func (s *Stack) sendLoopback(gso link.GSO, pieces [][]byte) error {
	gso.Valid = true // the frame never leaves memory
	if s.loop(&looped{Frame: link.Frame{GSO: gso}}, pieces...) {
		s.link.Interrupt()
	}
	return nil
}

// loop queues a frame or a segment, with a copy of the pieces as its data. It returns whether the
// dealer must be woken. The caller does that: with the frame of loop below it, the stack of a new
// goroutine would have to grow. Any goroutine.
func (s *Stack) loop(x *looped, pieces ...[]byte) (wake bool) {
	l := &s.loopback
	l.mu.Lock()
	if len(l.frames) >= loopbackLen {
		l.mu.Unlock()
		s.stats.droppedLoop.Add(1)
		return false
	}
	if n := len(l.frames); n < cap(l.frames) {
		x.Data = l.frames[:n+1][n].Data[:0]
	}
	l.kept -= cap(x.Data)
	for _, p := range pieces {
		x.Data = append(x.Data, p...)
	}
	l.kept += cap(x.Data)
	l.frames = append(l.frames, *x)
	wake = len(l.frames) == 1 && !l.awake
	l.mu.Unlock()
	return wake
}

// loopSegment queues a segment of a connection to a peer that is this stack itself. It returns
// whether the dealer must be woken.
//
//go:noinline
func (s *Stack) loopSegment(c *Conn, seg *tcp.Segment) (wake bool) {
	return s.loop(&looped{segment: true, flow: c.flow.Reversed(), header: seg.Header}, seg.Payload,
		seg.Payload2)
}

// inputLooped runs a frame or a segment through the layers. Dealer only.
func (s *Stack) inputLooped(x *looped) {
	switch {
	case x.segment:
		s.inputOwn(x)
	case s.link.features.L3:
		s.inputL3(&x.Frame)
	default:
		s.input(&x.Frame)
	}
}

// inputOwn hands a segment to its connection, as inputTCP does. Dealer only.
func (s *Stack) inputOwn(x *looped) {
	s.stats.received.Add(1)
	s.dealer.loan = nil
	if c := s.connFor(x.flow, &x.header); c != nil {
		s.inputConn(c, &x.header, x.Data, false)
		return
	}
	local, remote := x.flow.Ends()
	s.inputUnconnected(&packet{src: remote.Addr(), dst: local.Addr(), valid: true,
		header: unmarked[:]}, &x.header, x.Data, x.flow)
}

// unmarked is the header of a packet that no router has marked, as far as it is looked at.
var unmarked [wire.IPv6Len]byte

// loopbackClock is after how many frames of a batch the clock is read again. A reading takes about
// a tenth of the time of a frame, but the calls of handlers in between may take long.
const loopbackClock = 16

// takeLoopback takes the queued frames, if all that were taken before are done. It returns false
// if there are none.
func (l *loopback) takeLoopback() bool {
	if l.done < len(l.taken) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames, l.taken, l.done = l.taken[:0], l.frames, 0
	l.awake = len(l.taken) > 0
	if !l.awake && l.kept > loopbackKept {
		l.frames, l.taken, l.kept = nil, nil, 0
	}
	return l.awake
}

// runLoopback runs a batch of queued frames through the layers. If more are left, the next read of
// the link does not block.
func (s *Stack) runLoopback() {
	l := &s.loopback
	clockAt := 0 // the number of frames before which the clock is read again
	for frames, bytes := 0, 0; l.takeLoopback(); {
		if frames >= clockAt {
			s.dealer.now, clockAt = s.clock(), frames+loopbackClock
		}
		first := l.done
		for l.done < len(l.taken) && frames < loopbackBatchLen && bytes < loopbackBatchBytes {
			bytes += len(l.taken[l.done].Data)
			l.done, frames = l.done+1, frames+1
		}
		s.dealer.fromLoopback = true
		for i := first; i < l.done; i++ {
			s.inputLooped(&l.taken[i])
		}
		s.dealer.fromLoopback = false
		s.flush()
		if frames >= loopbackBatchLen || bytes >= loopbackBatchBytes {
			s.link.Interrupt()
			return
		}
	}
}
