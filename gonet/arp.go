package gonet

import (
	"net/netip"

	"interleave/gonet/wire"
)

// requestARP asks who has an address, all stations or the one that had it.
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
	_ = s.emitBytes(*to, wire.EtherARP, b[:]) // a link that fails ends the stack
}

// inputARP is the dealer's part: it answers for our addresses, and tells who asks what it
// hears (RFC 826).
func (s *Stack) inputARP(b []byte) {
	m, err := wire.ParseARP(b)
	if err != nil || m.SenderMAC.IsGroup() {
		s.stats.malformed.Add(1)
		return
	}
	if s.isOurs(m.SenderIP) {
		// somebody has an address of ours; we keep it (RFC 5227 section 2.4 c)
		s.stats.conflicts.Add(1)
		return
	}
	ours := s.isOurs(m.TargetIP) && !m.TargetIP.IsLoopback()
	s.meet(m.SenderIP, ours, advertisement{mac: m.SenderMAC, override: true, solicited: true})
	if m.Op == wire.ARPRequest && ours {
		reply := wire.ARP{Op: wire.ARPReply, SenderMAC: s.mac, SenderIP: m.TargetIP,
			TargetMAC: m.SenderMAC, TargetIP: m.SenderIP}
		var out [wire.ARPLen]byte
		reply.Put(out[:])
		_ = s.emitBytes(m.SenderMAC, wire.EtherARP, out[:]) // a link that fails ends the stack
	}
}

// meet takes what a neighbour says of itself, if it is known or is about to be sent something: who
// is neither leaves no trace. The dealer's.
func (s *Stack) meet(a netip.Addr, soon bool, n advertisement) {
	if v, ok := s.neighbours.Load(a); ok {
		v.(*neighbour).hear(n)
	} else if soon && s.net.Load().onLink(a) {
		if nb, err := s.neighbourFor(a); err == nil {
			nb.hear(n)
		}
	}
}
