package gonet

import (
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// Abort ends the stack as Close does, and tells the peers. A program that ends should call it. The
// kernel closes what a program leaves behind; behind a tap there is nobody left who could.
// Connections that the user has closed have lastWords for what is on its way; all others, and those
// that are not done then, are reset.
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
	until := time.Now().Add(lastWords)
	for anyBusy(closed) && time.Now().Before(until) {
		time.Sleep(lookAgain)
	}
	_ = s.claim(func() { // the link may have gone, and with it the dealer
		for _, c := range closed {
			first := c.firstReset()
			s.discard(c)
			first()
		}
	})
	return s.Close()
}

// firstReset sends, when it is called, a reset that stands where the peer has acknowledged
// everything before, if there is more that it may have or not: that of the machine stands behind
// it. One of both is where the peer expects it, and counts; else it would ask (RFC 5961 section 3),
// perhaps when nobody is left to answer.
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
		_ = c.stack.sendBare(c, wire.TCP{Seq: seq, Flags: wire.RST}) // nobody to tell
	}
}

const (
	// lastWords is how long what a user has closed is waited for when its stack ends. A guess: many
	// round trips of a local network, and little of the seconds that a program has to end in.
	lastWords = 300 * time.Millisecond
	// lookAgain is the pause between two looks at those that are waited for. A guess, too.
	lookAgain = 5 * time.Millisecond
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
