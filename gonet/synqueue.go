package gonet

import "time"

// A connection is half-open from the peer's SYN to the end of the handshake. The half-open
// connections of a listener, its SYN queue, share the bound of its backlog with the accept queue:
// those that wait for Accept. Beyond it a SYN is answered by a SYN cookie, and costs no memory. But
// a cookie loses the peer's options unless that sends timestamps, and a half-open connection lasts
// for three minutes: six forged SYNs a second would keep a queue of 1024 full for ever. So the old
// ones are evicted first (RFC 4987 section 3.4). The SYN queue is no list of its own: its
// connections are those of the table that are in SYN-RECEIVED.

// halfOpenTime is for how long a half-open connection is not evicted. A round trip takes less, and
// by then the SYN-ACK was sent a second and a third time.
const halfOpenTime = 3 * time.Second

// evictInterval is the least time between two walks over the connections for one listener. A walk
// over 10,000 takes about a millisecond.
const evictInterval = time.Second

// isFull tells whether a listener has as many connections as its backlog takes that Accept has not
// returned. Any goroutine.
func (l *Listener) isFull() bool { return int(l.unaccepted.Load()) >= l.backlog }

// queueIsFull tells whether the accept queue is full. A listener that calls a function with its
// connections has no queue, so none waits.
func (l *Listener) queueIsFull() bool {
	return l.acceptQueue != nil && len(l.acceptQueue) == cap(l.acceptQueue)
}

// evictHalfOpen removes the old half-open connections of a listener. Dealer only.
func (s *Stack) evictHalfOpen(l *Listener) {
	if l.evictedAt != 0 && s.now.Sub(l.evictedAt) < evictInterval {
		return
	}
	l.evictedAt = s.now
	for _, c := range s.conns {
		if c.listener != l || c.dealer.updateQueued { // a segment of the peer has just come
			continue
		}
		c.mu.Lock()
		since, halfOpen := c.machine.HalfOpen()
		c.mu.Unlock()
		if halfOpen && s.now.Sub(since) >= halfOpenTime {
			s.stats.droppedHalfOpen.Add(1)
			s.evict(c)
		}
	}
}
