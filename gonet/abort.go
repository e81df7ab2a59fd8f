package gonet

import (
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// Abort ends the stack as Close does, and resets its connections. A program should call it before
// it exits: the kernel closes its own sockets when a program ends, but no one does so for a stack
// behind a tap. Connections that the user has closed get abortGrace to deliver their last bytes;
// then they are reset, as all others are at once.
func (s *Stack) Abort() error {
	var left []*Conn
	err := s.claim(func() {
		for _, c := range s.conns {
			left = append(left, c)
		}
	})
	if err != nil {
		return s.Close()
	}
	var closed []*Conn
	for _, c := range left {
		first := c.firstReset()
		if c.Abort() == nil {
			first()
		} else {
			closed = append(closed, c)
		}
	}
	until := time.Now().Add(abortGrace)
	for anyBusy(closed) && time.Now().Before(until) {
		time.Sleep(abortPoll)
	}
	_ = s.claim(func() { // fails if the dealer has ended
		for _, c := range closed {
			first := c.firstReset()
			s.discard(c)
			first()
		}
	})
	return s.Close()
}

// firstReset returns a function that sends a reset at the oldest unacknowledged sequence number.
// The machine's own reset is sent at the end of what was sent. A peer accepts a reset only at the
// sequence number that it expects next (RFC 5961 section 3). Which of the two that is depends on
// whether the data in flight has arrived. A reset elsewhere would be challenged, perhaps when this
// program no longer runs. If nothing is in flight, the returned function does nothing.
func (c *Conn) firstReset() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	seq, more := c.machine.Unacknowledged()
	if !more || c.machine.State() < tcp.Established || c.machine.State() == tcp.Closed {
		return func() {}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		// the stack is ending: an error changes nothing
		_ = c.stack.sendBare(c, wire.TCP{Seq: seq, Flags: wire.RST})
	}
}

const (
	// abortGrace is how long Abort waits for connections that the user has closed. A guess: many
	// round trips of a local network, and little of the seconds in which a program must end.
	abortGrace = 300 * time.Millisecond
	// abortPoll is the pause between two checks of those connections. A guess.
	abortPoll = 5 * time.Millisecond
)

func (c *Conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.Info().Busy()
}

func anyBusy(conns []*Conn) bool {
	for _, c := range conns {
		if c.busy() {
			return true
		}
	}
	return false
}
