package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// families has the numbers of the address families in sys/socket.h of one system.
//
// The tun devices of macOS, FreeBSD and OpenBSD put the family before each packet, in four bytes
// with the most significant first: utun (bsd/net/if_utun.c of XNU), tun(4) of FreeBSD in the mode
// TUNSIFHEAD, and tun(4) of OpenBSD.
type families struct{ inet, inet6 uint32 }

// familyLen is the length in bytes of the header with the family.
const familyLen = 4

var errVersion = errors.New("not a packet of IPv4 or IPv6")

// put writes the header of a packet to b.
func (f families) put(b []byte, packet []byte) error {
	family, ok := f.of(packet)
	if !ok {
		return errVersion
	}
	binary.BigEndian.PutUint32(b, family)
	return nil
}

// parse removes the header from what was read. It returns false if there is none, or if the family
// is not that of the packet.
func (f families) parse(b []byte) (packet []byte, ok bool) {
	if len(b) < familyLen {
		return nil, false
	}
	packet = b[familyLen:]
	family, ok := f.of(packet)
	return packet, ok && family == binary.BigEndian.Uint32(b)
}

// of returns the family of a packet.
func (f families) of(packet []byte) (uint32, bool) {
	if len(packet) == 0 {
		return 0, false
	}
	switch packet[0] >> 4 {
	case 4:
		return f.inet, true
	case 6:
		return f.inet6, true
	}
	return 0, false
}

// familyTun is a tun device whose packets have the family before them.
type familyTun struct {
	families
	name   string
	device io.ReadWriteCloser
	// isDown tells whether an error of the device means that it has not been brought up yet.
	isDown  func(error) bool
	closed  chan struct{}
	in, out []byte // the buffers of the goroutine that reads, and of the one that writes
	link    *Funcs
}

// newFamilyTun makes a link over a device, each of whose reads and writes is one packet behind the
// header with its family. A packet that cannot be written is lost and counted, as on a wire.
func newFamilyTun(name string, device io.ReadWriteCloser, mtu int, f families,
	isDown func(error) bool) *Funcs {
	features := Features{MTU: mtu, L3: true}
	t := &familyTun{families: f, name: name, device: device, isDown: isDown,
		closed: make(chan struct{}),
		// A byte more than the longest packet shows that a packet was cut.
		in: make([]byte, familyLen+mtu+1), out: make([]byte, familyLen, familyLen+mtu)}
	t.link = newFuncs(features, mtu, t.read, t.write, t.close)
	return t.link
}

// downInterval is how often a device is read until it is up: a read does not wait for that. A
// guess.
const downInterval = 100 * time.Millisecond

// read is a ReadFunc.
func (t *familyTun) read(b []byte) (int, GSO, error) {
	n, err := t.device.Read(t.in)
	for err != nil && t.isDown(err) {
		select {
		case <-time.After(downInterval):
		case <-t.closed:
			return 0, GSO{}, ErrClosed
		}
		n, err = t.device.Read(t.in)
	}
	if err != nil {
		return 0, GSO{}, fmt.Errorf("%s: read: %w", t.name, err)
	}
	packet, ok := t.parse(t.in[:n])
	if !ok || len(packet) > len(b) {
		return 0, GSO{}, errNoFrame
	}
	return copy(b, packet), GSO{}, nil
}

// write writes a batch of packets.
func (t *familyTun) write(packets []Frame) error {
	for _, p := range packets {
		err := t.put(t.out[:familyLen], p.Data)
		if err == nil {
			t.out = append(t.out[:familyLen], p.Data...)
			_, err = t.device.Write(t.out)
		}
		if err != nil {
			t.link.out.dropped.Add(1)
		}
	}
	return nil
}

func (t *familyTun) close() error {
	close(t.closed)
	return t.device.Close()
}
