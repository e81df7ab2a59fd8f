package gonet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"interleave/gonet/ip"
	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// overBoth runs f on a wire with Ethernet, and on one without.
func overBoth(t *testing.T, f func(t *testing.T, options ...link.Option)) {
	t.Helper()
	t.Run("Ethernet", func(t *testing.T) { f(t) })
	t.Run("L3", func(t *testing.T) { f(t, link.L3()) })
}

// packetOf returns the IP packet in a frame, or nil if it has none.
func packetOf(frame []byte, l3 bool) []byte {
	if l3 {
		return frame
	}
	e, b, err := wire.ParseEthernet(frame)
	if err != nil || e.Type != wire.EtherIPv4 && e.Type != wire.EtherIPv6 {
		return nil
	}
	return b
}

// bubbleL3 runs f in fake time, on two hosts of both families on a wire without Ethernet.
func bubbleL3(t *testing.T, fault link.Fault, f func(t *testing.T, x, y *Stack),
	options ...link.Option) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(append(options, link.L3())...)
		f(t, host6(t, link.NewFaults(a, 1, link.Fault{}, fault), "1"),
			host6(t, link.NewFaults(b, 2, link.Fault{}, fault), "2"))
	})
}

// tee is a link that records what is written, and passes it on.
type tee struct {
	*link.End
	mu  sync.Mutex
	all [][]byte
}

func (r *tee) Write(gso link.GSO, pieces ...[]byte) error {
	r.mu.Lock()
	r.all = append(r.all, slices.Concat(pieces...))
	r.mu.Unlock()
	return r.End.Write(gso, pieces...)
}

func TestConnOverL3IsNetConn(t *testing.T) {
	for name, ends := range map[string][2]string{"IPv4": {"10.0.0.1/24", "10.0.0.2/24"},
		"IPv6": {"2001:db8::1/64", "2001:db8::2/64"}} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, pipe(ends[0], ends[1], link.L3()))
		})
		t.Run(name+" with offload", func(t *testing.T) {
			nettest.TestConn(t, pipe(ends[0], ends[1], link.L3(), link.Offload()))
		})
	}
}

// TestL3CarriesNothingButIP holds what a stack sends on a wire without Ethernet: packets that begin
// with their IP header, and nothing that looks for stations or tells of groups.
func TestL3CarriesNothingButIP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.L3())
		r := &tee{End: a}
		x, y := host6(t, r, "1"), host6(t, b, "2")
		if x.MAC() != (wire.MAC{}) || local(t, x) == local(t, y) {
			t.Errorf("MAC %v, addresses %v and %v", x.MAC(), local(t, x), local(t, y))
		}
		start := time.Now()
		for _, to := range []netip.Addr{addrV, addrY, local(t, y)} {
			if _, err := x.Ping(t.Context(), to, 8); err != nil {
				t.Errorf("%v: %v", to, err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the first pings took %v: somebody was asked", took)
		}
		time.Sleep(time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.all) < 5 {
			t.Fatalf("%d packets were sent", len(r.all))
		}
		for _, p := range r.all {
			if p[0]>>4 == 4 {
				if _, _, err := wire.ParseIPv4(p); err != nil {
					t.Errorf("% x: %v", p, err)
				}
				continue
			}
			h, body, err := wire.ParseIPv6(p)
			if err != nil || h.NextHeader != wire.ProtocolICMPv6 {
				t.Fatalf("% x: %v", p, err)
			}
			switch body[0] {
			case wire.ICMPv6Echo, wire.ICMPv6EchoReply:
			case wire.ICMPv6RouterSolicit:
				if len(body) != 8 {
					t.Errorf("a solicitation with options: % x", body)
				}
			default:
				t.Errorf("ICMPv6 of type %d was sent", body[0])
			}
		}
		if n := y.Stats(); n.Foreign != 3 || n.Malformed != 0 { // three router solicitations
			t.Errorf("the other end counts %+v", n)
		}
	})
}

// TestPingsOverL3 pings with all sizes, to addresses of each kind.
func TestPingsOverL3(t *testing.T) {
	bubbleL3(t, link.Fault{Delay: 5 * time.Millisecond}, func(t *testing.T, x, y *Stack) {
		for _, to := range []netip.Addr{addrV, addrY, local(t, y),
			netip.MustParseAddr("::ffff:10.0.0.2")} {
			for _, size := range []int{0, 56, 1452, 1453, 1472, 1473, 65507} {
				d, err := x.Ping(t.Context(), to, size)
				if err != nil || d != 10*time.Millisecond {
					t.Errorf("%v with %d bytes: %v, %v", to, size, d, err)
				}
			}
		}
		for _, to := range []netip.Addr{addrC, addrX, local(t, x), netip.IPv6Loopback(),
			loopbackAddr} {
			if _, err := x.Ping(t.Context(), to, 3000); err != nil {
				t.Errorf("ourselves at %v: %v", to, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := x.Ping(ctx, netip.MustParseAddr("10.0.0.9"), 8); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("nobody: %v", err)
		}
	})
}

// TestDatagramsOverL3 sends datagrams with and without fragments, to hosts and to a broadcast
// address, and to a port that nobody has.
func TestDatagramsOverL3(t *testing.T) {
	bubbleL3(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		p, err := y.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 65536)
		for _, to := range []string{"10.0.0.2:53", "[2001:db8::2]:53"} {
			c, err := x.Dial("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{0, 3, 1452, 1453, 65507} {
				want := bytes.Repeat([]byte{byte(size)}, size)
				if _, err := c.Write(want); err != nil {
					t.Fatal(err)
				}
				n, from, err := p.ReadFrom(b)
				if err != nil || !bytes.Equal(b[:n], want) {
					t.Fatalf("%d bytes of %d, %v", n, size, err)
				}
				if _, err := p.WriteTo(b[:n], from); err != nil {
					t.Fatal(err)
				}
				if n, err := c.Read(b); err != nil || !bytes.Equal(b[:n], want) {
					t.Fatalf("back: %d bytes of %d, %v", n, size, err)
				}
			}
		}
		all, err := x.ListenPacket("udp4", ":0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all.WriteToAddrPort([]byte("to all"),
			netip.MustParseAddrPort("10.0.0.255:53")); err != nil {
			t.Fatal(err)
		}
		if n, _, err := p.ReadFrom(b); err != nil || string(b[:n]) != "to all" {
			t.Errorf("%q, %v", b[:n], err)
		}
		c, err := x.Dial("udp", "10.0.0.2:54")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(b); !errors.Is(err, errRefused) {
			t.Errorf("a port that nobody has: %v", err)
		}
	})
}

// TestBadWiresOverL3 holds that bytes arrive over a faulty wire, with super-frames and without.
func TestBadWiresOverL3(t *testing.T) {
	fault := link.Fault{Delay: 5 * time.Millisecond, Loss: .03, Corrupt: .03, Duplicate: .05,
		Reorder: .05, Jitter: 3 * time.Millisecond}
	for name, options := range map[string][]link.Option{"plain": nil,
		"offload": {link.Offload()}} {
		for _, to := range []string{"10.0.0.2", "2001:db8::2"} {
			t.Run(name+" to "+to, func(t *testing.T) {
				bubbleL3(t, fault, func(t *testing.T, x, y *Stack) {
					near, far := connected(t, x, y, to)
					bothWays(t, 1, near, far, 1_000_000)
					empty(t, 1, x, y)
				}, options...)
			})
		}
	}
}

// TestPathMTUOverL3 has a wire that drops large packets: TCP finds that out without Ethernet,
// too.
func TestPathMTUOverL3(t *testing.T) {
	bubbleL3(t, link.Fault{Longest: 1300}, func(t *testing.T, x, y *Stack) {
		near, far := connected(t, x, y, "10.0.0.2")
		bothWays(t, 1, near, far, 100_000)
	})
}

// TestARouterConfiguresOverL3 holds that router advertisements are used on a wire without Ethernet,
// as that of a modem, while messages about stations are not.
func TestARouterConfiguresOverL3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTapOn(t, []link.Option{link.L3()})
		router := netip.MustParseAddr("fe80::9")
		if got := w.messages(wire.ICMPv6RouterSolicit); len(got) != 1 ||
			got[0].ip.Src != local(t, w.to) {
			t.Fatalf("solicitations: %+v", got)
		}
		w.icmp(router, allNodes, 255, advertise(1800, []byte{1, 1, 2, 0, 0, 0, 0, 9},
			prefixOption("2001:db8:5::/64", 86400, 7200)))
		far := netip.MustParseAddr("2001:db8:9::1")
		src, err := w.to.addresses.source(far)
		if err != nil || !netip.MustParsePrefix("2001:db8:5::/64").Contains(src) &&
			src != addrY {
			t.Errorf("to %v from %v, %v", far, src, err)
		}
		if n := len(w.to.Addresses()); n != 4 {
			t.Errorf("the addresses are %v", w.to.Addresses())
		}
		foreign := w.to.Stats().Foreign
		w.neighbor(addrX, addrY, wire.ICMPv6NeighborSolicit, wire.Neighbor{Target: addrY,
			MAC: w.mac, HasMAC: true})
		w.neighbor(addrY, allNodes, wire.ICMPv6NeighborAdvert, wire.Neighbor{Target: addrY,
			MAC: w.mac, HasMAC: true})
		time.Sleep(2 * time.Second)
		if got := w.messages(wire.ICMPv6NeighborSolicit, wire.ICMPv6NeighborAdvert,
			wire.ICMPv6MLD2Report); len(got) != 0 || w.to.Stats().Foreign != foreign+2 {
			t.Errorf("%+v was sent, and %+v counted", got, w.to.Stats())
		}
		if !w.to.addresses.isOurs(addrY) || w.to.Stats().Conflicts != 0 {
			t.Error("an address was given up")
		}
	})
}

// TestManyHostsOverL3 has three hosts at a hub without Ethernet, of which one crashes.
func TestManyHostsOverL3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := link.NewHub(link.L3(), link.Offload())
		x, y, z := host6(t, h.Port(), "1"), host6(t, h.Port(), "2"), host6(t, h.Port(), "3")
		near, far := connected(t, x, y, "10.0.0.2")
		other, last := connected(t, z, y, "2001:db8::2")
		if err := z.Abort(); err != nil {
			t.Fatal(err)
		}
		if _, err := last.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlives its peer")
		}
		_ = other.Close() // its stack has ended
		bothWays(t, 1, near, far, 300_000)
	})
}

// TestConfigOfL3 holds what a link without Ethernet cannot have.
func TestConfigOfL3(t *testing.T) {
	a, _ := link.Pair(link.L3())
	if _, err := New(Config{Link: a, MAC: wire.MAC{2, 5: 1}}); err == nil {
		t.Error("a MAC was taken")
	}
	s, err := New(Config{Link: a, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/32")},
		NoAutoconf: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Dial("udp", "192.0.2.1:9"); err == nil {
		t.Error("an address without a route was dialed")
	}
}

// TestL3AsATunnel has addresses of one host each and a route to everything, as a VPN has them.
func TestL3AsATunnel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.L3(), link.MTU(1420))
		tunnel := func(l link.Link, addresses ...string) *Stack {
			cfg := Config{Link: l, NoAutoconf: true, Routes: []ip.Route{
				{Network: netip.MustParsePrefix("0.0.0.0/0")},
				{Network: netip.MustParsePrefix("::/0")}}}
			for _, p := range addresses {
				cfg.Addresses = append(cfg.Addresses, netip.MustParsePrefix(p))
			}
			s, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() }) // the test is over
			return s
		}
		x := tunnel(a, "10.7.0.2/32", "fd07::2/128")
		y := tunnel(b, "192.0.2.1/32", "2001:db8:9::1/128")
		for _, to := range []string{"192.0.2.1", "2001:db8:9::1"} {
			near, far := connected(t, x, y, to)
			bothWays(t, 1, near, far, 100_000)
		}
	})
}

// FuzzL3 sends arbitrary packets to a stack on a wire without Ethernet, which has a listener and a
// socket: it must survive and still work.
func FuzzL3(f *testing.F) {
	for _, p := range packetsForL3() {
		f.Add(p, false)
		f.Add(p, true)
	}
	f.Add([]byte{}, false)
	f.Add([]byte{0x45}, false)
	f.Add([]byte{0x50, 0, 0, 0}, false)
	f.Fuzz(func(t *testing.T, p []byte, sealed bool) {
		end, other := link.Pair(link.L3())
		s := host6(t, other, "2")
		if _, err := s.Listen("tcp", ":80"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ListenPacket("udp", ":53"); err != nil {
			t.Fatal(err)
		}
		p = bytes.Clone(p)
		if sealed { // a good checksum of the IPv4 header, so that more than its check is tested
			sealIPv4(p)
		}
		for range 2 {
			if err := end.Write(link.GSO{Partial: true, Valid: true}, p); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), fuzzTimeout)
		defer cancel()
		if _, err := s.Ping(ctx, loopbackAddr, 8); err != nil {
			t.Fatal(err)
		}
	})
}

// fuzzTimeout bounds what must happen in real time at all; nothing is expected to be fast.
const fuzzTimeout = 5 * time.Minute

func sealIPv4(p []byte) {
	if len(p) < wire.IPv4Len || p[0]>>4 != 4 {
		return
	}
	n := int(p[0]&15) * 4
	if n < wire.IPv4Len || n > len(p) {
		return
	}
	p[10], p[11] = 0, 0
	binary.BigEndian.PutUint16(p[10:], ^wire.Sum(p[:n], 0))
}

// packetsForL3 returns packets of each protocol for the host 10.0.0.2 and 2001:db8::2.
func packetsForL3() (all [][]byte) {
	for _, ends := range [][2]netip.Addr{{addrC, addrV}, {addrX, addrY}} {
		src, dst := ends[0], ends[1]
		add := func(protocol wire.Protocol, body []byte) {
			b := make([]byte, headerLen(dst))
			if dst.Is4() {
				h := wire.IPv4{Length: uint16(len(b) + len(body)), TTL: 64, Protocol: protocol,
					Src: src, Dst: dst}
				h.Put(b)
			} else {
				h := wire.IPv6{Length: uint16(len(body)), HopLimit: 255, NextHeader: protocol,
					Src: src, Dst: dst}
				h.Put(b)
			}
			all = append(all, append(b, body...))
		}
		segment := wire.TCP{SrcPort: 5000, DstPort: 80, Flags: wire.SYN, Seq: 1, Window: 1000}
		b := make([]byte, wire.TCPLen)
		segment.Put(b)
		add(wire.ProtocolTCP, b)
		datagram := wire.UDP{SrcPort: 5000, DstPort: 53, Length: 12}
		b = make([]byte, 12)
		datagram.Put(b)
		add(wire.ProtocolUDP, b)
		if dst.Is4() {
			echo := make([]byte, 16)
			m := wire.Echo(wire.ICMPEcho, 1, 1)
			m.Put(echo)
			wire.SealICMP(echo, 0)
			add(wire.ProtocolICMP, echo)
		} else {
			add(wire.ProtocolICMPv6, echoOf(src, dst, 8))
			add(wire.ProtocolICMPv6, advertise(1800,
				prefixOption("2001:db8:5::/64", 100, 100)))
			add(wire.ProtocolFragment, append([]byte{58, 0, 0, 1, 0, 0, 0, 1},
				make([]byte, 16)...))
		}
	}
	return all
}

// TestSuperFramesOverL3 holds that a large transfer on a wire that carries super-frames takes few
// frames.
func TestSuperFramesOverL3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.L3(), link.Offload())
		x, y := host6(t, a, "1"), host6(t, b, "2")
		for _, to := range []string{"10.0.0.2", "2001:db8::2"} {
			near, far := connected(t, x, y, to)
			before := x.Stats().Sent
			const size = 1 << 20
			done := make(chan error, 1)
			go func() {
				_, err := io.Copy(near, io.LimitReader(newStream(1, size), size))
				done <- errors.Join(err, near.(*Conn).CloseWrite())
			}()
			got, err := digest(far)
			want, _ := digest(newStream(1, size)) // a stream has no errors
			if err := errors.Join(err, <-done); err != nil || got != want {
				t.Fatalf("%s, %v, want %s", got, err, want)
			}
			if n := x.Stats().Sent - before; n > size/1448/4 {
				t.Errorf("%d frames for %d bytes", n, size)
			}
		}
	})
}
