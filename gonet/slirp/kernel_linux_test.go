package slirp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"interleave/gonet"
)

// TestKernelBroadcast connects to the broadcast address of the host's loopback, as a guest would to
// reach all hosts of a network at once. It is refused, from any port.
func TestKernelBroadcast(t *testing.T) {
	const all = "127.255.255.255:9"
	first, err := Kernel{}.DialFlow(t.Context(), 0, "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for _, port := range []uint16{0, portOf(t, first)} {
		c, err := Kernel{}.DialFlow(t.Context(), port, all)
		if err == nil {
			_ = c.Close() // the test has failed
		}
		if !errors.Is(err, syscall.EACCES) {
			t.Errorf("from port %d: %v, want EACCES", port, err)
		}
		if why, refused := reason(err); refused || why != gonet.UnreachableProhibited {
			t.Errorf("the guest is told %v, refused %v", why, refused)
		}
	}
	if c, err := (Kernel{}).DialContext(t.Context(), "udp", all); err == nil {
		_ = c.Close() // the test has failed
		t.Error("DialContext connects to all hosts")
	}
}

// TestKernelStrangers opens flows of one port while a stranger floods it. A socket is bound before
// it is connected, and the kernel takes the stranger's datagrams for it until then. No flow has
// one.
func TestKernelStrangers(t *testing.T) {
	var sockets [3]net.PacketConn // of two peers and the stranger
	for i := range sockets {
		var err error
		if sockets[i], err = (Kernel{}).ListenPacket("udp4", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		defer sockets[i].Close()
	}
	first, err := Kernel{}.DialFlow(t.Context(), 0, sockets[0].LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"),
		portOf(t, first)))
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	defer flood.Wait()
	defer cancel()
	flood.Go(func() {
		for ctx.Err() == nil {
			_, _ = sockets[2].WriteTo([]byte("forged"), to) // the port may have nobody
		}
	})
	for i := range 2000 {
		c, err := Kernel{}.DialFlow(t.Context(), portOf(t, first), sockets[1].LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		n := 0
		// The stranger may have filled the socket's buffer: then the peer says it again.
		for end := time.Now().Add(5 * time.Minute); n == 0 && time.Now().Before(end); {
			_, err = sockets[1].WriteTo([]byte("peer"), to)
			err = errors.Join(err, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
			if err != nil {
				t.Fatal(err)
			}
			if several, ok := c.(SegmentConn); ok && i%2 == 0 {
				_ = several.ReadSegments(func(got []byte, _ int) error {
					n = copy(b, got)
					return nil
				})
			} else {
				n, _ = c.Read(b)
			}
		}
		if err := c.Close(); err != nil || string(b[:n]) != "peer" {
			t.Fatalf("a flow has %q, %v", b[:n], err)
		}
	}
}

// portOf returns the port of a socket of UDP.
func portOf(t *testing.T, c net.Conn) uint16 {
	t.Helper()
	a, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok {
		t.Fatalf("the address %v is none of UDP", c.LocalAddr())
	}
	return a.AddrPort().Port()
}
