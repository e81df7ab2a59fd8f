package gonet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"interleave/gonet/link"
)

var (
	addrX = netip.MustParseAddr("2001:db8::1")
	addrY = netip.MustParseAddr("2001:db8::2")
)

// host6 makes a host with 10.0.0.n, 2001:db8::n and a link-local address.
func host6(t testing.TB, l link.Link, n string, change ...func(*Config)) *Stack {
	t.Helper()
	cfg := Config{Link: l, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0." + n + "/24"),
		netip.MustParsePrefix("2001:db8::" + n + "/64")}}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some tests close the stack
	return s
}

// local returns the link-local address of a stack.
func local(t testing.TB, s *Stack) netip.Addr {
	t.Helper()
	for _, p := range s.Addresses() {
		if p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() {
			return p.Addr()
		}
	}
	t.Fatal("no address of the link")
	return netip.Addr{}
}

// bubble6 runs f in fake time on two hosts of both families.
func bubble6(t *testing.T, fault link.Fault, f func(t *testing.T, x, y *Stack)) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		f(t, host6(t, link.NewFaults(a, 1, link.Fault{}, fault), "1"),
			host6(t, link.NewFaults(b, 2, link.Fault{}, fault), "2"))
	})
}

func TestConnOfIPv6IsNetConn(t *testing.T) {
	nettest.TestConn(t, pipe("2001:db8::1/64", "2001:db8::2/64"))
}

func TestConnOfIPv6IsNetConnWithOffload(t *testing.T) {
	nettest.TestConn(t, pipe("2001:db8::1/64", "2001:db8::2/64", link.Offload()))
}

func TestPing6(t *testing.T) {
	bubble6(t, link.Fault{Delay: 5 * time.Millisecond}, func(t *testing.T, x, y *Stack) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		// While our own address is optimistic, the neighbour resolves it before it answers: three
		// round trips instead of two.
		if d, err := x.Ping(ctx, addrY, 56); err != nil || d != 30*time.Millisecond {
			t.Errorf("the first: %v, %v", d, err)
		}
		for to, size := range map[netip.Addr]int{
			addrY: 65527, addrX: 56, netip.IPv6Loopback(): 56, local(t, y): 1500, local(t, x): 1,
			netip.MustParseAddr("::ffff:10.0.0.2"): 56, local(t, y).WithZone("eth0"): 56,
		} {
			if d, err := x.Ping(ctx, to, size); err != nil {
				t.Errorf("%v with %d bytes: %v, %v", to, size, d, err)
			}
		}
		time.Sleep(2 * time.Second)
		if d, err := x.Ping(ctx, addrY, 56); err != nil || d != 10*time.Millisecond {
			t.Errorf("a later one: %v, %v", d, err)
		}
		if _, err := x.Ping(ctx, addrY, 65528); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("too long: %v", err)
		}
		if _, err := x.Ping(ctx, netip.MustParseAddr("2001:db8:1::1"), 8); !errors.Is(err,
			syscall.ENETUNREACH) {
			t.Errorf("without a way: %v", err)
		}
		if _, err := x.Ping(ctx, netip.MustParseAddr("2001:db8::9"), 8); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("nobody: %v", err)
		}
	})
}

func TestUDP6(t *testing.T) {
	bubble6(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		p, err := y.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{"[2001:db8::2]:53", "10.0.0.2:53", "[::ffff:10.0.0.2]:53",
			netip.AddrPortFrom(local(t, y), 53).String()} {
			c, err := x.Dial("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{0, 3, 1452, 1453, 65507} {
				want := bytes.Repeat([]byte{byte(size)}, size)
				if _, err := c.Write(want); err != nil {
					t.Fatal(err)
				}
				b := make([]byte, 65536)
				n, from, err := p.ReadFrom(b)
				if err != nil || !bytes.Equal(b[:n], want) ||
					from.String() != c.LocalAddr().String() {
					t.Fatalf("%s: %d bytes from %v, %v, want %d", to, n, from, err, size)
				}
				if _, err := p.WriteTo(b[:n], from); err != nil {
					t.Fatal(err)
				}
				if n, err := c.Read(b); err != nil || !bytes.Equal(b[:n], want) {
					t.Fatalf("back: %d bytes, %v", n, err)
				}
			}
		}
		c, err := x.Dial("udp6", "[2001:db8::2]:54")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(make([]byte, 65528)); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("too long: %v", err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 9)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a port that nobody has: %v", err)
		}
	})
}

// TestFamilies holds which sockets may share a port, and which of them receives what.
func TestFamilies(t *testing.T) {
	bubble6(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		for _, c := range []struct {
			network, address string
			err              error
		}{
			{"tcp", ":80", nil},
			{"tcp4", ":80", syscall.EADDRINUSE},
			{"tcp6", "[::]:80", syscall.EADDRINUSE},
			{"tcp4", ":81", nil},
			{"tcp6", ":81", nil},
			{"tcp", "0.0.0.0:81", syscall.EADDRINUSE},
			{"tcp", "[2001:db8::2]:81", nil}, // beside the listener for all addresses
			{"tcp", "[2001:db8::7]:81", syscall.EADDRNOTAVAIL},
			{"tcp", "[::1]:82", nil},
		} {
			if l, err := y.Listen(c.network, c.address); !errors.Is(err, c.err) {
				t.Errorf("%s %s: %v, %v, want %v", c.network, c.address, l, err, c.err)
			}
		}
		for _, address := range []string{"tcp4 [::1]:80", "tcp6 10.0.0.2:80", "tcp5 :80"} {
			if l, err := y.Listen(address[:4], address[5:]); err == nil {
				t.Errorf("%s: %v", address, l.Addr())
			}
		}
		for to, want := range map[string]error{
			"[2001:db8::2]:80": nil, "10.0.0.2:80": nil, "[::ffff:10.0.0.2]:80": nil,
			"[2001:db8::2]:81": nil, "10.0.0.2:81": nil,
			"[2001:db8::2]:82": syscall.ECONNREFUSED, "[2001:db8::9]:80": syscall.EHOSTUNREACH,
			"[2001:db8:1::9]:80": syscall.ENETUNREACH,
			"[ff02::1]:80":       syscall.ENETUNREACH,
		} {
			if c, err := x.Dial("tcp", to); !errors.Is(err, want) {
				t.Errorf("to %s: %v, %v, want %v", to, c, err, want)
			}
		}
		if c, err := y.Dial("tcp6", "[::]:82"); err != nil {
			t.Errorf("ourselves: %v, %v", c, err)
		}
	})
}

// TestBadWires6 holds that bytes arrive over IPv6 on a faulty wire, which affects neighbour
// discovery too.
func TestBadWires6(t *testing.T) {
	fault := link.Fault{Delay: 5 * time.Millisecond, Loss: .03, Corrupt: .03, Duplicate: .05,
		Reorder: .05, Jitter: 3 * time.Millisecond}
	bubble6(t, fault, func(t *testing.T, x, y *Stack) {
		l, err := y.Listen("tcp6", ":7")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(c, c) // the client checks
			_ = c.Close()
		}()
		c, err := x.Dial("tcp", "[2001:db8::2]:7")
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Repeat([]byte("over a bad wire and back "), 50_000)
		go func() {
			_, _ = c.Write(want) // the reader checks
			_ = c.(*Conn).CloseWrite()
		}()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

// TestConfigure holds that Configure replaces the first configuration, and that connections go on.
func TestConfigure(t *testing.T) {
	bubble6(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.Dial("tcp", "10.0.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		was := local(t, y)
		kept, added := netip.MustParsePrefix("10.0.0.2/24"),
			netip.MustParsePrefix("2001:db8:1::2/64")
		if err := y.Configure([]netip.Prefix{kept, added},
			[]netip.Addr{netip.MustParseAddr("10.0.0.1")}); err != nil {
			t.Fatal(err)
		}
		if got := y.Addresses(); !slices.Equal(got, []netip.Prefix{netip.PrefixFrom(was, 64), kept,
			added}) {
			t.Errorf("addresses: %v", got)
		}
		if next, ok := y.addresses.current().nextHop(netip.MustParseAddr("192.0.2.1")); !ok ||
			next != netip.MustParseAddr("10.0.0.1") {
			t.Errorf("the way out: %v, %v", next, ok)
		}
		if _, err := far.Write([]byte("still here")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "still here" {
			t.Errorf("%q, %v", b, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := x.Ping(ctx, addrY, 8); err == nil {
			t.Error("an address that was taken away answers")
		}
		if err := y.Configure([]netip.Prefix{kept},
			[]netip.Addr{netip.MustParseAddr("10.0.1.1")}); err == nil {
			t.Error("a gateway that is nowhere was taken")
		}
	})
}
