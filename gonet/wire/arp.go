package wire

import "net/netip"

// The operations of ARP (RFC 826).
const (
	ARPRequest uint16 = 1
	ARPReply   uint16 = 2
)

// ARPLen is the length in bytes of a message for Ethernet and IPv4.
const ARPLen = 28

// ARP is a message of RFC 826 for Ethernet and IPv4.
type ARP struct {
	Op                 uint16
	SenderMAC          MAC
	SenderIP, TargetIP netip.Addr
	TargetMAC          MAC
}

var arpFailed = failures("arp", ErrShort, ErrHardware)

// ParseARP parses a message. Bytes behind it are padding.
func ParseARP(b []byte) (ARP, error) {
	if len(b) < ARPLen {
		return ARP{}, arpFailed[ErrShort]
	}
	if be.Uint16(b) != 1 || be.Uint16(b[2:]) != uint16(EtherIPv4) || b[4] != 6 || b[5] != 4 {
		return ARP{}, arpFailed[ErrHardware]
	}
	return ARP{
		Op:        be.Uint16(b[6:]),
		SenderMAC: MAC(b[8:]),
		SenderIP:  netip.AddrFrom4([4]byte(b[14:])),
		TargetMAC: MAC(b[18:]),
		TargetIP:  netip.AddrFrom4([4]byte(b[24:])),
	}, nil
}

// Put writes the message. Both IP addresses must be IPv4.
func (m *ARP) Put(b []byte) int {
	be.PutUint16(b, 1)
	be.PutUint16(b[2:], uint16(EtherIPv4))
	b[4], b[5] = 6, 4
	be.PutUint16(b[6:], m.Op)
	copy(b[8:14], m.SenderMAC[:])
	put4(b[14:], m.SenderIP)
	copy(b[18:24], m.TargetMAC[:])
	put4(b[24:], m.TargetIP)
	return ARPLen
}

func put4(b []byte, a netip.Addr) {
	raw := a.As4()
	copy(b[:4], raw[:])
}

func put16(b []byte, a netip.Addr) {
	raw := a.As16()
	copy(b[:16], raw[:])
}
