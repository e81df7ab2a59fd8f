package gonet

import "sync/atomic"

// counters are what a stack has seen. They are written without a lock and read at any time.
type counters struct {
	received  atomic.Uint64 // frames
	sent      atomic.Uint64
	malformed atomic.Uint64 // headers that could not be read, wrong checksums
	foreign   atomic.Uint64 // packets for others, and protocols that nobody takes
	conflicts atomic.Uint64 // others that claim an address of ours
	// packets whose neighbour did not answer, or that were too many to wait
	droppedUnresolved atomic.Uint64
	droppedSockets    atomic.Uint64 // datagrams for a socket that was full
	droppedBacklog    atomic.Uint64 // connections that nobody accepted in time
	droppedFragments  atomic.Uint64
	droppedLoop       atomic.Uint64
	resets            atomic.Uint64 // segments that were answered by a reset
	cookies           atomic.Uint64 // SYNs that were answered by a cookie
}

// Stats are the counters of a stack at an instant.
type Stats struct {
	Received, Sent uint64 // frames
	// headers that could not be read, wrong checksums
	Malformed uint64
	// packets for others, or of a protocol that nobody takes
	Foreign                                           uint64
	Conflicts                                         uint64 // others that claim an address of ours
	DroppedUnresolved, DroppedSockets, DroppedBacklog uint64
	DroppedFragments, DroppedLoop                     uint64
	// segments that were answered by a reset
	Resets  uint64
	Cookies uint64 // SYNs that were answered by a cookie
}

// Stats returns the counters. Any goroutine.
func (s *Stack) Stats() Stats {
	c := &s.stats
	return Stats{
		Received: c.received.Load(), Sent: c.sent.Load(), Malformed: c.malformed.Load(),
		Foreign:   c.foreign.Load(),
		Conflicts: c.conflicts.Load(), DroppedUnresolved: c.droppedUnresolved.Load(),
		DroppedSockets: c.droppedSockets.Load(),
		DroppedBacklog: c.droppedBacklog.Load(), DroppedFragments: c.droppedFragments.Load(),
		DroppedLoop: c.droppedLoop.Load(),
		Resets:      c.resets.Load(), Cookies: c.cookies.Load(),
	}
}
