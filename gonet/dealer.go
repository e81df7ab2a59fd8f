package gonet

import (
	"errors"
	"net/netip"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// dealer is the state of the goroutine that owns the tables: see deal.
type dealer struct {
	claims chan func()
	done   chan struct{} // closed when the dealer has ended
	fail   error         // why the dealer has ended; set before done is closed

	// From here on: dealer only.
	now          tcp.Time // the time of this batch
	loan         tcp.Loan // the buffer of the current frame, nil if it cannot be kept
	fromLoopback bool     // the current frame was sent by this stack itself
	envelope     envelope // of the segments that the dealer sends
}

// claimsLen is how many claims may wait in the channel; a goroutine that sends one more blocks. 64
// is a guess: a batch of frames takes microseconds.
const claimsLen = 64

// batchLen is the largest number of frames in one read. Reading 32 from a tap takes about as long
// as one switch of goroutines.
const batchLen = 32

func (s *Stack) serveClaims() {
	for {
		select {
		case claim := <-s.dealer.claims:
			claim()
		default:
			return
		}
	}
}

// claim has the dealer run f, and returns when it has run. f must not block.
func (s *Stack) claim(f func()) error {
	ran := make(chan struct{})
	if err := s.post(func() { f(); close(ran) }); err != nil {
		return err
	}
	select {
	case <-ran:
		return nil
	case <-s.dealer.done:
		return s.dealer.fail
	}
}

// post has the dealer run f, and does not wait for it.
func (s *Stack) post(f func()) error {
	select {
	case s.dealer.claims <- f:
		s.link.Interrupt()
		return nil
	case <-s.dealer.done:
		return s.dealer.fail
	}
}

// Done returns a channel that is closed when the stack has ended, by Close or because its link has
// failed. Err returns the reason.
func (s *Stack) Done() <-chan struct{} { return s.dealer.done }

// end ends all connections, listeners, sockets and goroutines after the link has failed or was
// closed.
func (s *Stack) end(err error) {
	s.tcp.alarms.end()
	s.dealer.fail = err
	if errors.Is(err, link.ErrClosed) {
		s.dealer.fail = errClosed
	}
	s.tcp.async.end() // first: who has seen the end is refused
	close(s.dealer.done)
	for _, c := range s.tcp.conns {
		c.endWithStack(s.dealer.fail)
	}
	s.tcp.listeners.Each(func(_ netip.AddrPort, l *Listener) { l.closeWith(s.dealer.fail) })
	s.udp.sockets.Each(func(_ netip.AddrPort, p *PacketConn) { p.closeWith(s.dealer.fail) })
	for _, p := range s.udp.peers {
		p.closeWith(s.dealer.fail)
	}
	for p := range s.groups.sockets {
		p.closeWith(s.dealer.fail)
	}
	for _, c := range s.icmp.conns {
		c.closeWith(s.dealer.fail)
	}
	for _, a := range s.reassemblies {
		close(a.fragments)
	}
	s.endAsync()
	s.endForwarding()
	if s.addresses.timer != nil {
		s.addresses.timer.Stop()
	}
	if s.groups.timer != nil {
		s.groups.timer.Stop()
	}
	s.neighbours.end()
}
