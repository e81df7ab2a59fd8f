package gonet

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is all neighbours in the order of their places, so that there is always one to make room
// for the next: who floods the link with addresses, or has us ask for all of a network, must not
// keep us from our own neighbours (RFC 6583 section 7).
type crowd struct {
	mu  sync.Mutex
	all []*hop
	// whose turn it is to go, if nobody has been sent anything by it since the hand was here last
	hand int
}

// maxLooks is how many neighbours are looked at for one that is not used. 64 is a guess: who has
// more in use than that must ask again.
const maxLooks = 64

// enter puts a neighbour in the table, in the place of another if that is full, and returns the one
// that is there. Any goroutine.
func (s *Stack) enter(h *hop) *hop {
	c := &s.crowd
	c.mu.Lock()
	if other, known := s.hops.LoadOrStore(h.addr, h); known {
		c.mu.Unlock()
		return other.(*hop)
	}
	if len(c.all) < maxHops {
		c.all = append(c.all, h)
		c.mu.Unlock()
		return h
	}
	for range maxLooks {
		c.hand = (c.hand + 1) % maxHops
		if !c.all[c.hand].used.Swap(false) {
			break
		}
	}
	old := c.all[c.hand]
	c.all[c.hand] = h
	s.hops.CompareAndDelete(old.addr, old)
	c.mu.Unlock()
	old.leave()
	return h
}

// turnOut takes the neighbours out of the table that f says. Any goroutine.
func (s *Stack) turnOut(f func(*hop) bool) {
	c := &s.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(h *hop) bool {
		out := f(h)
		if out {
			s.hops.CompareAndDelete(h.addr, h)
			h.leave()
		}
		return out
	})
	c.hand = 0
}

// leave tells who keeps a neighbour to look in the table again, and who asks for it to end.
func (h *hop) leave() {
	h.dropped.Store(true)
	h.stop()
}

// waiting is the packets that wait for all neighbours, in bytes.
type waiting struct{ atomic.Int64 }

// maxWaitingBytes bounds what an outlaw can have us keep for stations that do not exist: 16 packets
// of Ethernet for each of 170. A guess.
const maxWaitingBytes = 4 << 20

// take keeps a packet for a neighbour, false if there is no room.
func (w *waiting) take(frame []byte) bool {
	if w.Add(int64(len(frame))) > maxWaitingBytes {
		w.Add(-int64(len(frame)))
		return false
	}
	return true
}

// give notes that packets do not wait any more.
func (w *waiting) give(frames ...[]byte) {
	for _, frame := range frames {
		w.Add(-int64(len(frame)))
	}
}

// absent is the neighbours that have not answered, until connections are told: one walk over
// all connections for many neighbours, as a flood from addresses that nobody has makes them
// by the thousand.
type absent struct {
	mu   sync.Mutex
	hops map[*hop]bool // nil: no walk is due
	last time.Time     // of the last walk
}

// absentInterval is the least time between two walks: 10,000 connections take about a millisecond.
const absentInterval = 50 * time.Millisecond

// missing has connections by a neighbour told that it does not answer, and the dealer if it is a
// router: there may be another.
func (s *Stack) missing(h *hop) {
	a := &s.absent
	a.mu.Lock()
	first := a.hops == nil
	if first {
		a.hops = map[*hop]bool{}
	}
	a.hops[h] = true
	wait := absentInterval - time.Since(a.last)
	a.mu.Unlock()
	// a stack that has ended tells its connections itself
	switch tell := func() { _ = s.post(s.tellAbsent) }; {
	case !first:
	case wait > 0:
		time.AfterFunc(wait, tell)
	default:
		tell()
	}
}

// tellAbsent is the walk. The dealer's.
func (s *Stack) tellAbsent() {
	a := &s.absent
	a.mu.Lock()
	hops := a.hops
	a.hops, a.last = nil, time.Now()
	a.mu.Unlock()
	for h := range hops {
		s.avoidRouter(h.addr)
	}
	for _, c := range s.conns {
		c.mu.Lock()
		ours := hops[c.hop]
		if ours {
			c.machine.Unreachable(errUnreachableHost, true)
		}
		c.mu.Unlock()
		if ours {
			s.touch(c)
		}
	}
}
