package gonet

import (
	"net/netip"

	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// ndHopLimit is the hop limit of all neighbour discovery messages. A router would have decremented
// it, so nobody beyond the link can forge them (RFC 4861 section 11.2).
const ndHopLimit = 255

var (
	allNodes   = netip.MustParseAddr("ff02::1")
	allRouters = netip.MustParseAddr("ff02::2")
)

// sendND completes the checksum of an ICMPv6 message and sends it to a station. Any goroutine.
func (s *Stack) sendND(mac wire.MAC, src, dst netip.Addr, b []byte) {
	wire.SealICMP(b, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(b)))
	h := wire.IPv6{Length: uint16(len(b)), NextHeader: wire.ProtocolICMPv6, HopLimit: ndHopLimit,
		Src: src, Dst: dst}
	var header [wire.IPv6Len]byte
	h.Put(header[:])
	_ = s.emitBytes(&mac, wire.EtherIPv6, header[:], b) // the dealer sees a failed link
}

// solicit sends a neighbour solicitation for an address: to its solicited-node group, or to the
// station that had it if to is not nil. From an optimistic address it omits our MAC, which could
// spoil the neighbour caches of others (RFC 4429 section 3.2).
func (s *Stack) solicit(a netip.Addr, to *wire.MAC) {
	src, err := s.addresses.source(a)
	if err != nil {
		return
	}
	dst := a
	if to == nil {
		dst = wire.SolicitedNode(a)
		group := wire.MulticastMAC(dst)
		to = &group
	}
	n := wire.Neighbor{Target: a, MAC: s.link.mac, HasMAC: !s.addresses.current().isOptimistic(src)}
	var b [32]byte
	s.sendND(*to, src, dst, b[:n.Put(b[:], wire.ICMPv6NeighborSolicit)])
}

// inputSolicit answers a solicitation for an address of ours. Dealer only.
func (s *Stack) inputSolicit(p *packet, m wire.ICMP, body []byte) {
	n, err := wire.ParseNeighbor(m, body)
	probe := p.src.IsUnspecified()
	if err != nil || n.HasMAC && (n.MAC.IsGroup() || probe) ||
		probe && p.dst != wire.SolicitedNode(n.Target) {
		s.stats.malformed.Add(1)
		return
	}
	own, ok := s.addresses.table.Find(n.Target)
	switch {
	case !ok:
		s.stats.foreign.Add(1)
		return
	// Two stations try the same address, and neither may use it (RFC 4862 section 5.4.3).
	case probe && own.Optimistic:
		s.duplicate(n.Target)
		return
	}
	answer := wire.Neighbor{Target: n.Target, Solicited: !probe, Override: !own.Optimistic,
		MAC: s.link.mac, HasMAC: true}
	var b [32]byte
	answer.Put(b[:], wire.ICMPv6NeighborAdvert)
	if probe {
		s.sendND(wire.MulticastMAC(allNodes), n.Target, allNodes, b[:])
		return
	}
	// A neighbour with an optimistic address does not tell its MAC. The answer goes to the station
	// from which the solicitation came: to resolve the address first could deadlock two such
	// stations, as each would wait for the other.
	to := p.from
	if n.HasMAC {
		to = n.MAC
		s.learnNeighbour(p.src, n.MAC)
	}
	s.sendND(to, n.Target, p.src, b[:])
}

// inputAdvert processes a neighbour advertisement. Dealer only.
func (s *Stack) inputAdvert(p *packet, m wire.ICMP, body []byte) {
	n, err := wire.ParseNeighbor(m, body)
	if err != nil || n.MAC.IsGroup() || p.group && n.Solicited {
		s.stats.malformed.Add(1)
		return
	}
	if own, ok := s.addresses.table.Find(n.Target); ok {
		if own.Optimistic {
			s.duplicate(n.Target)
		} else {
			s.stats.conflicts.Add(1) // the address was ours first, and is kept
		}
		return
	}
	s.updateNeighbour(n.Target, neighbour.Advertisement{MAC: n.MAC, HasMAC: n.HasMAC,
		Override: n.Override, Solicited: n.Solicited})
	if !n.Router {
		s.removeRouter(n.Target)
	}
}
