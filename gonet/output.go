package gonet

import (
	"net/netip"
	"slices"

	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// This file is the way of a packet, from the transport to the link, in order:
//
//	transmit    a connection's segments that are due (segment.go); sendUDP, a datagram of a socket
//	sendIP      the IP header, and fragments: sendIPv4, sendIPv6
//	send        the neighbour's station, or a place in the neighbour cache (neighbour.go)
//	emit        the Ethernet header, and the frame to the link
//
// All of it runs in any goroutine.

// sendUDP sends a datagram, or with toSelf hands it to the sockets of this stack that have joined
// the group that is its destination. If b is longer than the size of segments in info, it sends a
// super-frame of datagrams, which the caller knows that the link takes.
func (s *Stack) sendUDP(from, to netip.AddrPort, info PacketInfo, b []byte, toSelf bool) error {
	length := wire.UDPLen + len(b)
	h := wire.UDP{SrcPort: from.Port(), DstPort: to.Port(), Length: uint16(length)}
	h.Checksum = wire.PseudoSum(from.Addr(), to.Addr(), wire.ProtocolUDP, length)
	e := newEnvelope()
	defer e.free()
	e.ttl, e.tos, e.toSelf = info.TTL, info.TOS, toSelf
	header := e.transport[:wire.UDPLen]
	var gso link.GSO
	super := info.Segment > 0 && info.Segment < len(b)
	partial := s.link.features.Partial
	if n := headerLen(to.Addr()); super || partial && n+length <= s.mtuTo(to.Addr()) {
		gso = link.GSO{Partial: true, Start: uint16(s.link.header + n), Offset: 6}
		if super {
			gso.Kind, gso.Size, gso.Header = link.UDP, uint16(info.Segment), gso.Start+wire.UDPLen
		}
	} else {
		sum := h.Checksum
		h.Checksum = 0
		h.Put(header)
		if h.Checksum = ^wire.Sum(b, wire.Sum(header, sum)); h.Checksum == 0 {
			h.Checksum = 0xffff // 0 means no checksum (RFC 768)
		}
	}
	h.Put(header)
	return s.sendIP(e, from.Addr(), to.Addr(), wire.ProtocolUDP, gso, header, b)
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
		return s.addresses.source(p.src)
	}
	return p.dst, nil
}

// sendBytes is sendIP for a body in one slice.
func (s *Stack) sendBytes(src, dst netip.Addr, protocol wire.Protocol, b []byte) error {
	e := newEnvelope()
	defer e.free()
	return s.sendIP(e, src, dst, protocol, link.GSO{}, b)
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

// sendIPv4 sends a packet, in fragments if it is larger than the MTU. Any goroutine.
func (s *Stack) sendIPv4(e *envelope, src, dst netip.Addr, protocol wire.Protocol, gso link.GSO,
	pieces ...[]byte) error {
	nb, err := s.neighbourOf(e, dst)
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
	ip := wire.IPv4{Length: uint16(length), TTL: orElse(e.ttl, defaultTTL), TOS: e.tos,
		Protocol: protocol, Src: src, Dst: dst,
		ID: s.random.PacketID(src, dst, s.packetsOf(&gso, length))}
	if length > s.link.features.MTU && gso.Kind == link.Plain {
		return s.sendFragments4(e, nb, &ip, pieces)
	}
	e.pack(e.ip[:ip.Put(e.ip[:])], pieces...)
	return s.send(nb, gso, e)
}

// The largest IPv4 packet in bytes, and the TTL of our packets (RFC 1700's default).
const (
	maxPacket  = 65535
	defaultTTL = 64
)

// sendFragments4 sends a packet in fragments of at most the MTU (RFC 791 section 3.2).
func (s *Stack) sendFragments4(e *envelope, to *neighbour.Entry, ip *wire.IPv4,
	pieces [][]byte) error {
	body := slices.Concat(pieces...)
	room := (s.link.features.MTU - wire.IPv4Len) &^ 7
	for at := 0; at < len(body); at += room {
		n := min(room, len(body)-at)
		part := *ip
		part.Offset, part.MoreFragments, part.Length = uint16(at), at+n < len(body),
			uint16(wire.IPv4Len+n)
		e.pack(e.ip[:part.Put(e.ip[:])], body[at:at+n])
		if err := s.send(to, link.GSO{}, e); err != nil {
			return err
		}
	}
	return nil
}

// sendIPv6 sends a packet, in fragments if it is larger than the path MTU. Any goroutine.
func (s *Stack) sendIPv6(e *envelope, src, dst netip.Addr, protocol wire.Protocol, gso link.GSO,
	pieces ...[]byte) error {
	nb, err := s.neighbourOf(e, dst)
	if err != nil {
		return err
	}
	length := 0
	for _, p := range pieces {
		length += len(p)
	}
	if length > maxPacket {
		return errTooLong
	}
	ip := wire.IPv6{Length: uint16(length), NextHeader: protocol, TrafficClass: e.tos,
		HopLimit: orElse(e.ttl, s.addresses.current().hopLimit), Src: src, Dst: dst}
	if room := s.mtuTo(dst); wire.IPv6Len+length > room && gso.Kind == link.Plain {
		return s.sendFragments6(e, nb, &ip, room, pieces)
	}
	e.pack(e.ip[:ip.Put(e.ip[:])], pieces...)
	return s.send(nb, gso, e)
}

// sendFragments6 sends a packet in fragments of at most mtu (RFC 8200 section 4.5). The
// identification is unpredictable, so that an attacker cannot inject a fragment (RFC 7739).
func (s *Stack) sendFragments6(e *envelope, to *neighbour.Entry, ip *wire.IPv6, mtu int,
	pieces [][]byte) error {
	body := slices.Concat(pieces...)
	id := uint32(s.random.Uint64())
	room := (mtu - wire.IPv6Len - wire.FragmentLen) &^ 7
	for at := 0; at < len(body); at += room {
		n := min(room, len(body)-at)
		part := *ip
		part.NextHeader, part.Length = wire.ProtocolFragment, uint16(wire.FragmentLen+n)
		f := wire.Fragment{NextHeader: ip.NextHeader, Offset: uint16(at), More: at+n < len(body),
			ID: id}
		f.Put(e.ip[part.Put(e.ip[:]):])
		e.pack(e.ip[:], body[at:at+n])
		if err := s.send(to, link.GSO{}, e); err != nil {
			return err
		}
	}
	return nil
}

// maxBody returns the largest body of one packet to a, in bytes.
func maxBody(a netip.Addr) int {
	if a.Is4() {
		return maxPacket - wire.IPv4Len
	}
	return maxPacket // the length field of IPv6 does not count the header
}

// send sends an IP packet to a neighbour, or has it wait until its station is known. Any goroutine.
func (s *Stack) send(nb *neighbour.Entry, gso link.GSO, e *envelope) error {
	if mac := nb.Station(); mac != nil {
		return s.emit(mac, etherType(e.list[1]), gso, e)
	}
	return s.lookup(nb.Addr(), gso, e)
}

// emit sends a packet behind an Ethernet header. On an L3 link the header is not sent: to leave it
// out of the frame costs the other links nothing. Any goroutine.
func (s *Stack) emit(dst *wire.MAC, kind wire.EtherType, gso link.GSO, e *envelope) error {
	h := wire.Ethernet{Dst: *dst, Src: s.link.mac, Type: kind}
	h.Put(e.ethernet[:])
	e.list[0] = e.ethernet[:s.link.header]
	if dst == &s.link.mac {
		return s.sendLoopback(gso, e.list[:e.n])
	}
	s.stats.sent.Add(1)
	return s.link.Write(gso, e.list[:e.n]...)
}

// emitBytes is emit for a packet given as slices.
func (s *Stack) emitBytes(dst *wire.MAC, kind wire.EtherType, first []byte, rest ...[]byte) error {
	e := newEnvelope()
	defer e.free()
	e.pack(first, rest...)
	return s.emit(dst, kind, link.GSO{}, e)
}

// etherType returns the EtherType of an IP packet.
func etherType(packet []byte) wire.EtherType {
	if packet[0]>>4 == 6 {
		return wire.EtherIPv6
	}
	return wire.EtherIPv4
}
