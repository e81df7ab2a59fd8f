package gonet

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"

	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// inputIPv6 processes a packet. e is the header of its frame, zero on an L3 link, and gso what the
// link says of it. Dealer only.
func (s *Stack) inputIPv6(b []byte, e wire.Ethernet, gso *link.GSO) {
	h, body, err := wire.ParseIPv6(b)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	multicast := h.Dst.IsMulticast()
	n := s.net.Load()
	foreign := !n.isForUs(h.Dst) && !s.hasJoined(h.Dst)
	switch {
	case n.mtu6 == 0, foreign && !s.forward.takesFrom(h.Src, h.Dst),
		e.Dst.IsGroup() && !multicast, h.Src.IsMulticast(),
		s.isMartian(h.Src, h.Dst) && !isConflictingAdvert(&h, body),
		// An IPv4-mapped address never stands in a packet on a wire, and would be confused with
		// IPv4 flows.
		h.Src.Is4In6(), h.Dst.Is4In6():
		s.stats.foreign.Add(1)
		return
	}
	s.inputChain(h.NextHeader, &packet{
		src: h.Src, dst: h.Dst, group: multicast, foreign: foreign, valid: gso.Valid,
		segment:  segmentOf(gso),
		hopLimit: h.HopLimit, from: e.Src, header: b[:wire.IPv6Len], body: body,
	})
}

// isConflictingAdvert tells whether a packet from an address of ours is the neighbour advertisement
// of another station that has this address. Duplicate address detection needs those.
func isConflictingAdvert(h *wire.IPv6, body []byte) bool {
	return h.NextHeader == wire.ProtocolICMPv6 && len(body) > 0 &&
		body[0] == wire.ICMPv6NeighborAdvert && !h.Src.IsLoopback()
}

// isForUs tells whether packets to a are for this stack.
func (n *network) isForUs(a netip.Addr) bool {
	if a.IsMulticast() {
		return a == allNodes || slices.Contains(n.groups, a)
	}
	return n.isOurs(a)
}

// inputChain walks the extension headers: next is the number of the first, p.body their bytes. The
// upper layer gets what follows them. Dealer only.
func (s *Stack) inputChain(next wire.Protocol, p *packet) {
	c, err := wire.ParseChain(next, p.body)
	if err != nil {
		s.stats.malformed.Add(1)
		var bad *wire.Problem
		if errors.As(err, &bad) && !bad.Silent {
			s.sendICMPError(p, icmpErrorMessage{kind: wire.ICMPv6ParameterProblem, code: bad.Code,
				rest: bad.Pointer, toGroup: bad.Code == wire.ProblemV6Option && !bad.Unicast})
		}
		return
	}
	if c.IsFragment {
		if p.reassembled { // a fragment inside a fragment
			s.stats.malformed.Add(1)
			return
		}
		f := fragment{int(c.Fragment.Offset), c.Payload, c.Fragment.More, c.Protocol}
		if f.more && len(f.body)%8 != 0 {
			s.stats.malformed.Add(1)
			// pointer to the Payload Length field (RFC 8200 section 4.5)
			s.sendICMPError(p, icmpErrorMessage{kind: wire.ICMPv6ParameterProblem, rest: 4})
			return
		}
		s.inputFragment(fragmentKey{p.src, p.dst, 0, c.Fragment.ID},
			p.header[:wire.IPv6Len:wire.IPv6Len], f)
		return
	}
	whole := len(p.body)
	p.body, p.nextAt, p.alert = c.Payload, c.NextAt, c.RouterAlert
	if c.Unfragmentable > 0 && !p.reassembled { // header and body are views of one buffer
		p.header = p.header[:len(p.header)+whole-len(c.Payload)]
	}
	s.inputTransport(c.Protocol, p)
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
		HopLimit: orElse(e.ttl, s.net.Load().hopLimit), Src: src, Dst: dst}
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
	id := uint32(s.random())
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

// unfragmented rewrites the first fragment's IPv6 header as that of the unfragmented datagram.
func unfragmented(header []byte, next wire.Protocol, length int) []byte {
	binary.BigEndian.PutUint16(header[4:], uint16(length)) //nolint:gosec // a reassembly has at most 65535
	header[6] = byte(next)
	return header
}
