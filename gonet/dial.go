package gonet

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strings"

	"interleave/gonet/internal/demux"
	"interleave/gonet/tcp"
)

// Dial connects to an address. network is "tcp", "tcp4", "tcp6", "udp", "udp4" or "udp6".
func (s *Stack) Dial(network, address string) (net.Conn, error) {
	return s.DialContext(context.Background(), network, address)
}

// DialContext is Dial with a context that bounds the handshake.
func (s *Stack) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return Dialer{Stack: s}.dial(ctx, network, address)
}

// dial connects to an address that needs no Resolver.
func (d Dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	s, kind := d.Stack, "tcp"
	if strings.HasPrefix(network, "udp") {
		kind = "udp"
	}
	fail := func(to netip.AddrPort, err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Source: d.LocalAddr,
			Addr: addrOf(kind, to), Err: translate(err)}
	}
	to, err := s.parse(network, kind, address)
	if err != nil {
		return fail(to, err)
	}
	to = dialedAddr(to)
	src, err := s.sourceOf(d.LocalAddr, kind, to.Addr())
	if err != nil {
		return fail(to, err)
	}
	if kind == "udp" {
		p := s.newPacketConn(src, to)
		p.setOptions(d.TTL, d.TOS, d.ReadBuffer)
		if err := s.bindSocket(p, demux.Sharing{}); err != nil {
			return fail(to, err)
		}
		return p, nil
	}
	if !s.canBeDialed(to) {
		return fail(to, errUnreachable)
	}
	c, err := s.connect(src, to, s.connOptions(d.TCP, d.TTL, d.TOS))
	if err != nil {
		return fail(to, err)
	}
	if err := c.established(ctx); err != nil {
		c.giveUp()
		return fail(to, err)
	}
	return c, nil
}

// dialedAddr returns the address that is dialed for to: package net takes an unspecified address
// for this host.
func dialedAddr(to netip.AddrPort) netip.AddrPort {
	switch a := to.Addr(); {
	case a == netip.IPv6Unspecified():
		return netip.AddrPortFrom(netip.IPv6Loopback(), to.Port())
	case !a.IsValid() || a.IsUnspecified():
		return netip.AddrPortFrom(loopbackAddr, to.Port())
	}
	return to
}

// canBeDialed tells whether an address can be that of a listener.
func (s *Stack) canBeDialed(to netip.AddrPort) bool {
	return !s.addresses.isBroadcast(to.Addr()) && !to.Addr().IsMulticast() && to.Port() != 0
}

// sourceOf returns the address and port from which a dial is made: those of local if it has them, a
// port of 0 for a free one, and the address that the route selects.
func (s *Stack) sourceOf(local net.Addr, kind string, to netip.Addr) (netip.AddrPort, error) {
	var from netip.AddrPort
	switch a := local.(type) {
	case nil:
	case *net.TCPAddr:
		from = a.AddrPort()
	case *net.UDPAddr:
		from = a.AddrPort()
	}
	if local != nil && local.Network() != kind {
		return from, &net.AddrError{Err: "mismatched local address type", Addr: local.String()}
	}
	src, err := s.addresses.source(to)
	if err != nil {
		return from, err
	}
	if a := from.Addr().Unmap().WithZone(""); a.IsValid() && !a.IsUnspecified() {
		if !s.maySendFrom(a) || a.Is4() != to.Is4() {
			return from, errNotOurs
		}
		src = a
	}
	return netip.AddrPortFrom(src, from.Port()), nil
}

// connect makes a connection with options, nil for the stack's, and has the dealer take the port of
// src for it, or a free one for port 0, and send a SYN from there. It does not wait for the dealer:
// established does.
func (s *Stack) connect(src, to netip.AddrPort, o *connOptions) (*Conn, error) {
	c, err := s.makeConn(to)
	if err != nil {
		return nil, err
	}
	c.setOptions(o)
	c.flow.SetLocal(src)
	c.delivered = true // there is no listener to deliver it to
	return c, s.post(c.dial)
}

// dial gives a connection its port and its machine, and sends its SYN. Dealer only.
func (c *Conn) dial() {
	s := c.stack
	s.dealer.now = s.clock()
	c.mu.Lock()
	if c.closed { // established has not waited so long
		c.mu.Unlock()
		return
	}
	local, err := s.portTo(c.flow.Ends())
	if err != nil {
		c.stackErr = err
		if c.writable != nil {
			signal(c.writable)
		}
		c.mu.Unlock()
		return
	}
	c.startDial(local)
	c.mu.Unlock()
	c.update(s.dealer.now)
}

// portTo returns an address from which a peer can be dialed: local, with a free port if its own is
// 0. Dealer only.
func (s *Stack) portTo(local, peer netip.AddrPort) (netip.AddrPort, error) {
	return s.freePort(local,
		func(from netip.AddrPort) bool { return s.freeFlow(demux.FlowOf(from, peer)) })
}

// startDial puts a connection in SYN-SENT and in the table. Dealer only; the caller holds mu.
func (c *Conn) startDial(local netip.AddrPort) {
	s := c.stack
	c.bind(local)
	c.run(tcp.Dial(c.cfg, c.isn(s.dealer.now), c.machineTime(s.dealer.now)))
	s.tcp.conns[c.flow] = c
}

// giveUp ends a connection whose handshake is not waited for any more.
func (c *Conn) giveUp() {
	c.mu.Lock()
	dialed := c.machine != nil
	c.closed = !dialed // the dealer will not dial it
	c.mu.Unlock()
	if dialed {
		_ = c.Abort() // the connection may have ended
	}
}

// freeFlow tells whether a new connection may use a flow. It ends a connection of the same flow in
// TIME-WAIT, if that may be reused. Dealer only.
func (s *Stack) freeFlow(f demux.Flow) bool {
	c := s.tcp.conns[f]
	if c == nil {
		return s.tcp.remnants.Yields(f, &s.cfg.TCP, s.dealer.now)
	}
	c.mu.Lock()
	yes := c.machine.Yields(s.dealer.now)
	c.mu.Unlock()
	if yes {
		s.evict(c)
	}
	return yes
}

// established waits until the handshake has ended, and returns its error.
func (c *Conn) established(ctx context.Context) error {
	for {
		c.mu.Lock()
		waiter, err := c.handshake()
		c.mu.Unlock()
		if waiter == nil {
			return err
		}
		select {
		case <-waiter:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.stack.dealer.done: // perhaps before the dealer has dialed
			return c.stack.dealer.fail
		}
	}
}

// handshake returns the waiter of the handshake. When the handshake has ended, it returns nil and
// the error with which it did. The caller holds mu.
func (c *Conn) handshake() (waiter <-chan struct{}, err error) {
	switch m := c.machine; {
	case c.stackErr != nil:
		return nil, c.stackErr
	case m == nil: // the dealer has not dialed yet
	case m.State() == tcp.Closed:
		return nil, cmp.Or(m.Err(), errClosed)
	case m.State() >= tcp.Established:
		c.writable = nil // few connections ever wait for room
		return nil, nil
	}
	return makeWaiter(&c.writable), nil
}
