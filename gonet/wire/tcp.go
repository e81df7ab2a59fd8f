package wire

import "strings"

// TCPLen is the length in bytes of a header without options, TCPMaxLen that of the longest.
const (
	TCPLen    = 20
	TCPMaxLen = 60
)

// Flags are the control bits of TCP.
type Flags uint8

// The control bits (RFC 9293 section 3.1, RFC 3168).
const (
	FIN Flags = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

// String writes flags as tcpdump does: "S.", "F.", "R", "P.".
func (f Flags) String() string {
	var s strings.Builder
	for i, c := range "FSRP.UEW" {
		if f&(1<<i) != 0 {
			s.WriteRune(c)
		}
	}
	return s.String()
}

// TCP is the header of RFC 9293.
type TCP struct {
	SrcPort, DstPort uint16
	Seq, Ack         uint32
	Flags            Flags
	Window           uint16 // as sent, not scaled
	Checksum         uint16
	Urgent           uint16
	Options          TCPOptions
}

// SACKBlock is a range of bytes that has arrived, from Left up to Right.
type SACKBlock struct{ Left, Right uint32 }

// TCPOptions holds the options that this stack knows; others are skipped.
type TCPOptions struct {
	MSS            uint16 // 0: none
	WindowScale    uint8  // a shift of at most 14 (RFC 7323 section 2.3)
	HasWindowScale bool
	SACKPermitted  bool
	HasTimestamp   bool
	TSVal, TSEcr   uint32 // RFC 7323 section 3
	SACKCount      uint8  // number of blocks, at most 4, or 3 with a timestamp
	SACK           [4]SACKBlock
}

// The option kinds.
const (
	tcpMSS           = 2
	tcpWindowScale   = 3
	tcpSACKPermitted = 4
	tcpSACK          = 5
	tcpTimestamp     = 8
)

// maxWindowScale is the largest shift (RFC 7323 section 2.3).
const maxWindowScale = 14

var tcpFailed = failures("tcp", ErrShort, ErrLength)

// ParseTCP parses a header with its options. The checksum is not verified. An option that exceeds
// the header ends the list, since a receiver must cope with any length (RFC 9293 MUST-7).
func ParseTCP(b []byte) (h TCP, payload []byte, err error) {
	if len(b) < TCPLen {
		return h, nil, tcpFailed[ErrShort]
	}
	n := int(b[12]>>4) * 4
	if n < TCPLen {
		return h, nil, tcpFailed[ErrLength]
	}
	if n > len(b) {
		return h, nil, tcpFailed[ErrShort]
	}
	h.SrcPort, h.DstPort = be.Uint16(b), be.Uint16(b[2:])
	h.Seq, h.Ack = be.Uint32(b[4:]), be.Uint32(b[8:])
	h.Flags, h.Window = Flags(b[13]), be.Uint16(b[14:])
	h.Checksum, h.Urgent = be.Uint16(b[16:]), be.Uint16(b[18:])
	h.Options.parse(b[TCPLen:n])
	return h, b[n:], nil
}

// ParseTCPQuote parses the start of a segment that an ICMP error quotes: the ports and the sequence
// number, at least 8 bytes.
func ParseTCPQuote(b []byte) (srcPort, dstPort uint16, seq uint32, err error) {
	if len(b) < 8 {
		return 0, 0, 0, tcpFailed[ErrShort]
	}
	return be.Uint16(b), be.Uint16(b[2:]), be.Uint32(b[4:]), nil
}

func (o *TCPOptions) parse(b []byte) {
	// Nearly every segment has just these options: two no-ops and a timestamp.
	if len(b) == 12 && be.Uint32(b) == 0x0101080a {
		o.HasTimestamp, o.TSVal, o.TSEcr = true, be.Uint32(b[4:]), be.Uint32(b[8:])
		return
	}
	for len(b) > 0 && b[0] != optionEnd {
		if b[0] == optionNop {
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return
		}
		o.take(b[0], b[2:b[1]])
		b = b[b[1]:]
	}
}

// take stores one option. An option whose length is wrong for its kind is skipped.
func (o *TCPOptions) take(kind byte, data []byte) {
	switch {
	case kind == tcpMSS && len(data) == 2:
		o.MSS = be.Uint16(data)
	case kind == tcpWindowScale && len(data) == 1:
		o.WindowScale, o.HasWindowScale = min(data[0], maxWindowScale), true
	case kind == tcpSACKPermitted && len(data) == 0:
		o.SACKPermitted = true
	case kind == tcpTimestamp && len(data) == 8:
		o.HasTimestamp, o.TSVal, o.TSEcr = true, be.Uint32(data), be.Uint32(data[4:])
	case kind == tcpSACK && len(data)%8 == 0:
		o.SACK = [4]SACKBlock{} // of several SACK options the last counts
		for o.SACKCount = 0; len(data) >= 8 && int(o.SACKCount) < len(o.SACK); data = data[8:] {
			o.SACK[o.SACKCount] = SACKBlock{be.Uint32(data), be.Uint32(data[4:])}
			o.SACKCount++
		}
	}
}

// len returns the length of the options in bytes, with padding.
func (o *TCPOptions) len() int {
	n := 0
	if o.MSS != 0 {
		n += 4
	}
	if o.HasWindowScale {
		n += 4
	}
	switch {
	case o.HasTimestamp:
		n += 12 // SACK-permitted takes the place of the no-ops
	case o.SACKPermitted:
		n += 4
	}
	if o.SACKCount > 0 {
		n += 4 + 8*int(o.SACKCount)
	}
	return n
}

// Len returns the length of the header in bytes, options included.
func (h *TCP) Len() int { return TCPLen + h.Options.len() }

// Put writes the header. The checksum is the caller's, since it covers the payload. It panics if
// the options exceed the 40 bytes that a header has room for.
func (h *TCP) Put(b []byte) int {
	n := h.Len()
	if n > TCPMaxLen {
		panic("wire: options of TCP beyond 40 bytes")
	}
	be.PutUint16(b, h.SrcPort)
	be.PutUint16(b[2:], h.DstPort)
	be.PutUint32(b[4:], h.Seq)
	be.PutUint32(b[8:], h.Ack)
	b[12], b[13] = byte(n/4)<<4, byte(h.Flags)
	be.PutUint16(b[14:], h.Window)
	be.PutUint16(b[16:], h.Checksum)
	be.PutUint16(b[18:], h.Urgent)
	h.Options.put(b[TCPLen:n])
	return n
}

// put writes the options in Linux's order, each padded in front to a multiple of four bytes.
func (o *TCPOptions) put(b []byte) {
	if o.MSS != 0 {
		b[0], b[1] = tcpMSS, 4
		be.PutUint16(b[2:], o.MSS)
		b = b[4:]
	}
	if o.HasTimestamp || o.SACKPermitted {
		b[0], b[1] = optionNop, optionNop
		if o.SACKPermitted {
			b[0], b[1] = tcpSACKPermitted, 2
		}
		if o.HasTimestamp {
			b[2], b[3] = tcpTimestamp, 10
			be.PutUint32(b[4:], o.TSVal)
			be.PutUint32(b[8:], o.TSEcr)
			b = b[12:]
		} else {
			b[2], b[3] = optionNop, optionNop
			b = b[4:]
		}
	}
	if o.HasWindowScale {
		b[0], b[1], b[2], b[3] = optionNop, tcpWindowScale, 3, o.WindowScale
		b = b[4:]
	}
	if o.SACKCount == 0 {
		return
	}
	b[0], b[1], b[2], b[3] = optionNop, optionNop, tcpSACK, 2+8*o.SACKCount
	for i, block := range o.SACK[:o.SACKCount] {
		be.PutUint32(b[4+8*i:], block.Left)
		be.PutUint32(b[8+8*i:], block.Right)
	}
}
