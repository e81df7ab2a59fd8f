package wire

import (
	"net/netip"
	"time"
)

// The options of neighbour discovery (RFC 4861 section 4.6, RFC 8106).
const (
	ndSourceMAC = 1
	ndTargetMAC = 2
	ndPrefix    = 3
	ndMTU       = 5
	ndRDNSS     = 25
)

// Neighbor is a neighbour solicitation or advertisement.
type Neighbor struct {
	Target                      netip.Addr
	Router, Solicited, Override bool // flags of an advertisement
	// link-layer address of a solicitation's source, or of an advertisement's target
	MAC    MAC
	HasMAC bool
}

// Prefix is the prefix information option of a router advertisement.
type Prefix struct {
	Prefix           netip.Prefix
	OnLink           bool
	Autonomous       bool          // hosts may generate addresses in it
	Valid, Preferred time.Duration // Infinite: never end
}

// Infinite is a lifetime that never ends, 2^32-1 seconds on the wire.
const Infinite = time.Duration(0xffffffff) * time.Second

// RouterAdvert is a router advertisement.
type RouterAdvert struct {
	HopLimit       uint8 // 0: unspecified
	Managed, Other bool  // DHCPv6 provides addresses, other configuration
	Lifetime       time.Duration
	Reachable      time.Duration // 0: unspecified
	Retransmit     time.Duration // 0: unspecified
	MTU            uint32        // 0: unspecified
	MAC            MAC
	HasMAC         bool
	Prefixes       []Prefix
	DNS            []netip.Addr
	DNSLifetime    time.Duration
}

var ndFailed = failures("nd", ErrShort, ErrLength, ErrOption, ErrAddress)

// ParseNeighbor parses the body of a solicitation or an advertisement, as ParseICMP returns it,
// with the header m.
func ParseNeighbor(m ICMP, body []byte) (n Neighbor, err error) {
	if len(body) < 16 {
		return n, ndFailed[ErrShort]
	}
	n.Target = netip.AddrFrom16([16]byte(body))
	if n.Target.IsMulticast() || n.Target.IsUnspecified() {
		return n, ndFailed[ErrAddress]
	}
	want := byte(ndSourceMAC)
	if m.Type == ICMPv6NeighborAdvert {
		want = ndTargetMAC
		n.Router, n.Solicited, n.Override = m.Rest>>31 == 1, m.Rest>>30&1 == 1, m.Rest>>29&1 == 1
	}
	err = ndOptions(body[16:], func(kind byte, data []byte) error {
		if kind == want && len(data) == 6 {
			n.MAC, n.HasMAC = MAC(data), true
		}
		return nil
	})
	return n, err
}

// Put writes the whole message of type kind, without its checksum. It returns the length: 24 bytes,
// 32 with a MAC.
func (n *Neighbor) Put(b []byte, kind uint8) int {
	m := ICMP{Type: kind}
	option := byte(ndSourceMAC)
	if kind == ICMPv6NeighborAdvert {
		option = ndTargetMAC
		m.Rest = bit(n.Router, 31) | bit(n.Solicited, 30) | bit(n.Override, 29)
	}
	m.Put(b)
	put16(b[ICMPLen:], n.Target)
	if !n.HasMAC {
		return ICMPLen + 16
	}
	return ICMPLen + 16 + putMAC(b[ICMPLen+16:], option, n.MAC)
}

// PutRouterSolicit writes a router solicitation, without its checksum. If mac is nil, it leaves out
// the option, as it must for an unspecified source (RFC 4861 section 4.1).
func PutRouterSolicit(b []byte, mac *MAC) int {
	m := ICMP{Type: ICMPv6RouterSolicit}
	n := m.Put(b)
	if mac != nil {
		n += putMAC(b[n:], ndSourceMAC, *mac)
	}
	return n
}

func putMAC(b []byte, option byte, mac MAC) int {
	b[0], b[1] = option, 1
	copy(b[2:8], mac[:])
	return 8
}

func bit(set bool, at int) uint32 {
	if set {
		return 1 << at
	}
	return 0
}

// ParseRouterAdvert parses the body of a router advertisement with the header m. Prefixes that a
// host must ignore are left out (RFC 4862 section 5.5.3).
func ParseRouterAdvert(m ICMP, body []byte) (r RouterAdvert, err error) {
	if len(body) < 8 {
		return r, ndFailed[ErrShort]
	}
	r.HopLimit, r.Managed, r.Other = uint8(m.Rest>>24), m.Rest>>23&1 == 1, m.Rest>>22&1 == 1
	r.Lifetime = seconds(uint32(uint16(m.Rest)))
	r.Reachable = time.Duration(be.Uint32(body)) * time.Millisecond
	r.Retransmit = time.Duration(be.Uint32(body[4:])) * time.Millisecond
	err = ndOptions(body[8:], r.take)
	return r, err
}

// Append appends the whole message to b, without its checksum.
func (r *RouterAdvert) Append(b []byte) []byte {
	m := ICMP{Type: ICMPv6RouterAdvert, Rest: uint32(r.HopLimit)<<24 | bit(r.Managed, 23) |
		bit(r.Other, 22) | uint32(uint16(r.Lifetime/time.Second))}
	var header [ICMPLen]byte
	m.Put(header[:])
	b = append(b, header[:]...)
	b = be.AppendUint32(b, uint32(r.Reachable/time.Millisecond))
	b = be.AppendUint32(b, uint32(r.Retransmit/time.Millisecond))
	if r.HasMAC {
		var option [8]byte
		b = append(b, option[:putMAC(option[:], ndSourceMAC, r.MAC)]...)
	}
	if r.MTU != 0 {
		b = be.AppendUint32(append(b, ndMTU, 1, 0, 0), r.MTU)
	}
	for _, p := range r.Prefixes {
		flags := byte(bit(p.OnLink, 7) | bit(p.Autonomous, 6))
		b = append(b, ndPrefix, 4, byte(p.Prefix.Bits()), flags)
		b = be.AppendUint32(b, uint32(p.Valid/time.Second))
		b = be.AppendUint32(b, uint32(p.Preferred/time.Second))
		raw := p.Prefix.Addr().As16()
		b = append(append(b, 0, 0, 0, 0), raw[:]...)
	}
	if len(r.DNS) > 0 {
		b = append(b, ndRDNSS, byte(1+2*len(r.DNS)), 0, 0)
		b = be.AppendUint32(b, uint32(r.DNSLifetime/time.Second))
		for _, a := range r.DNS {
			raw := a.As16()
			b = append(b, raw[:]...)
		}
	}
	return b
}

func (r *RouterAdvert) take(kind byte, data []byte) error {
	switch {
	case kind == ndSourceMAC && len(data) == 6:
		r.MAC, r.HasMAC = MAC(data), true
	case kind == ndMTU && len(data) == 6:
		r.MTU = be.Uint32(data[2:])
	case kind == ndPrefix && len(data) == 30:
		p := Prefix{
			OnLink: data[1]&0x80 != 0, Autonomous: data[1]&0x40 != 0,
			Valid: seconds(be.Uint32(data[2:])), Preferred: seconds(be.Uint32(data[6:])),
		}
		if data[0] > 128 {
			return ndFailed[ErrOption]
		}
		p.Prefix = netip.PrefixFrom(netip.AddrFrom16([16]byte(data[14:])), int(data[0])).Masked()
		if p.Preferred <= p.Valid && !p.Prefix.Addr().IsLinkLocalUnicast() &&
			!p.Prefix.Addr().IsMulticast() {
			r.Prefixes = append(r.Prefixes, p)
		}
	case kind == ndRDNSS && len(data) >= 22:
		r.DNSLifetime = seconds(be.Uint32(data[2:]))
		for data = data[6:]; len(data) >= 16; data = data[16:] {
			r.DNS = append(r.DNS, netip.AddrFrom16([16]byte(data)))
		}
	}
	return nil
}

func seconds(n uint32) time.Duration { return time.Duration(n) * time.Second }

// ndOptions calls take for each option, with its type and its data. A length of 0 makes the message
// invalid (RFC 4861 section 4.6).
func ndOptions(b []byte, take func(kind byte, data []byte) error) error {
	for len(b) > 0 {
		if len(b) < 2 {
			return ndFailed[ErrShort]
		}
		n := int(b[1]) * 8
		if n == 0 {
			return ndFailed[ErrLength]
		}
		if n > len(b) {
			return ndFailed[ErrShort]
		}
		if err := take(b[0], b[2:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// SolicitedNode returns the solicited-node group of an address (RFC 4291 section 2.7.1).
func SolicitedNode(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom16([16]byte{0xff, 2, 11: 1, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]})
}
