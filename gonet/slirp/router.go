package slirp

import (
	"context"
	"net/netip"
	"time"

	"interleave/gonet/wire"
)

var (
	allNodes   = netip.MustParseAddr("ff02::1")
	allRouters = netip.MustParseAddr("ff02::2")
)

// The times of router advertisements. The interval is RFC 4861's MinRtrAdvInterval, the lifetime of
// the router three times its MaxRtrAdvInterval (section 6.2.1); those of the prefix are libslirp's.
const (
	advertInterval  = 200 * time.Second
	routerLifetime  = 30 * time.Minute
	prefixValid     = 24 * time.Hour
	prefixPreferred = 4 * time.Hour
)

// takesIPv6 takes the neighbour discovery of a router, and what has a wrong source or a destination
// where nobody is.
func (s *station) takesIPv6(e *wire.Ethernet, b []byte) bool {
	src, dst := netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	n := &s.network
	switch {
	case !n.isGuest(src) && (!src.IsLinkLocalUnicast() || src == n.Router6) &&
		!(src.IsUnspecified() && dst.IsMulticast()):
		s.spoofed.Add(1)
	case wire.Protocol(b[6]) == wire.ProtocolICMPv6 && s.takesND(e, b):
	case e.Dst.IsGroup(), dst.IsMulticast(), dst.IsLinkLocalUnicast(), dst == n.Gateway6,
		dst == n.DNS6:
		return false
	case n.Prefix6.Contains(dst):
		s.refuse(e.Src, src, b, wire.UnreachableV6Address)
	case !isOutside(dst):
		s.refuse(e.Src, src, b, wire.UnreachableV6Prohibited)
	default:
		return false
	}
	return true
}

// takesND answers router solicitations, and solicitations for the gateway's addresses. The stack
// answers those for its own, as a host.
func (s *station) takesND(e *wire.Ethernet, b []byte) bool {
	ip, body, err := wire.ParseIPv6(b)
	if err != nil || ip.HopLimit != ndHopLimit {
		return false
	}
	m, body, err := wire.ParseICMP(body, wire.PseudoSum(ip.Src, ip.Dst, wire.ProtocolICMPv6,
		len(body)))
	if err != nil || m.Code != 0 {
		return false
	}
	to, dst := e.Src, ip.Src
	if dst.IsUnspecified() {
		to, dst = wire.MulticastMAC(allNodes), allNodes
	}
	switch m.Type {
	case wire.ICMPv6RouterSolicit:
		if ip.Dst != allRouters && ip.Dst != s.network.Router6 {
			return false
		}
		s.advertise(to, dst)
		return true
	case wire.ICMPv6NeighborSolicit:
		n, err := wire.ParseNeighbor(m, body)
		if err != nil || n.Target != s.network.Gateway6 && n.Target != s.network.Router6 {
			return false
		}
		answer := wire.Neighbor{Target: n.Target, Router: true, Solicited: dst == ip.Src,
			Override: true, MAC: s.mac, HasMAC: true}
		out := make([]byte, neighborLen)
		answer.Put(out, wire.ICMPv6NeighborAdvert)
		s.sendND(to, n.Target, dst, out)
		return true
	}
	return false
}

// neighborLen is the length in bytes of a neighbour advertisement with a MAC.
const neighborLen = 32

// advertise sends a router advertisement. Any goroutine.
func (s *station) advertise(to wire.MAC, dst netip.Addr) {
	n := &s.network
	r := wire.RouterAdvert{HopLimit: gatewayTTL, Lifetime: routerLifetime,
		MTU: uint32(s.Features().MTU), MAC: s.mac, HasMAC: true,
		Prefixes: []wire.Prefix{{Prefix: n.Prefix6, OnLink: true, Autonomous: true,
			Valid: prefixValid, Preferred: prefixPreferred}}}
	if !s.noDNS {
		r.DNS, r.DNSLifetime = []netip.Addr{n.DNS6}, routerLifetime
	}
	s.sendND(to, n.Router6, dst, r.Append(nil))
}

// sendND completes the checksum of a message of neighbour discovery, and sends it. Any goroutine.
func (s *station) sendND(to wire.MAC, src, dst netip.Addr, body []byte) {
	wire.SealICMP(body, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(body)))
	s.send(to, src, dst, wire.ProtocolICMPv6, ndHopLimit, body)
}

// keepAdvertising is the goroutine that advertises the router to all until the context ends.
func (s *station) keepAdvertising(ctx context.Context) {
	tick := time.NewTicker(advertInterval)
	defer tick.Stop()
	for {
		s.advertise(wire.MulticastMAC(allNodes), allNodes)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
