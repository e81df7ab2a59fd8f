package gonet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// twoHosts makes two hosts on one wire: 10.0.0.1 and 10.0.0.2.
func twoHosts(t testing.TB, a, b link.Link) (*Stack, *Stack) {
	t.Helper()
	x := host(t, a, "10.0.0.1/24")
	y := host(t, b, "10.0.0.2/24")
	return x, y
}

func host(t testing.TB, l link.Link, address string) *Stack {
	t.Helper()
	s, err := New(Config{Link: l, Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pipe returns connections between two hosts with the given addresses, for nettest.
func pipe(from, to string, options ...link.Option) nettest.MakePipe {
	return func() (c1, c2 net.Conn, stop func(), err error) {
		a, b := link.Pair(options...)
		x, err := New(Config{Link: a, Addresses: []netip.Prefix{netip.MustParsePrefix(from)}})
		if err != nil {
			return nil, nil, nil, err
		}
		far := netip.MustParsePrefix(to)
		y, err := New(Config{Link: b, Addresses: []netip.Prefix{far}})
		if err != nil {
			return nil, nil, nil, err
		}
		stop = func() { _ = errors.Join(x.Close(), y.Close()) }
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			return nil, nil, stop, err
		}
		if c1, err = x.Dial("tcp", netip.AddrPortFrom(far.Addr(), 80).String()); err != nil {
			return nil, nil, stop, err
		}
		c2, err = l.Accept()
		return c1, c2, stop, err
	}
}

func TestConnIsNetConn(t *testing.T) {
	nettest.TestConn(t, pipe("10.0.0.1/24", "10.0.0.2/24"))
}

func TestConnIsNetConnWithOffload(t *testing.T) {
	nettest.TestConn(t, pipe("10.0.0.1/24", "10.0.0.2/24", link.Offload()))
}

func TestHTTP(t *testing.T) {
	a, b := link.Pair(link.Offload())
	x, y := twoHosts(t, a, b)
	l, err := y.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(body) // the client checks
	}))
	server.Listener = l
	server.Start()
	defer server.Close()
	client := http.Client{Transport: &http.Transport{DialContext: x.DialContext}}
	defer client.CloseIdleConnections()
	for _, size := range []int{0, 1, 100_000, 5_000_000} {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(rand.Uint32())
		}
		r, err := client.Post("http://10.0.0.2/", "", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes back of %d, %v", len(got), size, err)
		}
		if err := r.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// bubble runs f in fake time, on two hosts on a wire with faults.
func bubble(t *testing.T, fault link.Fault, f func(t *testing.T, x, y *Stack)) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		x, y := twoHosts(t, link.NewFaults(a, 1, link.Fault{}, fault),
			link.NewFaults(b, 2, link.Fault{}, fault))
		f(t, x, y)
	})
}

func TestPing(t *testing.T) {
	bubble(t, link.Fault{Delay: 5 * time.Millisecond}, func(t *testing.T, x, _ *Stack) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		to := netip.MustParseAddr("10.0.0.2")
		// with the address resolution
		if d, err := x.Ping(ctx, to, 56); err != nil || d != 20*time.Millisecond {
			t.Errorf("the first: %v, %v", d, err)
		}
		if d, err := x.Ping(ctx, to, 56); err != nil || d != 10*time.Millisecond {
			t.Errorf("the second: %v, %v", d, err)
		}
		if d, err := x.Ping(ctx, to, 65507); err != nil || d != 10*time.Millisecond {
			t.Errorf("in fragments: %v, %v", d, err)
		}
		if _, err := x.Ping(ctx, to, 65508); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("too long: %v", err)
		}
		if d, err := x.Ping(ctx, netip.MustParseAddr("10.0.0.1"), 56); err != nil {
			t.Errorf("ourselves: %v, %v", d, err)
		}
		if _, err := x.Ping(ctx, netip.MustParseAddr("10.0.0.9"), 56); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("nobody: %v", err)
		}
	})
}

func TestUDP(t *testing.T) {
	bubble(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		p, err := y.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.Dial("udp", "10.0.0.2:53")
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 3, 1472, 1473, 65507} {
			want := bytes.Repeat([]byte{byte(size)}, size)
			if _, err := c.Write(want); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 65536)
			n, from, err := p.ReadFrom(b)
			if err != nil || !bytes.Equal(b[:n], want) || from.String() != c.LocalAddr().String() {
				t.Fatalf("%d bytes from %v, %v, want %d", n, from, err, size)
			}
			if _, err := p.WriteTo(b[:n], from); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Read(b); err != nil || !bytes.Equal(b[:n], want) {
				t.Fatalf("back: %d bytes, %v", n, err)
			}
		}
		if _, err := c.Write(make([]byte, 65508)); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("too long: %v", err)
		}
		if _, err := y.ListenPacket("udp", ":53"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("twice: %v", err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 9)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a port that nobody has: %v", err)
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		var timeout net.Error
		if _, err := c.Read(make([]byte, 9)); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("a deadline: %v", err)
		}
	})
}

func TestDialErrors(t *testing.T) {
	bubble(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, _ *Stack) {
		for _, c := range []struct {
			network, address string
			err              error
		}{
			{"tcp", "10.0.0.2:81", syscall.ECONNREFUSED},
			{"tcp", "10.0.0.1:81", syscall.ECONNREFUSED}, // the dialing host itself
			{"tcp", "10.0.0.9:81", syscall.EHOSTUNREACH},
			{"tcp", "10.0.0.255:81", syscall.ENETUNREACH},
			{"tcp", "10.0.0.2:0", syscall.ENETUNREACH},
		} {
			if conn, err := x.Dial(c.network, c.address); !errors.Is(err, c.err) {
				t.Errorf("%s %s: %v, %v, want %v", c.network, c.address, conn, err, c.err)
			}
		}
		for _, address := range []string{"10.0.0.2", "10.0.0.2:x", "host:80", "[fe80::1]:80",
			"10.0.0.2:70000"} {
			if conn, err := x.Dial("tcp", address); err == nil {
				t.Errorf("%s: %v", address, conn)
			}
		}
		if _, err := x.Dial("sctp", "10.0.0.2:80"); !errors.As(err, new(net.UnknownNetworkError)) {
			t.Errorf("sctp: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := x.DialContext(ctx, "tcp", "10.0.0.8:80"); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("a context: %v", err)
		}
		if _, err := x.Listen("tcp", "10.0.0.7:80"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("an address of another: %v", err)
		}
	})
}

// TestBadWires holds that bytes arrive over wires with all faults at once.
func TestBadWires(t *testing.T) {
	for name, fault := range map[string]link.Fault{
		"loss":        {Delay: 5 * time.Millisecond, Loss: .05},
		"corruption":  {Delay: 5 * time.Millisecond, Corrupt: .05},
		"duplication": {Delay: 5 * time.Millisecond, Duplicate: .2},
		"reordering":  {Delay: 5 * time.Millisecond, Reorder: .1, Jitter: 3 * time.Millisecond},
		"all": {Delay: 5 * time.Millisecond, Loss: .03, Corrupt: .03, Duplicate: .05,
			Reorder: .05, Jitter: 3 * time.Millisecond, Bandwidth: 5e6},
	} {
		for _, control := range []string{tcp.CUBIC, tcp.NewReno} {
			t.Run(name+"/"+control, func(t *testing.T) {
				bubble(t, fault, func(t *testing.T, x, y *Stack) {
					x.cfg.TCP.Congestion, y.cfg.TCP.Congestion = control, control
					l, err := y.Listen("tcp", ":7")
					if err != nil {
						t.Fatal(err)
					}
					go func() {
						c, err := l.Accept()
						if err != nil {
							t.Error(err)
							return
						}
						if _, err := io.Copy(c, c); err != nil {
							t.Error(err)
						}
						_ = c.Close() // the client checks
					}()
					c, err := x.Dial("tcp", "10.0.0.2:7")
					if err != nil {
						t.Fatal(err)
					}
					want := make([]byte, 2_000_000)
					for i := range want {
						want[i] = byte(i * i >> 5)
					}
					go func() {
						if _, err := c.Write(want); err != nil {
							t.Error(err)
						}
						if err := c.(*Conn).CloseWrite(); err != nil {
							t.Error(err)
						}
					}()
					got, err := io.ReadAll(c)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
					_ = c.Close() // the end of the stack closes it
				})
			})
		}
	}
}

func TestABacklogIsBounded(t *testing.T) {
	bubble(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		y.cfg.Backlog = 3
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := x.Dial("tcp", "10.0.0.2:80"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Millisecond) // the last handshake has ended at both ends
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := x.DialContext(ctx, "tcp", "10.0.0.2:80"); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("the fourth: %v", err)
		}
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Dial("tcp", "10.0.0.2:80"); err != nil {
			t.Errorf("after an Accept: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		if _, err := x.Dial("tcp", "10.0.0.2:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestSynFlood sends SYNs from addresses that never answer: they cost no memory, and clients still
// connect.
func TestSynFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, end := link.Pair()
		y := host(t, end, "10.0.0.2/24")
		y.cfg.Backlog = 16
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		flood := func(from int) {
			e := wire.Ethernet{Dst: y.MAC(), Src: wire.MAC{2, 5: 9}, Type: wire.EtherIPv4}
			ip := wire.IPv4{Length: 40, TTL: 64, Protocol: wire.ProtocolTCP,
				Src: netip.AddrFrom4([4]byte{10, 0, 0, byte(100 + from%50)}),
				Dst: netip.MustParseAddr("10.0.0.2")}
			h := wire.TCP{SrcPort: uint16(1000 + from), DstPort: 80, Seq: uint32(from),
				Flags: wire.SYN, Window: 1000}
			b := make([]byte, 54)
			e.Put(b)
			ip.Put(b[14:])
			h.Put(b[34:])
			h.Checksum = ^wire.Sum(b[34:], wire.PseudoSum(ip.Src, ip.Dst, ip.Protocol, 20))
			h.Put(b[34:])
			if err := a.Write(link.GSO{}, b); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 500 {
			flood(i)
		}
		synctest.Wait()
		if err := y.claim(func() {
			if len(y.tcp.conns) > 16 {
				t.Errorf("%d connections in the table", len(y.tcp.conns))
			}
		}); err != nil {
			t.Fatal(err)
		}
		if n := y.Stats().Cookies; n != 500-16 {
			t.Errorf("%d cookies, want %d", n, 500-16)
		}
		// The client is another host on the same wire. It must ignore the answers to the flood.
		x := host(t, a, "10.0.0.1/24")
		c, err := x.Dial("tcp", "10.0.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if _, err := c.Write(bytes.Repeat([]byte("x"), 100_000)); err != nil {
				t.Error(err)
			}
			_ = c.Close() // the reader checks
		}()
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(far); len(got) != 100_000 || err != nil {
			t.Errorf("%d bytes over a connection of a cookie, %v", len(got), err)
		}
		_ = far.Close() // the client has gone
	})
}

func TestTheEndOfAStackIsReportedToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		x, _ := twoHosts(t, a, b)
		l, err := x.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		p, err := x.ListenPacket("udp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.Dial("tcp", "127.0.0.1:80")
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan error)
		for _, wait := range []func() error{
			func() error {
				if _, err := l.Accept(); err != nil { // the connection from above
					return err
				}
				_, err := l.Accept()
				return err
			},
			func() error { _, err := c.Read(make([]byte, 1)); return err },
			func() error { _, _, err := p.ReadFrom(make([]byte, 1)); return err },
			func() error {
				_, err := x.Ping(t.Context(), netip.MustParseAddr("10.0.0.77"), 1)
				return err
			},
		} {
			go func() { heard <- wait() }()
		}
		synctest.Wait()
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if err := <-heard; !errors.Is(err, net.ErrClosed) {
				t.Errorf("heard %v", err)
			}
		}
		if _, err := x.Dial("tcp", "10.0.0.2:80"); err == nil {
			t.Error("a stack that has ended connects")
		}
	})
}

func TestConfig(t *testing.T) {
	a, _ := link.Pair()
	small, _ := link.Pair(link.MTU(67))
	for _, c := range []Config{
		{},
		{Link: small},
		{Link: a, Addresses: []netip.Prefix{{}}},
		{Link: a, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}},
		{Link: a, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.255/24")}},
		{Link: a, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")},
			Gateways: []netip.Addr{netip.MustParseAddr("10.0.1.1")}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	if got := broadcastOf(netip.MustParsePrefix("10.1.2.3/20")); got.String() != "10.1.15.255" {
		t.Errorf("the broadcast address of 10.1.2.3/20: %v", got)
	}
}

// FuzzInput sends arbitrary frames to a stack with a listener, a socket and a connection: it must
// survive and still work.
func FuzzInput(f *testing.F) {
	ip := wire.IPv4{Length: 40, TTL: 64, Protocol: wire.ProtocolTCP,
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2")}
	b := make([]byte, 40)
	ip.Put(b)
	f.Add(uint16(0x0800), b)
	m := wire.ARP{Op: 1, SenderIP: ip.Src, TargetIP: ip.Dst}
	m.Put(b)
	f.Add(uint16(0x0806), b[:28])
	query := wire.IPv4{Length: 36, TTL: 1, Protocol: wire.ProtocolIGMP, Src: ip.Src, Dst: allHosts,
		Options: wire.RouterAlert4[:]}
	query.Put(b)
	copy(b[igmpHeaderLen:], []byte{wire.IGMPQuery, 0, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0})
	wire.SealICMP(b[igmpHeaderLen:36], 0)
	f.Add(uint16(0x0800), b[:36])
	f.Fuzz(func(t *testing.T, kind uint16, b []byte) {
		a, end := link.Pair()
		s := host(t, end, "10.0.0.2/24")
		if _, err := s.Listen("tcp", ":80"); err != nil {
			t.Fatal(err)
		}
		e := wire.Ethernet{Dst: s.MAC(), Src: wire.MAC{2, 5: 1}, Type: wire.EtherType(kind)}
		var header [wire.EthernetLen]byte
		e.Put(header[:])
		if err := a.Write(link.GSO{Partial: true, Valid: true}, header[:], b); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Ping(ctx, netip.MustParseAddr("127.0.0.1"), 8); err != nil {
			t.Fatal(err)
		}
	})
}
