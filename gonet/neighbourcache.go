package gonet

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// neighbourCache has all neighbours in the order of their places, so that one can always be evicted
// for the next (the clock algorithm). A flood of addresses on the link, or packets to every address
// of a network, must not keep a host from its own neighbours (RFC 6583 section 7).
type neighbourCache struct {
	mu   sync.Mutex
	all  []*neighbour
	hand int // the next to be evicted, if it has not been used since the hand was here last
}

// maxLooks is how many neighbours are looked at for one that is not used. 64 is a guess: a host
// with more of them in use asks again for the one that is evicted.
const maxLooks = 64

// addNeighbour puts a neighbour into the cache, in the place of another if the cache is full, and
// returns the one that is there. Any goroutine.
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
	for range maxLooks {
		c.hand = (c.hand + 1) % maxNeighbours
		if !c.all[c.hand].used.Swap(false) {
			break
		}
	}
	old := c.all[c.hand]
	c.all[c.hand] = nb
	s.neighbours.CompareAndDelete(old.addr, old)
	c.mu.Unlock()
	old.drop()
	return nb
}

// removeNeighbours takes the neighbours out of the cache for which f is true. Any goroutine.
func (s *Stack) removeNeighbours(f func(*neighbour) bool) {
	c := &s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(nb *neighbour) bool {
		out := f(nb)
		if out {
			s.neighbours.CompareAndDelete(nb.addr, nb)
			nb.drop()
		}
		return out
	})
	c.hand = 0
}

// drop tells the connections that keep a neighbour to look in the cache again, and its request to
// end.
func (nb *neighbour) drop() {
	nb.dropped.Store(true)
	nb.stopAsking()
}

// waiting is the packets that wait for all neighbours, in bytes.
type waiting struct{ atomic.Int64 }

// maxWaitingBytes bounds what is kept for stations that may not exist: 16 packets of Ethernet for
// each of 170. A guess.
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

// unreachable has the neighbours that have not answered, until connections are told: one walk over
// all connections for many neighbours, since a flood from addresses that nobody has makes thousands
// of them.
type unreachable struct {
	mu         sync.Mutex
	neighbours map[*neighbour]bool // nil: no walk is due
	last       time.Time           // of the last walk
}

// unreachableInterval is the least time between two walks: 10,000 connections take about a
// millisecond.
const unreachableInterval = 50 * time.Millisecond

// noteUnreachable has the connections by a neighbour told that it does not answer, and the dealer
// if it is a router: there may be another.
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
	// a stack that has ended tells its connections itself
	switch tell := func() { _ = s.post(s.tellUnreachable) }; {
	case !first:
	case wait > 0:
		time.AfterFunc(wait, tell)
	default:
		tell()
	}
}

// tellUnreachable is the walk. The dealer's.
func (s *Stack) tellUnreachable() {
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
			s.touch(c)
		}
	}
}
