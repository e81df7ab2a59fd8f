package gonet

import (
	"net/netip"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// packet is one of IP on its way up. All views are of the link's buffer: who keeps
// something copies it.
type packet struct {
	src, dst netip.Addr
	group    bool     // sent to a broadcast or multicast address
	valid    bool     // its checksum needs no look
	pieces   bool     // it arrived in fragments
	hopLimit uint8    // of IPv6
	from     wire.MAC // of IPv6: the station that has sent it
	nextAt   uint32   // of IPv6: where in it the number of its protocol stands
	header   []byte
	body     []byte
}

// marked tells whether routers have met congestion: the codepoint CE of RFC 3168 section 5. The
// class of traffic of IPv6 stands four bits later.
func (p *packet) marked() bool {
	if p.src.Is4() {
		return p.header[1]&wire.CE == wire.CE
	}
	return p.header[1]>>4&wire.CE == wire.CE
}

// input runs one frame through the layers. The dealer's.
func (s *Stack) input(f *link.Frame) {
	s.stats.received.Add(1)
	s.loan = nil
	if f.Buffer != nil {
		s.loan = f.Buffer
	}
	e, b, err := wire.ParseEthernet(f.Data)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	if e.Tagged && e.Tag&0xfff != 0 || e.Dst != s.mac && !e.Dst.IsGroup() ||
		e.Src == s.mac && !s.looping {
		// of a VLAN that we are not on, for another station, or our own that a switch has sent back
		s.stats.foreign.Add(1)
		return
	}
	switch e.Type {
	case wire.EtherIPv4:
		s.inputIPv4(b, e.Dst.IsGroup(), f.GSO.Valid)
	case wire.EtherIPv6:
		s.inputIPv6(b, &e, f.GSO.Valid)
	case wire.EtherARP:
		s.inputARP(b)
	default:
		s.stats.foreign.Add(1)
	}
}

// isMartian tells packets that cannot have come from the wire: from us, or of the addresses that
// stay within a host (RFC 1122 section 3.2.1.3 g, RFC 4291 section 2.5.3).
func (s *Stack) isMartian(src, dst netip.Addr) bool {
	return !s.looping && (src.IsLoopback() || dst.IsLoopback() || s.isOurs(src))
}

func (s *Stack) inputTransport(protocol wire.Protocol, p *packet) {
	switch {
	case protocol == wire.ProtocolICMPv6 && p.src.Is6():
		s.inputICMPv6(p)
	case p.src.Is6() && p.src.IsUnspecified():
		s.stats.malformed.Add(1) // there is nobody to answer
	case protocol == wire.ProtocolTCP:
		s.inputTCP(p)
	case protocol == wire.ProtocolUDP:
		s.inputUDP(p)
	case protocol == wire.ProtocolICMP && p.src.Is4():
		s.inputICMP(p)
	case protocol == wire.ProtocolNoNext && p.src.Is6(): // nothing to say
	default:
		s.stats.foreign.Add(1)
		s.complain(p, unknownProtocol)
	}
}

// reply sends a packet back to where p came from.
func (s *Stack) reply(p *packet, protocol wire.Protocol, body []byte) {
	src, err := s.replySource(p)
	if err != nil {
		return
	}
	_ = s.sendBytes(src, p.src, protocol, body) // nobody to tell: it is counted where it is dropped
}

// replySource is the address of ours that p was sent to, or one of ours if it was sent to many.
func (s *Stack) replySource(p *packet) (netip.Addr, error) {
	if p.group {
		return s.source(p.src)
	}
	return p.dst, nil
}

// sendIP sends a packet of the family of its addresses, in pieces if it is too large for the
// way. Any goroutine.
func (s *Stack) sendIP(e *envelope, src, dst netip.Addr, protocol wire.Protocol, gso link.GSO,
	pieces ...[]byte) error {
	if dst.Is4() {
		return s.sendIPv4(e, src, dst, protocol, gso, pieces...)
	}
	return s.sendIPv6(e, src, dst, protocol, gso, pieces...)
}

// sendBytes is sendIP for what is in one piece.
func (s *Stack) sendBytes(src, dst netip.Addr, protocol wire.Protocol, b []byte) error {
	e := newEnvelope()
	defer e.free()
	return s.sendIP(e, src, dst, protocol, link.GSO{}, b)
}

// maxBody is what one packet to a carries at most, in bytes.
func maxBody(a netip.Addr) int {
	if a.Is4() {
		return maxPacket - wire.IPv4Len
	}
	return maxPacket // the header of IPv6 does not count
}
