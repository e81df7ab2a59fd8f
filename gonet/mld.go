package gonet

import (
	"net/netip"

	"interleave/gonet/multicast"
	"interleave/gonet/wire"
)

// allMLDv2Routers is the group of MLDv2-capable routers, to which reports are sent (RFC 3810
// section 5.2.14). Switches that snoop read them too.
var allMLDv2Routers = netip.MustParseAddr("ff02::16")

// sendMLD sends a message to routers and snooping switches. Dealer only.
func (s *Stack) sendMLD(m *multicast.Message) {
	kind, to := wire.ICMPv6MLD2Report, allMLDv2Routers
	switch {
	case m.Leave:
		kind, to = wire.ICMPv6MLDDone, allRouters
	case m.Version == 1:
		kind, to = wire.ICMPv6MLDReport, m.Group
	}
	n := s.addresses.current()
	// until a link-local address is known to be unique (RFC 3810 section 5.2.13)
	src := netip.IPv6Unspecified()
	for _, a := range n.addrs {
		if a.Addr().Is6() && a.Addr().IsLinkLocalUnicast() && !a.Deprecated {
			src = a.Addr()
		}
	}
	station := wire.MulticastMAC(to)
	for _, b := range groupReports(m, kind, n.mtu6-wire.IPv6Len-wire.RouterAlertLen) {
		wire.SealICMP(b, wire.PseudoSum(src, to, wire.ProtocolICMPv6, len(b)))
		h := wire.IPv6{
			Length: uint16(wire.RouterAlertLen + len(b)), NextHeader: wire.ProtocolHopByHop,
			HopLimit: 1, Src: src, Dst: to,
		}
		var header [wire.IPv6Len + wire.RouterAlertLen]byte
		wire.PutRouterAlert(header[h.Put(header[:]):], wire.ProtocolICMPv6)
		// the dealer sees a failed link
		_ = s.emitBytes(&station, wire.EtherIPv6, header[:], b)
	}
}

// inputMLD processes queries, and the reports of other hosts. All have a link-local source, a hop
// limit of 1 and a router alert (RFC 3810 section 6.2), so none comes from beyond the link. Dealer
// only.
func (s *Stack) inputMLD(p *packet, m wire.ICMP, body []byte) {
	if p.hopLimit != 1 || !p.src.IsLinkLocalUnicast() || !p.alert || p.reassembled {
		s.stats.malformed.Add(1)
		return
	}
	if m.Type == wire.ICMPv6MLDQuery {
		q, err := wire.ParseMLDQuery(m, body)
		if err != nil || !isQueryFor(p, &q, allNodes) {
			s.stats.malformed.Add(1)
			return
		}
		s.queryGroups(s.groups.mld, &q)
		return
	}
	group, err := wire.ParseGroup(m, body, true)
	if err != nil || group != p.dst {
		s.stats.malformed.Add(1)
		return
	}
	s.groups.mld.Reported(group)
}
