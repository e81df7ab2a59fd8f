package gonet

import (
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// at is the time for the machine, to which it never goes back: the dealer's is that of its batch,
// and a user may have been here since. The caller has mu.
func (c *Conn) at(now tcp.Time) tcp.Time {
	c.latest = max(c.latest, now)
	return c.latest
}

// update sends what is due, sets the alarm, and wakes users, after something has happened to the
// machine. The dealer's.
func (c *Conn) update(now tcp.Time) {
	c.touched = false
	c.mu.Lock()
	now = c.at(now)
	c.machine.Postpone(now)
	c.transmitNow(now)
	c.arm(now)
	c.wake()
	owes := c.machine.AckDue() && !c.owes
	c.owes = c.owes || owes
	over := c.over()
	accept := c.machine.State() >= tcp.Established && !c.accepted
	c.accepted = c.accepted || accept
	waits := c.machine.State() == tcp.TimeWait && !c.waits
	c.waits = c.waits || waits
	c.mu.Unlock()
	if owes {
		c.stack.owed = append(c.stack.owed, c)
	}
	if accept && c.listener != nil {
		c.listener.deliver(c)
	}
	switch {
	case over:
		c.stack.remove(c)
	case waits:
		c.stack.enterTimeWait(c)
	}
}

// act sends, arms and wakes after a user has done something. The caller has mu, which
// act gives back.
func (c *Conn) act(now tcp.Time) {
	now = c.at(now)
	if c.owes {
		c.transmitNow(now) // the dealer sees to the acknowledgement if nothing else takes it along
	} else {
		c.transmit(now)
	}
	c.arm(now)
	c.wake()
	over := c.over()
	c.mu.Unlock()
	if over {
		c.leave()
	}
}

// leave asks the dealer to forget the connection.
//
//go:noinline
func (c *Conn) leave() {
	_ = c.stack.post(func() { c.stack.remove(c) }) // a stack that has ended has forgotten it
}

// over tells, once, that the connection is to be forgotten. The caller has mu.
func (c *Conn) over() bool {
	if c.gone || c.machine.State() != tcp.Closed {
		return false
	}
	c.gone = true
	c.stack.alarms.drop(c)
	return true
}

// remove takes a connection out of the table. The dealer's.
func (s *Stack) remove(c *Conn) {
	if s.conns[c.flow] == c {
		delete(s.conns, c.flow)
	}
	c.uncount()
	if c.waits {
		s.timeWaits.trim(s.conns)
	}
}

// arm sees to it that the alarm goes off in time. One that goes off early looks again: it is never
// moved for an acknowledgement.
func (c *Conn) arm(now tcp.Time) {
	at, ok := c.machine.Deadline()
	if !ok || c.alarmAt != 0 && c.alarmAt <= at {
		return
	}
	c.alarmAt = at
	c.stack.alarms.set(c, at, now)
}

// due does what the alarm was set for. The dealer's.
func (c *Conn) due() {
	c.mu.Lock()
	c.alarmAt = 0
	if c.dead == nil {
		c.machine.Expire(c.at(c.stack.clock()))
		c.stack.touch(c)
	}
	c.mu.Unlock()
}

// wake signals the waiters whose condition holds now.
func (c *Conn) wake() {
	over := c.machine.State() == tcp.Closed || c.dead != nil
	if c.readable != nil && (over || c.machine.Readable() > 0 || c.machine.EndOfStream()) {
		signal(c.readable)
	}
	// A writer that is woken for a few bytes soon sleeps again.
	if c.writable != nil && (over || c.machine.Writable() >= c.writeWorth() &&
		c.machine.State() >= tcp.Established) {
		signal(c.writable)
	}
}

// writeWorth is how much room in bytes a blocked writer is woken for: 16 KiB, or half of a buffer
// that is smaller than twice that.
func (c *Conn) writeWorth() int {
	if b := c.cfg.SendBuffer; b > 0 {
		return min(max(b/2, 1), 16<<10)
	}
	return 16 << 10
}

func signal(waiter chan struct{}) {
	select {
	case waiter <- struct{}{}:
	default: // it has one
	}
}

// waitFor waits for a signal, a deadline, or the end of the stack. The caller has mu, which
// waitFor gives back.
func (c *Conn) waitFor(waiter *chan struct{}, d *deadline) error {
	if *waiter == nil {
		*waiter = make(chan struct{}, 1)
	}
	w := *waiter
	c.mu.Unlock()
	select {
	case <-w:
		return nil
	case <-d.wait():
		return errDeadline
	}
}

// finish notes that the user is done with the connection. The caller has mu.
func (c *Conn) finish() {
	c.closed = true
	c.readBy.stop()
	c.writeBy.stop()
}

// kill ends the connection of a stack that has ended. The dealer's.
func (c *Conn) kill(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead, c.gone = err, true
	c.stack.alarms.drop(c)
	c.wake()
}

// trouble tells the machine what ICMP says, if the segment that it quotes may be one of ours (RFC
// 5927). The dealer's.
func (c *Conn) trouble(t trouble, seq uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.machine.Sent(seq) {
		return
	}
	if t.mtu != 0 {
		c.machine.PathMTU(t.mtu-headerLen(c.remote.Addr())-wire.TCPLen, c.at(c.stack.now))
	} else {
		c.machine.Unreachable(t.err, t.hard)
	}
	c.stack.touch(c)
}
