package gonet

import (
	"interleave/gonet/wire"
)

// inputICMPv6 answers echo requests in place, hands replies to those who ask and errors to the
// sockets that they are about, and has neighbours and routers heard.
func (s *Stack) inputICMPv6(p *packet) {
	m, body, err := wire.ParseICMP(p.body, wire.PseudoSum(p.src, p.dst, wire.ProtocolICMPv6,
		len(p.body)))
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	switch m.Type {
	case wire.ICMPv6Echo:
		s.echo(p, m)
	case wire.ICMPv6EchoReply:
		s.pong(p.src, m)
	case wire.ICMPv6Unreachable, wire.ICMPv6PacketTooBig, wire.ICMPv6ParameterProblem:
		s.inputError6(m, body)
	case wire.ICMPv6MLDQuery:
		s.inputQuery(p, m, body)
	case wire.ICMPv6NeighborSolicit, wire.ICMPv6NeighborAdvert, wire.ICMPv6RouterAdvert:
		// from beyond the link, or hidden from who guards it (RFC 6980)
		if p.hopLimit != ndHopLimit || p.pieces || m.Code != 0 {
			s.stats.malformed.Add(1)
			return
		}
		switch m.Type {
		case wire.ICMPv6NeighborSolicit:
			s.inputSolicit(p, m, body)
		case wire.ICMPv6NeighborAdvert:
			s.inputAdvert(p, m, body)
		default:
			s.inputRouter(p, m, body)
		}
	}
}

// echo answers a request, one to a group from the address of ours that the asker is to use (RFC
// 4443 section 4.2).
func (s *Stack) echo(p *packet, m wire.ICMP) {
	if p.src.IsUnspecified() {
		return
	}
	p.body[0] = wire.ICMPv6EchoReply
	if p.group {
		src, err := s.source(p.src)
		if err != nil {
			return
		}
		wire.SealICMP(p.body, wire.PseudoSum(src, p.src, wire.ProtocolICMPv6, len(p.body)))
	} else {
		// One word of the message changes, so its checksum needs no second sum, and the
		// message no copy.
		sum := wire.Replace(m.Checksum, uint16(wire.ICMPv6Echo)<<8|uint16(m.Code),
			uint16(wire.ICMPv6EchoReply)<<8|uint16(m.Code))
		p.body[2], p.body[3] = byte(sum>>8), byte(sum)
	}
	s.reply(p, wire.ProtocolICMPv6, p.body)
}

// inputError6 hands an error of IPv6 to the connection or socket that sent the packet
// which it quotes.
func (s *Stack) inputError6(m wire.ICMP, quote []byte) {
	h, body, err := wire.ParseIPv6Quote(quote)
	if err != nil || !s.isOurs(h.Src) {
		s.stats.malformed.Add(1)
		return
	}
	c, err := wire.ParseChain(h.NextHeader, body)
	if err != nil || c.Fragment.Offset != 0 {
		s.stats.malformed.Add(1)
		return
	}
	t := trouble{err: errUnreachableHost}
	switch {
	case m.Type == wire.ICMPv6PacketTooBig:
		t.mtu = max(int(m.Rest), wire.IPv6MinMTU) // no link has less (RFC 8201 section 4)
	case m.Type == wire.ICMPv6ParameterProblem && m.Code != wire.ProblemV6NextHeader:
		return
	case m.Type == wire.ICMPv6ParameterProblem, m.Code == wire.UnreachableV6Port:
		t.err, t.hard = errRefused, true
	}
	s.blame(t, c.Protocol, h.Src, h.Dst, c.Payload)
}
