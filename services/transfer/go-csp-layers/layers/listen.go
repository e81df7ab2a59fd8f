package layers

import (
	"fmt"
	"net"
	"net/netip"

	"interleave/gonet/wire"
)

// backlog is in connections that wait to be accepted. 128 is a guess, as that of GoNet.
const backlog = 128

// Listener accepts connections to a port, at any address of the host.
type Listener struct {
	stack    *Stack
	in       chan *segment // SYNs, from the dealer, which closes it when the stack ends
	accepted chan *Conn    // from the receivers of connections
}

// Listen claims a port, and starts the goroutine that answers its SYNs.
func (s *Stack) Listen(port uint16) (*Listener, error) {
	l := &Listener{s, make(chan *segment, backlog), make(chan *Conn, backlog)}
	at := flow{local: netip.AddrPortFrom(netip.IPv4Unspecified(), port)}
	if err := s.tcp.ask(claim{flow: at, listen: l}); err != nil {
		return nil, fmt.Errorf("listening on port %d: %w", port, err)
	}
	s.processes.Go(l.answer)
	return l, nil
}

// Accept waits for a connection whose handshake is over.
func (l *Listener) Accept() (*Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.stack.tcp.ended:
		return nil, net.ErrClosed
	}
}

// answer makes a connection of each SYN. One for a flow that exists already was sent twice.
func (l *Listener) answer() {
	for s := range l.in {
		c := newConn(l.stack, s.flow)
		if err := l.stack.tcp.ask(claim{flow: s.flow, conn: c}); err == nil {
			c.start(s, l)
		}
	}
}

// Dial connects to a host. It returns when the handshake is over.
func (s *Stack) Dial(remote netip.AddrPort) (*Conn, error) {
	local := s.config.Address.Addr()
	if remote.Addr().IsLoopback() {
		local = remote.Addr()
	}
	if !local.IsValid() {
		return nil, fmt.Errorf("dialing %v: no route", remote)
	}
	c := newConn(s, flow{netip.AddrPortFrom(local, 0), remote})
	if err := s.tcp.ask(claim{flow: c.flow, conn: c}); err != nil {
		return nil, fmt.Errorf("dialing %v: %w", remote, err)
	}
	c.start(nil, nil)
	select {
	case <-c.open:
		return c, nil
	case <-c.done:
		return nil, fmt.Errorf("dialing %v: %w", remote, c.err)
	}
}

// mss returns the largest segment that a port takes (RFC 9293 section 3.7.1).
func (c *Conn) mss() uint16 {
	p, _ := c.stack.route(c.flow.remote.Addr())
	if p == nil {
		return defaultMSS
	}
	return uint16(p.device.MTU() - wire.IPv4Len - wire.TCPLen)
}
