package gonet

import (
	"net/netip"
	"time"

	"interleave/gonet/wire"
)

// inputICMP answers echo requests in place, hands replies to those who ask, and errors to the
// sockets that they are about.
func (s *Stack) inputICMP(p *packet) {
	m, body, err := wire.ParseICMP(p.body, 0)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	switch m.Type {
	case wire.ICMPEcho:
		if p.group {
			// RFC 1122 section 3.2.2.6 allows silence, which stops the amplification of floods
			return
		}
		// One word of the message changes, so its checksum needs no second sum, and the
		// message no copy.
		p.body[0] = wire.ICMPEchoReply
		sum := wire.Replace(m.Checksum, uint16(wire.ICMPEcho)<<8|uint16(m.Code), uint16(m.Code))
		p.body[2], p.body[3] = byte(sum>>8), byte(sum)
		s.reply(p, wire.ProtocolICMP, p.body)
	case wire.ICMPEchoReply:
		s.pong(p.src, m)
	case wire.ICMPUnreachable:
		s.inputError4(m, body)
	}
}

// trouble is what ICMP of either version says of the way to a peer.
type trouble struct {
	err  error
	hard bool // it will not get better: who waits for a connection is told
	mtu  int  // instead: what packets have room for, in bytes
}

// inputError4 hands an error of IPv4 to the connection or socket that sent the packet
// which it quotes.
func (s *Stack) inputError4(m wire.ICMP, quote []byte) {
	h, body, err := wire.ParseIPv4Quote(quote)
	if err != nil || !s.isOurs(h.Src) || h.Offset != 0 {
		s.stats.malformed.Add(1)
		return
	}
	t := trouble{err: errUnreachableHost}
	switch m.Code {
	case wire.UnreachableFragmentation:
		t.mtu = int(m.MTU())
		if t.mtu < minPathMTU {
			return
		}
	case wire.UnreachableProtocol, wire.UnreachablePort:
		t.err, t.hard = errRefused, true
	}
	s.blame(t, h.Protocol, h.Src, h.Dst, body)
}

// minPathMTU is the least that we believe of a router of IPv4, in bytes: Linux's min_pmtu.
const minPathMTU = 552

// blame hands an error to who sent the packet of which it quotes the body.
func (s *Stack) blame(t trouble, protocol wire.Protocol, src, dst netip.Addr, body []byte) {
	srcPort, dstPort, seq, err := wire.ParseTCPQuote(body) // UDP's ports stand in the same place
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	local, remote := netip.AddrPortFrom(src, srcPort), netip.AddrPortFrom(dst, dstPort)
	switch protocol {
	case wire.ProtocolTCP:
		if c := s.conns[flowOf(local, remote)]; c != nil {
			c.trouble(t, seq)
		}
	case wire.ProtocolUDP:
		if u := s.socket(local); u != nil {
			u.trouble(t, remote)
		}
	case wire.ProtocolICMPv6:
		if t.mtu != 0 { // an echo, or our answer to one
			s.narrow(dst, t.mtu)
		}
	}
}

// errorInterval is the least time between two errors that we send (RFC 1812 section 4.3.2.8 and RFC
// 4443 section 2.4 f ask for some limit).
const errorInterval = time.Millisecond

// complaint is an error of ICMP to be sent.
type complaint struct {
	kind, code uint8
	rest       uint32
	toGroup    bool // it is an answer even to what was sent to many
}

// What is said of a packet that nobody takes; complain finds the words of its family.
var (
	closedPort      = complaint{kind: wire.ICMPUnreachable, code: wire.UnreachablePort}
	unknownProtocol = complaint{kind: wire.ICMPUnreachable, code: wire.UnreachableProtocol}
)

// complain answers a packet with an error, unless that could make a storm (RFC 1122 section 3.2.2,
// RFC 4443 section 2.4 e).
func (s *Stack) complain(p *packet, c complaint) {
	if p.group && !c.toGroup || s.now.Sub(s.lastError) < errorInterval || p.src.IsUnspecified() ||
		p.src.IsMulticast() {
		return
	}
	src, err := s.replySource(p)
	if err != nil {
		return
	}
	s.lastError = s.now
	// As much of the packet as fits in what every way has room for (RFC 1812 section 4.3.2.3, RFC
	// 4443 section 2.4 c).
	quoted, protocol, sum := 576-wire.IPv4Len-wire.ICMPLen, wire.ProtocolICMP, uint16(0)
	if p.src.Is6() {
		quoted, protocol = wire.IPv6MinMTU-wire.IPv6Len-wire.ICMPLen, wire.ProtocolICMPv6
		switch c {
		case closedPort:
			c.kind, c.code = wire.ICMPv6Unreachable, wire.UnreachableV6Port
		case unknownProtocol:
			c.kind, c.code, c.rest = wire.ICMPv6ParameterProblem, wire.ProblemV6NextHeader, p.nextAt
		}
	}
	m := wire.ICMP{Type: c.kind, Code: c.code, Rest: c.rest}
	b := make([]byte, wire.ICMPLen, wire.ICMPLen+quoted)
	m.Put(b)
	b = append(b, p.header[:min(len(p.header), quoted)]...)
	b = append(b, p.body[:min(len(p.body), wire.ICMPLen+quoted-len(b))]...)
	if p.src.Is6() {
		sum = wire.PseudoSum(src, p.src, protocol, len(b))
	}
	wire.SealICMP(b, sum)
	_ = s.sendBytes(src, p.src, protocol, b) // nobody to tell: it is counted where it is dropped
}
