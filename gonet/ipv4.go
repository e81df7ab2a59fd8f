package gonet

import (
	"net/netip"
	"slices"

	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// allHosts is the IPv4 group that every host is in (RFC 1112 section 4).
var allHosts = netip.AddrFrom4([4]byte{224, 0, 0, 1})

// inputIPv4 processes a packet. group tells whether its frame was to a group, and gso what the link
// says of it. Dealer only.
func (s *Stack) inputIPv4(b []byte, group bool, gso *link.GSO) {
	h, body, err := wire.ParseIPv4(b)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	broadcast := s.isBroadcast(h.Dst) || h.Dst.IsMulticast()
	foreign := !broadcast && !s.isOurs(h.Dst)
	if h.Dst.IsMulticast() && h.Dst != allHosts && !s.hasJoined(h.Dst) ||
		foreign && !s.forward.takesFrom(h.Src, h.Dst) ||
		group && !broadcast || h.Src.IsMulticast() ||
		s.isBroadcast(h.Src) || s.isMartian(h.Src, h.Dst) {
		// The packet is for another host, or for a group that we are not in, or its source is not a
		// host (RFC 1122 sections 3.2.1.3 and 3.3.6).
		s.stats.foreign.Add(1)
		return
	}
	// A host without an address yet sends UDP (DHCP), and a switch without one queries for groups
	// (RFC 4541 section 2.1.1).
	if h.Src.IsUnspecified() && h.Protocol != wire.ProtocolUDP &&
		h.Protocol != wire.ProtocolIGMP {
		s.stats.foreign.Add(1)
		return
	}
	if len(h.Options) > 0 {
		if route, err := wire.CheckIPv4Options(h.Options); err != nil || route {
			s.stats.malformed.Add(1)
			return
		}
	}
	if h.IsFragment() {
		s.inputFragment(fragmentKey{h.Src, h.Dst, h.Protocol, uint32(h.ID)}, b[:h.Len()],
			fragment{int(h.Offset), body, h.MoreFragments, h.Protocol})
		return
	}
	s.inputTransport(h.Protocol, &packet{src: h.Src, dst: h.Dst, group: broadcast, foreign: foreign,
		valid: gso.Valid, segment: segmentOf(gso), header: b[:h.Len()], body: body})
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
		ID: s.packetID(src, dst, s.packetsOf(&gso, length))}
	if length > s.features.MTU && gso.Kind == link.Plain {
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
	room := (s.features.MTU - wire.IPv4Len) &^ 7
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
