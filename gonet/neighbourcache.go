package gonet

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// neighbourCache lists all neighbours in the order in which the clock algorithm visits them, so
// that one can always be evicted for a new one. A flood of addresses on the link, or packets to
// every address of a network, must not keep a host from its real neighbours (RFC 6583 section 7).
type neighbourCache struct {
	mu   sync.Mutex
	all  []*neighbour
	hand int // the clock's hand: evicts the next one that was not used since the last visit
}

// maxScanned bounds how many neighbours the hand visits to find one that was not used. Then one in
// use is evicted and resolved again. 64 is a guess.
const maxScanned = 64

// addNeighbour puts a neighbour into the cache, and evicts another if the cache is full. It returns
// the neighbour of the address that is in the cache. Any goroutine.
func (s *Stack) addNeighbour(nb *neighbour) *neighbour {
	c := &s.cache
	c.mu.Lock()
	if other, known := s.neighbours.LoadOrStore(nb.addr, nb); known {
		c.mu.Unlock()
		return other.(*neighbour)
	}
	if len(c.all) < maxNeighbours {
		c.all = append(c.all, nb)
		c.mu.Unlock()
		return nb
	}
	for range maxScanned {
		c.hand = (c.hand + 1) % maxNeighbours
		if !c.all[c.hand].used.Swap(false) {
			break
		}
	}
	old := c.all[c.hand]
	c.all[c.hand] = nb
	s.neighbours.CompareAndDelete(old.addr, old)
	c.mu.Unlock()
	old.evicted()
	return nb
}

// removeNeighbours removes the neighbours for which f is true. Any goroutine.
func (s *Stack) removeNeighbours(f func(*neighbour) bool) {
	c := &s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(nb *neighbour) bool {
		out := f(nb)
		if out {
			s.neighbours.CompareAndDelete(nb.addr, nb)
			nb.evicted()
		}
		return out
	})
	c.hand = 0
}

// evicted tells the connections that use the neighbour to look in the cache again, and ends its
// address resolution.
func (nb *neighbour) evicted() {
	nb.dropped.Store(true)
	nb.stopResolving()
}

// waitingBytes is the size of the packets that wait for all neighbours, in bytes.
type waitingBytes struct{ atomic.Int64 }

// maxWaitingBytes bounds the memory for packets to stations that may not exist: 16 packets of
// Ethernet for each of 170. A guess.
const maxWaitingBytes = 4 << 20

// reserve counts a packet that is to wait; it returns false if there is no room.
func (w *waitingBytes) reserve(frame []byte) bool {
	if w.Add(int64(len(frame))) > maxWaitingBytes {
		w.Add(-int64(len(frame)))
		return false
	}
	return true
}

// release subtracts packets that do not wait any more.
func (w *waitingBytes) release(frames ...[]byte) {
	for _, frame := range frames {
		w.Add(-int64(len(frame)))
	}
}

// unreachable collects the neighbours that have not answered, until connections are told. One walk
// over all connections serves many neighbours: a flood from addresses that do not exist makes
// thousands of them.
type unreachable struct {
	mu         sync.Mutex
	neighbours map[*neighbour]bool // nil: no walk is due
	last       time.Time           // of the last walk
}

// unreachableInterval is the least time between two walks. A walk over 10,000 connections takes
// about a millisecond.
const unreachableInterval = 50 * time.Millisecond

// noteUnreachable schedules a walk that tells the connections of a neighbour that it is
// unreachable. If the neighbour is a router, another is preferred from then on.
func (s *Stack) noteUnreachable(nb *neighbour) {
	a := &s.unreachable
	a.mu.Lock()
	first := a.neighbours == nil
	if first {
		a.neighbours = map[*neighbour]bool{}
	}
	a.neighbours[nb] = true
	wait := unreachableInterval - time.Since(a.last)
	a.mu.Unlock()
	// a stack that has ended fails its connections itself
	switch tell := func() { _ = s.post(s.reportUnreachable) }; {
	case !first:
	case wait > 0:
		time.AfterFunc(wait, tell)
	default:
		tell()
	}
}

// reportUnreachable is the walk. Dealer only.
func (s *Stack) reportUnreachable() {
	a := &s.unreachable
	a.mu.Lock()
	silent := a.neighbours
	a.neighbours, a.last = nil, time.Now()
	a.mu.Unlock()
	for nb := range silent {
		s.avoidRouter(nb.addr)
	}
	for _, c := range s.conns {
		c.mu.Lock()
		ours := silent[c.neighbour]
		if ours {
			c.machine.Unreachable(errUnreachableHost, true)
		}
		c.mu.Unlock()
		if ours {
			s.queueUpdate(c)
		}
	}
}
