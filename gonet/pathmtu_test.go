package gonet

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// echoThrough sends bytes from x to y and back.
func echoThrough(t *testing.T, x, y *Stack, to string, size int) {
	t.Helper()
	l, err := y.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(c, c) // the sender checks
		_ = c.Close()
	}()
	c, err := x.Dial("tcp", net.JoinHostPort(to, "80"))
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("there and back "), size/15)
	go func() {
		if _, err := c.Write(want); err != nil {
			t.Error(err)
		}
		if err := c.(*Conn).CloseWrite(); err != nil {
			t.Error(err)
		}
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d came back, %v", len(got), len(want), err)
	}
	_ = c.Close() // both ends have closed
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestAPathThatDropsLargePackets has a path that drops large packets without an ICMP error: both
// ends must find the path MTU, over either family (RFC 2923, RFC 4821).
func TestAPathThatDropsLargePackets(t *testing.T) {
	for _, c := range []struct {
		mtu  int
		from string
		to   string
	}{
		{1400, "10.0.0.1/24", "10.0.0.2"}, {1100, "10.0.0.1/24", "10.0.0.2"},
		{600, "10.0.0.1/24", "10.0.0.2"},
		{1400, "fd00::1/64", "fd00::2"}, {1280, "fd00::1/64", "fd00::2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			fault := link.Fault{Delay: 5 * time.Millisecond, Longest: c.mtu + wire.EthernetLen}
			a, b := link.Pair()
			bits := c.from[strings.Index(c.from, "/"):]
			x, y := host(t, link.NewFaults(a, 1, link.Fault{}, fault), c.from),
				host(t, link.NewFaults(b, 2, link.Fault{}, fault), c.to+bits)
			start := time.Now()
			echoThrough(t, x, y, c.to, 900_000)
			// 1.4 s for each direction and the handshake, 3 s if 1024 bytes are too much too, each
			// time that a larger size is probed.
			limit := 5 * time.Second
			if c.mtu < 1024 {
				limit = 40 * time.Second
			}
			if d := time.Since(start); d > limit {
				t.Errorf("%d bytes to %s: it took %v, want %v at most", c.mtu, c.to, d, limit)
			}
		})
	}
}

// marker is a link that marks each tenth ECN-capable packet, as a router does, and counts them.
type marker struct {
	link.Link
	allowed, marked int
}

// Write implements Link.
func (m *marker) Write(g link.GSO, pieces ...[]byte) error {
	frame := bytes.Join(pieces, nil)
	ip := frame[wire.EthernetLen:]
	switch {
	case ip[0]>>4 == 4 && ip[1]&wire.CE == wire.ECT0:
		if m.allowed++; m.allowed%10 == 0 {
			m.marked++
			sum := wire.Replace(uint16(ip[10])<<8|uint16(ip[11]), uint16(ip[0])<<8|uint16(ip[1]),
				uint16(ip[0])<<8|uint16(ip[1]|wire.CE))
			ip[1] |= wire.CE
			ip[10], ip[11] = byte(sum>>8), byte(sum)
		}
	case ip[0]>>4 == 6 && ip[1]>>4&wire.CE == wire.ECT0:
		if m.allowed++; m.allowed%10 == 0 {
			m.marked++
			ip[1] |= wire.CE << 4
		}
	}
	return m.Link.Write(g, frame)
}

// TestCongestionIsNotified holds that CE marks reach the sender and reduce its window, without a
// loss. Without a request for ECN no packet is ECN-capable.
func TestCongestionIsNotified(t *testing.T) {
	for _, to := range []string{"10.0.0.2", "fd00::2"} {
		for _, ask := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				a, b := link.Pair()
				m := &marker{Link: link.NewFaults(a, 1, link.Fault{},
					link.Fault{Delay: 5 * time.Millisecond})}
				addresses := []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24"),
					netip.MustParsePrefix("fd00::1/64")}
				x, err := New(Config{Link: m, Addresses: addresses, TCP: tcp.Config{ECN: ask}})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = x.Close() }()
				bits := map[bool]string{true: "/24", false: "/64"}[to == "10.0.0.2"]
				y := host(t, b, to+bits)
				echoThrough(t, x, y, to, 900_000)
				if ask != (m.marked > 0) || ask != (m.allowed > 600) {
					t.Errorf("to %s, asked for: %v: %d packets could be marked, %d were", to, ask,
						m.allowed, m.marked)
				}
			})
		}
	}
}

// TestRoutes holds that packets to a network go to its router, to another network over the link
// itself, and to all others through the gateway.
func TestRoutes(t *testing.T) {
	a, b := link.Pair()
	defer func() { _ = b.Close() }()
	route := func(network, via string) ip.Route {
		r := ip.Route{Network: netip.MustParsePrefix(network)}
		if via != "" {
			r.Via = netip.MustParseAddr(via)
		}
		return r
	}
	cfg := Config{Link: a, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")},
		Gateways: []netip.Addr{netip.MustParseAddr("10.0.0.254")}}
	cfg.Routes = []ip.Route{route("172.20.0.0/16", "10.0.0.3"), route("192.168.9.0/24", "")}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for to, want := range map[string]string{"172.20.1.1": "10.0.0.3", "172.21.1.1": "10.0.0.254",
		"192.168.9.7": "192.168.9.7", "10.0.0.9": "10.0.0.9"} {
		got, ok := s.addresses.current().nextHop(netip.MustParseAddr(to))
		if !ok || got.String() != want {
			t.Errorf("to %s by %v, %v, want %s", to, got, ok, want)
		}
	}
	for _, bad := range []ip.Route{{}, route("172.20.0.0/16", "fd00::1")} {
		cfg.Routes = []ip.Route{bad}
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
