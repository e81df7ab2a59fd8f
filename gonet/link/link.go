// Package link carries Ethernet frames between a stack and the world: a tap device of Linux, a pair
// in memory, and wrappers around any other Link that capture frames or spoil them.
package link

import (
	"errors"
)

// ErrClosed is what a closed Link says.
var ErrClosed = errors.New("link closed")

// Link carries Ethernet frames. One goroutine reads; any may write, interrupt and close.
type Link interface {
	// Read fills batch and returns how many frames it has: it blocks for the first, and takes what
	// is there beside it. The frames are the reader's until the next Read. After Interrupt it does
	// not block: it returns 0 and no error if there is nothing. After Close it returns ErrClosed.
	Read(batch []Frame) (int, error)
	// Interrupt makes the Read that blocks return, or the next if none does.
	Interrupt()
	// Write sends the pieces as one frame, and keeps none of them. What does not fit in a queue is
	// dropped and counted, as a wire would; an error says that the link does not work.
	Write(gso GSO, pieces ...[]byte) error
	// Features tells what the link does beside carrying.
	Features() Features
	// Close ends the link, and the Read that blocks.
	Close() error
}

// Frame is an Ethernet frame, from its header on. With offload it may be a super-frame: one header
// before the payload of many segments.
type Frame struct {
	Data   []byte
	GSO    GSO
	Buffer *Buffer // that Data stands in; nil: it cannot be kept beyond the next Read
}

// Kind is how a super-frame is to be cut.
type Kind uint8

// The kinds of frames.
const (
	Plain Kind = iota // one packet
	TCPv4
	TCPv6
)

// GSO tells what of a frame is left to who has the hardware, or to nobody when it never leaves the
// machine (generic segmentation offload).
type GSO struct {
	Kind   Kind
	Size   uint16 // payload in bytes of each segment of a super-frame
	Header uint16 // length in bytes of all headers of a super-frame, Ethernet's included
	// Partial checksums cover the pseudo header only: the rest, from byte Start of the frame on, is
	// to be summed and stored Offset bytes behind Start.
	Partial       bool
	Start, Offset uint16
	// Valid is for frames that were read: the checksum has been verified, or cannot be wrong.
	Valid bool
}

// Features of a Link.
type Features struct {
	MTU      int  // of an IP packet in a plain frame, in bytes
	Partial  bool // frames may be written with a partial checksum
	TCPv4    bool // super-frames may be written
	TCPv6    bool
	MaxSuper int // an IP packet's length in bytes in a super-frame at most
}

// maxFrame is the longest frame in bytes: an IP packet of 64 KiB behind a header of
// Ethernet with a tag.
const maxFrame = 65535 + 18
