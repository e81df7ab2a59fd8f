package gonet

import (
	"net/netip"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// packet is one of IP on its way up. All views are of the link's buffer: who keeps something copies it.
type packet struct {
	src, dst netip.Addr
	group    bool // sent to a broadcast or multicast address
	valid    bool // its checksum needs no look
	header   []byte
	body     []byte
}

// input runs one frame through the layers. The dealer's.
func (s *Stack) input(f *link.Frame) {
	s.stats.received.Add(1)
	e, b, err := wire.ParseEthernet(f.Data)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	if e.Tagged && e.Tag&0xfff != 0 || e.Dst != s.mac && !e.Dst.IsGroup() {
		s.stats.foreign.Add(1) // of a VLAN that we are not on, or for another station
		return
	}
	switch e.Type {
	case wire.EtherIPv4:
		s.inputIPv4(b, e.Dst.IsGroup(), f.GSO.Valid)
	case wire.EtherARP:
		s.inputARP(b)
	default:
		s.stats.foreign.Add(1)
	}
}

func (s *Stack) inputIPv4(b []byte, group, valid bool) {
	h, body, err := wire.ParseIPv4(b)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	broadcast := s.isBroadcast(h.Dst) || h.Dst.IsMulticast()
	if !broadcast && !s.isOurs(h.Dst) || group && !broadcast || h.Src.IsMulticast() || s.isBroadcast(h.Src) {
		s.stats.foreign.Add(1) // RFC 1122 sections 3.2.1.3 and 3.3.6: not for us, or from where nobody is
		return
	}
	if len(h.Options) > 0 {
		if route, err := wire.CheckIPv4Options(h.Options); err != nil || route {
			s.stats.malformed.Add(1)
			return
		}
	}
	if h.IsFragment() {
		s.inputFragment(&h, b[:h.Len()], body)
		return
	}
	s.inputTransport(h.Protocol, &packet{h.Src, h.Dst, broadcast, valid, b[:h.Len()], body})
}

func (s *Stack) inputTransport(protocol wire.Protocol, p *packet) {
	switch protocol {
	case wire.ProtocolTCP:
		s.inputTCP(p)
	case wire.ProtocolUDP:
		s.inputUDP(p)
	case wire.ProtocolICMP:
		s.inputICMP(p)
	default:
		s.stats.foreign.Add(1)
		s.unreachable(p, wire.UnreachableProtocol)
	}
}

// reply sends a packet back to where p came from.
func (s *Stack) reply(p *packet, protocol wire.Protocol, body []byte) {
	src := p.dst
	if p.group {
		var err error
		if src, err = s.source(p.src); err != nil {
			return
		}
	}
	_ = s.sendIPv4(src, p.src, protocol, link.GSO{}, body) // nobody to tell: it is counted where it is dropped
}

// sendIPv4 sends a packet, in pieces if it is larger than the MTU. Any goroutine.
func (s *Stack) sendIPv4(src, dst netip.Addr, protocol wire.Protocol, gso link.GSO, pieces ...[]byte) error {
	h, err := s.hop(dst)
	if err != nil {
		return err
	}
	length := wire.IPv4Len
	for _, p := range pieces {
		length += len(p)
	}
	if length > maxPacket {
		return errTooLong
	}
	ip := wire.IPv4{Length: uint16(length), TTL: defaultTTL, Protocol: protocol, Src: src, Dst: dst, ID: uint16(s.ids.Add(1))}
	if length > s.fast.MTU {
		return s.sendFragments(h, &ip, pieces)
	}
	var header [wire.IPv4Len]byte
	ip.Put(header[:])
	var all [5][]byte
	all[0] = header[:]
	return s.send(h, wire.EtherIPv4, gso, all[:1+copy(all[1:], pieces)]...)
}

// The largest packet of IPv4 in bytes, and the hops that ours may take (RFC 1700's default).
const (
	maxPacket  = 65535
	defaultTTL = 64
)

// sendFragments cuts a packet to the MTU (RFC 791 section 3.2).
func (s *Stack) sendFragments(to *hop, ip *wire.IPv4, pieces [][]byte) error {
	var body []byte
	for _, p := range pieces {
		body = append(body, p...)
	}
	room := (s.fast.MTU - wire.IPv4Len) &^ 7
	for at := 0; at < len(body); at += room {
		n := min(room, len(body)-at)
		part := *ip
		part.Offset, part.MoreFragments, part.Length = uint16(at), at+n < len(body), uint16(wire.IPv4Len+n)
		var header [wire.IPv4Len]byte
		part.Put(header[:])
		if err := s.send(to, wire.EtherIPv4, link.GSO{}, header[:], body[at:at+n]); err != nil {
			return err
		}
	}
	return nil
}
