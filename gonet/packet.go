package gonet

import (
	"bytes"
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

// quotable returns a copy of a packet of which no more is kept than an ICMP error must quote: its
// header and the first bytes of its body.
func (p *packet) quotable() packet {
	q := packet{src: p.src, dst: p.dst, foreign: p.foreign, nextAt: p.nextAt,
		header: bytes.Clone(p.header[:min(len(p.header), quotedLen)])}
	if len(q.header) == len(p.header) {
		q.body = bytes.Clone(p.body[:min(len(p.body), quotedLen)])
	}
	return q
}

// quotedLen bounds the header and the body that quotable keeps, in bytes. The longest headers of
// IPv4 and TCP have 60 bytes each.
const quotedLen = 64

// segmentOf returns the size of each datagram but the last in a super-frame of UDP, and 0 for other
// frames.
func segmentOf(gso *link.GSO) int {
	if gso.Kind != link.UDP {
		return 0
	}
	return int(gso.Size)
}
