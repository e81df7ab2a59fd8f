package slirp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
)

// started begins to connect by the kernel.
func started(t *testing.T, to net.Addr) Starting {
	t.Helper()
	c, err := (Kernel{}).StartTCP(netip.MustParseAddrPort(to.String()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStartTCP connects to a server of this host, which has answered when StartTCP returns.
func TestStartTCP(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("SKIP %s: %v", address, err)
			continue
		}
		defer l.Close()
		c := started(t, l.Addr())
		if !c.Connected() {
			t.Errorf("%s: not connected at once", address)
		}
		near, err := c.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := far.Write([]byte("text")); err != nil {
			t.Error(err)
		}
		_ = far.Close() // near reads the text
		if got, err := io.ReadAll(near); err != nil || string(got) != "text" {
			t.Errorf("%s: %q, %v", address, got, err)
		}
		_ = near.Close() // it has ended
		_ = l.Close()
		c, err = (Kernel{}).StartTCP(netip.MustParseAddrPort(l.Addr().String()))
		if err == nil {
			_, err = c.Wait(t.Context())
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v, want a refusal", address, err)
		}
	}
	k := Kernel{Local4: netip.MustParseAddr("192.0.2.1")} // not of this host
	if _, err := k.StartTCP(netip.MustParseAddrPort("192.0.2.9:9")); !errors.Is(err,
		syscall.EADDRNOTAVAIL) {
		t.Errorf("from an address that the host does not have: %v", err)
	}
}

// TestStartTCPWaits connects to a server whose backlog is full, gives one connection up, and has
// another one established when there is room.
func TestStartTCPWaits(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	if err := errors.Join(syscall.Bind(fd, socketAddress(netip.MustParseAddrPort("127.0.0.1:0"))),
		syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all []net.Conn
	var waits Starting
	for waits == nil {
		if len(all) == 100 {
			t.Fatal("the backlog has no end")
		}
		c := started(t, l.Addr())
		if !c.Connected() {
			waits = c
			break
		}
		near, err := c.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer near.Close()
		all = append(all, near)
	}
	given := started(t, l.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := given.Wait(ctx); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v, %v", c, err)
	}
	go func() {
		for { // ends with the listener
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	c, err := waits.Wait(t.Context()) // the kernel sends its SYN again after a second
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close() // nothing was sent
}
