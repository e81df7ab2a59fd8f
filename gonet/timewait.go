package gonet

import "time"

// timeWaits holds the connections in TIME-WAIT, oldest first. The side that closes first enters
// TIME-WAIT, so without a bound tens of thousands of short connections would fill the memory for a
// minute each (Linux: tcp_max_tw_buckets). Dealer only.
type timeWaits struct {
	all   []*Conn
	ended int // length of the prefix of all whose connections were removed
}

// maxTimeWaits is the default bound: about 15 MB of remnants, or 100 if the connections are not
// closed by their users. A new one evicts the oldest of its kind, or else of the other. Old
// duplicates of the evicted one are then caught by their sequence numbers only.
const maxTimeWaits = 1 << 16

// The end of TIME-WAIT may be late by a part of it, and by mostWaitSlack at most, so that one timer
// serves many connections.
const (
	waitPart      = 16
	mostWaitSlack = 100 * time.Millisecond
)

// waitSlack returns how late the end of TIME-WAIT may be.
func (s *Stack) waitSlack() time.Duration {
	if d := s.cfg.TCP.TimeWait; d > 0 {
		return min(max(d/waitPart, 1), mostWaitSlack)
	}
	return mostWaitSlack
}

// mostTimeWaits returns the bound.
func (s *Stack) mostTimeWaits() int {
	if n := s.cfg.TimeWaits; n > 0 {
		return n
	}
	return maxTimeWaits
}

// countTimeWaits returns the number of connections in TIME-WAIT. Dealer only.
func (s *Stack) countTimeWaits() int {
	return len(s.timeWaits.all) - s.timeWaits.ended + s.remnants.len()
}

// enterTimeWait adds a connection that has entered TIME-WAIT. Dealer only.
func (s *Stack) enterTimeWait(c *Conn) {
	w := &s.timeWaits
	if s.countTimeWaits() >= s.mostTimeWaits() {
		if len(w.all) > w.ended {
			s.evict(w.all[w.ended])
		} else {
			s.remnants.evictFirst()
		}
	}
	w.all = append(w.all, c)
}

// trim drops removed connections from the front. Connections leave TIME-WAIT in the order in which
// they entered it, with few exceptions, so the front is enough. Dealer only.
func (w *timeWaits) trim(conns map[flow]*Conn) {
	for w.ended < len(w.all) && conns[w.all[w.ended].flow] != w.all[w.ended] {
		w.all[w.ended] = nil
		w.ended++
	}
	switch {
	case w.ended == len(w.all):
		*w = timeWaits{}
	case w.ended > len(w.all)/2:
		w.all = append(w.all[:0], w.all[w.ended:]...)
		clear(w.all[len(w.all):cap(w.all)])
		w.ended = 0
	}
}
