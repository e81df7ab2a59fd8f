package gonet

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// ICMPConn receives copies of the ICMP messages that arrive, and sends some: a net.PacketConn, as
// of net.ListenPacket("ip4:icmp"). The stack goes on to answer echo requests and to process errors.
// Messages begin with their type; golang.org/x/net/icmp reads and writes them.
type ICMPConn struct {
	stack  *Stack
	local  netip.Addr // unspecified for all addresses of the family
	in     datagramQueue
	read   deadline
	write  deadline
	once   sync.Once
	closed chan struct{}
	fail   error
}

var _ net.PacketConn = (*ICMPConn)(nil)

// ListenICMP opens an endpoint. network is "ip4:icmp" or "ip6:ipv6-icmp", with names or numbers as
// of package net, and address an address of the stack, or empty for all of the family.
func (s *Stack) ListenICMP(network, address string) (*ICMPConn, error) {
	c := &ICMPConn{stack: s, in: makeDatagramQueue(s.cfg.SocketBuffer),
		closed: make(chan struct{})}
	var err error
	if c.local, err = s.parseICMP(network, address); err == nil {
		err = s.claim(func() { s.icmp.conns = append(s.icmp.conns, c) })
	}
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	return c, nil
}

// parseICMP parses the network and the address of an ICMP endpoint.
func (s *Stack) parseICMP(network, address string) (netip.Addr, error) {
	any4, any6 := netip.IPv4Unspecified(), netip.IPv6Unspecified()
	all := map[string]netip.Addr{"ip4:icmp": any4, "ip4:1": any4, "ip6:ipv6-icmp": any6,
		"ip6:58": any6}[strings.ToLower(network)]
	if !all.IsValid() {
		return all, net.UnknownNetworkError(network)
	}
	if address == "" {
		return all, nil
	}
	a, err := netip.ParseAddr(address)
	if err != nil {
		return a, &net.AddrError{Err: "not an address", Addr: address}
	}
	a = a.Unmap().WithZone("")
	if a.Is4() != all.Is4() || !a.IsUnspecified() && !s.addresses.isOurs(a) {
		return a, errNotOurs
	}
	return a, nil
}

// copyICMP hands copies of a message to the endpoints that receive it. Those of neighbour discovery
// and MLD, which are about the link, are not handed out. Dealer only.
func (s *Stack) copyICMP(p *packet) {
	if len(s.icmp.conns) == 0 || p.src.Is6() && isAboutLink(p.body[0]) {
		return
	}
	for _, c := range s.icmp.conns {
		if c.local.Is4() != p.src.Is4() || !c.local.IsUnspecified() && c.local != p.dst {
			continue
		}
		d := datagram{from: netip.AddrPortFrom(p.src, 0), info: p.info(),
			body: slices.Clone(p.body)}
		if !c.in.put(d) {
			s.stats.droppedSockets.Add(1)
		}
	}
}

// isAboutLink tells whether a type of ICMPv6 is of MLD or of neighbour discovery: 130 to 137, and
// MLDv2's 143.
func isAboutLink(kind uint8) bool {
	return kind >= wire.ICMPv6MLDQuery && kind <= lastND || kind == mldv2Report
}

const (
	lastND      = 137 // a redirect (RFC 4861 section 4.5)
	mldv2Report = 143 // RFC 3810 section 5.2
)

func (c *ICMPConn) network() string {
	if c.local.Is4() {
		return "ip4:icmp"
	}
	return "ip6:ipv6-icmp"
}

func (c *ICMPConn) error(op string, to net.Addr, err error) error {
	return &net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: to, Err: err}
}

// ReadFrom implements net.PacketConn. The address is a *net.IPAddr.
func (c *ICMPConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, _, err := c.ReadInfo(b)
	if err != nil {
		return 0, nil, err
	}
	return n, ipAddr(from), nil
}

// ReadInfo is ReadFrom without the allocation of an address, and says how the message has arrived.
func (c *ICMPConn) ReadInfo(b []byte) (int, netip.Addr, PacketInfo, error) {
	d, err := c.in.wait(&c.read, c.closed, &c.fail)
	if err != nil {
		return 0, netip.Addr{}, PacketInfo{}, c.error("read", nil, err)
	}
	return copy(b, d.body), d.from.Addr(), d.info, nil
}

// WriteTo implements net.PacketConn. to is a *net.IPAddr or a *net.UDPAddr. The stack fills in the
// checksum.
func (c *ICMPConn) WriteTo(b []byte, to net.Addr) (int, error) {
	var a netip.Addr
	switch to := to.(type) {
	case *net.IPAddr:
		a, _ = netip.AddrFromSlice(to.IP)
	case *net.UDPAddr:
		a = to.AddrPort().Addr()
	}
	n, err := c.WriteInfo(b, a.Unmap(), PacketInfo{})
	if err != nil {
		return 0, c.error("write", to, errors.Unwrap(err))
	}
	return n, nil
}

// WriteInfo sends a message to an address, with a source address, TTL or TOS of its own.
func (c *ICMPConn) WriteInfo(b []byte, to netip.Addr, info PacketInfo) (int, error) {
	if err := c.send(b, to.Unmap().WithZone(""), info); err != nil {
		return 0, c.error("write", ipAddr(to), err)
	}
	return len(b), nil
}

func (c *ICMPConn) send(b []byte, to netip.Addr, info PacketInfo) error {
	s := c.stack
	select {
	case <-c.closed:
		return c.fail
	default:
	}
	switch {
	case c.write.expired():
		return errDeadline
	case !to.IsValid() || to.Is4() != c.local.Is4():
		return errNotOurs
	case len(b) < wire.ICMPLen:
		return syscall.EINVAL
	case len(b) > maxBody(to):
		return errTooLong
	}
	src := info.Local
	if !src.IsValid() {
		src = c.local
	}
	if src.IsUnspecified() {
		var err error
		if src, err = s.addresses.source(to); err != nil {
			return err
		}
	} else if !s.addresses.isOurs(src) || src.Is4() != to.Is4() {
		return errNotOurs
	}
	message, protocol, sum := slices.Clone(b), wire.ProtocolICMP, uint16(0)
	if to.Is6() {
		protocol = wire.ProtocolICMPv6
		sum = wire.PseudoSum(src, to, protocol, len(b))
	}
	wire.SealICMP(message, sum)
	e := newEnvelope()
	defer e.free()
	e.ttl, e.tos = info.TTL, info.TOS
	return s.sendIP(e, src, to, protocol, link.GSO{}, message)
}

// Close implements net.PacketConn.
func (c *ICMPConn) Close() error {
	if !c.closeWith(errClosed) {
		return c.error("close", nil, errClosed)
	}
	c.read.stop()
	c.write.stop()
	_ = c.stack.claim(func() { // a stack that has ended has no endpoints
		all := &c.stack.icmp.conns
		*all = slices.DeleteFunc(*all, func(other *ICMPConn) bool { return other == c })
	})
	return nil
}

func (c *ICMPConn) closeWith(err error) (first bool) {
	c.once.Do(func() {
		first, c.fail = true, err
		close(c.closed)
	})
	return first
}

func ipAddr(a netip.Addr) net.Addr { return &net.IPAddr{IP: a.AsSlice()} }

// LocalAddr implements net.PacketConn.
func (c *ICMPConn) LocalAddr() net.Addr { return ipAddr(c.local) }

// SetReadBuffer sets the bound on the messages that wait to be read, in bytes.
func (c *ICMPConn) SetReadBuffer(bytes int) error {
	if bytes <= 0 {
		return c.error("set", nil, syscall.EINVAL)
	}
	c.in.setLimit(bytes)
	return nil
}

// SetDeadline implements net.PacketConn.
func (c *ICMPConn) SetDeadline(t time.Time) error {
	c.read.set(t)
	c.write.set(t)
	return nil
}

// SetReadDeadline implements net.PacketConn.
func (c *ICMPConn) SetReadDeadline(t time.Time) error { c.read.set(t); return nil }

// SetWriteDeadline implements net.PacketConn. Writes of messages never block.
func (c *ICMPConn) SetWriteDeadline(t time.Time) error { c.write.set(t); return nil }
