//go:build linux

package gonet

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/gonet/wire"
)

// raw returns a function that sends frames through a packet socket on the tap's device, in the
// test's namespace: an attacker on a wire of Linux.
func raw(t *testing.T, name string) (send func(frame []byte)) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	i, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	to := &unix.SockaddrLinklayer{Ifindex: i.Index}
	return func(frame []byte) {
		if err := unix.Sendto(fd, frame, 0, to); err != nil && !errors.Is(err, syscall.ENOBUFS) {
			t.Fatal(err)
		}
	}
}

// TestAttackSynFloodOnATap sends SYNs to a tap from stations that the kernel does not know, while
// the kernel's own clients are served. Under the race detector they are a fifth: the backlog is
// full at the first look.
func TestAttackSynFloodOnATap(t *testing.T) {
	syns := fewer(100_000, 5)
	s := kernel(t)
	serveEcho(t, s, ":7")
	send := raw(t, device(t))
	c, err := net.Dial("tcp", "10.9.0.2:7")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	expectEcho(t, c, 10_000)
	growth := newGrowth(t)
	dst := netip.MustParseAddr("10.9.0.2")
	src := [4]byte{10, 9, 0, 0}
	for i := range syns {
		src[3] = byte(3 + i%250)
		e := wire.Ethernet{Dst: s.MAC(), Src: wire.MAC{2, 5: 9}, Type: wire.EtherIPv4}
		ip := wire.IPv4{Length: 40, TTL: 64, Protocol: wire.ProtocolTCP, Src: netip.AddrFrom4(src),
			Dst: dst}
		h := wire.TCP{SrcPort: uint16(i), DstPort: 7, Seq: uint32(i), Flags: wire.SYN, Window: 1000}
		b := make([]byte, 54)
		e.Put(b)
		ip.Put(b[14:])
		h.Put(b[34:])
		binary.BigEndian.PutUint16(b[50:],
			^wire.Sum(b[34:], wire.PseudoSum(ip.Src, dst, ip.Protocol, 20)))
		send(b)
		if part := syns / 5; i%part == part/2 {
			expectEcho(t, c, 10_000)
			fresh, err := net.DialTimeout("tcp", "10.9.0.2:7", testTimeout)
			if err != nil {
				t.Fatal(err)
			}
			expectEcho(t, fresh, 10_000)
			_ = fresh.Close()
		}
	}
	// 1024 half-open connections, and 250 neighbours that are being resolved
	growth.within(24<<20, 400)
	if n := s.Stats(); n.Cookies == 0 {
		t.Errorf("no cookie was sent: %+v", n)
	}
}

// TestATapThatVanishes deletes the tap under a running stack: the stack ends, and all calls fail
// with an error that names the device.
func TestATapThatVanishes(t *testing.T) {
	s := kernel(t)
	serveEcho(t, s, ":7")
	l, err := net.Listen("tcp", "10.9.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := s.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, onlyReader{c})
		heard <- err
	}()
	name := device(t)
	run(t, "ip", "link", "set", name, "down") // a device that is down does not end the stack
	if _, err := c.Write([]byte("into the dark")); err != nil {
		t.Errorf("while it is down: %v", err)
	}
	run(t, "ip", "link", "set", name, "up")
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	_ = far.SetDeadline(time.Now().Add(testTimeout))
	echoedAfter(t, far, "into the dark")
	run(t, "ip", "link", "del", name)
	select {
	case <-s.Done():
	case <-time.After(testTimeout):
		t.Fatal("the stack goes on")
	}
	if err := s.Err(); err == nil || !errors.Is(err, syscall.EBADFD) ||
		!strings.Contains(err.Error(), name+": the device was deleted") {
		t.Errorf("the stack: %v", err)
	}
	if err := <-heard; !errors.Is(err, syscall.EBADFD) {
		t.Errorf("who reads: %v", err)
	}
	if _, err := s.Dial("tcp", "10.9.0.1:9"); !errors.Is(err, syscall.EBADFD) {
		t.Errorf("who dials: %v", err)
	}
}
