package gonet

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"interleave/gonet/address"
	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

// network is a snapshot of the stack's addresses and routes. A snapshot is immutable, so any
// goroutine may read it. The dealer replaces it when an address or a route changes.
type network struct {
	addrs      []ip.Address // our own
	broadcasts []netip.Addr // the directed broadcast addresses of our networks
	groups     []netip.Addr // the IPv6 groups that we have joined
	routes     ip.Routes
	mtu6       int   // for IPv6, in bytes; 0: IPv6 is off
	hopLimit   uint8 // of our IPv6 packets
	dns        []netip.Addr
}

// addresses is what the stack's addresses and routes come from, and the snapshot of them.
type addresses struct {
	published  atomic.Pointer[network]
	advertised chan struct{} // closed after the first router advertisement

	// From here on: dealer only.
	table       *address.Table
	timer       *time.Timer // goes off at the table's deadline
	routerFound bool        // advertised has been closed
}

// current returns the snapshot. Any goroutine, as for the methods that read it.
func (x *addresses) current() *network { return x.published.Load() }

// Addresses returns the stack's current addresses with their prefix lengths. Any goroutine.
func (s *Stack) Addresses() []netip.Prefix {
	var all []netip.Prefix
	for _, a := range s.addresses.current().addrs {
		all = append(all, a.Prefix)
	}
	return all
}

// Resolvers returns the DNS servers that routers advertise (RFC 8106). Any goroutine.
func (s *Stack) Resolvers() []netip.Addr { return slices.Clone(s.addresses.current().dns) }

// nextHop returns the on-link address to which a packet for dst is sent. It returns false if there
// is no route.
func (n *network) nextHop(dst netip.Addr) (netip.Addr, bool) {
	if dst == broadcast4 || dst.IsMulticast() {
		return dst, true
	}
	return n.routes.Next(dst)
}

var broadcast4 = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// onLink tells whether a is on the link, not behind a router.
func (n *network) onLink(a netip.Addr) bool {
	r, ok := n.routes.Lookup(a)
	return ok && !r.Via.IsValid()
}

// isOurs tells whether a is an address of this stack.
func (n *network) isOurs(a netip.Addr) bool {
	for i := range n.addrs {
		if n.addrs[i].Addr() == a {
			return true
		}
	}
	return a.IsLoopback() && (a.Is4() || n.mtu6 != 0)
}

func (x *addresses) isOurs(a netip.Addr) bool { return x.current().isOurs(a) }

// isBroadcast tells whether a is a broadcast address, limited or directed.
func (x *addresses) isBroadcast(a netip.Addr) bool {
	return a == broadcast4 || slices.Contains(x.current().broadcasts, a)
}

// broadcastOf returns the directed broadcast address of an IPv4 network: its highest.
func broadcastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := range b {
		if bits := min(max(8*(i+1)-p.Bits(), 0), 8); bits > 0 {
			b[i] |= 1<<bits - 1
		}
	}
	return netip.AddrFrom4(b)
}

// source returns the source address for packets to dst: the source address selection of RFC 6724
// for both families.
func (x *addresses) source(dst netip.Addr) (netip.Addr, error) {
	n := x.current()
	if n.isOurs(dst) {
		return dst, nil
	}
	if next, ok := n.nextHop(dst); ok {
		if a, ok := ip.Source(dst, next, n.addrs); ok {
			return a, nil
		}
	}
	return netip.Addr{}, errUnreachable
}

// mtu returns the largest size of packets to dst on our link, in bytes.
func (s *Stack) mtu(dst netip.Addr) int {
	if dst.Is4() {
		return s.link.features.MTU
	}
	return s.addresses.current().mtu6
}

// mtuTo returns the largest size of packets to dst on the path, in bytes. Any goroutine.
func (s *Stack) mtuTo(dst netip.Addr) int {
	mtu := s.mtu(dst)
	if dst.Is4() || s.paths.IsEmpty() {
		return mtu
	}
	return s.paths.Least(dst, mtu, s.clock())
}

// notePathMTU stores the path MTU to dst. Dealer only.
func (s *Stack) notePathMTU(dst netip.Addr, mtu int) {
	if mtu < s.mtu(dst) {
		s.paths.Note(dst, mtu, s.dealer.now)
	}
}

// headerLen returns the length of the IP header of packets to a, in bytes.
func headerLen(a netip.Addr) int {
	if a.Is4() {
		return wire.IPv4Len
	}
	return wire.IPv6Len
}

// isForUs tells whether packets to a are for this stack.
func (n *network) isForUs(a netip.Addr) bool {
	if a.IsMulticast() {
		return a == allNodes || slices.Contains(n.groups, a)
	}
	return n.isOurs(a)
}
