package link

import (
	"encoding/binary"

	"interleave/gonet/wire"
)

// checksumUDP is where a header of UDP has its checksum, in bytes (RFC 768).
const checksumUDP = 6

// Complete fills in the checksum that a frame was written without. What the header says
// is not trusted.
func Complete(g GSO, frame []byte) {
	at := int(g.Start) + int(g.Offset)
	if !g.Partial || at+2 > len(frame) || int(g.Start) > len(frame) {
		return
	}
	sum := ^wire.Sum(frame[g.Start:], 0)
	if sum == 0 && g.Offset == checksumUDP {
		// zero means none; TCP has no need, and its readers take ffff for a mistake (RFC
		// 1624 section 3)
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(frame[at:], sum)
}
