package netstack

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"interleave/gonet"
)

// Net has the sockets of the stack behind a device.
type Net struct {
	stack   *gonet.Stack
	servers []netip.Addr
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

// DialContext connects to an address or a name. network is "tcp", "udp" or "ping", with 4 or 6
// behind it for one family. The addresses of a name are tried one after the other; each gets its
// share of the time that the context leaves.
func (n *Net) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	kind := strings.TrimRight(network, "46")
	family := network[len(kind):]
	if kind != "tcp" && kind != "udp" && kind != "ping" || len(family) > 1 {
		return fail(net.UnknownNetworkError(network))
	}
	host, port := address, ""
	if kind != "ping" {
		var err error
		if host, port, err = net.SplitHostPort(address); err != nil {
			return fail(err)
		}
	}
	names, err := n.LookupContextHost(ctx, host)
	if err != nil {
		return fail(err)
	}
	names = ofFamily(names, family)
	if len(names) == 0 {
		return fail(&net.AddrError{Err: "no suitable address", Addr: host})
	}
	var first error
	for i, name := range names {
		c, err := n.try(ctx, kind, name, port, len(names)-i)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// ofFamily returns the addresses of family "4" or "6"; "" is both.
func ofFamily(addresses []string, family string) []string {
	var some []string
	for _, a := range addresses {
		if six := strings.Contains(a, ":"); family == "" || six == (family == "6") {
			some = append(some, a)
		}
	}
	return some
}

// leastTry is the least time that one of several addresses gets, as in package net.
const leastTry = 2 * time.Second

// try connects to one of the addresses that are left.
func (n *Net) try(ctx context.Context, kind, address, port string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		share := max(time.Until(deadline)/time.Duration(left), leastTry)
		inner, cancel := context.WithTimeout(ctx, share)
		defer cancel()
		ctx = inner
	}
	if kind == "ping" {
		a, err := netip.ParseAddr(address)
		if err != nil {
			return nil, err
		}
		return n.DialPingAddr(netip.Addr{}, a)
	}
	return n.stack.DialContext(ctx, kind, net.JoinHostPort(address, port))
}
