package link

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"
)

// Capture wraps a Link and writes each frame that passes it to a file in the pcapng format, which
// tshark and Wireshark read.
type Capture struct {
	Link
	mu     sync.Mutex
	w      io.Writer
	err    error
	closed bool
	head   []byte
}

// The blocks of pcapng (draft-ietf-opsawg-pcapng).
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 6
	byteOrderMagic = 0x1a2b3c4d
	linkEthernet   = 1   // LINKTYPE_ETHERNET
	linkRaw        = 101 // LINKTYPE_RAW: IPv4 or IPv6, as the first bits say
	optionEnd      = 0
	optionName     = 2 // of an interface
	optionTSResol  = 9 // of an interface: 9 for nanoseconds
	optionFlags    = 2 // of a packet: 1 inbound, 2 outbound
)

// NewCapture starts a capture of l to w; name is the interface's name in the file. The first error
// of w ends the capture, not the link; Err returns it.
func NewCapture(l Link, name string, w io.Writer) (*Capture, error) {
	section := binary.LittleEndian.AppendUint32(nil, byteOrderMagic)
	section = append(section, 1, 0, 0, 0)                        // version 1.0
	section = binary.LittleEndian.AppendUint64(section, 1<<64-1) // of unknown length
	// The link type, and no limit to the length of a packet.
	iface := []byte{linkEthernet, 0, 0, 0, 0, 0, 0, 0}
	if l.Features().L3 {
		iface[0] = linkRaw
	}
	iface = option(iface, optionName, []byte(name))
	iface = option(iface, optionTSResol, []byte{9})
	iface = option(iface, optionEnd, nil)
	c := &Capture{Link: l, w: w}
	if _, err := w.Write(append(block(blockSection, section),
		block(blockInterface, iface)...)); err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return c, nil
}

// option appends an option, padded to four bytes.
func option(b []byte, code uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	return append(b, make([]byte, -len(value)&3)...)
}

// block puts a body between a block's header and trailer. The body's length must be a multiple of
// four.
func block(kind uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)+12))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(body)+12))
}

// Read implements Link.
func (c *Capture) Read(batch []Frame) (int, error) {
	n, err := c.Link.Read(batch)
	for _, f := range batch[:n] {
		c.frame(1, f.GSO, f.Data)
	}
	return n, err
}

// Write implements Link.
func (c *Capture) Write(g GSO, pieces ...[]byte) error {
	c.frame(2, g, pieces...)
	return c.Link.Write(g, pieces...)
}

// Close implements Link, and ends the capture.
func (c *Capture) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.Link.Close()
}

// Err returns the error that has ended the capture, or nil.
func (c *Capture) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// frame writes one frame to the file. A checksum that is left to the link is filled in.
func (c *Capture) frame(direction uint32, g GSO, pieces ...[]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.closed {
		return
	}
	const head = 20
	at := uint64(time.Now().UnixNano())
	b := append(c.head[:0], make([]byte, 8+head)...)
	for _, p := range pieces {
		b = append(b, p...)
	}
	frame := b[8+head:]
	Complete(g, frame)
	le := binary.LittleEndian
	le.PutUint32(b[12:], uint32(at>>32))
	le.PutUint32(b[16:], uint32(at))
	le.PutUint32(b[20:], uint32(len(frame)))
	le.PutUint32(b[24:], uint32(len(frame)))
	b = append(b, make([]byte, -len(frame)&3)...)
	b = option(b, optionFlags, le.AppendUint32(nil, direction))
	b = option(b, optionEnd, nil)
	le.PutUint32(b, blockPacket)
	le.PutUint32(b[4:], uint32(len(b)+4))
	b = le.AppendUint32(b, uint32(len(b)+4))
	c.head = b
	_, c.err = c.w.Write(b)
}
