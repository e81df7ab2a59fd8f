package gonet

import "sync/atomic"

// counters count events of a stack. They are written without a lock and may be read at any time.
// The fields mean what those of Stats of the same name do.
type counters struct {
	received, sent                 atomic.Uint64
	malformed, foreign, conflicts  atomic.Uint64
	droppedUnresolved              atomic.Uint64
	droppedSockets, droppedBacklog atomic.Uint64
	droppedFragments, droppedLoop  atomic.Uint64
	droppedForwards                atomic.Uint64
	droppedHalfOpen                atomic.Uint64
	resets, cookies                atomic.Uint64
}

// Stats is a copy of the counters of a stack.
type Stats struct {
	Received, Sent uint64 // frames
	Malformed      uint64 // packets with a wrong header or checksum
	Foreign        uint64 // packets for others, or for a protocol or port that nobody takes
	Conflicts      uint64 // messages in which another station claims an address of ours
	// packets dropped because their neighbour did not answer, or because too many waited for it
	DroppedUnresolved uint64
	DroppedSockets    uint64 // datagrams for a socket whose queue was full
	DroppedBacklog    uint64 // connections that found the backlog full
	// half-open connections that made room for others in a full backlog
	DroppedHalfOpen  uint64
	DroppedFragments uint64 // fragments, and datagrams that did not become whole
	DroppedLoop      uint64 // packets to the stack itself that found the loopback queue full
	// SYNs, datagrams and echo requests that exceeded a bound of ForwardConfig
	DroppedForwards uint64
	Resets          uint64 // segments answered by a reset
	Cookies         uint64 // SYNs answered by a cookie
}

// Stats returns the counters. Any goroutine.
func (s *Stack) Stats() Stats {
	c := &s.stats
	return Stats{
		Received: c.received.Load(), Sent: c.sent.Load(), Malformed: c.malformed.Load(),
		Foreign:   c.foreign.Load(),
		Conflicts: c.conflicts.Load(), DroppedUnresolved: c.droppedUnresolved.Load(),
		DroppedSockets:  c.droppedSockets.Load(),
		DroppedHalfOpen: c.droppedHalfOpen.Load(),
		DroppedBacklog:  c.droppedBacklog.Load(), DroppedFragments: c.droppedFragments.Load(),
		DroppedLoop:     c.droppedLoop.Load(),
		DroppedForwards: c.droppedForwards.Load(),
		Resets:          c.resets.Load(), Cookies: c.cookies.Load(),
	}
}
