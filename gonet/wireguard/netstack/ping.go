package netstack

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"interleave/gonet"
	"interleave/gonet/wire"
)

// A PingAddr is an address of a PingConn.
type PingAddr struct{ addr netip.Addr }

// String is the address.
func (a PingAddr) String() string { return a.addr.String() }

// Network is "ping4" or "ping6".
func (a PingAddr) Network() string {
	if a.addr.Is4() {
		return "ping4"
	}
	return "ping6"
}

// Addr returns the address.
func (a PingAddr) Addr() netip.Addr { return a.addr }

// PingAddrFromAddr makes a PingAddr.
func PingAddrFromAddr(addr netip.Addr) *PingAddr { return &PingAddr{addr.Unmap()} }

// A PingConn sends ICMP echo requests and receives their replies, as an unprivileged ICMP socket
// of Linux does: the identifier of its requests is the socket's own, and only replies with that
// identifier are read. Messages begin with their type.
type PingConn struct {
	icmp   *gonet.ICMPConn
	local  netip.Addr
	remote netip.Addr // invalid: not dialed
	id     uint16
}

var (
	_ net.Conn       = (*PingConn)(nil)
	_ net.PacketConn = (*PingConn)(nil)
)

// DialPingAddr opens a ping socket: from laddr, if it is valid, and to raddr, if it is valid.
func (n *Net) DialPingAddr(laddr, raddr netip.Addr) (*PingConn, error) {
	laddr, raddr = laddr.Unmap(), raddr.Unmap()
	if !laddr.IsValid() && !raddr.IsValid() {
		return nil, errors.New("netstack: a ping needs an address")
	}
	if laddr.IsValid() && raddr.IsValid() && laddr.Is4() != raddr.Is4() {
		return nil, errors.New("netstack: a ping needs addresses of one family")
	}
	family := raddr
	if !family.IsValid() {
		family = laddr
	}
	network, address := "ip4:icmp", ""
	if family.Is6() {
		network = "ip6:ipv6-icmp"
	}
	if laddr.IsValid() && !laddr.IsUnspecified() {
		address = laddr.String()
	}
	c, err := n.stack.ListenICMP(network, address)
	if err != nil {
		return nil, err
	}
	if !laddr.IsValid() {
		laddr = netip.IPv4Unspecified()
		if family.Is6() {
			laddr = netip.IPv6Unspecified()
		}
	}
	id := uint16(rand.Uint32()) //nolint:gosec // only the low bits are wanted
	return &PingConn{icmp: c, local: laddr, remote: raddr, id: id}, nil
}

// ListenPingAddr opens a ping socket at an address.
func (n *Net) ListenPingAddr(laddr netip.Addr) (*PingConn, error) {
	return n.DialPingAddr(laddr, netip.Addr{})
}

// DialPing is DialPingAddr with PingAddrs, of which either may be nil.
func (n *Net) DialPing(laddr, raddr *PingAddr) (*PingConn, error) {
	var from, to netip.Addr
	if laddr != nil {
		from = laddr.addr
	}
	if raddr != nil {
		to = raddr.addr
	}
	return n.DialPingAddr(from, to)
}

// ListenPing is ListenPingAddr with a PingAddr.
func (n *Net) ListenPing(laddr *PingAddr) (*PingConn, error) { return n.DialPing(laddr, nil) }

// LocalAddr implements net.Conn.
func (c *PingConn) LocalAddr() net.Addr { return PingAddr{c.local} }

// RemoteAddr implements net.Conn. It is nil for a socket that was not dialed.
func (c *PingConn) RemoteAddr() net.Addr {
	if !c.remote.IsValid() {
		return nil
	}
	return PingAddr{c.remote}
}

// Close implements net.Conn.
func (c *PingConn) Close() error { return c.icmp.Close() }

var errNotEcho = errors.New("netstack: only echo requests can be sent")

// kinds returns the types of an echo request and of its reply.
func (c *PingConn) kinds() (request, reply byte) {
	if c.local.Is4() {
		return wire.ICMPEcho, wire.ICMPEchoReply
	}
	return wire.ICMPv6Echo, wire.ICMPv6EchoReply
}

// WriteTo sends an echo request to a *PingAddr, PingAddr, *net.IPAddr or *net.UDPAddr.
func (c *PingConn) WriteTo(p []byte, addr net.Addr) (int, error) {
	var to netip.Addr
	switch a := addr.(type) {
	case *PingAddr:
		to = a.addr
	case PingAddr:
		to = a.addr
	case *net.IPAddr:
		to, _ = netip.AddrFromSlice(a.IP)
	case *net.UDPAddr:
		to, _ = netip.AddrFromSlice(a.IP)
	}
	if c.remote.IsValid() && to.Unmap() != c.remote {
		return 0, &net.OpError{Op: "write", Net: "ping", Addr: addr, Err: net.ErrWriteToConnected}
	}
	request, _ := c.kinds()
	if len(p) < wire.ICMPLen || p[0] != request || p[1] != 0 {
		return 0, &net.OpError{Op: "write", Net: "ping", Addr: addr, Err: errNotEcho}
	}
	message := append([]byte(nil), p...)
	binary.BigEndian.PutUint16(message[4:], c.id)
	return c.icmp.WriteInfo(message, to.Unmap(), gonet.PacketInfo{})
}

// Write implements net.Conn.
func (c *PingConn) Write(p []byte) (int, error) { return c.WriteTo(p, c.RemoteAddr()) }

// ReadFrom reads the next reply to a request of this socket, from a *PingAddr.
func (c *PingConn) ReadFrom(p []byte) (int, net.Addr, error) {
	_, reply := c.kinds()
	// What is read into must hold the identifier, however short p is.
	b := p
	if len(b) < wire.ICMPLen {
		b = make([]byte, wire.ICMPLen)
	}
	for {
		n, from, _, err := c.icmp.ReadInfo(b)
		if err != nil {
			return 0, nil, err
		}
		if n < wire.ICMPLen || b[0] != reply || binary.BigEndian.Uint16(b[4:]) != c.id ||
			c.remote.IsValid() && from != c.remote {
			continue
		}
		return copy(p, b[:n]), &PingAddr{from}, nil
	}
}

// Read implements net.Conn.
func (c *PingConn) Read(p []byte) (int, error) {
	n, _, err := c.ReadFrom(p)
	return n, err
}

// SetDeadline implements net.Conn.
func (c *PingConn) SetDeadline(t time.Time) error { return c.icmp.SetDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *PingConn) SetReadDeadline(t time.Time) error { return c.icmp.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *PingConn) SetWriteDeadline(t time.Time) error { return c.icmp.SetWriteDeadline(t) }
