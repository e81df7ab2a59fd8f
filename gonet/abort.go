package gonet

import (
	"context"
	"net/netip"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// Close ends the stack and closes the link, as Shutdown does with a bound of closeGrace. Bytes that
// are not acknowledged by then are lost, which is no error.
func (s *Stack) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	_ = s.flushConns(ctx) // the bound is not the caller's
	return s.abort()
}

// Shutdown ends the stack in order, as the kernel does with the sockets of a program that ends. It
// closes the listeners and all connections, and waits until their peers have acknowledged what was
// written. Then it resets connections that peers keep open, and closes the link. When the context
// ends first, the rest is reset at once, and Shutdown returns the context's error.
func (s *Stack) Shutdown(ctx context.Context) error {
	flushed := s.flushConns(ctx)
	if err := s.abort(); err != nil {
		return err
	}
	return flushed
}

// Abort ends the stack and closes the link, and resets all connections at once, those too that the
// user has closed. Bytes that are not acknowledged are lost. Multicast groups are left.
func (s *Stack) Abort() error { return s.abort() }

// closeGrace is how long Close waits for acknowledgements. A guess: many round trips and a
// retransmission, and little of the seconds in which a program must end.
const closeGrace = time.Second

// flushPoll is the pause between two checks of the connections. A guess.
const flushPoll = 5 * time.Millisecond

// flushConns closes all listeners and connections, and waits until nothing that was written is
// unacknowledged, or until the context or the stack ends.
func (s *Stack) flushConns(ctx context.Context) error {
	var listeners []*Listener
	err := s.claim(func() {
		s.stopForwarding()
		s.tcp.listeners.Each(func(_ netip.AddrPort, l *Listener) {
			listeners = append(listeners, l)
		})
	})
	if err != nil {
		return nil // the stack has ended: nothing can be flushed
	}
	for _, l := range listeners {
		_ = l.Close() // it may be closed already
	}
	conns := s.allConns()
	for _, c := range conns {
		_ = c.close() // it may be closed already
	}
	poll := time.NewTimer(0)
	defer poll.Stop()
	for anyBusy(conns) {
		poll.Reset(flushPoll)
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.dealer.done:
			return nil
		}
	}
	return nil
}

// allConns returns the connections of the table.
func (s *Stack) allConns() (all []*Conn) {
	_ = s.claim(func() { // a stack that has ended has no table
		for _, c := range s.tcp.conns {
			all = append(all, c)
		}
	})
	return all
}

// abort resets all connections, and ends the stack.
func (s *Stack) abort() error {
	_ = s.claim(func() { // fails if the dealer has ended
		for _, c := range s.tcp.conns {
			first := c.firstReset()
			s.abortConn(c)
			s.flush()
			first()
		}
		s.leaveAllGroups()
	})
	err := s.link.Close()
	<-s.dealer.done
	return err
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

func (c *Conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine != nil && c.machine.Info().Busy()
}

func anyBusy(conns []*Conn) bool {
	for _, c := range conns {
		if c.busy() {
			return true
		}
	}
	return false
}
