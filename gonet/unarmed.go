package gonet

import (
	"time"

	"interleave/gonet/tcp"
)

// unarmed lists new connections whose alarm is not set. On a busy stack most connections end within
// milliseconds, and their timers, which are hundreds of milliseconds away, never expire. So the
// dealer sets the alarms of those that are still there after unarmedTime. Dealer only.
type unarmed struct {
	conns []*Conn
	due   tcp.Time // when the alarms of conns are set, 0: no such time is set
}

// unarmedTime is how long an alarm is not set. It is less than half of the least retransmission
// time-out (minRTO in package tcp). A guess.
const unarmedTime = 50 * time.Millisecond

// unarmedKept bounds the length of a list whose memory is kept.
const unarmedKept = 4096

// armLater is arm for the dealer, which need not set the alarm of a new connection at once. The
// caller holds mu.
func (c *Conn) armLater(now tcp.Time) {
	at, ok := c.deadline()
	if !ok || c.alarmAt != 0 && c.alarmAt <= at {
		return
	}
	if c.dealer.wasUnarmed || at.Sub(now) < 2*unarmedTime {
		c.setAlarm(at, now)
		return
	}
	u := &c.stack.tcp.unarmed
	if u.due == 0 {
		u.due = now.Add(unarmedTime)
		c.stack.tcp.alarms.setDue(dueUnarmed, u.due, now)
	}
	u.add(c)
	c.alarmAt = u.due
}

// add puts a connection on the list that was not there before.
func (u *unarmed) add(c *Conn) {
	u.conns = append(u.conns, c)
	c.dealer.wasUnarmed, c.dealer.unarmed = true, int32(len(u.conns))
}

// remove removes a connection, if it is on the list.
func (u *unarmed) remove(c *Conn) {
	i, n := int(c.dealer.unarmed), len(u.conns)
	if i == 0 {
		return
	}
	last := u.conns[n-1]
	u.conns[i-1], last.dealer.unarmed = last, int32(i)
	u.conns[n-1], c.dealer.unarmed = nil, 0
	u.conns = u.conns[:n-1]
}

// armAll sets the alarms of the connections on the list, if it is time. Those in TIME-WAIT that
// were closed need none. Dealer only.
func (s *Stack) armAll(now tcp.Time) {
	u := &s.tcp.unarmed
	if u.due == 0 || now < u.due {
		return
	}
	all := u.conns
	u.conns, u.due = all[:0], 0
	for _, c := range all { // the list is empty from here on
		c.dealer.unarmed = 0
	}
	for i, c := range all {
		all[i] = nil
		c.mu.Lock()
		left, waits := c.shrink()
		if !waits && !c.removed {
			c.alarmAt = 0
			c.arm(now)
		}
		c.mu.Unlock()
		if waits {
			s.keepRemnant(c, left, now)
		}
	}
	if cap(all) > unarmedKept {
		u.conns = nil
	}
}
