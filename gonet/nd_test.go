package gonet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/address"
	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

var unspecified = netip.IPv6Unspecified()

// TestANewAddressIsAskedFor holds that a new address is checked for duplicates and its
// solicited-node group joined.
func TestANewAddressIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTap(t)
		asked := map[netip.Addr]bool{}
		for _, m := range w.messages(wire.ICMPv6NeighborSolicit) {
			n, err := wire.ParseNeighbor(m.ICMP, m.body)
			group := wire.SolicitedNode(n.Target)
			if err != nil || n.HasMAC || !m.ip.Src.IsUnspecified() || m.ip.Dst != group ||
				m.ip.HopLimit != 255 || m.mac != wire.MulticastMAC(group) {
				t.Errorf("%+v asks for %+v, %v", m.ip, n, err)
			}
			asked[n.Target] = true
		}
		if len(asked) != 2 || !asked[addrY] || !asked[local(t, w.to)] {
			t.Errorf("asked for %v", asked)
		}
		time.Sleep(2 * time.Second)
		joined := map[netip.Addr]bool{}
		for _, m := range w.messages(wire.ICMPv6MLD2Report) {
			if m.ip.NextHeader != wire.ProtocolHopByHop || m.ip.HopLimit != 1 ||
				m.ip.Dst != allMLDv2Routers || wire.RecordType(m.body[0]) != wire.ToExclude {
				t.Errorf("%+v reports % x", m.ip, m.body)
			}
			for r := m.body; len(r) > 0; r = r[20:] { // records without sources
				joined[netip.AddrFrom16([16]byte(r[4:]))] = true
			}
		}
		if !joined[wire.SolicitedNode(addrY)] || !joined[wire.SolicitedNode(local(t, w.to))] {
			t.Errorf("joined %v", joined)
		}
		for range 3 {
			w.mldQuery(netip.MustParseAddr("fe80::9"), allNodes, 1000, unspecified)
		}
		time.Sleep(2 * time.Second)
		if got := w.messages(wire.ICMPv6MLD2Report); len(got) != 1 || got[0].Rest != 2 ||
			wire.RecordType(got[0].body[0]) != wire.IsExclude {
			t.Errorf("three questions are answered by %+v", got)
		}
	})
}

// TestADuplicateIsGivenUp holds that a duplicate address is given up, and that a generated one is
// replaced by another.
func TestADuplicateIsGivenUp(t *testing.T) {
	for name, claim := range map[string]func(w *wireTap, a netip.Addr){
		"it is had": func(w *wireTap, a netip.Addr) {
			w.neighbor(a, allNodes, wire.ICMPv6NeighborAdvert, wire.Neighbor{Target: a, MAC: w.mac,
				HasMAC: true})
		},
		"it is wanted": func(w *wireTap, a netip.Addr) {
			w.neighbor(unspecified, wire.SolicitedNode(a), wire.ICMPv6NeighborSolicit,
				wire.Neighbor{Target: a})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWireTap(t)
				was := local(t, w.to)
				claim(w, was)
				is := local(t, w.to)
				if is == was || w.to.Stats().Conflicts != 1 {
					t.Errorf("it is %v still, %d conflicts", is, w.to.Stats().Conflicts)
				}
				claim(w, addrY)
				if w.to.addresses.isOurs(addrY) {
					t.Error("what was configured is kept")
				}
				time.Sleep(2 * time.Second)
				claim(w, is)
				if local(t, w.to) != is {
					t.Error("what was asked for is not kept")
				}
			})
		})
	}
}

func TestAddressesAreStable(t *testing.T) {
	made := func(secret string, mac byte) netip.Addr {
		a, _ := link.Pair()
		s := host6(t, a, "1",
			func(c *Config) { c.Secret, c.MAC = []byte(secret), wire.MAC{2, 5: mac} })
		defer func() { _ = s.Close() }()
		return local(t, s)
	}
	if a := made("a secret", 1); made("a secret", 1) != a || made("a secret", 2) == a ||
		made("another", 1) == a {
		t.Errorf("%v is not the address of its secret and station alone", a)
	}
}

// advertise returns a router advertisement with a lifetime in seconds, and options.
func advertise(lifetime uint16, options ...[]byte) []byte {
	b := make([]byte, 16)
	b[0], b[4] = wire.ICMPv6RouterAdvert, 64
	binary.BigEndian.PutUint16(b[6:], lifetime)
	return append(b, slices.Concat(options...)...)
}

func prefixOption(p string, valid, preferred uint32) []byte {
	network := netip.MustParsePrefix(p)
	b := make([]byte, 32)
	b[0], b[1], b[2], b[3] = 3, 4, byte(network.Bits()), 0xc0
	binary.BigEndian.PutUint32(b[4:], valid)
	binary.BigEndian.PutUint32(b[8:], preferred)
	raw := network.Addr().As16()
	copy(b[16:], raw[:])
	return b
}

func TestARouterConfigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTap(t)
		router, server := netip.MustParseAddr("fe80::9"), netip.MustParseAddr("2001:db8:5::53")
		if got := w.messages(wire.ICMPv6RouterSolicit); len(got) != 1 ||
			got[0].ip.Dst != allRouters {
			t.Fatalf("solicitations: %+v", got)
		}
		raw := server.As16()
		full := func(lifetime uint16, valid uint32) []byte {
			return advertise(lifetime,
				[]byte{1, 1, 2, 0, 0, 0, 0, 9},
				[]byte{5, 1, 0, 0, 0, 0, 1400 >> 8, 1400 & 255},
				append([]byte{25, 3, 0, 0, 0, 0, 0, 60}, raw[:]...),
				prefixOption("2001:db8:5::/64", valid, min(valid, 7200)))
		}
		before := w.to.addresses.current()
		w.icmp(router, allNodes, 64, full(1800, 86400))
		w.icmp(server, allNodes, 255, full(1800, 86400))
		if w.to.addresses.current() != before {
			t.Fatal("a forged advertisement is heeded: from beyond the link, or not from it")
		}
		w.icmp(router, allNodes, 255, full(1800, 86400))
		made := netip.Addr{}
		for _, p := range w.to.Addresses() {
			if netip.MustParsePrefix("2001:db8:5::/64").Contains(p.Addr()) {
				made = p.Addr()
			}
		}
		if !made.IsValid() {
			t.Fatalf("no address was made among %v", w.to.Addresses())
		}
		far := netip.MustParseAddr("2001:db8:9::1")
		time.Sleep(2 * time.Second)
		if next, ok := w.to.addresses.current().nextHop(far); !ok || next != router {
			t.Errorf("the way out: %v, %v", next, ok)
		}
		if src, err := w.to.addresses.source(server); err != nil || src != made {
			t.Errorf("to the network of the router from %v, %v", src, err)
		}
		if got := w.to.Resolvers(); len(got) != 1 || got[0] != server {
			t.Errorf("resolvers: %v", got)
		}
		if got := w.to.mtu(far); got != 1400 {
			t.Errorf("MTU %d", got)
		}
		w.messages(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = w.to.Ping(ctx, far, 8) // nobody answers; the test looks at the next hop
		if got := w.messages(wire.ICMPv6Echo); len(got) != 1 || got[0].mac != w.mac {
			t.Errorf("to the router went %+v", got)
		}
		time.Sleep(10 * time.Second)
		if got := w.messages(wire.ICMPv6RouterSolicit); len(got) != 0 {
			t.Errorf("a router that is known is asked for: %+v", got)
		}
		time.Sleep(time.Minute)
		if got := w.to.Resolvers(); len(got) != 0 {
			t.Errorf("resolvers after their time: %v", got)
		}
		w.icmp(router, allNodes, 255, full(0, 1)) // the router retires, and withdraws its prefix
		if next, ok := w.to.addresses.current().nextHop(far); ok {
			t.Errorf("a way out by %v after the router has gone", next)
		}
		if !w.to.addresses.isOurs(made) {
			t.Error("an address was taken at once")
		}
		time.Sleep(time.Hour + 58*time.Minute)
		if !w.to.addresses.isOurs(made) {
			t.Error("an address was taken before two hours")
		}
		w.messages(0)
		time.Sleep(3 * time.Minute)
		if w.to.addresses.isOurs(made) {
			t.Error("an address lives beyond its time")
		}
		group := wire.SolicitedNode(made).As16()
		if got := w.messages(wire.ICMPv6MLD2Report); len(got) != 2 ||
			wire.RecordType(got[0].body[0]) != wire.ToInclude ||
			!bytes.Equal(got[0].body[4:], group[:]) {
			t.Errorf("that its group is left is reported by %+v", got)
		}
	})
}

// TestFloodsOfNeighbourDiscovery floods a stack with advertisements and solicitations: memory stays
// bounded, and other neighbours still work.
func TestFloodsOfNeighbourDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTap(t)
		time.Sleep(2 * time.Second)
		at := func(i int) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 8: 1, 13: byte(i >> 16),
				14: byte(i >> 8), 15: byte(i)})
		}
		known := func() int {
			n, _ := w.to.countNeighbours()
			return n
		}
		for i := range 2000 {
			w.neighbor(at(i), allNodes, wire.ICMPv6NeighborAdvert, wire.Neighbor{Target: at(i),
				MAC: w.mac, HasMAC: true, Override: true})
		}
		if n := known(); n > 1 {
			t.Errorf("%d neighbours are kept that nobody has asked for", n)
		}
		for i := range neighbour.MaxEntries + 500 {
			w.neighbor(at(i), addrY, wire.ICMPv6NeighborSolicit, wire.Neighbor{Target: addrY,
				MAC: w.mac, HasMAC: true})
		}
		if n := known(); n > neighbour.MaxEntries {
			t.Errorf("%d neighbours have asked", n)
		}
		echo := make([]byte, 16)
		// each solicitation needs an answer, and none has a MAC
		for i := range neighbour.MaxEntries + 500 {
			m := wire.Echo(wire.ICMPv6Echo, 1, 1)
			m.Put(echo)
			w.icmp(at(1<<20+i), addrY, 64, echo)
		}
		if n := known(); n > neighbour.MaxEntries {
			t.Errorf("%d neighbours are asked for", n)
		}
		for i := range 100 {
			b := advertise(9000, prefixOption(netip.PrefixFrom(at(i<<8), 120).String(), 9000, 9000))
			raw := netip.MustParseAddr("2001:db8:77::").As16()
			raw[7] = byte(i)
			copy(b[32:], raw[:])
			b[18] = 64
			w.icmp(netip.AddrFrom16([16]byte{0xfe, 0x80, 15: byte(i)}), allNodes, 255, b)
		}
		n := w.to.addresses.current()
		if len(n.addrs) > 3+address.MaxGenerated ||
			len(n.routes) > 3+address.MaxNetworks+address.MaxRouters {
			t.Errorf("%d addresses, %d routes", len(n.addrs), len(n.routes))
		}
	})
}

// TestANeighbourMoves holds that a neighbour which does not answer is forgotten and resolved again:
// it may have another station now.
func TestANeighbourMoves(t *testing.T) {
	for name, to := range map[string]netip.Addr{"by ARP": netip.MustParseAddr("10.0.0.1"),
		"by neighbour discovery": addrX} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := link.Pair()
				y := host6(t, b, "2")
				ping := func(want bool) {
					t.Helper()
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					if _, err := y.Ping(ctx, to, 8); (err == nil) != want {
						t.Fatalf("after %v: %v",
							time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), err)
					}
				}
				x := host6(t, a, "1")
				time.Sleep(2 * time.Second)
				ping(true)
				expect := func(want neighbour.State) {
					t.Helper()
					if got := y.stateOf(t, to); got != want {
						t.Errorf("it is %v, want %v", got, want)
					}
				}
				expect(neighbour.Reachable)
				time.Sleep(neighbour.ReachableTime + time.Second)
				expect(neighbour.Stale)
				ping(true)
				expect(neighbour.Delay)
				time.Sleep(neighbour.DelayFirstProbeTime + time.Second)
				expect(neighbour.Reachable) // it was asked, and has answered
				x.claimMAC(t, wire.MAC{2, 5: 77})
				ping(false)
				time.Sleep(neighbour.ReachableTime + time.Second)
				ping(false)
				time.Sleep(neighbour.DelayFirstProbeTime + time.Second)
				expect(neighbour.Probe)
				time.Sleep(neighbour.MaxUnicastSolicit * neighbour.RetransTimer)
				time.Sleep(neighbour.RetryDelay)
				ping(true) // all stations are asked
				mac := y.neighbours.cache.Get(to).Station()
				if mac == nil || *mac != (wire.MAC{2, 5: 77}) {
					t.Errorf("it is at %v", mac)
				}
			})
		})
	}
}

// TestAnUnsolicitedAdvertisementIsChecked holds that an advertisement which does not answer a
// solicitation names the station, but does not confirm it (RFC 4861 section 7.2.5).
func TestAnUnsolicitedAdvertisementIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTap(t)
		time.Sleep(2 * time.Second)
		w.messages(0)
		u, err := w.to.Dial("udp", "[2001:db8::1]:9")
		if err != nil {
			t.Fatal(err)
		}
		send := func(text string) {
			t.Helper()
			if _, err := u.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(want neighbour.State) {
			t.Helper()
			if got := w.to.stateOf(t, addrX); got != want {
				t.Errorf("it is %v, want %v", got, want)
			}
		}
		send("waits")
		expect(neighbour.Incomplete)
		group := wire.SolicitedNode(addrX)
		if got := w.messages(wire.ICMPv6NeighborSolicit); len(got) != 1 ||
			got[0].ip.Dst != group || got[0].mac != wire.MulticastMAC(group) {
			t.Errorf("asked by %+v", got)
		}
		w.neighbor(addrX, allNodes, wire.ICMPv6NeighborAdvert, wire.Neighbor{Target: addrX,
			MAC: w.mac, HasMAC: true, Override: true})
		if got := w.next(wire.ProtocolUDP); !bytes.HasSuffix(got, []byte("waits")) {
			t.Errorf("sent: % x", got)
		}
		expect(neighbour.Stale)
		send("does not wait")
		if got := w.next(wire.ProtocolUDP); !bytes.HasSuffix(got, []byte("does not wait")) {
			t.Errorf("sent: % x", got)
		}
		expect(neighbour.Delay)
		time.Sleep(neighbour.DelayFirstProbeTime + time.Second/2)
		expect(neighbour.Probe)
		if got := w.messages(wire.ICMPv6NeighborSolicit); len(got) != 1 || got[0].mac != w.mac ||
			got[0].ip.Dst != addrX {
			t.Errorf("checked by %+v", got)
		}
		time.Sleep(neighbour.MaxUnicastSolicit * neighbour.RetransTimer)
		expect(neighbour.Failed)
		if _, err := u.Write([]byte("x")); !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Errorf("to a neighbour that does not answer: %v", err)
		}
	})
}

// claimMAC changes the MAC of a stack.
func (s *Stack) claimMAC(t *testing.T, mac wire.MAC) {
	t.Helper()
	if err := s.claim(func() { s.link.mac = mac }); err != nil {
		t.Fatal(err)
	}
}
