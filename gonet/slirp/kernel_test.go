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
