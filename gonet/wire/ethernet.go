package wire

import (
	"fmt"
	"net"
	"net/netip"
)

// MAC is a hardware address of Ethernet.
type MAC [6]byte

// Broadcast is the address of all stations.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// ParseMAC reads "02:00:00:00:00:01" and the other notations of net.ParseMAC, of six bytes only.
func ParseMAC(s string) (MAC, error) {
	hw, err := net.ParseMAC(s)
	if err != nil {
		return MAC{}, err
	}
	if len(hw) != len(MAC{}) {
		return MAC{}, fmt.Errorf("address %s: %d bytes, Ethernet has 6", s, len(hw))
	}
	return MAC(hw), nil
}

func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// IsGroup tells addresses of several stations, multicast and broadcast, from those of one.
func (m MAC) IsGroup() bool { return m[0]&1 != 0 }

// MulticastMAC is the group of stations that an IP group maps to (RFC 1112 section 6.4, RFC
// 2464 section 7).
func MulticastMAC(a netip.Addr) MAC {
	if a.Is4() {
		b := a.As4()
		return MAC{0x01, 0x00, 0x5e, b[1] & 0x7f, b[2], b[3]}
	}
	b := a.As16()
	return MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}
}

// EtherType is IEEE's number of what a frame carries.
type EtherType uint16

// The types that this stack knows.
const (
	EtherIPv4 EtherType = 0x0800
	EtherARP  EtherType = 0x0806
	EtherVLAN EtherType = 0x8100 // IEEE 802.1Q: a tag and then the type
	EtherIPv6 EtherType = 0x86dd
)

// EthernetLen is the length in bytes of a header without a tag.
const EthernetLen = 14

// vlanLen is what a tag of 802.1Q adds, in bytes.
const vlanLen = 4

// Ethernet is the header of a frame.
type Ethernet struct {
	Dst, Src MAC
	Type     EtherType
	Tagged   bool   // with a tag of 802.1Q
	Tag      uint16 // priority, drop eligible, and in the low 12 bits the VLAN
}

var ethernetFailed = failures("ethernet", ErrShort)

// ParseEthernet reads a header with at most one tag. A frame that IEEE 802.3 gives a length in
// place of the type has a Type below 0x0600, which nothing of ours takes.
func ParseEthernet(b []byte) (h Ethernet, payload []byte, err error) {
	if len(b) < EthernetLen {
		return h, nil, ethernetFailed[ErrShort]
	}
	h.Dst, h.Src, h.Type = MAC(b), MAC(b[6:]), EtherType(be.Uint16(b[12:]))
	if h.Type != EtherVLAN {
		return h, b[EthernetLen:], nil
	}
	if len(b) < EthernetLen+vlanLen {
		return h, nil, ethernetFailed[ErrShort]
	}
	h.Tagged, h.Tag, h.Type = true, be.Uint16(b[14:]), EtherType(be.Uint16(b[16:]))
	return h, b[EthernetLen+vlanLen:], nil
}

// Len is the length in bytes of the header.
func (h *Ethernet) Len() int {
	if h.Tagged {
		return EthernetLen + vlanLen
	}
	return EthernetLen
}

// Put writes the header.
func (h *Ethernet) Put(b []byte) int {
	copy(b[:6], h.Dst[:])
	copy(b[6:12], h.Src[:])
	if !h.Tagged {
		be.PutUint16(b[12:], uint16(h.Type))
		return EthernetLen
	}
	be.PutUint16(b[12:], uint16(EtherVLAN))
	be.PutUint16(b[14:], h.Tag)
	be.PutUint16(b[16:], uint16(h.Type))
	return EthernetLen + vlanLen
}
