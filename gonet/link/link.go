// Package link carries frames between a stack and the world: Ethernet frames, or bare IP packets on
// a link that has no Ethernet (Features.L3). It has the tap and tun devices of Linux, links over
// functions and sockets, pairs and hubs in memory, and wrappers around any Link that capture frames
// or apply faults.
package link

import (
	"errors"

	"interleave/gonet/wire"
)

// ErrClosed is the error of a closed Link.
var ErrClosed = errors.New("link closed")

// Link carries frames. One goroutine may read; any may write, interrupt and close.
type Link interface {
	// Read fills batch and returns the number of frames. It blocks until there is a frame, and then
	// takes those that are there. The frames are valid until the next Read. After Interrupt it
	// returns 0 and no error if there is no frame. After Close it returns ErrClosed.
	Read(batch []Frame) (int, error)
	// Interrupt makes the Read that blocks return, or the next one if none does.
	Interrupt()
	// Write sends the pieces as one frame, and keeps none of them. If a queue is full, the frame is
	// dropped and counted, and Write returns nil, as a wire would. An error means that the link
	// does not work any more.
	Write(gso GSO, pieces ...[]byte) error
	// Features returns the MTU and the offloads of the link.
	Features() Features
	// Close closes the link, and ends a Read that blocks.
	Close() error
}

// Frame is an Ethernet frame with its header, or on an L3 link an IP packet with its own. With
// offload it may be a super-frame: one set of headers before the payload of many segments of TCP or
// many datagrams of UDP.
type Frame struct {
	Data   []byte
	GSO    GSO
	Buffer *Buffer // the memory of Data; nil: Data cannot be kept beyond the next Read
}

// Kind tells how a super-frame must be cut.
type Kind uint8

// The kinds of frames.
const (
	Plain Kind = iota // one packet
	TCPv4
	TCPv6
	UDP // over IPv4 or IPv6, whichever the packet is
)

// MaxDatagrams bounds the datagrams in a super-frame of UDP that is written: what Linux took when
// it began to take them (UDP_MAX_SEGMENTS, linux/udp.h). Later kernels take, and send, 128.
const MaxDatagrams = 64

// GSO describes the work on a frame that is left to the receiver of the frame, which may be
// hardware: the cutting of a super-frame (generic segmentation offload), and the checksum. A frame
// that never leaves the machine needs neither.
type GSO struct {
	Kind   Kind
	Size   uint16 // payload in bytes of each segment or datagram of a super-frame but the last
	Header uint16 // length in bytes of all headers of a super-frame, Ethernet's included if any
	// Partial: the checksum covers the pseudo header only. The bytes from Start on must be summed,
	// and the sum stored Offset bytes behind Start.
	Partial       bool
	Start, Offset uint16
	// Valid, for frames that were read: the transport checksum has been verified, or cannot be
	// wrong.
	Valid bool
}

// Features describes a Link.
type Features struct {
	MTU      int  // largest IP packet in a plain frame, in bytes
	L3       bool // frames are IP packets: without Ethernet, so without MAC, ARP and the like
	Partial  bool // frames may be written with a partial checksum
	TCPv4    bool // super-frames of TCP over IPv4 may be written
	TCPv6    bool
	UDP      bool // super-frames of UDP, over IPv4 and IPv6, may be written
	MaxSuper int  // largest IP packet in a super-frame, in bytes
}

// HeaderLen returns the length in bytes of what precedes the IP packet in a frame: that of an
// Ethernet header, or 0 on an L3 link.
func (f Features) HeaderLen() int {
	if f.L3 {
		return 0
	}
	return wire.EthernetLen
}

// maxFrame is the length in bytes of the longest frame: an IP packet of 64 KiB behind an Ethernet
// header with a VLAN tag.
const maxFrame = 65535 + 18
