package gonet

import (
	"net/netip"
	"sync/atomic"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// icmpLayer has the pings and endpoints that wait for messages of ICMP, of both versions. Dealer
// only, except for pingCount.
type icmpLayer struct {
	pings     map[pingKey]chan<- time.Time
	pingCount atomic.Uint32
	conns     []*ICMPConn
	lastError tcp.Time // when the last ICMP error was sent
}

// inputICMP answers echo requests, hands echo replies to the waiting Ping, and errors to the
// sockets that they are about. Dealer only.
func (s *Stack) inputICMP(p *packet) {
	m, body, err := wire.ParseICMP(p.body, 0)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	if p.foreign {
		if !s.inputForeignICMP(p, m, body) {
			s.answerEcho4(p, m)
		}
		return
	}
	s.copyICMP(p)
	switch m.Type {
	case wire.ICMPEcho:
		if p.group {
			// RFC 1122 section 3.2.2.6 allows a host to ignore a broadcast or multicast echo
			// request, which prevents amplification.
			return
		}
		s.answerEcho4(p, m)
	case wire.ICMPEchoReply:
		s.inputEchoReply(p.src, m)
	case wire.ICMPUnreachable:
		s.inputError4(m, body)
	}
}

// answerEcho4 answers an echo request. Only one word of the message changes, so the checksum is
// updated and the message is sent from where it is, without a copy.
func (s *Stack) answerEcho4(p *packet, m wire.ICMP) {
	p.body[0] = wire.ICMPEchoReply
	sum := wire.Replace(m.Checksum, uint16(wire.ICMPEcho)<<8|uint16(m.Code), uint16(m.Code))
	p.body[2], p.body[3] = byte(sum>>8), byte(sum)
	s.reply(p, wire.ProtocolICMP, p.body)
}

// icmpError is what an ICMP error of either version reports about the path to a peer.
type icmpError struct {
	err  error
	hard bool // a hard error (RFC 1122 section 4.2.3.9): it ends a handshake
	mtu  int  // if not 0, the path MTU in bytes, and no error
}

// inputError4 hands an ICMP error to the connection or socket that sent the quoted packet.
func (s *Stack) inputError4(m wire.ICMP, quote []byte) {
	h, body, err := wire.ParseIPv4Quote(quote)
	if err != nil || !s.hasSentFrom(h.Src) || h.Offset != 0 {
		s.stats.malformed.Add(1)
		return
	}
	t := icmpError{err: errUnreachableHost}
	switch m.Code {
	case wire.UnreachableFragmentation:
		t.mtu = int(m.MTU())
		if t.mtu < minPathMTU {
			return
		}
	case wire.UnreachableProtocol, wire.UnreachablePort:
		t.err, t.hard = errRefused, true
	}
	s.deliverICMPError(t, h.Protocol, h.Src, h.Dst, body)
}

// minPathMTU is the least path MTU that is accepted from an IPv4 router, in bytes: Linux's
// min_pmtu.
const minPathMTU = 552

// deliverICMPError hands an error to the connection or socket that sent the quoted packet. body is
// the quoted packet's payload.
func (s *Stack) deliverICMPError(t icmpError, protocol wire.Protocol, src, dst netip.Addr,
	body []byte) {
	srcPort, dstPort, seq, err := wire.ParseTCPQuote(body) // UDP has its ports at the same offsets
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	local, remote := netip.AddrPortFrom(src, srcPort), netip.AddrPortFrom(dst, dstPort)
	switch protocol {
	case wire.ProtocolTCP:
		if c := s.tcp.conns[demux.FlowOf(local, remote)]; c != nil {
			c.inputICMPError(t, seq)
		}
	case wire.ProtocolUDP:
		if u := s.socketFor(local, remote); u != nil {
			u.inputICMPError(t, remote)
		}
	case wire.ProtocolICMPv6:
		if t.mtu != 0 { // the quoted packet was an echo request or reply
			s.notePathMTU(dst, t.mtu)
		}
	}
}

// errorInterval is the least time between two ICMP errors that are sent (RFC 1812 section 4.3.2.8
// and RFC 4443 section 2.4 f ask for some limit). A guess.
const errorInterval = time.Millisecond

// icmpErrorMessage is an ICMP error to be sent.
type icmpErrorMessage struct {
	kind, code uint8
	rest       uint32
	toGroup    bool // send it even for a packet to a multicast address
	asRouter   bool // from an address of ours, even if the packet was not for us
}

// The errors for a packet that no socket and no protocol takes. sendICMPError translates them to
// ICMPv6.
var (
	portUnreachable = icmpErrorMessage{kind: wire.ICMPUnreachable,
		code: wire.UnreachablePort}
	protocolUnreachable = icmpErrorMessage{kind: wire.ICMPUnreachable,
		code: wire.UnreachableProtocol}
)

// sendICMPError answers a packet with an ICMP error, except where the RFCs forbid one (RFC 1122
// section 3.2.2, RFC 4443 section 2.4 e).
func (s *Stack) sendICMPError(p *packet, c icmpErrorMessage) {
	if p.group && !c.toGroup || s.dealer.now.Sub(s.icmp.lastError) < errorInterval ||
		p.src.IsUnspecified() || p.src.IsMulticast() {
		return
	}
	src, err := s.replySource(p)
	if err != nil {
		return
	}
	if own, err := s.addresses.source(p.src); c.asRouter && err == nil {
		src = own
	}
	s.icmp.lastError = s.dealer.now
	// Quote as much of the packet as fits into the least MTU of its family (RFC 1812 section
	// 4.3.2.3, RFC 4443 section 2.4 c).
	quoted, protocol, sum := 576-wire.IPv4Len-wire.ICMPLen, wire.ProtocolICMP, uint16(0)
	if p.src.Is6() {
		quoted, protocol = wire.IPv6MinMTU-wire.IPv6Len-wire.ICMPLen, wire.ProtocolICMPv6
		switch c {
		case portUnreachable:
			c.kind, c.code = wire.ICMPv6Unreachable, wire.UnreachableV6Port
		case protocolUnreachable:
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
	_ = s.sendBytes(src, p.src, protocol, b) // a dropped packet is counted at the drop
}
