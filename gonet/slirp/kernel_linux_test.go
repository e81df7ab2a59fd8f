package slirp

import (
	"errors"
	"net"
	"syscall"
	"testing"

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

// portOf returns the port of a socket of UDP.
func portOf(t *testing.T, c net.Conn) uint16 {
	t.Helper()
	a, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok {
		t.Fatalf("the address %v is none of UDP", c.LocalAddr())
	}
	return a.AddrPort().Port()
}
