package link

import (
	"encoding/binary"

	"interleave/gonet/wire"
)

// checksumUDP is the offset of the checksum in a UDP header, in bytes (RFC 768).
const checksumUDP = 6

// Complete fills in the checksum that is left to the receiver of a frame. The fields of g are not
// trusted.
func Complete(g GSO, frame []byte) {
	at := int(g.Start) + int(g.Offset)
	if !g.Partial || at+2 > len(frame) || int(g.Start) > len(frame) {
		return
	}
	sum := ^wire.Sum(frame[g.Start:], 0)
	if sum == 0 && g.Offset == checksumUDP {
		// UDP sends a sum of 0 as ffff, since 0 means no checksum. TCP sends 0 as it is: some
		// receivers take ffff for wrong (RFC 1624 section 3).
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(frame[at:], sum)
}
