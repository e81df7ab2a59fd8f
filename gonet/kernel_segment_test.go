//go:build linux

package gonet

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/gonet/link"
)

// withoutUDP is a link that takes no super-frames of UDP, as a tap of Linux before 6.2.
type withoutUDP struct{ link.Link }

func (w withoutUDP) Features() link.Features {
	f := w.Link.Features()
	f.UDP = false
	return f
}

// TestSegmentsAndTheKernel sends many datagrams at once from the stack to a socket of the kernel
// and back, over a tap and a tun, with super-frames and without.
func TestSegmentsAndTheKernel(t *testing.T) {
	for name, open := range map[string]func(string) (*link.Tap, error){"tap": link.OpenTap,
		"tun": link.OpenTun} {
		t.Run(name, func(t *testing.T) {
			requireNamespace(t)
			device, err := open("gn%d")
			skipWithoutTun(t, err)
			if !device.Features().UDP {
				_ = device.Close() // nothing was written
				t.Skip("SKIP: super-frames of UDP need Linux 6.2")
			}
			segmentsBothWays(t, kernelOn(t, device), true)
		})
		t.Run(name+" without super-frames", func(t *testing.T) {
			requireNamespace(t)
			device, err := open("gn%d")
			skipWithoutTun(t, err)
			segmentsBothWays(t, kernelOn(t, device, func(l link.Link) link.Link {
				return withoutUDP{l}
			}), false)
		})
	}
}

// segmentsBothWays sends datagrams to a socket of the kernel by one write, and back by one. super
// tells whether the stack may send them in super-frames.
func segmentsBothWays(t *testing.T, s *Stack, super bool) {
	t.Helper()
	const size, datagrams = 1100, 40
	data := numbered(size*(datagrams-1) + 7)
	for _, at := range []string{"10.9.0.1:0", "[2001:db8::1]:0"} {
		far, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(at)))
		if err != nil {
			t.Fatal(err)
		}
		near, err := s.ListenPacket("udp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		to := far.LocalAddr().(*net.UDPAddr).AddrPort()
		// A handshake finds the station of the kernel, however often it must ask.
		if _, err := s.Dial("tcp", to.String()); !errors.Is(err, unix.ECONNREFUSED) {
			t.Fatalf("a port where nobody listens: %v", err)
		}
		if err := errors.Join(far.SetDeadline(time.Now().Add(testTimeout)),
			near.SetReadDeadline(time.Now().Add(testTimeout))); err != nil {
			t.Fatal(err)
		}
		before := s.Stats()
		n, err := near.WriteInfo(data, to, PacketInfo{Segment: size})
		if n != len(data) || err != nil {
			t.Fatalf("%d bytes were written, %v", n, err)
		}
		sent := s.Stats().Sent - before.Sent
		if super && sent > datagrams/2 || !super && sent < datagrams {
			t.Errorf("%s: %d datagrams in %d frames", at, datagrams, sent)
		}
		b := make([]byte, size+1)
		var from netip.AddrPort
		for left := data; len(left) > 0; left = left[n:] {
			if n, from, err = far.ReadFromUDPAddrPort(b); err != nil ||
				string(b[:n]) != string(left[:min(size, len(left))]) {
				t.Fatalf("%s: %d bytes, %v, with %d left", at, n, err, len(left))
			}
		}

		before = s.Stats()
		setSegment(t, far, size)
		if n, err = far.WriteToUDPAddrPort(data, from); err != nil || n != len(data) {
			t.Fatalf("the kernel has sent %d bytes, %v", n, err)
		}
		receiveSegments(t, near, data, size)
		frames := s.Stats().Received - before.Received
		if s.link.features.UDP && frames > datagrams/2 {
			t.Errorf("%s: %d datagrams in %d frames of the kernel", at, datagrams, frames)
		}
		_ = near.Close()
		_ = far.Close()
	}
	if n := s.Stats().Malformed; n > 0 {
		t.Errorf("%d malformed packets", n)
	}
}

// setSegment sets UDP_SEGMENT for a socket of the kernel.
func setSegment(t *testing.T, c *net.UDPConn, size int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size)
	})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
}
