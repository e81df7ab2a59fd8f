package gonet

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/wire"
)

// allMLDv2Routers is the group of MLDv2-capable routers, to which reports are sent (RFC 3810
// section 5.2.14). Switches that snoop read them too.
var allMLDv2Routers = netip.MustParseAddr("ff02::16")

// sendMLDReport reports to routers and snooping switches which IPv6 groups this host has joined or
// left: the solicited-node groups of its addresses. Any goroutine.
func (s *Stack) sendMLDReport(kind uint8, groups []netip.Addr) {
	if len(groups) == 0 {
		return
	}
	b := make([]byte, wire.MLDReportLen(len(groups)))
	wire.PutMLDReport(b, kind, groups)
	// until a link-local address is known to be unique (RFC 3810 section 5.2.13)
	src := netip.IPv6Unspecified()
	for _, a := range s.net.Load().addrs {
		if a.Addr().Is6() && a.Addr().IsLinkLocalUnicast() && !a.Deprecated {
			src = a.Addr()
		}
	}
	wire.SealICMP(b, wire.PseudoSum(src, allMLDv2Routers, wire.ProtocolICMPv6, len(b)))
	h := wire.IPv6{
		Length: uint16(wire.RouterAlertLen + len(b)), NextHeader: wire.ProtocolHopByHop,
		HopLimit: 1, Src: src, Dst: allMLDv2Routers,
	}
	var header [wire.IPv6Len + wire.RouterAlertLen]byte
	wire.PutRouterAlert(header[h.Put(header[:]):], wire.ProtocolICMPv6)
	// the dealer sees a failed link
	to := wire.MulticastMAC(allMLDv2Routers)
	_ = s.emitBytes(&to, wire.EtherIPv6, header[:], b)
}

// inputMLDQuery schedules a report of all groups after a random delay of at most the query's
// maximum. One report answers all queries that arrive until then. Dealer only.
func (s *Stack) inputMLDQuery(p *packet, m wire.ICMP, body []byte) {
	q, err := wire.ParseMLDQuery(m, body)
	if err != nil || p.hopLimit != 1 || !p.src.IsLinkLocalUnicast() {
		s.stats.malformed.Add(1)
		return
	}
	if s.mldReportDue || !q.Group.IsUnspecified() &&
		!slices.Contains(s.net.Load().groups, q.Group) {
		return
	}
	s.mldReportDue = true
	wait := time.Duration(rand.Int64N(int64(q.MaxDelay) + 1)) //nolint:gosec // it spreads the reports of hosts, and is no secret
	time.AfterFunc(wait, func() {
		s.sendMLDReport(wire.MLDIsExclude, s.net.Load().groups)
		_ = s.post(func() { s.mldReportDue = false }) // a stack that has ended gets no queries
	})
}
