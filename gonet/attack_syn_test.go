package gonet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/internal/synqueue"
	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// serveEcho echoes to any number of clients, until the listener is closed.
func serveEcho(t *testing.T, s *Stack, address string) *Listener {
	t.Helper()
	l, err := s.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	go acceptAll(l, func(c net.Conn) {
		_, _ = io.Copy(c, c) // the client checks
		_ = c.Close()
	})
	return l
}

// acceptAll serves each connection in a goroutine, until the listener is closed.
func acceptAll(l net.Listener, serve func(c net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go serve(c)
	}
}

// expectEcho sends size bytes and checks that they come back.
func expectEcho(t *testing.T, c net.Conn, size int) {
	t.Helper()
	want := bytes.Repeat([]byte("asked "), size/6+1)[:size]
	go func() {
		if _, err := c.Write(want); err != nil {
			t.Error(err)
		}
	}()
	got := make([]byte, size)
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("echo: %v", err)
	}
}

// attackWire runs f with a victim that has an echo server, a client of it, and an attacker, on one
// wire in fake time.
func attackWire(t *testing.T, network string, f func(t *testing.T, client *Stack, o *attacker)) {
	overBoth(t, func(t *testing.T, options ...link.Option) {
		attackWireOf(t, network, f, options...)
	})
}

// attackWireOf is attackWire on one kind of wire.
func attackWireOf(t *testing.T, network string, f func(t *testing.T, client *Stack, o *attacker),
	options ...link.Option) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(options...)
		make1 := func(l link.Link, n string) *Stack {
			return host6(t, l, n, func(c *Config) {
				c.NoDAD, c.NoAutoconf = true, true
				c.Addresses[0] = netip.PrefixFrom(c.Addresses[0].Addr(),
					netip.MustParsePrefix(network).Bits())
			})
		}
		client, victim := make1(a, "1"), make1(b, "2")
		serveEcho(t, victim, ":7")
		f(t, client, newAttacker(t, a, victim))
	})
}

// TestAttackSynFlood sends SYNs from over 100,000 addresses, on the link or behind a router. Under
// the race detector, which takes many times as long and has memory of its own, they are an
// eighth: the backlog is full at the first look, and the table of neighbours at the third of six.
func TestAttackSynFlood(t *testing.T) {
	syns := fewer(120_000, 8)
	for name, network := range map[string]string{"of neighbours": "10.0.0.0/8",
		"from afar": "10.0.0.0/24"} {
		t.Run(name, func(t *testing.T) {
			attackWire(t, network, func(t *testing.T, client *Stack, o *attacker) {
				o.pace = 20 * time.Millisecond // for 500 frames: 25,000 a second
				if err := o.victim.Configure([]netip.Prefix{netip.PrefixFrom(addrV,
					netip.MustParsePrefix(network).Bits())}, []netip.Addr{addrC}); err != nil {
					t.Fatal(err)
				}
				c, err := client.Dial("tcp", "10.0.0.2:7")
				if err != nil {
					t.Fatal(err)
				}
				expectEcho(t, c, 1000)
				growth := newGrowth(t)
				b := [4]byte{10}
				for i := range syns {
					binary.BigEndian.PutUint32(b[:], 10<<24|uint32(i+1000)*7)
					o.tcp(at(netip.AddrFrom4(b), 1000+i%60000), at(addrV, 7),
						wire.TCP{Seq: uint32(i), Flags: wire.SYN, Window: 1000,
							Options: wire.TCPOptions{MSS: 1460}})
					if part := syns / 6; i%part == part/2-1 {
						growth.measure()
						expectEcho(t, c, 10_000) // the client from before the flood
						other, err := client.Dial("tcp", "10.0.0.2:7")
						if err != nil {
							t.Fatalf("after %d SYNs: %v", i, err)
						}
						expectEcho(t, other, 10_000)
						if err := other.Close(); err != nil {
							t.Error(err)
						}
						expectNewNeighbour(t, o.victim, client, i/part)
					}
				}
				// 1024 half-open connections of about 3 KiB, and 4096 neighbours that are being
				// resolved, with the packets that wait for them, which have a bound of their own.
				growth.within(24<<20, 100)
				if n := o.victim.Stats().Cookies; int(n) < syns*2/3 {
					t.Errorf("%d cookies", n)
				}
				time.Sleep(10 * time.Minute)
				growth.measure()
				if growth.lastRoutine > 100 {
					t.Errorf("%d goroutines are left", growth.lastRoutine)
				}
				var left int
				if err := o.victim.claim(func() { left = len(o.victim.tcp.conns) }); err != nil ||
					left > 1 {
					t.Errorf("%d connections are left, %v", left, err)
				}
			})
		})
	}
}

// TestAttackSlowSynFlood sends 100 SYNs a second that are never acknowledged, for a minute: none of
// the good clients, who send no timestamps, gets a cookie, which would cost it its window scale.
func TestAttackSlowSynFlood(t *testing.T) {
	const rate, seconds = 100, 60
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.L3())
		without := func(c *Config) { c.TCP.NoTimestamps, c.NoAutoconf = true, true }
		client := host6(t, a, "1", without)
		victim := host6(t, b, "2", without, func(c *Config) { c.Gateways = []netip.Addr{addrC} })
		l := serveEcho(t, victim, ":7")
		o := newAttacker(t, a, victim)
		for i := range rate * seconds {
			src := netip.AddrFrom4([4]byte{10, 0, byte(1 + i>>8), byte(i)})
			o.tcp(at(src, 1000+i), at(addrV, 7), wire.TCP{Seq: uint32(i), Flags: wire.SYN,
				Window: 1000, Options: wire.TCPOptions{MSS: 1460}})
			time.Sleep(time.Second / rate)
			if i%(5*rate) == 0 {
				c, err := client.Dial("tcp", "10.0.0.2:7")
				if err != nil {
					t.Fatalf("after %d SYNs: %v", i, err)
				}
				expectEcho(t, c, 100_000)
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		n := victim.Stats()
		if n.Cookies != 0 || n.DroppedHalfOpen < rate*(seconds-10)/2 || n.DroppedBacklog != 0 {
			t.Errorf("%+v", n)
		}
		if n := l.synQueue.Len(); n > defaultBacklog {
			t.Errorf("%d connections are not accepted", n)
		}
	})
}

// TestHalfOpenConnectionsAreEvicted fills a backlog with half-open connections: young ones stay,
// and then a SYN gets a cookie, and old ones make room.
func TestHalfOpenConnectionsAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLoneAttacker(t, func(c *Config) { c.Backlog = 4 })
		o.claims(addrO)
		l, err := o.victim.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		syn := func(port int) (ack uint32) {
			t.Helper()
			o.segments()
			o.tcp(at(addrO, port), at(addrV, 80), wire.TCP{Seq: 5, Flags: wire.SYN, Window: 1000})
			for _, s := range o.segments() {
				if int(s.DstPort) == port {
					return s.Seq + 1
				}
			}
			t.Fatalf("no answer to port %d", port)
			return 0
		}
		expect := func(when string, cookies, evicted uint64) {
			t.Helper()
			if n := o.victim.Stats(); n.Cookies != cookies || n.DroppedHalfOpen != evicted {
				t.Errorf("%s: %d cookies, %d evicted, want %d and %d", when, n.Cookies,
					n.DroppedHalfOpen, cookies, evicted)
			}
		}
		first, second := syn(1001), syn(1002)
		syn(1003)
		syn(1004)
		expect("full", 0, 0)
		syn(1005)
		expect("beyond", 1, 0)
		time.Sleep(synqueue.HalfOpenTime - time.Second/2)
		o.tcp(at(addrO, 1001), at(addrV, 80), wire.TCP{Seq: 6, Ack: first, Flags: wire.ACK,
			Window: 1000})
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		syn(1006) // has the place of the one that was accepted
		syn(1007)
		expect("in time", 2, 0)
		time.Sleep(time.Second)
		syn(1008) // evicts 1002 to 1004, and not 1006
		expect("old", 2, 3)
		if n := l.synQueue.Len(); n != 2 || c.(*Conn).State() != tcp.Established {
			t.Errorf("%d are not accepted; the accepted one is %v", n, c.(*Conn).State())
		}
		o.segments()
		o.tcp(at(addrO, 1002), at(addrV, 80), wire.TCP{Seq: 6, Ack: second, Flags: wire.ACK,
			Window: 1000})
		if got := o.segments(); len(got) != 1 || got[0].Flags != wire.RST {
			t.Errorf("an evicted client is answered by %+v", got)
		}
		time.Sleep(time.Minute)
		sent := 0
		for _, s := range o.segments() {
			if s.DstPort == 1003 {
				sent++
			}
		}
		if sent != 0 {
			t.Errorf("%d segments to an evicted client", sent)
		}
	})
}

// expectNewNeighbour has the victim ping a neighbour that is not in its cache, the nth address of
// the client.
func expectNewNeighbour(t *testing.T, victim, client *Stack, n int) {
	t.Helper()
	a := netip.AddrFrom4([4]byte{10, 0, 0, byte(100 + n)})
	if err := client.Configure([]netip.Prefix{netip.PrefixFrom(addrC, 24), netip.PrefixFrom(a, 24),
		netip.PrefixFrom(addrX, 64)}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := victim.Ping(ctx, a, 56); err != nil {
		t.Errorf("a neighbour that is new: %v", err)
	}
}

// TestAttackCookiesBeyondTheBacklog has more clients acknowledge cookies in one batch than the
// backlog has room for: those without room are forgotten, and the listener accepts others
// afterwards.
func TestAttackCookiesBeyondTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLoneAttacker(t, func(c *Config) { c.Backlog = 2 })
		o.claims(addrO)
		l, err := o.victim.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		const clients = 20
		for i := range clients {
			o.tcp(at(addrO, 1000+i), at(addrV, 80), wire.TCP{Seq: 5, Flags: wire.SYN, Window: 1000})
		}
		answers := o.segments()
		if len(answers) != clients {
			t.Fatalf("%d answers to %d SYNs", len(answers), clients)
		}
		gate := make(chan struct{})
		if err := o.victim.post(func() { <-gate }); err != nil { // all arrive in one batch
			t.Fatal(err)
		}
		synctest.Wait()
		for _, s := range answers[2:] {
			o.tcp(at(addrO, int(s.DstPort)), at(addrV, 80), wire.TCP{Seq: 6, Ack: s.Seq + 1,
				Flags: wire.ACK, Window: 1000})
		}
		close(gate)
		synctest.Wait()
		time.Sleep(time.Hour)
		for range 2 {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.(*Conn).Abort(); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if err := o.victim.claim(func() {
			if n := len(o.victim.tcp.conns); n != 0 || l.synQueue.Len() != 0 {
				t.Errorf("%d connections are kept, %d count as not accepted", n,
					l.synQueue.Len())
			}
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAttackNobodyAccepts holds that a listener whose program does not call Accept has bounded
// costs, and works when it does.
func TestAttackNobodyAccepts(t *testing.T) {
	attackWire(t, "10.0.0.0/24", func(t *testing.T, client *Stack, o *attacker) {
		l, err := o.victim.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		growth := newGrowth(t)
		var open []net.Conn
		for range 1024 {
			c, err := client.Dial("tcp", "10.0.0.2:80")
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
		text := make([]byte, 1000)
		for _, c := range open {
			go func() { _, _ = c.Write(text) }() // the connection waits in the backlog
		}
		for i := range fewer(20_000, 8) {
			o.tcp(at(addrO, 1000+i), at(addrV, 80), wire.TCP{Seq: 5, Flags: wire.SYN, Window: 1000})
		}
		time.Sleep(time.Minute)
		growth.within(1024*(16<<10), 1024+100) // both ends of each
		c, err := client.Dial("tcp", "10.0.0.2:7")
		if err != nil {
			t.Fatal(err)
		}
		expectEcho(t, c, 10_000)
		if _, err := l.Accept(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range open {
			if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
		time.Sleep(5 * time.Minute)
		growth.measure()
		if growth.lastRoutine > 50 {
			t.Errorf("%d goroutines are left", growth.lastRoutine)
		}
	})
}
