package gonet

import (
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// machineTime returns the time to give to the machine, which must never go back: now may be the
// time of the dealer's batch, and a user may have run the machine since. The caller holds mu.
func (c *Conn) machineTime(now tcp.Time) tcp.Time {
	c.lastTime = max(c.lastTime, now)
	return c.lastTime
}

// finishCall sends the segments that are due, sets the alarm, and wakes waiters, after a user has
// called the machine. It returns whether the connection has ended: then the caller must call
// postRemove, once it has given mu back. The caller holds mu.
func (c *Conn) finishCall(now tcp.Time) (over bool) {
	now = c.machineTime(now)
	c.transmit(now, c.holdsACK) // what is held and goes with no segment is left to the dealer
	c.arm(now)
	c.wake()
	return c.newlyClosed()
}

// postRemove asks the dealer to remove the connection from the table. It may wait for the dealer,
// so the caller must not hold mu.
//
//go:noinline
func (c *Conn) postRemove() {
	_ = c.stack.post(func() { c.stack.removeConn(c) }) // a stack that has ended has no table
}

// newlyClosed returns true once, when the machine has reached CLOSED and the connection is to be
// removed from the table. The caller holds mu.
func (c *Conn) newlyClosed() bool {
	if c.removed || c.machine.State() != tcp.Closed {
		return false
	}
	c.removed = true
	c.removeAlarm()
	return true
}

// removeConn removes a connection from the table. Dealer only.
func (s *Stack) removeConn(c *Conn) {
	if s.tcp.conns[c.flow] == c {
		delete(s.tcp.conns, c.flow)
	}
	s.tcp.unarmed.remove(c)
	c.leaveBacklog()
	if c.dealer.inTimeWait {
		s.tcp.timeWaits.trim(s.tcp.conns)
	}
}

// arm sets the alarm so that it goes off no later than the machine's next deadline. An alarm that
// goes off too early is harmless: it is set again. So it is not moved for every acknowledgement.
// The caller holds mu.
func (c *Conn) arm(now tcp.Time) {
	if at, ok := c.deadline(); ok && (c.alarmAt == 0 || at < c.alarmAt) {
		c.setAlarm(at, now)
	}
}

// deadline returns when the dealer must look at the connection; false means never. The caller holds
// mu.
func (c *Conn) deadline() (tcp.Time, bool) {
	at, ok := c.machine.Deadline()
	if c.machine.State() == tcp.TimeWait {
		slack := tcp.Time(c.stack.waitSlack())
		at = (at/slack + 1) * slack
	}
	if c.async != nil {
		return c.async.sooner(at, ok)
	}
	return at, ok
}

// setAlarm sets or moves the alarm. The caller holds mu.
func (c *Conn) setAlarm(at, now tcp.Time) {
	c.alarmAt, c.hadAlarm = at, true
	c.stack.tcp.alarms.set(c, at, now)
}

// removeAlarm removes the alarm. The caller holds mu.
func (c *Conn) removeAlarm() {
	if c.hadAlarm {
		c.stack.tcp.alarms.remove(c)
	}
}

// expire runs the machine's timers that are due. Dealer only.
func (c *Conn) expire(now tcp.Time) {
	c.mu.Lock()
	c.alarmAt = 0
	if c.stackErr == nil && c.machine != nil {
		c.machine.Expire(c.machineTime(now))
		c.stack.queueUpdate(c)
	}
	c.mu.Unlock()
}

// writeThreshold is the room in the send buffer, in bytes, at which a blocked writer is woken: 16
// KiB, or half of a buffer of less than 32 KiB.
func (c *Conn) writeThreshold() int {
	if b := c.cfg.SendBuffer; b > 0 {
		return min(max(b/2, 1), 16<<10)
	}
	return 16 << 10
}

func signal(waiter chan struct{}) {
	select {
	case waiter <- struct{}{}:
	default: // the waiter has a signal already
	}
}

// makeWaiter returns a waiter of a connection, and makes it for the first goroutine that waits.
// Every cause for which a waiter must look again signals it, the end of the stack included. The
// caller holds the connection's mu.
func makeWaiter(waiter *chan struct{}) <-chan struct{} {
	if *waiter == nil {
		*waiter = make(chan struct{}, 1)
	}
	return *waiter
}

// markClosed notes that the user has closed the connection, and stops its deadlines. The caller
// holds mu.
func (c *Conn) markClosed() {
	c.closed = true
	if c.async == nil {
		c.reader.deadline.stop()
		c.writer.deadline.stop()
	}
}

// endWithStack fails the connection because the stack has ended. Dealer only.
func (c *Conn) endWithStack(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stackErr, c.removed = err, true
	c.removeAlarm()
	if c.async != nil {
		c.async.runEvents(c.lastTime)
		return
	}
	c.wake()
}

// inputICMPError gives the machine an ICMP error, if the sequence number that the error quotes is
// in flight (RFC 5927). Dealer only.
func (c *Conn) inputICMPError(t icmpError, seq uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.machine.Sent(seq) {
		return
	}
	if t.mtu != 0 {
		c.machine.PathMTU(t.mtu-headerLen(c.flow.RemoteEnd().Addr())-wire.TCPLen,
			c.machineTime(c.stack.dealer.now))
	} else {
		c.machine.Unreachable(t.err, t.hard)
	}
	c.stack.queueUpdate(c)
}
