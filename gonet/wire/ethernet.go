package wire

import (
	"fmt"
	"net"
	"net/netip"
)

// MAC is an Ethernet hardware address.
type MAC [6]byte

// Broadcast is the address of all stations.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// ParseMAC parses "02:00:00:00:00:01" and the other notations of net.ParseMAC, of six bytes only.
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

// IsGroup tells whether the address is a multicast or broadcast address.
func (m MAC) IsGroup() bool { return m[0]&1 != 0 }

// MulticastMAC returns the MAC to which a multicast IP address maps (RFC 1112 section 6.4, RFC 2464
// section 7).
func MulticastMAC(a netip.Addr) MAC {
	if a.Is4() {
		b := a.As4()
		return MAC{0x01, 0x00, 0x5e, b[1] & 0x7f, b[2], b[3]}
	}
	b := a.As16()
	return MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}
}

// EtherType is IEEE's number of the protocol in a frame.
type EtherType uint16

// The types that this stack knows.
const (
	EtherIPv4 EtherType = 0x0800
	EtherARP  EtherType = 0x0806
	EtherVLAN EtherType = 0x8100 // IEEE 802.1Q: a tag follows, then the type
	EtherIPv6 EtherType = 0x86dd
)

// EthernetLen is the length in bytes of a header without a tag.
const EthernetLen = 14

// vlanLen is the length in bytes of an 802.1Q tag.
const vlanLen = 4

// Ethernet is the header of a frame.
type Ethernet struct {
	Dst, Src MAC
	Type     EtherType
	Tagged   bool   // the frame has an 802.1Q tag
	Tag      uint16 // priority, drop eligible, and the VLAN in the low 12 bits
}

var ethernetFailed = failures("ethernet", ErrShort)

// ParseEthernet parses a header with at most one tag. An IEEE 802.3 frame has a length in place of
// the type: a Type below 0x0600, which this stack does not process.
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

// Len returns the length of the header in bytes.
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
