package gonet

import (
	"net/netip"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// packet is an IP packet that was received. Its slices are views of the link's buffer: code that
// keeps bytes must copy them.
type packet struct {
	src, dst    netip.Addr
	group       bool     // the destination is a broadcast or multicast address
	foreign     bool     // the destination is not ours, and was taken for a forwarder
	valid       bool     // the link has verified the transport checksum
	segment     int      // the size of each datagram in a super-frame of UDP; 0: it is none
	reassembled bool     // it was reassembled from fragments
	alert       bool     // IPv6 only: it has a router alert
	hopLimit    uint8    // IPv6 only
	from        wire.MAC // IPv6 only: the sender's MAC, if the link has Ethernet
	nextAt      uint32   // IPv6 only: the offset of the Next Header field that names the protocol
	header      []byte
	body        []byte
}

// info returns what a socket is told of the packet beside its body.
func (p *packet) info() PacketInfo {
	if p.src.Is4() {
		return PacketInfo{Local: p.dst, TTL: p.header[8], TOS: p.header[1]}
	}
	return PacketInfo{Local: p.dst, TTL: p.header[7], TOS: p.header[0]<<4 | p.header[1]>>4}
}

// marked tells whether a router has set the codepoint CE, congestion experienced (RFC 3168 section
// 5). In IPv6 the traffic class starts four bits later than the TOS of IPv4.
func (p *packet) marked() bool {
	if p.src.Is4() {
		return p.header[1]&wire.CE == wire.CE
	}
	return p.header[1]>>4&wire.CE == wire.CE
}

// inputFrames runs frames through the layers. Which layer is the first is decided once for all.
// Dealer only.
func (s *Stack) inputFrames(frames []link.Frame) {
	if s.features.L3 {
		for i := range frames {
			s.inputL3(&frames[i])
		}
		return
	}
	for i := range frames {
		s.input(&frames[i])
	}
}

// inputL3 runs an IP packet, a frame of an L3 link, through the layers. Dealer only.
func (s *Stack) inputL3(f *link.Frame) {
	s.stats.received.Add(1)
	s.loan = nil
	if f.Buffer != nil {
		s.loan = f.Buffer
	}
	version := byte(0)
	if len(f.Data) > 0 {
		version = f.Data[0] >> 4
	}
	switch version {
	case 4:
		s.inputIPv4(f.Data, false, &f.GSO)
	case 6:
		s.inputIPv6(f.Data, wire.Ethernet{}, &f.GSO)
	default:
		s.stats.malformed.Add(1)
	}
}

// input runs an Ethernet frame through the layers. Dealer only.
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
		e.Src == s.mac && !s.fromLoopback {
		// The frame is tagged for a VLAN, is for another station, or is our own and a switch has
		// sent it back.
		s.stats.foreign.Add(1)
		return
	}
	switch e.Type {
	case wire.EtherIPv4:
		s.inputIPv4(b, e.Dst.IsGroup(), &f.GSO)
	case wire.EtherIPv6:
		s.inputIPv6(b, e, &f.GSO)
	case wire.EtherARP:
		s.inputARP(b, e.Dst == s.mac)
	default:
		s.stats.foreign.Add(1)
	}
}

// isMartian tells whether a packet cannot have come from the wire: its source is ours, or one of
// its addresses is a loopback address (RFC 1122 section 3.2.1.3 g, RFC 4291 section 2.5.3).
func (s *Stack) isMartian(src, dst netip.Addr) bool {
	return !s.fromLoopback && (src.IsLoopback() || dst.IsLoopback() || s.isOurs(src))
}

func (s *Stack) inputTransport(protocol wire.Protocol, p *packet) {
	switch {
	case protocol == wire.ProtocolICMPv6 && p.src.Is6():
		s.inputICMPv6(p)
	case p.src.Is6() && p.src.IsUnspecified():
		s.stats.malformed.Add(1) // no answer could be sent
	case protocol == wire.ProtocolTCP:
		s.inputTCP(p)
	case protocol == wire.ProtocolUDP:
		s.inputUDP(p)
	case protocol == wire.ProtocolICMP && p.src.Is4():
		s.inputICMP(p)
	case protocol == wire.ProtocolIGMP && p.src.Is4():
		s.inputIGMP(p)
	case protocol == wire.ProtocolNoNext && p.src.Is6(): // an empty packet
	default:
		s.stats.foreign.Add(1)
		s.sendICMPError(p, protocolUnreachable)
	}
}

// reply sends a packet to the source of p.
func (s *Stack) reply(p *packet, protocol wire.Protocol, body []byte) {
	src, err := s.replySource(p)
	if err != nil {
		return
	}
	_ = s.sendBytes(src, p.src, protocol, body) // a dropped packet is counted at the drop
}

// replySource returns the source address for a reply to p: its destination, or for a group the
// source address that routing selects.
func (s *Stack) replySource(p *packet) (netip.Addr, error) {
	if p.group {
		return s.source(p.src)
	}
	return p.dst, nil
}

// sendIP sends a packet of the family of its addresses. A packet that is larger than the path MTU
// is fragmented. Any goroutine.
func (s *Stack) sendIP(e *envelope, src, dst netip.Addr, protocol wire.Protocol, gso link.GSO,
	pieces ...[]byte) error {
	if dst.Is4() {
		return s.sendIPv4(e, src, dst, protocol, gso, pieces...)
	}
	return s.sendIPv6(e, src, dst, protocol, gso, pieces...)
}

// sendBytes is sendIP for a body in one slice.
func (s *Stack) sendBytes(src, dst netip.Addr, protocol wire.Protocol, b []byte) error {
	e := newEnvelope()
	defer e.free()
	return s.sendIP(e, src, dst, protocol, link.GSO{}, b)
}

// maxBody returns the largest body of one packet to a, in bytes.
func maxBody(a netip.Addr) int {
	if a.Is4() {
		return maxPacket - wire.IPv4Len
	}
	return maxPacket // the length field of IPv6 does not count the header
}
