package gonet

import (
	"sync"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// envelope is the memory of one packet that is sent: its headers, and the list of its slices. Links
// keep nothing that they are given to write. The compiler cannot see that through an interface, so
// without the pool each envelope would be garbage.
type envelope struct {
	ethernet  [wire.EthernetLen]byte
	ip        [wire.IPv6Len + wire.FragmentLen]byte
	transport [wire.TCPMaxLen]byte
	list      [5][]byte // the headers of Ethernet, IP and transport, and two slices of payload
	n         int       // how many elements of list are used
	segment   tcp.Segment
	ttl, tos  uint8 // of the IP header; a ttl of 0 is the stack's
	toSelf    bool  // the packet goes to this stack, whatever its destination
}

var envelopes = sync.Pool{New: func() any { return new(envelope) }}

func newEnvelope() *envelope { return envelopes.Get().(*envelope) }

// free returns the envelope to the pool.
func (e *envelope) free() {
	e.reset()
	envelopes.Put(e)
}

// reset makes the envelope empty.
func (e *envelope) reset() {
	clear(e.list[:]) // do not keep the payload alive
	e.ttl, e.tos, e.toSelf = 0, 0, false
}

// pack stores a packet: its first header and the rest. The first element of list is left for the
// Ethernet header.
func (e *envelope) pack(first []byte, rest ...[]byte) {
	e.list[1] = first
	e.n = 2 + copy(e.list[2:], rest)
}

// packet returns the slices that pack has stored.
func (e *envelope) packet() [][]byte { return e.list[1:e.n] }
