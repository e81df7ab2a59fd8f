package gonet

import (
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/internal/timewait"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// timeWaits holds the connections in TIME-WAIT whose users have not closed them, oldest first. Of
// the others a remnant is kept: package timewait. The side that closes first enters
// TIME-WAIT, so without a bound tens of thousands of short connections would fill the memory for a
// minute each (Linux: tcp_max_tw_buckets). Dealer only.
type timeWaits struct {
	all   []*Conn
	ended int // length of the prefix of all whose connections were removed
}

// maxTimeWaits is the default bound: about 15 MB of remnants, or 80 if the connections are not
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
	return len(s.tcp.timeWaits.all) - s.tcp.timeWaits.ended + s.tcp.remnants.Len()
}

// enterTimeWait adds a connection that has entered TIME-WAIT. Dealer only.
func (s *Stack) enterTimeWait(c *Conn) {
	w := &s.tcp.timeWaits
	if s.countTimeWaits() >= s.mostTimeWaits() {
		if len(w.all) > w.ended {
			s.evict(w.all[w.ended])
		} else {
			s.tcp.remnants.EvictFirst()
		}
	}
	w.all = append(w.all, c)
}

// trim drops removed connections from the front. Connections leave TIME-WAIT in the order in which
// they entered it, with few exceptions, so the front is enough. Dealer only.
func (w *timeWaits) trim(conns map[demux.Flow]*Conn) {
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

// shrink returns what must be kept of a connection in TIME-WAIT whose user has gone, and ends the
// connection: keepRemnant must follow. It returns false for another one, and if there is something
// to be sent. Dealer only; the caller holds mu.
func (c *Conn) shrink() (left tcp.Waiting, ok bool) {
	gone := c.closed
	if c.async != nil {
		gone = c.async.over
	}
	if !gone || c.removed {
		return left, false
	}
	if left, ok = c.machine.Waiting(); !ok {
		return left, false
	}
	c.removed = true
	c.removeAlarm()
	if c.async != nil {
		c.async.freeMachine()
	} else {
		c.machine.Expire(left.Until) // the user may still ask for its figures
	}
	return left, true
}

// keepRemnant removes a connection from the table, and keeps what is left of it. Dealer only.
func (s *Stack) keepRemnant(c *Conn, left tcp.Waiting, now tcp.Time) {
	s.removeConn(c)
	r := &s.tcp.remnants
	for most := s.mostTimeWaits(); s.countTimeWaits() >= most; {
		if !r.EvictFirst() {
			s.evict(s.tcp.timeWaits.all[s.tcp.timeWaits.ended])
		}
	}
	r.Add(c.flow, timewait.Remnant{Waiting: left, TTL: c.ttl, TOS: c.tos})
	if s.tcp.remnantsDue == 0 {
		s.setRemnantsDue(now)
	}
}

// setRemnantsDue sets when the dealer looks at the first remnants, if there are some. Dealer only.
func (s *Stack) setRemnantsDue(now tcp.Time) {
	first, ok := s.tcp.remnants.Deadline()
	if s.tcp.remnantsDue = 0; ok {
		s.tcp.remnantsDue = first.Add(s.waitSlack())
		s.tcp.alarms.setDue(dueRemnants, s.tcp.remnantsDue, now)
	}
}

// endTimeWaits removes the remnants whose TIME-WAIT is over, if it is time. Dealer only.
func (s *Stack) endTimeWaits(now tcp.Time) {
	if due := s.tcp.remnantsDue; due != 0 && due <= now {
		s.tcp.remnants.Expire(now)
		s.setRemnantsDue(now)
	}
}

// inputRemnant hands a segment to a connection of which little is left. It returns false if there
// is none, or if the segment is a SYN that may open the flow again. Dealer only.
func (s *Stack) inputRemnant(p *packet, h *wire.TCP, body []byte, f demux.Flow) bool {
	r := &s.tcp.remnants
	x, ok := r.Get(f)
	if !ok {
		return false
	}
	if h.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN && x.Reusable(h) {
		r.Remove(f)
		return false
	}
	c, err := s.revive(f, &x)
	if err != nil {
		return true // no route to the peer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.marked() {
		c.machine.Marked()
	}
	c.machine.Input(h, body, s.dealer.now)
	c.transmitByDealer(s.dealer.now, false)
	if left, ok := c.machine.Waiting(); ok {
		r.Update(f, left)
	}
	c.machine.Free()
	return true
}

// revive makes the connection again of which x is left. It is not in the table.
func (s *Stack) revive(f demux.Flow, x *timewait.Remnant) (*Conn, error) {
	local, remote := f.Ends()
	c, err := s.newConn(local, remote)
	if err != nil {
		return nil, err
	}
	c.ttl, c.tos = x.TTL, x.TOS
	c.run(tcp.Revive(c.cfg, &x.Waiting, s.dealer.now))
	return c, nil
}
