package slirp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

// TestKernelPing pings the loopback of this host, if it lets anybody.
func TestKernelPing(t *testing.T) {
	for _, a := range []string{"127.0.0.1", "::1"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		err := Kernel{}.Ping(ctx, netip.MustParseAddr(a), 7, []byte("a text"))
		switch {
		case errors.Is(err, ErrNoPing):
			t.Logf("SKIP: %v", err)
		case err != nil && netip.MustParseAddr(a).Is6():
			t.Logf("SKIP: no IPv6 on this host's loopback: %v", err)
		case err != nil:
			t.Error(err)
		}
	}
}

// TestKernelLocal connects from an address, but not to the loopback.
func TestKernelLocal(t *testing.T) {
	l, err := Kernel{}.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := Kernel{}.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	k := Kernel{Local4: netip.MustParseAddr("192.0.2.1")} // not of this host
	for network, to := range map[string]net.Addr{"tcp": l.Addr(), "udp": p.LocalAddr()} {
		c, err := k.DialContext(t.Context(), network, to.String())
		if err != nil {
			t.Fatal(err)
		}
		if host, _, err := net.SplitHostPort(c.LocalAddr().String()); err != nil ||
			host != "127.0.0.1" {
			t.Errorf("%s from %v, %v", network, c.LocalAddr(), err)
		}
		_ = c.Close() // nothing was sent
		if c, err := k.DialContext(t.Context(), network, "192.0.2.9:9"); err == nil {
			t.Errorf("from an address that the host does not have: %v", c.LocalAddr())
		}
	}
	if _, err := k.DialContext(t.Context(), "tcp", "name:80"); err == nil {
		t.Error("a name was taken for an address")
	}
}

// TestKernelFlows has two sockets of one port, each of which hears its peer only.
func TestKernelFlows(t *testing.T) {
	var servers [2]net.PacketConn
	var flows [2]net.Conn
	port := uint16(0)
	for i := range servers {
		var err error
		if servers[i], err = (Kernel{}).ListenPacket("udp4", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		defer servers[i].Close()
		if flows[i], err = (Kernel{}).DialFlow(t.Context(), port,
			servers[i].LocalAddr().String()); err != nil {
			if i > 0 && errors.Is(err, errors.ErrUnsupported) {
				t.Skipf("SKIP: %v", err)
			}
			t.Fatal(err)
		}
		defer flows[i].Close()
		port = flows[i].LocalAddr().(*net.UDPAddr).AddrPort().Port()
	}
	if a, b := flows[0].LocalAddr().String(), flows[1].LocalAddr().String(); a != b {
		t.Errorf("from %s and %s", a, b)
	}
	for range 100 { // in an order in which each is the last one that was opened, or not
		for i, server := range servers {
			text := string(rune('a' + i))
			if _, err := server.WriteTo([]byte(text), flows[i].LocalAddr()); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 10)
			if err := flows[i].SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			if n, err := flows[i].Read(b); err != nil || string(b[:n]) != text {
				t.Fatalf("%q, %v, want %s", b[:n], err, text)
			}
		}
	}
}
