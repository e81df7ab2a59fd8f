package gonet

import (
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// remnants has what is left of connections in TIME-WAIT whose users have gone: those that were
// closed, or whose handler has had its last call. Each has about a tenth of the memory of a
// connection, and no pointers. For a segment of the peer the connection is made again. Dealer only.
type remnants struct {
	flows map[flow]remnant // nil: there are none
	// The flows in the order in which they have entered TIME-WAIT, from first on. An entry whose
	// until is not the remnant's queued is of a connection that has left TIME-WAIT since.
	queue []queuedFlow
	first int
	due   tcp.Time // when the dealer looks at the first ones, 0: no such time is set
}

type remnant struct {
	tcp.Waiting
	queued   tcp.Time
	ttl, tos uint8
}

type queuedFlow struct {
	flow  flow
	until tcp.Time
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
	r := &s.remnants
	for most := s.mostTimeWaits(); s.countTimeWaits() >= most; {
		if !r.evictFirst() {
			s.evict(s.timeWaits.all[s.timeWaits.ended])
		}
	}
	if r.flows == nil {
		r.flows = map[flow]remnant{}
	}
	r.flows[c.flow] = remnant{left, left.Until, c.ttl, c.tos}
	r.queue = append(r.queue, queuedFlow{c.flow, left.Until})
	if r.due == 0 {
		s.setRemnantsDue(now)
	}
}

// setRemnantsDue sets when the dealer looks at the first ones. Dealer only.
func (s *Stack) setRemnantsDue(now tcp.Time) {
	r := &s.remnants
	r.due = r.queue[r.first].until.Add(s.waitSlack())
	s.alarms.setDue(dueRemnants, r.due, now)
}

// take removes the first entry of the queue. It returns false if that is of a connection that has
// left TIME-WAIT.
func (r *remnants) take() (q queuedFlow, x remnant, ok bool) {
	q = r.queue[r.first]
	if r.first++; r.first > len(r.queue)/2 {
		r.queue = append(r.queue[:0], r.queue[r.first:]...)
		r.first = 0
	}
	x, ok = r.flows[q.flow]
	return q, x, ok && x.queued == q.until
}

// evictFirst removes the first entry of the queue, and what is left of its connection. It returns
// false if there is none.
func (r *remnants) evictFirst() bool {
	if r.len() == 0 {
		return false
	}
	if q, _, ok := r.take(); ok {
		delete(r.flows, q.flow)
	}
	return true
}

// len returns the length of the queue.
func (r *remnants) len() int { return len(r.queue) - r.first }

// endTimeWaits removes the connections whose TIME-WAIT is over, if it is time. Dealer only.
func (s *Stack) endTimeWaits(now tcp.Time) {
	r := &s.remnants
	if r.due == 0 || now < r.due {
		return
	}
	r.due = 0
	for r.len() > 0 && r.queue[r.first].until <= now {
		q, x, ok := r.take()
		switch {
		case !ok:
		case x.Until > now: // the peer has sent its FIN again
			x.queued = x.Until
			r.flows[q.flow] = x
			r.queue = append(r.queue, queuedFlow{q.flow, x.Until})
		default:
			delete(r.flows, q.flow)
		}
	}
	if r.len() == 0 {
		*r = remnants{} // a map keeps the memory of what it had
		return
	}
	s.setRemnantsDue(now)
}

// has tells whether a flow is in TIME-WAIT here.
func (r *remnants) has(f flow) bool {
	_, ok := r.flows[f]
	return ok
}

// yields tells whether a new connection of ours may use a flow, and then removes what is left of
// the last one.
func (r *remnants) yields(f flow, cfg *tcp.Config, now tcp.Time) bool {
	x, ok := r.flows[f]
	switch {
	case !ok:
		return true
	case !x.Yields(cfg, now):
		return false
	}
	delete(r.flows, f)
	return true
}

// inputRemnant hands a segment to a connection of which little is left. It returns false if there
// is none, or if the segment is a SYN that may open the flow again. Dealer only.
func (s *Stack) inputRemnant(p *packet, h *wire.TCP, body []byte, f flow) bool {
	r := &s.remnants
	x, ok := r.flows[f]
	if !ok {
		return false
	}
	if h.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN && x.Reusable(h) {
		delete(r.flows, f)
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
	c.machine.Input(h, body, s.now)
	c.transmitByDealer(s.now, false)
	if x.Waiting, ok = c.machine.Waiting(); ok {
		r.flows[f] = x
	}
	c.machine.Free()
	return true
}

// revive makes the connection again of which x is left. It is not in the table.
func (s *Stack) revive(f flow, x *remnant) (*Conn, error) {
	local, remote := f.addresses()
	c, err := s.newConn(local, remote)
	if err != nil {
		return nil, err
	}
	c.ttl, c.tos = x.ttl, x.tos
	c.machine = tcp.Revive(&c.cfg, &x.Waiting, s.now)
	return c, nil
}
