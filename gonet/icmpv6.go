package gonet

import (
	"interleave/gonet/wire"
)

// inputICMPv6 answers echo requests, hands echo replies to the waiting Ping and errors to the
// sockets that they are about, and processes MLD and neighbour discovery. Dealer only.
func (s *Stack) inputICMPv6(p *packet) {
	m, body, err := wire.ParseICMP(p.body, wire.PseudoSum(p.src, p.dst, wire.ProtocolICMPv6,
		len(p.body)))
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	if p.foreign {
		if !s.inputForeignICMP(p, m, body) {
			s.answerEcho6(p, m)
		}
		return
	}
	s.copyICMP(p)
	switch m.Type {
	case wire.ICMPv6Echo:
		s.answerEcho6(p, m)
	case wire.ICMPv6EchoReply:
		s.inputEchoReply(p.src, m)
	case wire.ICMPv6Unreachable, wire.ICMPv6PacketTooBig, wire.ICMPv6ParameterProblem:
		s.inputError6(m, body)
	case wire.ICMPv6MLDQuery, wire.ICMPv6MLDReport:
		s.inputMLD(p, m, body)
	case wire.ICMPv6NeighborSolicit, wire.ICMPv6NeighborAdvert, wire.ICMPv6RouterAdvert:
		switch {
		// The message comes from beyond the link, or was fragmented to pass a guard in the switch
		// (RFC 6980).
		case p.hopLimit != ndHopLimit || p.reassembled || m.Code != 0:
			s.stats.malformed.Add(1)
		case m.Type == wire.ICMPv6RouterAdvert:
			s.inputRouter(p, m, body)
		case s.link.features.L3: // there are no stations to be found
			s.stats.foreign.Add(1)
		case m.Type == wire.ICMPv6NeighborSolicit:
			s.inputSolicit(p, m, body)
		default:
			s.inputAdvert(p, m, body)
		}
	}
}

// answerEcho6 answers an echo request. The reply to a multicast request comes from the source
// address that routing selects (RFC 4443 section 4.2).
func (s *Stack) answerEcho6(p *packet, m wire.ICMP) {
	if p.src.IsUnspecified() {
		return
	}
	p.body[0] = wire.ICMPv6EchoReply
	if p.group {
		src, err := s.addresses.source(p.src)
		if err != nil {
			return
		}
		wire.SealICMP(p.body, wire.PseudoSum(src, p.src, wire.ProtocolICMPv6, len(p.body)))
	} else {
		// Only one word of the message changes, so the checksum is updated and the message is sent
		// from where it is, without a copy.
		sum := wire.Replace(m.Checksum, uint16(wire.ICMPv6Echo)<<8|uint16(m.Code),
			uint16(wire.ICMPv6EchoReply)<<8|uint16(m.Code))
		p.body[2], p.body[3] = byte(sum>>8), byte(sum)
	}
	s.reply(p, wire.ProtocolICMPv6, p.body)
}

// inputError6 hands an ICMPv6 error to the connection or socket that sent the quoted packet.
func (s *Stack) inputError6(m wire.ICMP, quote []byte) {
	h, body, err := wire.ParseIPv6Quote(quote)
	if err != nil || !s.hasSentFrom(h.Src) {
		s.stats.malformed.Add(1)
		return
	}
	c, err := wire.ParseChain(h.NextHeader, body)
	if err != nil || c.Fragment.Offset != 0 {
		s.stats.malformed.Add(1)
		return
	}
	t := icmpError{err: errUnreachableHost}
	switch {
	case m.Type == wire.ICMPv6PacketTooBig:
		// no IPv6 link has a smaller MTU (RFC 8201 section 4)
		t.mtu = max(int(m.Rest), wire.IPv6MinMTU)
	case m.Type == wire.ICMPv6ParameterProblem && m.Code != wire.ProblemV6NextHeader:
		return
	case m.Type == wire.ICMPv6ParameterProblem, m.Code == wire.UnreachableV6Port:
		t.err, t.hard = errRefused, true
	}
	s.deliverICMPError(t, c.Protocol, h.Src, h.Dst, c.Payload)
}
