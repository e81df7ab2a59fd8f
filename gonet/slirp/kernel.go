package slirp

import (
	"context"
	"net"
	"net/netip"
	"strings"
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
	var d net.Dialer
	if from := netip.AddrPortFrom(k.local(to.Addr()), 0); from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(from)
		if strings.HasPrefix(network, "udp") {
			d.LocalAddr = net.UDPAddrFromAddrPort(from)
		}
	}
	return d.DialContext(ctx, network, address)
}

// Listen implements Host.
func (Kernel) Listen(network, address string) (net.Listener, error) {
	return net.Listen(network, address)
}

// ListenPacket implements Host.
func (Kernel) ListenPacket(network, address string) (net.PacketConn, error) {
	return net.ListenPacket(network, address)
}
