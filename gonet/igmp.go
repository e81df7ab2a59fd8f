package gonet

import (
	"net/netip"

	"interleave/gonet/multicast"
	"interleave/gonet/wire"
)

// The groups to which reports of IGMPv3 and leave messages of IGMPv2 are sent (RFC 3376 section
// 4.2.14, RFC 2236 section 9).
var (
	allIGMPRouters = netip.AddrFrom4([4]byte{224, 0, 0, 22})
	allRouters4    = netip.AddrFrom4([4]byte{224, 0, 0, 2})
)

// allHosts is the IPv4 group that every host is in (RFC 1112 section 4).
var allHosts = netip.AddrFrom4([4]byte{224, 0, 0, 1})

// igmpTOS is the TOS of all IGMP messages: Internetwork Control (RFC 3376 section 4).
const igmpTOS = 0xc0

// igmpHeaderLen is the length in bytes of the IPv4 header of our messages.
const igmpHeaderLen = wire.IPv4Len + len(wire.RouterAlert4)

// sendIGMP sends a message to routers and snooping switches. Dealer only.
func (s *Stack) sendIGMP(m *multicast.Message) {
	kind, to := wire.IGMPReportV3, allIGMPRouters
	switch {
	case m.Leave:
		kind, to = wire.IGMPLeave, allRouters4
	case m.Version == 2:
		kind, to = wire.IGMPReportV2, m.Group
	case m.Version == 1:
		kind, to = wire.IGMPReportV1, m.Group
	}
	src, err := s.addresses.source(to)
	if err != nil { // a host that has no address yet (RFC 3376 section 4.2.13)
		src = netip.IPv4Unspecified()
	}
	station := wire.MulticastMAC(to)
	for _, b := range groupReports(m, kind, s.link.features.MTU-igmpHeaderLen) {
		wire.SealICMP(b, 0)
		h := wire.IPv4{TOS: igmpTOS, Length: uint16(igmpHeaderLen + len(b)), DontFragment: true,
			TTL: 1, Protocol: wire.ProtocolIGMP, Src: src, Dst: to, Options: wire.RouterAlert4[:]}
		var header [igmpHeaderLen]byte
		h.Put(header[:])
		// the dealer sees a failed link
		_ = s.emitBytes(&station, wire.EtherIPv4, header[:], b)
	}
}

// inputIGMP processes queries, and the reports of other hosts. A message from beyond the link has a
// TTL above 1, and a query that was forged for a single host has no router alert, for which routers
// would have stopped it (RFC 3376 section 9.1). Dealer only.
func (s *Stack) inputIGMP(p *packet) {
	if p.foreign {
		s.stats.foreign.Add(1)
		return
	}
	m, body, err := wire.ParseICMP(p.body, 0)
	const ttlAt = 8
	if err != nil || p.header[ttlAt] != 1 || p.reassembled {
		s.stats.malformed.Add(1)
		return
	}
	switch m.Type {
	case wire.IGMPQuery:
		q, err := wire.ParseIGMPQuery(m, body)
		if err != nil || !isQueryFor(p, &q, allHosts) ||
			q.Version > 1 && !wire.HasRouterAlert(p.header[wire.IPv4Len:]) {
			s.stats.malformed.Add(1)
			return
		}
		s.queryGroups(s.groups.igmp, &q)
	case wire.IGMPReportV1, wire.IGMPReportV2:
		group, err := wire.ParseGroup(m, body, false)
		if err != nil || group != p.dst || !s.addresses.current().onLink(p.src) {
			s.stats.malformed.Add(1)
			return
		}
		s.groups.igmp.Reported(group)
	}
}
