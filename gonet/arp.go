package gonet

import (
	"net/netip"

	"interleave/gonet/wire"
)

// requestARP sends an ARP request for an address, by broadcast, or to the station that had the
// address if to is not nil.
func (s *Stack) requestARP(a netip.Addr, to *wire.MAC) {
	src, err := s.source(a)
	if err != nil {
		return
	}
	if to == nil {
		to = &wire.Broadcast
	}
	m := wire.ARP{Op: wire.ARPRequest, SenderMAC: s.mac, SenderIP: src, TargetIP: a}
	var b [wire.ARPLen]byte
	m.Put(b[:])
	_ = s.emitBytes(*to, wire.EtherARP, b[:]) // the dealer sees a failed link
}

// inputARP answers requests for our addresses and updates the neighbour cache (RFC 826). Dealer
// only.
func (s *Stack) inputARP(b []byte) {
	m, err := wire.ParseARP(b)
	if err != nil || m.SenderMAC.IsGroup() {
		s.stats.malformed.Add(1)
		return
	}
	if s.isOurs(m.SenderIP) {
		// Another station claims an address of ours; we keep it (RFC 5227 section 2.4 c).
		s.stats.conflicts.Add(1)
		return
	}
	ours := s.isOurs(m.TargetIP) && !m.TargetIP.IsLoopback()
	s.updateNeighbour(m.SenderIP, ours,
		advertisement{mac: m.SenderMAC, override: true, solicited: true})
	if m.Op == wire.ARPRequest && ours {
		reply := wire.ARP{Op: wire.ARPReply, SenderMAC: s.mac, SenderIP: m.TargetIP,
			TargetMAC: m.SenderMAC, TargetIP: m.SenderIP}
		var out [wire.ARPLen]byte
		reply.Put(out[:])
		_ = s.emitBytes(m.SenderMAC, wire.EtherARP, out[:]) // the dealer sees a failed link
	}
}

// updateNeighbour updates a neighbour from an advertisement. An unknown neighbour is added only if
// create is set, because something is about to be sent to it: others must leave no trace in the
// cache. Dealer only.
func (s *Stack) updateNeighbour(a netip.Addr, soon bool, n advertisement) {
	if v, ok := s.neighbours.Load(a); ok {
		v.(*neighbour).update(n)
	} else if soon && s.net.Load().onLink(a) {
		if nb, err := s.neighbourFor(a); err == nil {
			nb.update(n)
		}
	}
}
