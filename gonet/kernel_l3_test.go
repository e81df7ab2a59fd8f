//go:build linux

package gonet

import (
	"io"
	"net"
	"net/netip"
	"testing"

	"interleave/gonet/link"
)

// kernelTun is kernel on a tun: a device without Ethernet.
func kernelTun(t *testing.T) *Stack {
	t.Helper()
	requireNamespace(t)
	tun, err := link.OpenTun("gn%d")
	skipWithoutTun(t, err)
	return kernelOn(t, tun)
}

// TestThePingCommandOverATun pings both ways, with sizes that need fragments, and has all sizes of
// transfers pass.
func TestThePingCommandOverATun(t *testing.T) {
	s := kernelTun(t)
	for _, size := range []string{"0", "56", "1452", "1453", "1472", "1473", "65000"} {
		for _, to := range []string{"10.9.0.2", "2001:db8::2"} {
			// -w fails without three answers; -W waits for a moment
			run(t, "ping", "-c", "3", "-i", "0.01", "-w", within, "-s", size, to)
		}
	}
	for _, to := range []string{"10.9.0.1", "2001:db8::1"} {
		for _, size := range []int{0, 56, 1473, 60_000} {
			if _, err := s.Ping(t.Context(), netip.MustParseAddr(to), size); err != nil {
				t.Errorf("%s with %d bytes: %v", to, size, err)
			}
		}
	}
	if n := s.Stats(); n.DroppedUnresolved != 0 || n.Conflicts != 0 {
		t.Errorf("there are no neighbours: %+v", n)
	}
}

func TestDialTheKernelOverATun(t *testing.T) {
	s := kernelTun(t)
	for _, at := range []string{"10.9.0.1:0", "[2001:db8::1]:0"} {
		echoOfTheKernel(t, s, at)
	}
}

// TestSuperFramesOverATun moves bytes in both directions between the stack and the kernel: both
// send super-frames, which the frames on the device show.
func TestSuperFramesOverATun(t *testing.T) {
	s := kernelTun(t)
	size := fewer(20<<20, 5)
	for _, at := range []string{"10.9.0.2:80", "[2001:db8::2]:80"} {
		l, err := s.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		far, err := net.DialTimeout("tcp", at, testTimeout)
		if err != nil {
			t.Fatal(err)
		}
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for name, ends := range map[string][2]net.Conn{"in": {far, near}, "out": {near, far}} {
			before := s.Stats()
			sent := make(chan error, 1)
			go func() {
				_, err := io.Copy(onlyWriter{ends[0]}, newStream(1, size))
				sent <- err
			}()
			got, err := digest(io.LimitReader(ends[1], int64(size)))
			if err == nil {
				err = <-sent
			}
			want, _ := digest(newStream(1, size)) // a stream has no errors
			if err != nil || got != want {
				t.Fatalf("%s at %s: %s, %v, want %s", name, at, got, err, want)
			}
			n := s.Stats()
			frames := n.Received - before.Received
			if name == "out" {
				frames = n.Sent - before.Sent
			}
			if frames > uint64(size/1448/2) {
				t.Errorf("%s at %s: %d frames for %d bytes", name, at, frames, size)
			}
		}
		_ = near.Close() // all was read
		_ = far.Close()
		_ = l.Close()
	}
}
