package load

// The counter protocol: a request is one byte, 0x00 to read and 0x01 to increment; a reply is the value in 8 bytes. A
// connection can hold the server to this much alone: its values never fall, and an increment's is above all that it
// saw before. That none was lost or doubled shows at the end, when the value must be the number of increments.

import "encoding/binary"

const (
	opRead      = 0x00
	opIncrement = 0x01
)

type counter struct {
	seed  uint64
	reads uint64 // of 2^53 requests, how many read
	sure  uint64 // increments answered
}

func newCounter(seed uint64, readShare float64) *counter {
	return &counter{seed: seed, reads: uint64(readShare * (1 << 53))}
}

func (k *counter) requestBytes() uint64 { return 1 }

// op is what a connection's n-th request does. It is computed when needed, so that nothing need be kept.
func (k *counter) op(c *conn, n uint64) byte {
	if mix(k.seed+uint64(c.id)<<32+n*stepRequest)>>11 < k.reads {
		return opRead
	}
	return opIncrement
}

func (k *counter) fill(c *conn, p []byte) {
	for i := range p {
		p[i] = k.op(c, c.sent+uint64(i))
	}
}

func (k *counter) check(c *conn, p []byte) (replies int, kind string) {
	for len(p) > 0 {
		n := c.answered + uint64(replies)
		if n == c.issued {
			return replies, Extra
		}
		if c.part == 0 && len(p) >= 8 {
			c.word = binary.BigEndian.Uint64(p)
			p = p[8:]
		} else {
			c.word = c.word<<8 | uint64(p[0])
			p = p[1:]
			if c.part++; c.part < 8 {
				continue
			}
			c.part = 0
		}
		op := k.op(c, n)
		if c.word < c.value || op == opIncrement && c.word == c.value {
			return replies, WrongReply
		}
		k.sure += uint64(op)
		c.value = c.word
		replies++
	}
	return replies, ""
}

// increments counts those among the requests from n on, up to the last that was issued.
func (k *counter) increments(c *conn, n uint64) uint64 {
	var total uint64
	for ; n < c.issued; n++ {
		total += uint64(k.op(c, n))
	}
	return total
}
