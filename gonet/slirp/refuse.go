package slirp

import (
	"net/netip"
	"time"

	"interleave/gonet/wire"
)

// errorInterval is the least time between two ICMP errors (RFC 1812 section 4.3.2.8, RFC 4443
// section 2.4 f). It is the stack's.
const errorInterval = time.Millisecond

// refuse answers a packet by an ICMP destination unreachable of the gateway.
func (s *station) refuse(to wire.MAC, src netip.Addr, packet []byte, code uint8) {
	s.refused.Add(1)
	now := time.Now()
	if now.Sub(s.lastError) < errorInterval || !mayRefuse(packet) {
		return
	}
	s.lastError = now
	from, protocol := s.network.Gateway, wire.ProtocolICMP
	m, most := wire.ICMP{Type: wire.ICMPUnreachable, Code: code}, quoted4
	if src.Is6() {
		from, protocol = s.network.Gateway6, wire.ProtocolICMPv6
		m.Type, most = wire.ICMPv6Unreachable, quoted6
	}
	body := make([]byte, wire.ICMPLen, wire.ICMPLen+most)
	m.Put(body)
	body = append(body, packet[:min(len(packet), most)]...)
	sum := uint16(0)
	if src.Is6() {
		sum = wire.PseudoSum(from, src, protocol, len(body))
	}
	wire.SealICMP(body, sum)
	s.send(to, from, src, protocol, gatewayTTL, body)
}

// How many bytes of a packet an ICMP error quotes: as much as fits into the least MTU of its family
// (RFC 1812 section 4.3.2.3, RFC 4443 section 2.4 c).
const (
	quoted4 = 576 - wire.IPv4Len - wire.ICMPLen
	quoted6 = wire.IPv6MinMTU - wire.IPv6Len - wire.ICMPLen
)

// mayRefuse tells whether an ICMP error may answer a packet: it begins a segment, a datagram or an
// echo request. There is none about ICMP errors, and about fragments that are not the first (RFC
// 1122 section 3.2.2).
func mayRefuse(packet []byte) bool {
	protocol, at, echo := wire.Protocol(packet[9]), int(packet[0]&15)*4, wire.ICMPEcho
	if packet[0]>>4 == 6 {
		protocol, at, echo = wire.Protocol(packet[6]), wire.IPv6Len, wire.ICMPv6Echo
	} else if packet[6]&0x1f != 0 || packet[7] != 0 {
		return false
	}
	switch protocol {
	case wire.ProtocolTCP, wire.ProtocolUDP:
		return true
	case wire.ProtocolICMP, wire.ProtocolICMPv6:
		return len(packet) > at && packet[at] == echo
	}
	return false
}
