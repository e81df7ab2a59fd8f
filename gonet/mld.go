package gonet

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/wire"
)

// allReporters is the group of routers, and of switches that snoop, which hear reports (RFC 3810
// section 5.2.14).
var allReporters = netip.MustParseAddr("ff02::16")

// report tells switches and routers which groups of IPv6 are heard here, so that they pass on what
// is sent to them: the groups in which neighbours ask for our addresses. Any goroutine.
func (s *Stack) report(kind uint8, groups []netip.Addr) {
	if len(groups) == 0 {
		return
	}
	b := make([]byte, wire.MLDReportLen(len(groups)))
	wire.PutMLDReport(b, kind, groups)
	src := netip.IPv6Unspecified() // until it is known that our own is (RFC 3810 section 5.2.13)
	for _, a := range s.net.Load().addrs {
		if a.Addr().Is6() && a.Addr().IsLinkLocalUnicast() && !a.Deprecated {
			src = a.Addr()
		}
	}
	wire.SealICMP(b, wire.PseudoSum(src, allReporters, wire.ProtocolICMPv6, len(b)))
	h := wire.IPv6{
		Length: uint16(wire.RouterAlertLen + len(b)), NextHeader: wire.ProtocolHopByHop,
		HopLimit: 1, Src: src, Dst: allReporters,
	}
	var header [wire.IPv6Len + wire.RouterAlertLen]byte
	wire.PutRouterAlert(header[h.Put(header[:]):], wire.ProtocolICMPv6)
	// a link that fails ends the stack
	_ = s.emitBytes(wire.MulticastMAC(allReporters), wire.EtherIPv6, header[:], b)
}

// inputQuery has the groups reported, some time before the router wants to know; one report answers
// all questions that come until then. The dealer's.
func (s *Stack) inputQuery(p *packet, m wire.ICMP, body []byte) {
	q, err := wire.ParseMLDQuery(m, body)
	if err != nil || p.hopLimit != 1 || !p.src.IsLinkLocalUnicast() {
		s.stats.malformed.Add(1)
		return
	}
	if s.reporting || !q.Group.IsUnspecified() && !slices.Contains(s.net.Load().groups, q.Group) {
		return
	}
	s.reporting = true
	wait := time.Duration(rand.Int64N(int64(q.MaxDelay) + 1)) //nolint:gosec // it spreads the answers of hosts, and is no secret
	time.AfterFunc(wait, func() {
		s.report(wire.MLDIsExclude, s.net.Load().groups)
		_ = s.post(func() { s.reporting = false }) // a stack that has ended is asked nothing
	})
}
