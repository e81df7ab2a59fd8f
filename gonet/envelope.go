package gonet

import (
	"sync"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// envelope is the memory of one packet on its way out: its headers, and the list of its pieces. No
// link keeps what it is given to write, but a compiler cannot see that through an interface, so
// that without a pool each of these would be garbage.
type envelope struct {
	ethernet  [wire.EthernetLen]byte
	ip        [wire.IPv6Len + wire.FragmentLen]byte
	transport [wire.TCPMaxLen]byte
	list      [5][]byte // of Ethernet, of IP, of what it carries, and two of payload
	n         int       // that there are
	segment   tcp.Segment
}

var envelopes = sync.Pool{New: func() any { return new(envelope) }}

func newEnvelope() *envelope { return envelopes.Get().(*envelope) }

// free gives the memory back.
func (e *envelope) free() {
	clear(e.list[:]) // the payload is not ours to keep
	envelopes.Put(e)
}

// pack puts a packet in: its first header, and the rest. A place in front is left to the
// header of Ethernet.
func (e *envelope) pack(first []byte, rest ...[]byte) {
	e.list[1] = first
	e.n = 2 + copy(e.list[2:], rest)
}

// packet is what was packed.
func (e *envelope) packet() [][]byte { return e.list[1:e.n] }
