package wire

import "net/netip"

// IPv4Len is the length in bytes of a header without options, IPv4MaxLen that of the longest.
const (
	IPv4Len    = 20
	IPv4MaxLen = 60
)

// The ECN codepoints, in the low two bits of IPv4's TOS and IPv6's traffic class (RFC 3168 section
// 5).
const (
	ECT0 = 2 // ECN-capable transport: routers may mark the packet
	CE   = 3 // congestion experienced: a router has marked the packet
)

// IPv4 is the header of RFC 791.
type IPv4 struct {
	// DSCP, and ECN in the low two bits (RFC 2474, RFC 3168)
	TOS           uint8
	Length        uint16 // of the packet, header included, in bytes
	ID            uint16
	DontFragment  bool
	MoreFragments bool
	Offset        uint16 // of this fragment's payload, in bytes
	TTL           uint8
	Protocol      Protocol
	Src, Dst      netip.Addr
	// a view after parsing; at most 40 bytes, which Put pads to a multiple of 4
	Options []byte
}

var ipv4Failed = failures("ipv4", ErrShort, ErrVersion, ErrLength, ErrChecksum)

// ParseIPv4 parses a header, verifies its checksum, and cuts off the padding of Ethernet.
func ParseIPv4(b []byte) (h IPv4, payload []byte, err error) {
	n, err := h.parse(b)
	if err != nil {
		return h, nil, err
	}
	if int(h.Length) > len(b) {
		return h, nil, ipv4Failed[ErrLength]
	}
	if Sum(b[:n], 0) != 0xffff {
		return h, nil, ipv4Failed[ErrChecksum]
	}
	return h, b[n:h.Length], nil
}

// ParseIPv4Quote parses the header of a packet that an ICMP error quotes. The payload may be cut,
// and routers may have changed the TTL and the checksum, so the latter is not verified.
func ParseIPv4Quote(b []byte) (h IPv4, payload []byte, err error) {
	n, err := h.parse(b)
	if err != nil {
		return h, nil, err
	}
	return h, b[n:min(len(b), int(h.Length))], nil
}

// parse fills in h and returns the length of the header in bytes.
func (h *IPv4) parse(b []byte) (int, error) {
	if len(b) < IPv4Len {
		return 0, ipv4Failed[ErrShort]
	}
	if b[0]>>4 != 4 {
		return 0, ipv4Failed[ErrVersion]
	}
	n := int(b[0]&15) * 4
	h.Length = be.Uint16(b[2:])
	if n < IPv4Len || int(h.Length) < n {
		return 0, ipv4Failed[ErrLength]
	}
	if len(b) < n {
		return 0, ipv4Failed[ErrShort]
	}
	fragment := be.Uint16(b[6:])
	h.TOS, h.ID = b[1], be.Uint16(b[4:])
	h.DontFragment, h.MoreFragments, h.Offset = fragment&0x4000 != 0, fragment&0x2000 != 0,
		fragment<<3
	h.TTL, h.Protocol = b[8], Protocol(b[9])
	h.Src, h.Dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	h.Options = b[IPv4Len:n:n]
	return n, nil
}

// IsFragment tells whether the packet is a fragment.
func (h *IPv4) IsFragment() bool { return h.MoreFragments || h.Offset != 0 }

// Len returns the length of the header in bytes.
func (h *IPv4) Len() int { return IPv4Len + (len(h.Options)+3)&^3 }

// Put writes the header with its checksum.
func (h *IPv4) Put(b []byte) int {
	n := h.Len()
	b[0], b[1] = byte(0x40|n/4), h.TOS
	be.PutUint16(b[2:], h.Length)
	be.PutUint16(b[4:], h.ID)
	fragment := h.Offset >> 3
	if h.DontFragment {
		fragment |= 0x4000
	}
	if h.MoreFragments {
		fragment |= 0x2000
	}
	be.PutUint16(b[6:], fragment)
	b[8], b[9], b[10], b[11] = h.TTL, byte(h.Protocol), 0, 0
	put4(b[12:], h.Src)
	put4(b[16:], h.Dst)
	clear(b[IPv4Len+copy(b[IPv4Len:n], h.Options) : n])
	be.PutUint16(b[10:], ^Sum(b[:n], 0))
	return n
}

// The IPv4 options that a host must know.
const (
	optionEnd    = 0
	optionNop    = 1
	optionLSRR   = 131 // loose source route
	optionSSRR   = 137 // strict source route
	optionAlert4 = 148 // router alert
)

// CheckIPv4Options walks the options. It returns an error if a length exceeds them, and whether
// there is a source route, which hosts refuse today (RFC 7126 section 4.3).
func CheckIPv4Options(options []byte) (sourceRoute bool, err error) {
	for len(options) > 0 {
		switch options[0] {
		case optionEnd:
			return sourceRoute, nil
		case optionNop:
			options = options[1:]
			continue
		case optionLSRR, optionSSRR:
			sourceRoute = true
		}
		if len(options) < 2 || options[1] < 2 || int(options[1]) > len(options) {
			return sourceRoute, ipv4OptionFailed[ErrOption]
		}
		options = options[options[1]:]
	}
	return sourceRoute, nil
}

var ipv4OptionFailed = failures("ipv4", ErrOption)
