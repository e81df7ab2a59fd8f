package gonet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// sharedListeners listens at an address n times.
func sharedListeners(t *testing.T, c ListenConfig, address string, n int) (all []*Listener) {
	t.Helper()
	c.SharePort = true
	for range n {
		l, err := c.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// tellWho has each listener answer its clients with its number, and then echo.
func tellWho(all []*Listener) {
	for i, l := range all {
		go acceptAll(l, func(c net.Conn) {
			defer c.Close()
			_, _ = fmt.Fprint(c, i) // the client checks
			_, _ = io.Copy(c, c)
		})
	}
}

// who dials, and returns the connection with the number of the listener that has accepted it.
func who(t *testing.T, s *Stack, address string) (net.Conn, int) {
	t.Helper()
	c := dialed(t, s, address)
	var b [1]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		t.Fatal(err)
	}
	return c, int(b[0] - '0')
}

// TestSharedPort has four listeners at a port. All get connections; when one closes, the others go
// on, and its own accepted connections, too.
func TestSharedPort(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		all := sharedListeners(t, ListenConfig{Stack: y}, ":80", 4)
		tellWho(all)
		if s, err := y.Snapshot(); err != nil || len(s.Listeners) != 4 {
			t.Errorf("%v, %v", s.Listeners, err)
		}
		const clients = 200
		counts := make([]int, len(all))
		var first net.Conn // of the listener that closes
		for range clients {
			c, i := who(t, x, "10.0.0.2:80")
			if counts[i]++; i == 0 && first == nil {
				first = c
				continue
			}
			closeConns(t, c)
		}
		// The least of four is below 20 of 200 once in a million runs.
		if slices.Min(counts) < 20 {
			t.Fatalf("connections of each: %v", counts)
		}
		if err := all[0].Close(); err != nil {
			t.Fatal(err)
		}
		for range clients / 4 {
			c, i := who(t, x, "10.0.0.2:80")
			if i == 0 {
				t.Error("a connection for a closed listener")
			}
			closeConns(t, c)
		}
		expectEcho(t, first, 100)
		closeConns(t, first)
		for _, l := range all[1:] {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := x.Dial("tcp", "10.0.0.2:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("after the last: %v", err)
		}
		if _, err := y.Listen("tcp", ":80"); err != nil {
			t.Errorf("the port is not free again: %v", err)
		}
	})
}

// TestSharedPortConflicts: all of a port must share it, and a free port is shared with nobody.
func TestSharedPortConflicts(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, _ *Stack) {
		shared, alone := ListenConfig{Stack: x, SharePort: true}, ListenConfig{Stack: x}
		listen := func(c ListenConfig, network, address string) error {
			if network == "udp" {
				_, err := c.ListenPacket(network, address)
				return err
			}
			_, err := c.Listen(network, address)
			return err
		}
		for _, c := range []struct {
			c                ListenConfig
			network, address string
			free             bool
		}{
			{shared, "tcp", ":80", true}, {shared, "tcp", ":80", true},
			{alone, "tcp", ":80", false}, {shared, "tcp4", ":80", false},
			{shared, "tcp", "10.0.0.1:80", true}, // as of one that is not shared: it comes first
			{alone, "tcp", ":81", true}, {shared, "tcp", ":81", false},
			{shared, "udp", ":80", true}, {shared, "udp", ":80", true},
			{alone, "udp", ":80", false}, {alone, "udp", ":81", true},
			{shared, "udp", ":81", false},
		} {
			err := listen(c.c, c.network, c.address)
			if c.free != (err == nil) || err != nil && !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("%s %s, shared %v: %v", c.network, c.address, c.c.SharePort, err)
			}
		}
		// More listeners than there are ports: each has a port of its own, or none.
		seen := map[string]bool{}
		for range 100 {
			l, err := shared.Listen("tcp", ":0")
			if err != nil || seen[l.Addr().String()] {
				t.Fatalf("%v, %v", l, err)
			}
			seen[l.Addr().String()] = true
		}
	})
}

// TestSharedPortWithCookies has listeners with backlogs of one: nearly all their connections are
// made by SYN cookies.
func TestSharedPortWithCookies(t *testing.T) {
	bubble(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		all := sharedListeners(t, ListenConfig{Stack: y, Backlog: 1}, ":80", 3)
		tellWho(all)
		counts := make([]int, len(all))
		var mu sync.Mutex
		var clients sync.WaitGroup
		for range 100 {
			clients.Go(func() {
				// A connection that finds the accept queue full is reset, and tried again.
				for ; ; time.Sleep(10 * time.Millisecond) {
					c := dialed(t, x, "10.0.0.2:80")
					var b [1]byte
					if _, err := io.ReadFull(c, b[:]); errors.Is(err, syscall.ECONNRESET) {
						_ = c.Close() // it has ended
						continue
					} else if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					counts[b[0]-'0']++
					mu.Unlock()
					expectEcho(t, c, 100)
					closeConns(t, c)
					return
				}
			})
		}
		clients.Wait()
		if slices.Min(counts) == 0 || y.Stats().Cookies == 0 {
			t.Errorf("connections of each: %v, cookies: %d", counts, y.Stats().Cookies)
		}
	})
}

// TestSharedSockets has three sockets of UDP at a port. The datagrams of a flow reach one of them,
// those to a group reach all that have joined it.
func TestSharedSockets(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		var all []*PacketConn
		for range 3 {
			p, err := ListenConfig{Stack: y, SharePort: true}.ListenPacket("udp", ":53")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		const clients = 60
		for i := range clients {
			c := dialUDP(t, x, "10.0.0.2:53")
			for range 2 {
				if _, err := fmt.Fprint(c, i); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		for i, p := range all {
			got := arrived(t, p)
			for j := 0; j+1 < len(got); j += 2 {
				if got[j] != got[j+1] {
					t.Fatalf("socket %d gets a part of a flow: %q", i, got)
				}
			}
			if len(got)%2 != 0 || len(got) < 2 { // once in 10^10 runs
				t.Errorf("socket %d gets %d datagrams of %d", i, len(got), 2*clients)
			}
		}
		for _, p := range all {
			if err := p.JoinGroup(netip.MustParseAddr("239.1.2.3")); err != nil {
				t.Fatal(err)
			}
		}
		sendTo(t, listenAt(t, x, "udp", ":0"), "239.1.2.3:53", "group")
		for i, p := range all {
			if got := arrived(t, p); !slices.Equal(got, []string{"group"}) {
				t.Errorf("socket %d gets %q", i, got)
			}
		}
		if err := errors.Join(all[0].Close(), all[1].Close()); err != nil {
			t.Fatal(err)
		}
		c := dialUDP(t, x, "10.0.0.2:53")
		if _, err := fmt.Fprint(c, "last"); err != nil {
			t.Fatal(err)
		}
		if got := arrived(t, all[2]); !slices.Equal(got, []string{"last"}) {
			t.Errorf("the last socket gets %q", got)
		}
	})
}

// TestOptionsOfListeners: the first packet of a connection has the options of its listener, and
// those of another listener are the stack's.
func TestOptionsOfListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		sent := &tee{End: b}
		x, y := host6(t, a, "1", quiet), host6(t, sent, "2", quiet)
		l, err := ListenConfig{Stack: y, TTL: 7, TOS: 0xbb, TCP: &tcp.Config{NoTimestamps: true,
			ReceiveBuffer: 5000, UserTimeout: 7 * time.Second}}.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		other, err := ListenConfig{Stack: y, TTL: 9}.Listen("tcp", ":81")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			at         string
			from       *Listener
			ttl, tos   uint8
			timestamps bool
		}{
			{"10.0.0.2:80", l, 7, 0xb8, false},
			{"[2001:db8::2]:80", l, 7, 0xb8, false},
			{"10.0.0.2:81", other, 9, 0, true},
		} {
			near := dialed(t, x, c.at)
			far, err := c.from.Accept()
			if err != nil {
				t.Fatal(err)
			}
			i := near.(*Conn).Info()
			if (i.PeerWindow <= 5000) == c.timestamps || i.Timestamps != c.timestamps {
				t.Errorf("%s: a window of %d, timestamps %v", c.at, i.PeerWindow, i.Timestamps)
			}
			o := far.(*Conn).cfg
			if (o.UserTimeout == 7*time.Second) == c.timestamps || o.KeepAlive != keepAlive {
				t.Errorf("%s: %+v", c.at, o)
			}
			ttl, tos := sent.lastTCP(t, far.(*Conn).flow.LocalPort)
			if ttl != c.ttl || tos != c.tos {
				t.Errorf("%s: a TTL of %d and a TOS of %#x", c.at, ttl, tos)
			}
			closeConns(t, near, far)
		}
		p, err := ListenConfig{Stack: y, TTL: 5, TOS: 0x20, ReadBuffer: 1500}.ListenPacket("udp",
			":53")
		if err != nil {
			t.Fatal(err)
		}
		c := dialUDP(t, x, "10.0.0.2:53").(*PacketConn)
		for range 3 {
			if _, err := c.Write(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
		}
		if got := arrived(t, p); len(got) != 1 {
			t.Errorf("%d datagrams of 1,000 bytes wait in 1,500", len(got))
		}
		if _, err := p.WriteTo([]byte("x"), c.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if _, _, info, err := c.ReadInfo(make([]byte, 9)); err != nil || info.TTL != 5 ||
			info.TOS != 0x20 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// sentSegment is a TCP segment that a link was given, with the fields of its IP header.
type sentSegment struct {
	ttl, tos uint8
	bytes    []byte
}

// tcpFrom returns the segments that were written from a port, on a wire with Ethernet.
func (r *tee) tcpFrom(port uint16) (all []sentSegment) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, frame := range r.all {
		b := frame[wire.EthernetLen:]
		var s sentSegment
		if h, body, err := wire.ParseIPv4(b); err == nil && h.Protocol == wire.ProtocolTCP {
			s = sentSegment{h.TTL, h.TOS, body}
		} else if h, body, err := wire.ParseIPv6(b); err == nil &&
			h.NextHeader == wire.ProtocolTCP {
			s = sentSegment{h.HopLimit, h.TrafficClass, body}
		}
		if s.bytes != nil && binary.BigEndian.Uint16(s.bytes) == port {
			all = append(all, s)
		}
	}
	return all
}

// lastTCP returns the TTL and the TOS of the last segment that was written from a port.
func (r *tee) lastTCP(t *testing.T, port uint16) (ttl, tos uint8) {
	t.Helper()
	all := r.tcpFrom(port)
	if len(all) == 0 {
		t.Fatal("no segment was written")
	}
	last := all[len(all)-1]
	return last.ttl, last.tos
}

// TestListenAsyncShared has callbacks and sockets share a port.
func TestListenAsyncShared(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		c := ListenConfig{Stack: y, SharePort: true, TTL: 11}
		if _, err := c.ListenAsync("tcp", ":80", nil); err == nil {
			t.Error("no function")
		}
		accepted := make(chan uint8, 100)
		_, err := c.ListenAsync("tcp", ":80", func(a *AsyncConn) AsyncHandler {
			accepted <- a.conn.ttl
			return &callbacks{}
		})
		if err != nil {
			t.Fatal(err)
		}
		tellWho(sharedListeners(t, c, ":80", 1))
		for range cap(accepted) {
			near := dialed(t, x, "10.0.0.2:80")
			defer near.Close()
		}
		synctest.Wait()
		if n := len(accepted); n < 10 || n > 90 {
			t.Errorf("%d of %d connections came to callbacks", n, cap(accepted))
		}
		for range len(accepted) {
			if ttl := <-accepted; ttl != 11 {
				t.Errorf("a TTL of %d", ttl)
			}
		}
	})
}
