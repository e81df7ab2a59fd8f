package link

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"interleave/gonet/wire"
)

// Cut cuts a super-frame of TCP or UDP into plain frames, as a device with segmentation offload
// does, and passes each to emit, which may keep it. The fields of g and the headers are not
// trusted.
func Cut(g GSO, frame []byte, emit func([]byte) error) error {
	return cut(wire.EthernetLen, g, frame, emit)
}

// CutL3 is Cut for a frame of an L3 link, which begins with its IP header.
func CutL3(g GSO, packet []byte, emit func([]byte) error) error { return cut(0, g, packet, emit) }

// cut is Cut for a frame whose IP header begins at an offset.
func cut(ip int, g GSO, frame []byte, emit func([]byte) error) error {
	c, err := newCutter(ip, g, frame)
	for n := c.Len(); n > 0 && err == nil; n = c.Len() {
		piece := make([]byte, n)
		c.Next(piece)
		err = emit(piece)
	}
	return err
}

// A Cutter cuts a super-frame as CutL3 does, into memory of its caller. The zero value has nothing
// to cut.
type Cutter struct {
	layout
	header, text []byte // of the super-frame
	size         int    // bytes of text in each piece but the last
	pieces, at   int    // that were cut, and the bytes of text in them
	more         bool   // pieces are left
}

// NewCutterL3 makes a Cutter for a frame of an L3 link, which must stay as it is until all is cut.
func NewCutterL3(g GSO, packet []byte) (Cutter, error) { return newCutter(0, g, packet) }

func newCutter(ip int, g GSO, frame []byte) (Cutter, error) {
	l, err := parseLayout(ip, g, frame)
	if err != nil {
		return Cutter{}, err
	}
	return Cutter{layout: l, header: frame[:g.Header], text: frame[g.Header:], size: int(g.Size),
		more: true}, nil
}

// Len returns the length of the next piece in bytes; 0: there is none.
func (c *Cutter) Len() int {
	if !c.more {
		return 0
	}
	return len(c.header) + min(c.size, len(c.text)-c.at)
}

// Next writes the next piece to b, and returns its length. A piece that b has no room for is
// skipped.
func (c *Cutter) Next(b []byte) int {
	n, i, at := c.Len(), c.pieces, c.at
	if n == 0 {
		return 0
	}
	c.pieces++
	c.at += n - len(c.header)
	c.more = c.at < len(c.text)
	if n > len(b) {
		return n
	}
	b = b[:n]
	copy(b[copy(b, c.header):], c.text[at:])
	c.fixIP(b, i)
	if c.protocol == wire.ProtocolUDP {
		c.fixUDP(b)
	} else {
		c.fixTCP(b, i, at, !c.more)
	}
	return n
}

// layout has the offsets of the IP and transport headers in a super-frame, and the addresses and
// the protocol of the packet.
type layout struct {
	ip, transport int
	src, dst      netip.Addr
	protocol      wire.Protocol
}

// The offsets of fields in their headers (RFC 791, RFC 8200, RFC 9293, RFC 768).
const (
	atIPv4Length, atIPv4ID, atIPv4Protocol, atIPv4Sum = 2, 4, 9, 10
	atIPv6Length, atIPv6Next                          = 4, 6
	atSeq, atFlags, atSum                             = 4, 13, 16
	atUDPLength                                       = 4
)

func parseLayout(ip int, g GSO, frame []byte) (c layout, err error) {
	bad := func() error {
		return fmt.Errorf("a super-frame of %d bytes that cannot be cut: %+v", len(frame), g)
	}
	c.ip, c.protocol = ip, wire.ProtocolTCP
	transport := wire.TCPLen
	if g.Kind == UDP {
		c.protocol, transport = wire.ProtocolUDP, wire.UDPLen
	}
	if g.Size == 0 || int(g.Header) > len(frame) ||
		int(g.Header) < ip+wire.IPv4Len+transport ||
		int(g.Header) > ip+wire.IPv4MaxLen+wire.TCPMaxLen {
		return c, bad()
	}
	b := frame[ip:]
	switch {
	case (g.Kind == TCPv4 || g.Kind == UDP) && b[0]>>4 == 4 &&
		wire.Protocol(b[atIPv4Protocol]) == c.protocol:
		c.transport = ip + int(b[0]&15)*4
		c.src, c.dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	case (g.Kind == TCPv6 || g.Kind == UDP) && b[0]>>4 == 6 &&
		int(g.Header) >= ip+wire.IPv6Len+transport &&
		wire.Protocol(b[atIPv6Next]) == c.protocol:
		c.transport = ip + wire.IPv6Len
		c.src, c.dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	default:
		return c, bad()
	}
	if c.transport+transport > int(g.Header) || c.transport < ip+wire.IPv4Len ||
		g.Kind == UDP && c.transport+transport != int(g.Header) {
		return c, bad()
	}
	return c, nil
}

// fixIP adapts the IP header of the ith piece, which starts as a copy of the super-frame's.
func (c *layout) fixIP(b []byte, i int) {
	be := binary.BigEndian
	ip := b[c.ip:]
	if c.src.Is6() {
		be.PutUint16(ip[atIPv6Length:], uint16(len(ip)-wire.IPv6Len)) //nolint:gosec // a piece is not longer than the whole
		return
	}
	be.PutUint16(ip[atIPv4Length:], uint16(len(ip)))                //nolint:gosec // a piece is not longer than the whole
	be.PutUint16(ip[atIPv4ID:], be.Uint16(ip[atIPv4ID:])+uint16(i)) //nolint:gosec // it wraps
	be.PutUint16(ip[atIPv4Sum:], 0)
	be.PutUint16(ip[atIPv4Sum:], ^wire.Sum(b[c.ip:c.transport], 0))
}

// fixTCP adapts the TCP header of the ith piece. at is the offset of its payload.
func (c *layout) fixTCP(b []byte, i, at int, last bool) {
	be := binary.BigEndian
	t := b[c.transport:]
	be.PutUint32(t[atSeq:], be.Uint32(t[atSeq:])+uint32(at)) //nolint:gosec // within 64 KiB
	if !last {
		t[atFlags] &^= byte(wire.FIN | wire.PSH)
	}
	if i > 0 {
		t[atFlags] &^= byte(wire.CWR) // only the first piece keeps CWR (RFC 3168 section 6.1.2)
	}
	be.PutUint16(t[atSum:], 0)
	be.PutUint16(t[atSum:], c.sum(t))
}

// fixUDP adapts the UDP header of a piece, which is a datagram.
func (c *layout) fixUDP(b []byte) {
	be := binary.BigEndian
	u := b[c.transport:]
	be.PutUint16(u[atUDPLength:], uint16(len(u))) //nolint:gosec // at most 64 KiB
	be.PutUint16(u[checksumUDP:], 0)
	sum := c.sum(u)
	if sum == 0 {
		sum = 0xffff // 0 means no checksum (RFC 768)
	}
	be.PutUint16(u[checksumUDP:], sum)
}

// sum returns the checksum of a transport header, whose checksum is 0, and its payload.
func (c *layout) sum(b []byte) uint16 {
	return ^wire.Sum(b, wire.PseudoSum(c.src, c.dst, c.protocol, len(b)))
}
