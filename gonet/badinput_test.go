package gonet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// failingLink is a link that fails on request.
type failingLink struct {
	link.Link
	mu          sync.Mutex
	read, write error
}

var errBroken = errors.New("the cable was pulled")

func (l *failingLink) fail(read, write error) {
	l.mu.Lock()
	l.read, l.write = read, write
	l.mu.Unlock()
	l.Interrupt()
}

func (l *failingLink) Read(batch []link.Frame) (int, error) {
	n, err := l.Link.Read(batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read != nil {
		return 0, l.read
	}
	return n, err
}

func (l *failingLink) Write(g link.GSO, pieces ...[]byte) error {
	l.mu.Lock()
	err := l.write
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.Link.Write(g, pieces...)
}

// TestALinkThatFails holds that a failed link ends the stack, and that every call returns the
// link's error.
func TestALinkThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		l := &failingLink{Link: a}
		x, y := host6(t, l, "1"), host6(t, b, "2")
		serveEcho(t, y, ":7")
		c := dialed(t, x, "10.0.0.2:7")
		expectEcho(t, c, 10)
		l.fail(nil, errBroken) // a failed write is as a lost packet: TCP tries again
		if _, err := c.Write([]byte("x")); err != nil {
			t.Errorf("write: %v", err)
		}
		if _, err := x.Dial("tcp", "10.0.0.2:7"); err == nil ||
			!strings.Contains(err.Error(), "10.0.0.2:7") || !errors.Is(err, errBroken) {
			t.Errorf("dial: %v", err)
		}
		u, err := x.Dial("udp", "10.0.0.2:7")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write([]byte("x")); !errors.Is(err, errBroken) {
			t.Errorf("a datagram: %v", err)
		}
		if _, err := x.Ping(t.Context(), addrV, 8); !errors.Is(err, errBroken) {
			t.Errorf("ping: %v", err)
		}
		l.fail(nil, nil)
		echoedAfter(t, c, "x")
		l.fail(errBroken, errBroken)
		<-x.Done()
		if !errors.Is(x.Err(), errBroken) {
			t.Errorf("the stack: %v", x.Err())
		}
		_, read := c.Read(make([]byte, 1))
		_, write := c.Write([]byte("x"))
		_, ping := x.Ping(t.Context(), addrV, 8)
		_, listen := x.Listen("tcp", ":1")
		_, packet := x.ListenPacket("udp", ":1")
		_, dial := x.Dial("tcp", "10.0.0.2:7")
		_, snapshot := x.Snapshot()
		for i, err := range []error{read, write, ping, listen, packet, dial, snapshot,
			x.Configure(nil, nil)} {
			if !errors.Is(err, errBroken) {
				t.Errorf("call %d of a stack whose link has failed: %v", i, err)
			}
		}
		time.Sleep(time.Hour)
	})
}

// echoedAfter reads what was sent while the link did not work.
func echoedAfter(t *testing.T, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
}

// TestWrongConfigurations holds that wrong configurations get an error that names the wrong value,
// and that a stack on a closed link ends at once.
func TestWrongConfigurations(t *testing.T) {
	a, _ := link.Pair()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Link: a, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	if err == nil {
		<-s.Done()
		if _, err := s.Dial("tcp", "10.0.0.2:7"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("on a closed link: %v", err)
		}
		_ = s.Close()
	}
	for _, c := range []struct {
		address string
		bits    int
	}{{"0.0.0.0", 0}, {"224.0.0.1", 24}, {"::", 64}, {"ff02::1", 64}, {"::ffff:10.0.0.1", 120}} {
		l, _ := link.Pair()
		if s, err := New(Config{Link: l,
			Addresses: []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr(c.address),
				c.bits)}}); err == nil {
			t.Errorf("%s/%d was taken", c.address, c.bits)
			_ = s.Close()
		} else if !strings.Contains(err.Error(), c.address) {
			t.Errorf("the error does not name %s: %v", c.address, err)
		}
	}
	for _, address := range []string{"0.0.0.0/32", "127.0.0.1/8", "255.255.255.255/32",
		"10.0.0.255/24", "10.0.0.0/24", "10.0.0.1/32", "10.0.0.1/0", "::1/128", "2001:db8::1/0"} {
		l, _ := link.Pair() // accepted or not, it does no harm
		if s, err := New(Config{Link: l,
			Addresses: []netip.Prefix{netip.MustParsePrefix(address)}}); err == nil {
			_, _ = s.Dial("udp", "10.0.0.9:1")
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestMTUs sends streams and datagrams of all sizes over links of any MTU.
func TestMTUs(t *testing.T) {
	for _, mtu := range []int{68, 69, 576, 1279, 1280, 1281, 9000, 65535} {
		for _, super := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/super=%v", mtu, super), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					options := []link.Option{link.MTU(mtu)}
					if super {
						options = append(options, link.Offload())
					}
					a, b := link.Pair(options...)
					x, y := twoHosts(t, a, b)
					near, far := connected(t, x, y, "10.0.0.2")
					bothWays(t, 1, near, far, 100_000)
					closeConns(t, near, far)
					for _, size := range []int{0, 1, mtu - 29, mtu - 28, mtu - 27, 3000, 65507} {
						// A link has room for 1000 frames, and a datagram may have 1366 fragments,
						// each of which is kept separately until it is read.
						if size > 65507 || mtu < 1000 && size > 40_000 {
							continue
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						if _, err := x.Ping(ctx, addrV, size); err != nil {
							t.Errorf("%d bytes: %v", size, err)
						}
						cancel()
					}
					six := len(x.addresses.current().groups) > 0
					if six != (mtu >= wire.IPv6MinMTU) {
						t.Errorf("IPv6: %v", six)
					}
				})
			})
		}
	}
}

// TestOutOfPorts uses all ports to one peer: a dial fails with an error that names the address, and
// the next one succeeds after a port was freed.
func TestOutOfPorts(t *testing.T) {
	if underRace {
		t.Skip("SKIP: 32,768 connections take the race detector too long")
	}
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		quiet := func(c *Config) { c.NoDAD, c.NoAutoconf, c.Backlog = true, true, 1<<16 }
		x, y := host6(t, a, "1", quiet), host6(t, b, "2", quiet)
		if _, err := y.Listen("tcp", ":7"); err != nil {
			t.Fatal(err)
		}
		var open []net.Conn
		for range demux.LastPort - demux.FirstPort + 1 {
			c, err := x.Dial("tcp", "10.0.0.2:7")
			if err != nil {
				t.Fatalf("after %d: %v", len(open), err)
			}
			open = append(open, c)
		}
		c, err := x.Dial("tcp", "10.0.0.2:7")
		if !errors.Is(err, syscall.EADDRNOTAVAIL) || !strings.Contains(err.Error(), "10.0.0.2:7") {
			t.Fatalf("beyond the last port: %v, %v", c, err)
		}
		// each peer has as many ports
		if c, err := x.Dial("tcp", "[2001:db8::2]:7"); err != nil {
			t.Error(err)
		} else {
			closeConns(t, c)
		}
		if err := open[77].(*Conn).Abort(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c, err = x.Dial("tcp", "10.0.0.2:7"); err != nil {
			t.Fatal(err)
		}
		for _, c := range append(open, c) {
			_ = c.(*Conn).Abort() // this one is closed twice
		}
		empty(t, 0, x)
	})
}

// TestAnAddressInUse gives a stack an address that another host has: an IPv6 address is given up,
// an IPv4 address kept; both are counted, and a dial to it fails.
func TestAnAddressInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		x := host6(t, a, "2")
		time.Sleep(5 * time.Second)
		y := host6(t, b, "2") // the second host
		time.Sleep(5 * time.Second)
		if n := y.Stats().Conflicts; n == 0 {
			t.Error("the second counts no conflict")
		}
		for _, p := range y.Addresses() {
			if p.Addr() == addrY {
				t.Errorf("the second has %v", p)
			}
		}
		if _, err := y.Listen("tcp", "[2001:db8::2]:80"); !errors.Is(err, syscall.EADDRNOTAVAIL) ||
			!strings.Contains(err.Error(), "2001:db8::2") {
			t.Errorf("who asks for it: %v", err)
		}
		if _, err := x.Listen("tcp", "[2001:db8::2]:80"); err != nil {
			t.Errorf("the first: %v", err)
		}
	})
}

// TestEndsAtEveryInstant cancels contexts and closes connections, listeners and stacks at any
// instant: every call returns, with an error that names its destination.
func TestEndsAtEveryInstant(t *testing.T) {
	// Package net makes state that all resolvers share at the first lookup, which must not be in
	// the fake time of one test.
	_, _ = (&net.Resolver{PreferGo: true}).LookupHost(t.Context(), "localhost")
	for seed := range 40 * conversations() {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			a, b := link.Pair()
			fault := link.Fault{Delay: 3 * time.Millisecond, Loss: .1}
			x, y := host6(t, link.NewFaults(a, seed, fault, fault), "1"), host6(t, b, "2")
			serveEcho(t, y, ":7")
			ctx, cancel := context.WithCancel(t.Context())
			some := func() time.Duration {
				return time.Duration(r.Int64N(int64(60 * time.Millisecond)))
			}
			time.AfterFunc(some(), cancel)
			if r.IntN(2) == 0 {
				victim := []*Stack{x, y}[r.IntN(2)]
				// the cleanup closes the stack again
				time.AfterFunc(some(), func() { _ = victim.Close() })
			}
			resolver := x.Resolver(netip.AddrPortFrom(addrV, 53))
			var all sync.WaitGroup
			for _, f := range []func() error{
				func() error { _, err := x.DialContext(ctx, "tcp", "10.0.0.99:7"); return err },
				func() error {
					c, err := x.DialContext(ctx, "tcp", "[2001:db8::2]:7")
					if err != nil {
						return err
					}
					// while it is read and written
					stop := context.AfterFunc(ctx, func() { _ = c.Close() })
					defer stop()
					go func() { _, _ = c.Write(make([]byte, 1<<20)) }()
					_, err = io.Copy(io.Discard, onlyReader{c})
					return errors.Join(err, errors.New("2001:db8::2 has been closed"))
				},
				func() error {
					_, err := x.Ping(ctx, netip.MustParseAddr("10.0.0.99"), 5000)
					return err
				},
				func() error { _, err := resolver.LookupHost(ctx, "nobody.example"); return err },
				func() error {
					l, err := x.Listen("tcp", ":99")
					if err != nil {
						return fmt.Errorf("99: %w", err)
					}
					defer context.AfterFunc(ctx, func() { _ = l.Close() })()
					_, err = l.Accept()
					return err
				},
				func() error {
					p, err := x.ListenPacket("udp", ":99")
					if err != nil {
						return fmt.Errorf("99: %w", err)
					}
					defer context.AfterFunc(ctx, func() { _ = p.Close() })()
					_, _, err = p.ReadFrom(make([]byte, 1))
					return err
				},
			} {
				start := some()
				all.Go(func() {
					time.Sleep(start)
					if err := f(); err == nil {
						t.Errorf("seed %d: a call came back without an error", seed)
					} else if s := err.Error(); !strings.Contains(s, "99") &&
						!strings.Contains(s, "2001:db8::2") && !strings.Contains(s, "nobody") {
						t.Errorf("seed %d: the error names nothing: %v", seed, err)
					}
				})
			}
			all.Wait()
			cancel()
			time.Sleep(20 * time.Minute)
		})
	}
}
