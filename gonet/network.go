package gonet

import (
	"net/netip"
	"slices"

	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

// network is what the stack knows of where it is. A snapshot is never changed, so that any
// goroutine may look at it: the dealer replaces it when an address or a way comes or goes.
type network struct {
	addrs    []ip.Address // ours
	all4     []netip.Addr // that mean all hosts of a network of ours
	groups   []netip.Addr // of IPv6 that we hear
	routes   ip.Routes
	mtu6     int   // of packets of IPv6, in bytes; 0: there is no IPv6 here
	hopLimit uint8 // of packets of IPv6
	dns      []netip.Addr
}

// Addresses are those that the stack has now, with the lengths of their networks. Any goroutine.
func (s *Stack) Addresses() []netip.Prefix {
	var all []netip.Prefix
	for _, a := range s.net.Load().addrs {
		all = append(all, a.Prefix)
	}
	return all
}

// Resolvers are the servers of names that routers advertise (RFC 8106). Any goroutine.
func (s *Stack) Resolvers() []netip.Addr { return slices.Clone(s.net.Load().dns) }

// nextHop is where a packet to dst goes first; false if there is no way.
func (n *network) nextHop(dst netip.Addr) (netip.Addr, bool) {
	if dst == broadcast4 || dst.IsMulticast() {
		return dst, true
	}
	return n.routes.Next(dst)
}

var broadcast4 = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// onLink tells whether a is a neighbour.
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

func (s *Stack) isOurs(a netip.Addr) bool { return s.net.Load().isOurs(a) }

// isBroadcast tells whether a means all hosts of a network of ours.
func (s *Stack) isBroadcast(a netip.Addr) bool {
	return a == broadcast4 || slices.Contains(s.net.Load().all4, a)
}

// lastOf is the highest address of a network of IPv4.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := range b {
		if bits := min(max(8*(i+1)-p.Bits(), 0), 8); bits > 0 {
			b[i] |= 1<<bits - 1
		}
	}
	return netip.AddrFrom4(b)
}

// source is the address of ours that packets to dst carry.
func (s *Stack) source(dst netip.Addr) (netip.Addr, error) {
	n := s.net.Load()
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

// mtu is the size in bytes that packets to dst may have on our link.
func (s *Stack) mtu(dst netip.Addr) int {
	if dst.Is4() {
		return s.fast.MTU
	}
	return s.net.Load().mtu6
}

// headerLen is the length in bytes of the header of IP before packets to a.
func headerLen(a netip.Addr) int {
	if a.Is4() {
		return wire.IPv4Len
	}
	return wire.IPv6Len
}

// etherType is what frames say that carry a packet.
func etherType(packet []byte) wire.EtherType {
	if packet[0]>>4 == 6 {
		return wire.EtherIPv6
	}
	return wire.EtherIPv4
}
