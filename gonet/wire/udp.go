package wire

// UDPLen is the length in bytes of the header.
const UDPLen = 8

// UDP is the header of RFC 768.
type UDP struct {
	SrcPort, DstPort uint16
	Length           uint16 // header and payload, in bytes
	Checksum         uint16 // 0: no checksum, which IPv6 forbids
}

var udpFailed = failures("udp", ErrShort, ErrLength)

// ParseUDP parses a header. Bytes beyond its length are padding. The checksum is not verified.
func ParseUDP(b []byte) (h UDP, payload []byte, err error) {
	if len(b) < UDPLen {
		return h, nil, udpFailed[ErrShort]
	}
	h = UDP{be.Uint16(b), be.Uint16(b[2:]), be.Uint16(b[4:]), be.Uint16(b[6:])}
	if h.Length < UDPLen {
		return h, nil, udpFailed[ErrLength]
	}
	if int(h.Length) > len(b) {
		return h, nil, udpFailed[ErrShort]
	}
	return h, b[UDPLen:h.Length], nil
}

// Put writes the header.
func (h *UDP) Put(b []byte) int {
	be.PutUint16(b, h.SrcPort)
	be.PutUint16(b[2:], h.DstPort)
	be.PutUint16(b[4:], h.Length)
	be.PutUint16(b[6:], h.Checksum)
	return UDPLen
}
