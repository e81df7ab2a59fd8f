package wire

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Sum adds b to a sum of 16-bit words in ones' complement (RFC 1071) and returns the new sum,
// folded and not inverted. Sums may be chained if all pieces but the last are of even length; for
// other pieces there is SumAt.
func Sum(b []byte, initial uint16) uint16 {
	// The byte order of the words matters only at the end, where the sum is swapped (RFC 1071
	// section 2). So the loads are in little endian, eight bytes each.
	var sum, carry uint64
	for len(b) >= 32 {
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(b), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(b[8:]), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(b[16:]), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(b[24:]), carry)
		b = b[32:]
	}
	for len(b) >= 8 {
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(b), carry)
		b = b[8:]
	}
	var rest uint64
	for i, c := range b {
		rest |= uint64(c) << (8 * i)
	}
	sum, carry = bits.Add64(sum, rest, carry)
	sum += carry // at most once: after a carry the sum cannot overflow again
	return add(bits.ReverseBytes16(fold(sum)), initial)
}

// SumAt is Sum for a piece that starts offset bytes after the start of its message.
func SumAt(b []byte, offset int, initial uint16) uint16 {
	sum := Sum(b, 0)
	if offset%2 == 1 {
		sum = bits.ReverseBytes16(sum)
	}
	return add(sum, initial)
}

// PseudoSum returns the sum of the pseudo header of TCP, UDP and ICMPv6: both addresses, the
// protocol, and the length in bytes of header and payload (RFC 9293 section 3.1, RFC 8200 section
// 8.1).
func PseudoSum(src, dst netip.Addr, p Protocol, length int) uint16 {
	sum := add(uint16(p), add(uint16(length>>16), uint16(length)))
	if src.Is4() {
		s, d := src.As4(), dst.As4()
		return Sum(d[:], Sum(s[:], sum))
	}
	s, d := src.As16(), dst.As16()
	return Sum(d[:], Sum(s[:], sum))
}

// Replace returns the checksum of a message in which one word has changed, from the old checksum
// (RFC 1624).
func Replace(checksum, was, is uint16) uint16 { return ^add(^checksum, add(^was, is)) }

func add(a, b uint16) uint16 {
	sum := uint32(a) + uint32(b)
	return uint16(sum) + uint16(sum>>16)
}

func fold(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return uint16(sum)
}
