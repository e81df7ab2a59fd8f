package netstack

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"interleave/gonet"
	"interleave/gonet/dns"
)

// Net has the sockets of the stack behind a device.
type Net struct {
	stack    *gonet.Stack
	resolver *dns.Resolver
}

// Stack returns the stack itself, for what Net does not show.
func (n *Net) Stack() *gonet.Stack { return n.stack }

// DialContextTCPAddrPort connects to an address.
func (n *Net) DialContextTCPAddrPort(ctx context.Context,
	addr netip.AddrPort) (*gonet.Conn, error) {
	c, err := n.stack.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return c.(*gonet.Conn), nil // a dial of TCP returns one
}

// DialContextTCP is DialContextTCPAddrPort with an address of package net.
func (n *Net) DialContextTCP(ctx context.Context, addr *net.TCPAddr) (*gonet.Conn, error) {
	if addr == nil {
		return nil, errNoAddress
	}
	return n.DialContextTCPAddrPort(ctx, addr.AddrPort())
}

// DialTCPAddrPort connects to an address.
func (n *Net) DialTCPAddrPort(addr netip.AddrPort) (*gonet.Conn, error) {
	return n.DialContextTCPAddrPort(context.Background(), addr)
}

// DialTCP is DialTCPAddrPort with an address of package net.
func (n *Net) DialTCP(addr *net.TCPAddr) (*gonet.Conn, error) {
	return n.DialContextTCP(context.Background(), addr)
}

var errNoAddress = errors.New("netstack: no address")

// ListenTCPAddrPort listens at an address; an invalid one is all addresses of the stack.
func (n *Net) ListenTCPAddrPort(addr netip.AddrPort) (*gonet.Listener, error) {
	return n.stack.Listen("tcp", written(addr))
}

// ListenTCP is ListenTCPAddrPort with an address of package net. nil is any address and port.
func (n *Net) ListenTCP(addr *net.TCPAddr) (*gonet.Listener, error) {
	if addr == nil {
		return n.ListenTCPAddrPort(netip.AddrPort{})
	}
	return n.ListenTCPAddrPort(addr.AddrPort())
}

// written writes an address for the stack. An invalid one is empty, with its port.
func written(addr netip.AddrPort) string {
	if !addr.Addr().IsValid() {
		return ":" + strconv.Itoa(int(addr.Port()))
	}
	return addr.String()
}

// DialUDPAddrPort opens a UDP socket: from laddr, if it is valid, and to raddr, if it is valid.
func (n *Net) DialUDPAddrPort(laddr, raddr netip.AddrPort) (*gonet.PacketConn, error) {
	if !raddr.IsValid() {
		return n.stack.ListenPacket("udp", written(laddr))
	}
	d := gonet.Dialer{Stack: n.stack}
	if laddr.IsValid() || laddr.Port() != 0 {
		d.LocalAddr = &net.UDPAddr{IP: laddr.Addr().AsSlice(), Port: int(laddr.Port())}
	}
	c, err := d.DialContext(context.Background(), "udp", raddr.String())
	if err != nil {
		return nil, err
	}
	return c.(*gonet.PacketConn), nil // a dial of UDP returns one
}

// ListenUDPAddrPort opens a UDP socket at an address.
func (n *Net) ListenUDPAddrPort(laddr netip.AddrPort) (*gonet.PacketConn, error) {
	return n.DialUDPAddrPort(laddr, netip.AddrPort{})
}

// DialUDP is DialUDPAddrPort with addresses of package net.
func (n *Net) DialUDP(laddr, raddr *net.UDPAddr) (*gonet.PacketConn, error) {
	var from, to netip.AddrPort
	if laddr != nil {
		from = laddr.AddrPort()
	}
	if raddr != nil {
		to = raddr.AddrPort()
	}
	return n.DialUDPAddrPort(from, to)
}

// ListenUDP is ListenUDPAddrPort with an address of package net.
func (n *Net) ListenUDP(laddr *net.UDPAddr) (*gonet.PacketConn, error) {
	return n.DialUDP(laddr, nil)
}

// Dial is DialContext without a context.
func (n *Net) Dial(network, address string) (net.Conn, error) {
	return n.DialContext(context.Background(), network, address)
}

// DialContext connects to an address or a name, as gonet.Dialer does: the addresses of a name are
// tried one after the other. network is "tcp", "udp" or "ping", with 4 or 6 behind it for one
// family. The address of a ping has no port.
func (n *Net) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if family, ok := strings.CutPrefix(network, "ping"); ok {
		c, err := n.dialPing(ctx, family, address)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return c, nil
	}
	return gonet.Dialer{Stack: n.stack, Resolver: n}.DialContext(ctx, network, address)
}

// dialPing opens a ping socket to a host, for a family of "4", "6" or "" for both.
func (n *Net) dialPing(ctx context.Context, family, host string) (*PingConn, error) {
	addresses, err := n.LookupNetIP(ctx, "ip"+family, host)
	if err != nil {
		return nil, err
	}
	var first error
	for _, a := range addresses {
		c, err := n.DialPingAddr(netip.Addr{}, a)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}
