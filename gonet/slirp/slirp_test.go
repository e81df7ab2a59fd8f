package slirp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

// TestOut has connections and datagrams of both families go to a server of the outside.
func TestOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		serveEcho(t, w.server, ":80")
		text := strings.Repeat("bytes of the guest ", 20_000)
		for _, to := range []string{serverAddr + ":80", "[" + serverAddr6 + "]:80"} {
			c := dial(t, w.guest, "tcp", to)
			expectEcho(t, c, "a line")
			go func() { _, _ = io.WriteString(c, text) }() // what is missing shows below
			got := make([]byte, len(text))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
				t.Errorf("%s: %d bytes, %v", to, len(got), err)
			}
			_ = c.Close() // the far end has all
			for _, size := range []int{1, 1472, 1473, 20_000} {
				expectEcho(t, dial(t, w.guest, "udp", to), strings.Repeat("d", size))
			}
		}
		if s := w.stats(); s.Connections != 2 || s.Flows != 8 || s.Failed != 0 ||
			s.Sent < 2*uint64(len(text)) || s.Received != s.Sent {
			t.Errorf("%+v", s)
		}
	})
}

// TestMapping holds that the flows of an endpoint of the guest come from one port of the host, and
// those of another from another.
func TestMapping(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ports := func(local string) (seen []uint16) {
			in, err := w.guest.ListenPacket("udp", local)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range []string{serverAddr + ":1001", serverAddr + ":1002",
				hostAddr + ":1003"} {
				a := netip.MustParseAddrPort(to)
				at := w.server
				if a.Addr().String() == hostAddr {
					at = w.host
				}
				out, err := at.ListenPacket("udp", to)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := in.WriteToAddrPort([]byte("x"), a); err != nil {
					t.Fatal(err)
				}
				_, from, err := out.ReadFromAddrPort(make([]byte, 10))
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, from.Port())
				// A stranger at the same server does not get in.
				if at == w.server {
					other := dial(t, w.server, "udp", from.String())
					if _, err := other.Write([]byte("stranger")); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := out.WriteToAddrPort([]byte("answer"), from); err != nil {
					t.Fatal(err)
				}
				b := make([]byte, 10)
				if n, sender, err := in.ReadFromAddrPort(b); err != nil || sender != a ||
					string(b[:n]) != "answer" {
					t.Errorf("%q from %v, %v", b[:n], sender, err)
				}
				_ = out.Close() // the next round listens again
			}
			return seen
		}
		one, other := ports("10.0.2.100:5000"), ports("10.0.2.100:5001")
		for _, seen := range [][]uint16{one, other} {
			if seen[0] != seen[1] || seen[0] != seen[2] {
				t.Errorf("one endpoint has the ports %v", seen)
			}
		}
		if one[0] == other[0] {
			t.Errorf("two endpoints have port %d", one[0])
		}
	})
}

// TestTenThousandConnections opens as many, a hundred at a time, and looks at what is left. Under
// the race detector they are a thousand.
func TestTenThousandConnections(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const at = 100
		rounds := 100
		if underRace {
			rounds = 10
		}
		serveEcho(t, w.server, ":80")
		before := runtime.NumGoroutine()
		for range rounds {
			var running sync.WaitGroup
			for range at {
				running.Go(func() {
					c, err := w.guest.Dial("tcp", serverAddr+":80")
					if err != nil {
						t.Error(err)
						return
					}
					expectEcho(t, c, "a line")
					_ = c.Close() // all has arrived
				})
			}
			running.Wait()
			if t.Failed() {
				return
			}
		}
		time.Sleep(10 * time.Minute) // TIME-WAIT has ended
		synctest.Wait()
		if s := w.slirp.Stats(); s.Connections != uint64(at*rounds) || s.Failed != 0 {
			t.Errorf("%+v", s)
		}
		for name, s := range map[string]*gonet.Stack{"the gateway": w.slirp.stack,
			"the host": w.host} {
			if now, err := s.Snapshot(); err != nil || len(now.Conns) != 0 {
				t.Errorf("%s has %d connections left, %v", name, len(now.Conns), err)
			}
		}
		if n := runtime.NumGoroutine() - before; n > 0 || len(w.slirp.connections) != 0 {
			t.Errorf("%d goroutines and %d slots are left", n, len(w.slirp.connections))
		}
	})
}

// TestHalfClose has the guest end its direction first, and the server answer then.
func TestHalfClose(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		l, err := w.server.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			b, _ := io.ReadAll(c) // the client compares
			_, _ = c.Write(b)
		}()
		c := dial(t, w.guest, "tcp", serverAddr+":80")
		if _, err := io.WriteString(c, "question"); err != nil {
			t.Fatal(err)
		}
		if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); err != nil || string(b) != "question" {
			t.Errorf("%q, %v", b, err)
		}
	})
}

// TestRefusals holds what the guest is told of destinations that cannot be reached.
func TestRefusals(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, a := range []string{serverAddr, "[" + serverAddr6 + "]"} {
			expectError(t, w.guest, a+":9", syscall.ECONNREFUSED)
			expectRefusedDatagram(t, w.guest, a+":9")
		}
		// The host's network has nobody there, or no route.
		expectError(t, w.guest, "198.51.100.99:80", syscall.EHOSTUNREACH)
		expectError(t, w.guest, "203.0.113.5:80", syscall.EHOSTUNREACH)
		expectRefusedDatagram(t, w.guest, "203.0.113.5:80")
		// The addresses of the network where nobody is, behind the gateway.
		refused := w.stats().Refused
		for _, a := range []string{"169.254.169.254:80", "240.0.0.1:80"} {
			expectError(t, w.guest, a, syscall.EHOSTUNREACH)
			expectRefusedDatagram(t, w.guest, a)
		}
		if n := w.stats().Refused - refused; n < 4 {
			t.Errorf("the gateway has refused %d packets", n)
		}
	})
}

// TestHostLoopback reaches the host's loopback by the gateway's address, and only if it may.
func TestHostLoopback(t *testing.T) {
	serve := func(w *world) {
		for _, a := range []string{"127.0.0.1:80", "[::1]:80"} {
			serveEcho(w.t, w.host, a)
		}
	}
	inWorld(t, func(t *testing.T, w *world) {
		serve(w)
		for _, to := range []string{"10.0.2.2:80", "[fd00::2]:80"} {
			for _, network := range []string{"tcp", "udp"} {
				expectEcho(t, dial(t, w.guest, network, to), "to the host")
			}
		}
		expectError(t, w.guest, "10.0.2.2:81", syscall.ECONNREFUSED)
	})
	inWorld(t, func(t *testing.T, w *world) {
		serve(w)
		for _, to := range []string{"10.0.2.2:80", "[fd00::2]:80"} {
			expectError(t, w.guest, to, syscall.EHOSTUNREACH)
			expectRefusedDatagram(t, w.guest, to)
		}
		// The host's other address does not lead to its loopback either.
		expectError(t, w.guest, hostAddr+":80", syscall.ECONNREFUSED)
		if s := w.stats(); s.Connections+s.Flows != 0 {
			t.Errorf("%+v", s)
		}
	}, func(c *Config) { c.NoHostLoopback = true })
}

func TestPing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, a := range []string{serverAddr, serverAddr6, "10.0.2.2", "fd00::2", "10.0.2.3",
			"fd00::3", "fe80::2"} {
			if _, err := w.guest.Ping(t.Context(), netip.MustParseAddr(a), 100); err != nil {
				t.Error(err)
			}
		}
		if n := w.stats().Echoes; n != 2 {
			t.Errorf("%d pings went out", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := w.guest.Ping(ctx, netip.MustParseAddr("198.51.100.99"), 0); err == nil {
			t.Error("nobody has answered")
		}
	})
	inWorld(t, func(t *testing.T, w *world) {
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := w.guest.Ping(ctx, netip.MustParseAddr(serverAddr), 0); err == nil {
				t.Error("the host lets nobody ping")
			}
			cancel()
		}
		if n := w.times("ping: %v; this is said once"); n != 1 {
			t.Errorf("said %d times", n)
		}
	}, func(c *Config) { c.Host = stackHost{c.Host.(stackHost).Stack, true} })
}

// TestEnd holds what the end of a Slirp and that of its link do to a connection.
func TestEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		serveEcho(t, w.server, ":80")
		c := dial(t, w.guest, "tcp", serverAddr+":80")
		expectEcho(t, c, "before")
		w.stop()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v, want a reset: what was cut off must not look like a whole", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, false)
		if err := w.slirp.cfg.Link.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-w.served; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

func TestConfig(t *testing.T) {
	n := defaultNetwork(t, false)
	raw, _ := link.Pair(link.L3())
	for name, cfg := range map[string]Config{"nothing": {}, "a tun": {Link: raw, Network: n,
		Host: Kernel{}}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for text, want := range map[string]string{
		"10.0.2.0/24": "10.0.2.2 10.0.2.3 10.0.2.100", "10.0.0.0/8": "10.0.0.2 10.0.0.3 10.0.0.100",
		"192.0.2.128/25": "192.0.2.130 192.0.2.131 192.0.2.228", "10.0.2.1/24": "",
		"10.0.2.0/26": "", "0.0.0.0/0": "", "127.0.0.0/8": "", "224.0.0.0/8": "", "fd00::/64": "",
		"240.0.0.0/8": "", "169.254.0.0/16": "", "128.0.0.0/1": "",
	} {
		n, err := NewNetwork(netip.MustParsePrefix(text), false)
		if err != nil != (want == "") {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join([]string{n.Gateway.String(), n.DNS.String(), n.Guest.String()},
			" "); err == nil && got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// startedConn is a connection that was begun, and is there.
type startedConn struct {
	net.Conn
	late bool // Connected returns false
}

func (c startedConn) Connected() bool                        { return !c.late }
func (c startedConn) Wait(context.Context) (net.Conn, error) { return c.Conn, nil }

// TestStart has a host that connects at once, or later, and refuses.
func TestStart(t *testing.T) {
	for _, late := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			serveEcho(t, w.server, ":80")
			for range 3 {
				c := dial(t, w.guest, "tcp", serverAddr+":80")
				expectEcho(t, c, "a line")
				_ = c.Close() // the far end has all
			}
			expectError(t, w.guest, serverAddr+":81", syscall.ECONNREFUSED)
			if s := w.stats(); s.Connections != 3 || s.Failed != 1 {
				t.Errorf("%+v", s)
			}
		}, func(c *Config) {
			host := c.Host.(stackHost)
			c.StartTCP = func(to netip.AddrPort) (Starting, error) {
				conn, err := host.Dial("tcp", to.String())
				return startedConn{conn, late}, err
			}
		})
	}
}
