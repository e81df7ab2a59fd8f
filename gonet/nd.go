package gonet

import (
	"net/netip"

	"interleave/gonet/wire"
)

// ndHopLimit is that of all messages of neighbour discovery: what has passed a router has less, so
// that nobody beyond the link can forge them (RFC 4861 section 11.2).
const ndHopLimit = 255

var (
	allNodes   = netip.MustParseAddr("ff02::1")
	allRouters = netip.MustParseAddr("ff02::2")
)

// sendND sends a message of ICMPv6 to a station, and writes its checksum. Any goroutine.
func (s *Stack) sendND(mac wire.MAC, src, dst netip.Addr, b []byte) {
	wire.SealICMP(b, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(b)))
	h := wire.IPv6{Length: uint16(len(b)), NextHeader: wire.ProtocolICMPv6, HopLimit: ndHopLimit,
		Src: src, Dst: dst}
	var header [wire.IPv6Len]byte
	h.Put(header[:])
	_ = s.emitBytes(mac, wire.EtherIPv6, header[:], b) // a link that fails ends the stack
}

// solicit asks for an address: the group of all who may have it, or the station that had it. From
// an address that may turn out to be somebody else's we do not say where we are, so that nobody's
// knowledge is spoilt (RFC 4429 section 3.2).
func (s *Stack) solicit(a netip.Addr, to *wire.MAC) {
	src, err := s.source(a)
	if err != nil {
		return
	}
	dst := a
	if to == nil {
		dst = wire.SolicitedNode(a)
		group := wire.MulticastMAC(dst)
		to = &group
	}
	n := wire.Neighbor{Target: a, MAC: s.mac, HasMAC: !s.net.Load().isOptimistic(src)}
	var b [32]byte
	s.sendND(*to, src, dst, b[:n.Put(b[:], wire.ICMPv6NeighborSolicit)])
}

// inputSolicit answers who asks for an address of ours. The dealer's.
func (s *Stack) inputSolicit(p *packet, m wire.ICMP, body []byte) {
	n, err := wire.ParseNeighbor(m, body)
	probe := p.src.IsUnspecified()
	if err != nil || n.HasMAC && (n.MAC.IsGroup() || probe) ||
		probe && p.dst != wire.SolicitedNode(n.Target) {
		s.stats.malformed.Add(1)
		return
	}
	own := s.place.find(n.Target)
	switch {
	case own == nil:
		s.stats.foreign.Add(1)
		return
	// two want one address, and neither gets it (RFC 4862 section 5.4.3)
	case probe && own.optimistic:
		s.duplicate(own)
		return
	}
	answer := wire.Neighbor{Target: n.Target, Solicited: !probe, Override: !own.optimistic,
		MAC: s.mac, HasMAC: true}
	var b [32]byte
	answer.Put(b[:], wire.ICMPv6NeighborAdvert)
	if probe {
		s.sendND(wire.MulticastMAC(allNodes), n.Target, allNodes, b[:])
		return
	}
	// Who is about to take its address does not say where it is; the answer goes to where the
	// question came from, as two who ask so would wait for each other.
	to := p.from
	if n.HasMAC {
		to = n.MAC
		s.meet(p.src, true, advertisement{mac: n.MAC, override: true})
	}
	s.sendND(to, n.Target, p.src, b[:])
}

// inputAdvert takes what a neighbour says of itself. The dealer's.
func (s *Stack) inputAdvert(p *packet, m wire.ICMP, body []byte) {
	n, err := wire.ParseNeighbor(m, body)
	if err != nil || n.MAC.IsGroup() || p.group && n.Solicited {
		s.stats.malformed.Add(1)
		return
	}
	if own := s.place.find(n.Target); own != nil {
		if own.optimistic {
			s.duplicate(own)
		} else {
			s.stats.conflicts.Add(1) // we were first, and keep it
		}
		return
	}
	s.meet(n.Target, false, advertisement{mac: n.MAC, silent: !n.HasMAC, override: n.Override,
		solicited: n.Solicited})
	if !n.Router {
		s.dropRouter(n.Target)
	}
}
