package gonet

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"interleave/gonet/wire"
)

// A mutator changes frames at random, most of all their headers.
type mutator struct {
	random *rand.Rand
	header int    // length in bytes of the Ethernet header; 0 on an L3 link
	mutant []byte // memory for mutate
}

// mutations change b, which is not empty, and return it. other is another frame of the session.
var mutations = []func(m *mutator, b, other []byte) []byte{
	func(m *mutator, b, _ []byte) []byte { // one bit
		b[m.place(b)] ^= 1 << m.random.IntN(8)
		return b
	},
	func(m *mutator, b, _ []byte) []byte { // one byte
		b[m.place(b)] = byte(m.random.Uint32())
		return b
	},
	func(m *mutator, b, _ []byte) []byte { // a number of 16 bits, such as a length or a port
		if at := m.place(b); at+2 <= len(b) {
			edges := [...]uint16{0, 1, 8, 0x7fff, 0x8000, 0xffff, uint16(len(b))}
			n := edges[m.random.IntN(len(edges))]
			if m.random.IntN(2) == 0 {
				n = binary.BigEndian.Uint16(b[at:]) + uint16(m.random.IntN(9)) - 4
			}
			binary.BigEndian.PutUint16(b[at:], n)
		}
		return b
	},
	func(m *mutator, b, _ []byte) []byte { // a number of 32 bits, such as a sequence number
		if at := m.place(b); at+4 <= len(b) {
			steps := [...]uint32{1, 1000, 1 << 16, 1 << 30, 1 << 31}
			n := steps[m.random.IntN(len(steps))]
			if m.random.IntN(2) == 0 {
				n = -n
			}
			binary.BigEndian.PutUint32(b[at:], binary.BigEndian.Uint32(b[at:])+n)
		}
		return b
	},
	func(m *mutator, b, _ []byte) []byte { return b[:m.random.IntN(len(b))] }, // a part
	func(m *mutator, b, _ []byte) []byte { // more than the whole
		for range 1 + m.random.IntN(64) {
			b = append(b, byte(m.random.Uint32()))
		}
		return b
	},
	func(m *mutator, b, other []byte) []byte { // the end of another frame
		at := m.place(b)
		return append(b[:at], other[min(at, len(other)):]...)
	},
	func(m *mutator, b, _ []byte) []byte { // one field in another one's place
		from, to := m.place(b), m.place(b)
		copy(b[to:], b[from:min(len(b), from+1+m.random.IntN(16))])
		return b
	},
	func(m *mutator, b, _ []byte) []byte { // other flags of TCP
		if len(b) > m.header {
			at, protocol := transportAt(b[m.header:])
			if at += m.header + 13; protocol == wire.ProtocolTCP && at < len(b) {
				b[at] = byte(m.random.Uint32())
			}
		}
		return b
	},
}

// place returns an index in the headers of a frame that is not empty. That of Ethernet is chosen
// seldom, since few of its bytes have an effect.
func (m *mutator) place(b []byte) int {
	low, high := m.header, min(len(b), m.header+wire.IPv6Len+wire.TCPMaxLen)
	if low >= high || m.random.IntN(16) == 0 {
		low = 0
	}
	return low + m.random.IntN(high-low)
}

// mutate returns a changed copy of a frame, which is valid until the next call. The lengths and
// checksums of most are right, so that a stack looks at the rest.
func (m *mutator) mutate(frame, other []byte) []byte {
	b := append(m.mutant[:0], frame...)
	for n := 1 + m.random.IntN(3); n > 0 && len(b) > 0; n-- {
		b = mutations[m.random.IntN(len(mutations))](m, b, other)
	}
	m.mutant = b
	if len(b) <= m.header || m.random.IntN(4) == 0 {
		return b
	}
	packet := b[m.header:]
	if m.random.IntN(2) == 0 {
		setLength(packet)
	}
	sealIPv4(packet)
	sealTransport(packet)
	return b
}

// setLength fills in the length of an IP packet.
func setLength(b []byte) {
	switch {
	case len(b) >= wire.IPv4Len && b[0]>>4 == 4:
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	case len(b) >= wire.IPv6Len && b[0]>>4 == 6:
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)-wire.IPv6Len))
	}
}

// sealTransport fills in the checksum of a segment, a datagram or a message in an IP packet. It
// leaves fragments as they are.
func sealTransport(b []byte) {
	at, protocol := transportAt(b)
	field := 2 // offset of the checksum
	switch protocol {
	case wire.ProtocolTCP:
		field = 16
	case wire.ProtocolUDP:
		field = 6
	case wire.ProtocolICMP, wire.ProtocolICMPv6:
	default:
		return
	}
	body := b[at:]
	if len(body) < field+2 {
		return
	}
	sum := uint16(0)
	if protocol != wire.ProtocolICMP {
		src, dst := addressesOf(b)
		sum = wire.PseudoSum(src, dst, protocol, len(body))
	}
	binary.BigEndian.PutUint16(body[field:], 0)
	sum = ^wire.Sum(body, sum)
	if sum == 0 && protocol == wire.ProtocolUDP {
		sum = 0xffff // 0 would say that there is none (RFC 768)
	}
	binary.BigEndian.PutUint16(body[field:], sum)
}

// addressesOf returns the addresses in a whole IP header.
func addressesOf(b []byte) (src, dst netip.Addr) {
	if b[0]>>4 == 4 {
		return netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	}
	return netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
}
