package netstack

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// A joiner puts consecutive segments of one TCP connection together to a super-frame (generic
// receive offload). It joins only what a sender with segmentation offload could have sent as one:
// all headers are the same but for what cutting changes, and each checksum is right.
type joiner struct {
	first  []byte   // the packet that began the super-frame; nil: none has begun
	shape  segment  // of first
	pieces [][]byte // the payloads after that of first
	length int      // of all payloads in bytes
	next   uint32   // the sequence number that continues it
	full   bool     // a short or a pushed segment was its last
	push   bool
}

// A segment is a TCP segment whose packet may be joined with others.
type segment struct {
	six      bool
	tcp      int // offset of the TCP header
	payload  int // offset of the payload
	sequence uint32
}

// The offsets of fields in their headers (RFC 791, RFC 8200, RFC 9293).
const (
	atIPv4Length, atIPv4ID, atIPv4Fragment, atIPv4Protocol, atIPv4Sum = 2, 4, 6, 9, 10
	atIPv6Length, atIPv6Next                                          = 4, 6
	atSequence, atOffset, atFlags, atSum                              = 4, 12, 13, 16
)

// maxSuper bounds an IP packet in a super-frame in bytes.
const maxSuper = 65535

type write func(link.GSO, ...[]byte) error

// add takes a packet, which stays valid until flush.
func (j *joiner) add(packet []byte, out write) error {
	s, ok := parse(packet)
	if !ok {
		if err := j.flush(out); err != nil {
			return err
		}
		if len(packet) == 0 {
			return nil // wireguard-go's keep-alive has no packet
		}
		return out(link.GSO{}, packet)
	}
	if j.first != nil && j.continues(packet, s) {
		j.pieces = append(j.pieces, packet[s.payload:])
		j.take(packet, s)
		return nil
	}
	if err := j.flush(out); err != nil {
		return err
	}
	j.first, j.shape = packet, s
	j.take(packet, s)
	return nil
}

// take counts a segment as the last one.
func (j *joiner) take(packet []byte, s segment) {
	n := len(packet) - s.payload
	j.push = wire.Flags(packet[s.tcp+atFlags])&wire.PSH != 0
	j.full = j.push || n < len(j.first)-j.shape.payload
	j.length += n
	j.next = s.sequence + uint32(n) //nolint:gosec // a packet has at most 64 KiB
}

// continues tells whether a segment follows the super-frame.
func (j *joiner) continues(packet []byte, s segment) bool {
	a, size := j.first, len(j.first)-j.shape.payload
	n := len(packet) - s.payload
	if j.full || s.six != j.shape.six || s.tcp != j.shape.tcp || s.payload != j.shape.payload ||
		s.sequence != j.next || n > size || j.shape.payload+j.length+n > maxSuper {
		return false
	}
	t := s.tcp
	flags := func(p []byte) wire.Flags { return wire.Flags(p[t+atFlags]) &^ wire.PSH }
	if flags(a) != flags(packet) || !bytes.Equal(a[t:t+atSequence], packet[t:t+atSequence]) ||
		!bytes.Equal(a[t+8:t+atFlags], packet[t+8:t+atFlags]) || // acknowledgement and offset
		!bytes.Equal(a[t+14:t+atSum], packet[t+14:t+atSum]) || // window
		!bytes.Equal(a[t+18:s.payload], packet[t+18:s.payload]) { // urgent pointer and options
		return false
	}
	if s.six {
		return bytes.Equal(a[:atIPv6Length], packet[:atIPv6Length]) &&
			bytes.Equal(a[atIPv6Next:t], packet[atIPv6Next:t])
	}
	return bytes.Equal(a[:atIPv4Length], packet[:atIPv4Length]) &&
		bytes.Equal(a[atIPv4Fragment:atIPv4Sum], packet[atIPv4Fragment:atIPv4Sum]) &&
		bytes.Equal(a[12:t], packet[12:t])
}

// flush writes the super-frame that has begun.
func (j *joiner) flush(out write) error {
	if j.first == nil {
		return nil
	}
	first, s := j.first, j.shape
	defer func() {
		clear(j.pieces)
		*j = joiner{pieces: j.pieces[:0]}
	}()
	if len(j.pieces) == 0 {
		return out(link.GSO{}, first)
	}
	header := append([]byte(nil), first[:s.payload]...)
	total := s.payload + j.length
	be := binary.BigEndian
	kind := link.TCPv4
	if s.six {
		kind = link.TCPv6
		be.PutUint16(header[atIPv6Length:], uint16(total-wire.IPv6Len)) //nolint:gosec // at most maxSuper
	} else {
		be.PutUint16(header[atIPv4Length:], uint16(total)) //nolint:gosec // at most maxSuper
		be.PutUint16(header[atIPv4Sum:], 0)
		be.PutUint16(header[atIPv4Sum:], ^wire.Sum(header[:s.tcp], 0))
	}
	if j.push {
		header[s.tcp+atFlags] |= byte(wire.PSH)
	}
	g := link.GSO{Kind: kind, Size: uint16(len(first) - s.payload), //nolint:gosec // at most 64 KiB
		Header: uint16(s.payload), Valid: true} //nolint:gosec // headers of two layers
	pieces := append([][]byte{header, first[s.payload:]}, j.pieces...)
	return out(g, pieces...)
}

// parse tells whether a packet is a TCP segment that may be joined: with a payload, no flags but
// ACK and PSH, no IP options, no fragment, and a right checksum.
func parse(b []byte) (s segment, ok bool) {
	be := binary.BigEndian
	if len(b) < wire.IPv4Len {
		return s, false
	}
	var src, dst netip.Addr
	switch b[0] >> 4 {
	case 4:
		// DF may be set; the reserved bit, MF and an offset may not.
		if b[0]&15 != 5 || int(be.Uint16(b[atIPv4Length:])) != len(b) ||
			be.Uint16(b[atIPv4Fragment:])&^0x4000 != 0 ||
			wire.Protocol(b[atIPv4Protocol]) != wire.ProtocolTCP ||
			wire.Sum(b[:wire.IPv4Len], 0) != 0xffff {
			return s, false
		}
		s.tcp = wire.IPv4Len
		src, dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	case 6:
		if len(b) < wire.IPv6Len || int(be.Uint16(b[atIPv6Length:])) != len(b)-wire.IPv6Len ||
			wire.Protocol(b[atIPv6Next]) != wire.ProtocolTCP {
			return s, false
		}
		s.six, s.tcp = true, wire.IPv6Len
		src, dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	default:
		return s, false
	}
	t := b[s.tcp:]
	if len(t) < wire.TCPLen {
		return s, false
	}
	length := int(t[atOffset]>>4) * 4
	if length < wire.TCPLen || length >= len(t) ||
		wire.Flags(t[atFlags])&^(wire.ACK|wire.PSH) != 0 || wire.Flags(t[atFlags])&wire.ACK == 0 {
		return s, false
	}
	s.payload, s.sequence = s.tcp+length, be.Uint32(t[atSequence:])
	return s, wire.Sum(t, wire.PseudoSum(src, dst, wire.ProtocolTCP, len(t))) == 0xffff
}
