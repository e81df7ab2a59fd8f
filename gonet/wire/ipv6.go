package wire

import (
	"fmt"
	"net/netip"
)

// IPv6Len and FragmentLen are the lengths in bytes of the IPv6 header and the fragment header.
// IPv6MinMTU is the MTU in bytes that every link has at least (RFC 8200 section 5).
const (
	IPv6Len     = 40
	IPv6MinMTU  = 1280
	FragmentLen = 8
)

// IPv6 is the header of RFC 8200.
type IPv6 struct {
	TrafficClass uint8
	FlowLabel    uint32 // 20 bits
	Length       uint16 // of what follows the header, in bytes
	NextHeader   Protocol
	HopLimit     uint8
	Src, Dst     netip.Addr
}

var ipv6Failed = failures("ipv6", ErrShort, ErrVersion, ErrLength)

// ParseIPv6 parses a header and cuts off the padding of Ethernet.
func ParseIPv6(b []byte) (h IPv6, payload []byte, err error) {
	if err := h.parse(b); err != nil {
		return h, nil, err
	}
	if IPv6Len+int(h.Length) > len(b) {
		return h, nil, ipv6Failed[ErrLength]
	}
	return h, b[IPv6Len : IPv6Len+int(h.Length)], nil
}

// ParseIPv6Quote parses the header of a packet that an ICMPv6 error quotes, whose payload may be
// cut.
func ParseIPv6Quote(b []byte) (h IPv6, payload []byte, err error) {
	if err := h.parse(b); err != nil {
		return h, nil, err
	}
	return h, b[IPv6Len:min(len(b), IPv6Len+int(h.Length))], nil
}

func (h *IPv6) parse(b []byte) error {
	if len(b) < IPv6Len {
		return ipv6Failed[ErrShort]
	}
	first := be.Uint32(b)
	if first>>28 != 6 {
		return ipv6Failed[ErrVersion]
	}
	h.TrafficClass, h.FlowLabel = uint8(first>>20), first&0xfffff
	h.Length, h.NextHeader, h.HopLimit = be.Uint16(b[4:]), Protocol(b[6]), b[7]
	h.Src, h.Dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	return nil
}

// Put writes the header.
func (h *IPv6) Put(b []byte) int {
	be.PutUint32(b, 6<<28|uint32(h.TrafficClass)<<20|h.FlowLabel&0xfffff)
	be.PutUint16(b[4:], h.Length)
	b[6], b[7] = byte(h.NextHeader), h.HopLimit
	put16(b[8:], h.Src)
	put16(b[24:], h.Dst)
	return IPv6Len
}

// Fragment is the fragment header.
type Fragment struct {
	NextHeader Protocol
	Offset     uint16 // offset in the fragmentable part, in bytes
	More       bool
	ID         uint32
}

// Put writes the header.
func (f *Fragment) Put(b []byte) int {
	b[0], b[1] = byte(f.NextHeader), 0
	field := f.Offset &^ 7
	if f.More {
		field |= 1
	}
	be.PutUint16(b[2:], field)
	be.PutUint32(b[4:], f.ID)
	return FragmentLen
}

// Chain is the result of walking the extension headers of a packet.
type Chain struct {
	// protocol of the payload; for a fragment, the Next Header of its fragment header
	Protocol Protocol
	Payload  []byte   // for a fragment: its part of the datagram
	Fragment Fragment // set if IsFragment
	// IsFragment is false for an atomic fragment, which is a whole datagram and is parsed as if it
	// had no fragment header (RFC 6946).
	IsFragment bool
	// Unfragmentable is the length in bytes of the extension headers before the payload or the
	// Fragment. The IPv6 header is not counted.
	Unfragmentable int
	// RouterAlert tells whether a hop-by-hop header has a router alert (RFC 2711).
	RouterAlert bool
	// NextAt is the offset in the packet of the Next Header field that names Protocol, for a
	// Problem about it.
	NextAt uint32
}

// Problem is an error that a host answers by an ICMPv6 Parameter Problem, unless it is Silent.
type Problem struct {
	Code    uint8  // ProblemV6Header, ProblemV6NextHeader or ProblemV6Option
	Pointer uint32 // offset from the start of the packet, in bytes
	// A packet with a Silent problem is dropped without an answer. One with a Unicast problem is
	// answered only if its destination is no multicast address (RFC 8200 section 4.2).
	Silent, Unicast bool
}

func (p *Problem) Error() string {
	return fmt.Sprintf("ipv6: a problem of code %d at byte %d of the packet", p.Code, p.Pointer)
}

// maxExtensions bounds the extension headers of a packet (RFC 8504 section 5.3 allows limits).
const maxExtensions = 8

// ParseChain walks the extension headers behind the IPv6 header: next is its Next Header field, b
// its payload. The walk ends at the first header of another protocol or at a fragment. A routing
// header with segments left is an error, as a host forwards nothing (and RFC 5095 deprecates type
// 0). An error is a *Problem, or ErrShort.
func ParseChain(next Protocol, b []byte) (Chain, error) {
	at, nextAt := 0, 6-IPv6Len // offsets count from the end of the IPv6 header
	alert := false
	for i := 0; ; i++ {
		switch next {
		case ProtocolHopByHop, ProtocolDestination, ProtocolRouting, ProtocolFragment:
		default:
			return Chain{Protocol: next, Payload: b[at:], Unfragmentable: at, RouterAlert: alert,
				NextAt: uint32(IPv6Len + nextAt)}, nil
		}
		if next == ProtocolHopByHop && i > 0 {
			return Chain{}, problem(ProblemV6NextHeader, nextAt)
		}
		if i == maxExtensions {
			return Chain{}, &Problem{Silent: true}
		}
		if len(b)-at < FragmentLen {
			return Chain{}, ipv6Failed[ErrShort]
		}
		if next == ProtocolFragment {
			f, piece := parseFragment(b[at:])
			if f.Offset != 0 || f.More {
				return Chain{f.NextHeader, piece, f, true, at, alert, uint32(IPv6Len + at)}, nil
			}
			next, nextAt, at = f.NextHeader, at, at+FragmentLen
			continue
		}
		n := 8 + 8*int(b[at+1])
		if n > len(b)-at {
			return Chain{}, ipv6Failed[ErrShort]
		}
		if next == ProtocolRouting {
			if b[at+3] != 0 {
				return Chain{}, problem(ProblemV6Header, at+2)
			}
		} else {
			alerts, p := checkIPv6Options(b[at+2:at+n], at+2)
			if p != nil {
				return Chain{}, p
			}
			alert = alert || alerts && next == ProtocolHopByHop
		}
		next, nextAt, at = Protocol(b[at]), at, at+n
	}
}

func problem(code uint8,
	at int) *Problem {
	return &Problem{Code: code, Pointer: uint32(IPv6Len + at)}
}

func parseFragment(b []byte) (Fragment, []byte) {
	field := be.Uint16(b[2:])
	return Fragment{Protocol(b[0]), field &^ 7, field&1 != 0, be.Uint32(b[4:])}, b[FragmentLen:]
}

// The IPv6 options that a host may ignore.
const (
	optionPad1        = 0
	optionPadN        = 1
	optionRouterAlert = 5
)

// checkIPv6Options walks the options, and tells whether there is a router alert. An unknown option
// has the effect that its two high bits ask for (RFC 8200 section 4.2).
func checkIPv6Options(b []byte, at int) (alert bool, _ *Problem) {
	for i := 0; i < len(b); {
		kind := b[i]
		if kind == optionPad1 {
			i++
			continue
		}
		if i+1 >= len(b) || i+2+int(b[i+1]) > len(b) {
			return false, problem(ProblemV6Header, at+i)
		}
		if kind != optionPadN && kind != optionRouterAlert && kind>>6 != 0 {
			p := problem(ProblemV6Option, at+i)
			p.Silent, p.Unicast = kind>>6 == 1, kind>>6 == 3
			return false, p
		}
		alert = alert || kind == optionRouterAlert
		i += 2 + int(b[i+1])
	}
	return alert, nil
}
