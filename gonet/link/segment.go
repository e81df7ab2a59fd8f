package link

import (
	"encoding/binary"

	"interleave/gonet/wire"
)

// Complete fills in the checksum that a frame was written without. What the header says is not trusted.
func Complete(g GSO, frame []byte) {
	at := int(g.Start) + int(g.Offset)
	if !g.Partial || at+2 > len(frame) || int(g.Start) > len(frame) {
		return
	}
	sum := ^wire.Sum(frame[g.Start:], 0)
	if sum == 0 {
		sum = 0xffff // for UDP zero means none; for TCP the two are one
	}
	binary.BigEndian.PutUint16(frame[at:], sum)
}
