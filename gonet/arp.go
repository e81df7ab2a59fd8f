package gonet

import (
	"net/netip"

	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// requestARP sends an ARP request for an address, by broadcast, or to the station that had the
// address if to is not nil.
func (s *Stack) requestARP(a netip.Addr, to *wire.MAC) {
	src, err := s.addresses.source(a)
	if err != nil {
		return
	}
	if to == nil {
		to = &wire.Broadcast
	}
	m := wire.ARP{Op: wire.ARPRequest, SenderMAC: s.link.mac, SenderIP: src, TargetIP: a}
	var b [wire.ARPLen]byte
	m.Put(b[:])
	_ = s.emitBytes(to, wire.EtherARP, b[:]) // the dealer sees a failed link
}

// inputARP answers requests for our addresses and updates the neighbour cache (RFC 826). direct
// tells whether the frame was sent to us alone. Dealer only.
func (s *Stack) inputARP(b []byte, direct bool) {
	m, err := wire.ParseARP(b)
	if err != nil || m.SenderMAC.IsGroup() {
		s.stats.malformed.Add(1)
		return
	}
	if s.addresses.isOurs(m.SenderIP) {
		// Another station claims an address of ours; we keep it (RFC 5227 section 2.4 c).
		s.stats.conflicts.Add(1)
		return
	}
	ours := s.addresses.isOurs(m.TargetIP) && !m.TargetIP.IsLoopback()
	if m.Op == wire.ARPRequest && ours {
		s.learnNeighbour(m.SenderIP, m.SenderMAC)
		s.replyARP(&m)
		return
	}
	// A reply to us answers a request of ours, as far as one can know. All else is news at most.
	s.updateNeighbour(m.SenderIP, neighbour.Advertisement{MAC: m.SenderMAC, HasMAC: true,
		Override: true, Solicited: m.Op == wire.ARPReply && ours && direct})
}

func (s *Stack) replyARP(m *wire.ARP) {
	reply := wire.ARP{Op: wire.ARPReply, SenderMAC: s.link.mac, SenderIP: m.TargetIP,
		TargetMAC: m.SenderMAC, TargetIP: m.SenderIP}
	var b [wire.ARPLen]byte
	reply.Put(b[:])
	_ = s.emitBytes(&m.SenderMAC, wire.EtherARP, b[:]) // the dealer sees a failed link
}
