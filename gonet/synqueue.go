package gonet

import "interleave/gonet/internal/synqueue"

// The SYN queue of a listener, and what is done when it is full. Package synqueue decides that.

// queueIsFull tells whether the accept queue is full. A listener that calls a function with its
// connections has no queue, so none waits.
func (l *Listener) queueIsFull() bool {
	return l.acceptQueue != nil && len(l.acceptQueue) == cap(l.acceptQueue)
}

// evictHalfOpen removes the old half-open connections of a listener. Dealer only.
func (s *Stack) evictHalfOpen(l *Listener) {
	now := s.dealer.now
	if !l.synQueue.BeginEviction(now) {
		return
	}
	for _, c := range s.tcp.conns {
		if c.listener != l || c.dealer.updateQueued { // a segment of the peer has just come
			continue
		}
		c.mu.Lock()
		since, halfOpen := c.machine.HalfOpen()
		c.mu.Unlock()
		if halfOpen && synqueue.IsOld(since, now) {
			s.stats.droppedHalfOpen.Add(1)
			s.evict(c)
		}
	}
}
