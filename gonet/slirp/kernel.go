package slirp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// Kernel is the network of this process.
type Kernel struct {
	// Local4 and Local6 are the addresses from which it connects; invalid: those that the routes
	// choose. What goes to the loopback does not come from them.
	Local4, Local6 netip.Addr
}

// local returns the address from which to connect to another; invalid: any.
func (k Kernel) local(to netip.Addr) netip.Addr {
	switch {
	case to.IsLoopback():
		return netip.Addr{}
	case to.Is4():
		return k.Local4
	}
	return k.Local6
}

// DialContext implements Host.
func (k Kernel) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	from := netip.AddrPortFrom(k.local(to.Addr()), 0)
	if network == "udp" {
		return dialUDP(ctx, from, address, refuseBroadcast)
	}
	var d net.Dialer
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(from)
	}
	return d.DialContext(ctx, network, address)
}

// DialFlow implements Host. A port that the kernel chooses is one that no other socket has; only
// then may others share it. On Linux the connection is a SegmentConn.
func (k Kernel) DialFlow(ctx context.Context, port uint16, address string) (net.Conn, error) {
	if port == 0 {
		c, err := k.DialContext(ctx, "udp", address)
		if err != nil {
			return nil, err
		}
		if raw, err := c.(flowConn).SyscallConn(); err == nil {
			_ = reusePort(raw) // else further flows get other ports
		}
		return segmented(c), nil
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	from := k.local(to.Addr())
	if !from.IsValid() {
		from = netip.IPv4Unspecified()
		if to.Addr().Is6() {
			from = netip.IPv6Unspecified()
		}
	}
	c, err := dialUDP(ctx, netip.AddrPortFrom(from, port), address,
		func(c syscall.RawConn) error { return errors.Join(refuseBroadcast(c), reusePort(c)) })
	if err != nil {
		return nil, err
	}
	return segmented(c), nil
}

// dialUDP connects a socket of UDP from an endpoint, or an invalid one for any, when prepare has
// set its options.
func dialUDP(ctx context.Context, from netip.AddrPort, to string,
	prepare func(syscall.RawConn) error) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { return prepare(c) }}
	if from.IsValid() {
		d.LocalAddr = net.UDPAddrFromAddrPort(from)
	}
	c, err := d.DialContext(ctx, "udp", to)
	if err != nil {
		return nil, err
	}
	peer := c.RemoteAddr().(*net.UDPAddr).AddrPort()
	return flowConn{c.(*net.UDPConn), unmapped(peer)}, nil // a dial of UDP returns one
}

// A flowConn hears its peer only. The kernel binds a socket before it connects it, and in between
// hands it what anybody sends to its port.
type flowConn struct {
	*net.UDPConn
	peer netip.AddrPort
}

// Read implements net.Conn.
func (c flowConn) Read(b []byte) (int, error) {
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil || unmapped(from) == c.peer {
			return n, err
		}
	}
}

// unmapped returns an endpoint of IPv4 that has the form of IPv6 in its own form.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// Listen implements Host.
func (Kernel) Listen(network, address string) (net.Listener, error) {
	return net.Listen(network, address)
}

// ListenPacket implements Host.
func (Kernel) ListenPacket(network, address string) (net.PacketConn, error) {
	return net.ListenPacket(network, address)
}
