package link

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"interleave/gonet/wire"
)

// Cut cuts a super-frame of TCP into plain frames, as a device with segmentation offload does, and
// passes each to emit, which may keep it. The fields of g and the headers are not trusted.
func Cut(g GSO, frame []byte, emit func([]byte) error) error {
	return cut(wire.EthernetLen, g, frame, emit)
}

// CutL3 is Cut for a frame of an L3 link, which begins with its IP header.
func CutL3(g GSO, packet []byte, emit func([]byte) error) error { return cut(0, g, packet, emit) }

// cut is Cut for a frame whose IP header begins at an offset.
func cut(ip int, g GSO, frame []byte, emit func([]byte) error) error {
	c, err := parseLayout(ip, g, frame)
	if err != nil {
		return err
	}
	header, text := frame[:g.Header], frame[g.Header:]
	for i, at := 0, 0; ; i++ {
		n := min(int(g.Size), len(text)-at)
		last := at+n == len(text)
		piece := append(append(make([]byte, 0, len(header)+n), header...), text[at:at+n]...)
		c.fixHeaders(piece, i, at, last)
		if err := emit(piece); err != nil || last {
			return err
		}
		at += n
	}
}

// layout has the offsets of the IP and TCP headers in a super-frame, and the addresses of the
// packet.
type layout struct {
	ip, tcp  int
	src, dst netip.Addr
}

// The offsets of fields in their headers (RFC 791, RFC 8200, RFC 9293).
const (
	atIPv4Length, atIPv4ID, atIPv4Sum = 2, 4, 10
	atIPv6Length                      = 4
	atSeq, atFlags, atSum             = 4, 13, 16
)

func parseLayout(ip int, g GSO, frame []byte) (c layout, err error) {
	bad := fmt.Errorf("a super-frame of %d bytes that cannot be cut: %+v", len(frame), g)
	if g.Size == 0 || int(g.Header) > len(frame) ||
		int(g.Header) < ip+wire.IPv4Len+wire.TCPLen ||
		int(g.Header) > ip+wire.IPv4MaxLen+wire.TCPMaxLen {
		return c, bad
	}
	b := frame[ip:]
	c.ip = ip
	switch {
	case g.Kind == TCPv4 && b[0]>>4 == 4:
		c.tcp = ip + int(b[0]&15)*4
		c.src, c.dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	case g.Kind == TCPv6 && b[0]>>4 == 6 && int(g.Header) >= ip+wire.IPv6Len+wire.TCPLen:
		c.tcp = ip + wire.IPv6Len
		c.src, c.dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	default:
		return c, bad
	}
	if c.tcp+wire.TCPLen > int(g.Header) || c.tcp < ip+wire.IPv4Len {
		return c, bad
	}
	return c, nil
}

// fixHeaders adapts the headers of the ith piece, which starts as a copy of the super-frame's. at
// is the offset of its payload.
func (c *layout) fixHeaders(b []byte, i, at int, last bool) {
	be := binary.BigEndian
	ip, t := b[c.ip:], b[c.tcp:]
	if c.src.Is4() {
		be.PutUint16(ip[atIPv4Length:], uint16(len(ip)))                //nolint:gosec // a piece is not longer than the whole
		be.PutUint16(ip[atIPv4ID:], be.Uint16(ip[atIPv4ID:])+uint16(i)) //nolint:gosec // it wraps
		be.PutUint16(ip[atIPv4Sum:], 0)
		be.PutUint16(ip[atIPv4Sum:], ^wire.Sum(b[c.ip:c.tcp], 0))
	} else {
		be.PutUint16(ip[atIPv6Length:], uint16(len(ip)-wire.IPv6Len)) //nolint:gosec // a piece is not longer than the whole
	}
	be.PutUint32(t[atSeq:], be.Uint32(t[atSeq:])+uint32(at)) //nolint:gosec // within 64 KiB
	if !last {
		t[atFlags] &^= byte(wire.FIN | wire.PSH)
	}
	if i > 0 {
		t[atFlags] &^= byte(wire.CWR) // only the first piece keeps CWR (RFC 3168 section 6.1.2)
	}
	be.PutUint16(t[atSum:], 0)
	be.PutUint16(t[atSum:], ^wire.Sum(t, wire.PseudoSum(c.src, c.dst, wire.ProtocolTCP, len(t))))
}
