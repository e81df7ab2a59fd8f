package address

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"interleave/gonet/wire"
)

var (
	start   = time.Unix(1_000_000, 0)
	prefix  = netip.MustParsePrefix("2001:db8:5::/64")
	routerA = netip.MustParseAddr("fe80::a")
	routerB = netip.MustParseAddr("fe80::b")
	far     = netip.MustParseAddr("2001:db8:9::1")
)

func table(change ...func(*Config)) *Table {
	cfg := Config{Secret: []byte("secret"), Optimistic: true, MTU: 1500, HopLimit: 64}
	for _, c := range change {
		c(&cfg)
	}
	return New(cfg)
}

// advert returns an advertisement of prefix with lifetimes in seconds.
func advert(valid, preferred int64) *wire.RouterAdvert {
	return &wire.RouterAdvert{Lifetime: time.Hour, Prefixes: []wire.Prefix{{Prefix: prefix,
		OnLink: true, Autonomous: true, Valid: time.Duration(valid) * time.Second,
		Preferred: time.Duration(preferred) * time.Second}}}
}

// generated returns the entry that was generated in prefix, if there is one.
func generated(t *Table) *Address {
	for i := range t.addrs {
		if prefix.Contains(t.addrs[i].Addr()) {
			return &t.addrs[i]
		}
	}
	return nil
}

func TestConfigure(t *testing.T) {
	a := table()
	four, six := netip.MustParsePrefix("10.0.0.2/24"), netip.MustParsePrefix("2001:db8::2/64")
	gateway := netip.MustParseAddr("10.0.0.1")
	a.Configure([]netip.Prefix{four, six}, []netip.Addr{gateway})
	local := a.Addresses()[0].Addr()
	if added := a.Added(); !slices.Equal(added, []netip.Addr{local, six.Addr()}) ||
		!local.IsLinkLocalUnicast() || len(a.Added()) != 0 {
		t.Errorf("added: %v", added)
	}
	if own, ok := a.Find(four.Addr()); !ok || own.Optimistic {
		t.Errorf("IPv4: %+v, %v", own, ok)
	}
	if own, ok := a.Find(six.Addr()); !ok || !own.Optimistic || !own.Deprecated(start) {
		t.Errorf("IPv6: %+v, %v", own, ok)
	}
	if !a.Unique(six.Addr()) || a.Unique(six.Addr()) || a.Unique(far) {
		t.Error("an address is unique more than once, or is none")
	}
	for to, want := range map[string]netip.Addr{"10.0.0.9": netip.MustParseAddr("10.0.0.9"),
		"192.0.2.1": gateway} {
		if next, ok := a.Routes().Next(netip.MustParseAddr(to)); !ok || next != want {
			t.Errorf("to %s by %v, %v", to, next, ok)
		}
	}
	if _, ok := a.Routes().Next(far); ok {
		t.Error("there is a route to everything")
	}
	a.Configure([]netip.Prefix{four}, nil)
	if len(a.Addresses()) != 2 || len(a.Added()) != 0 {
		t.Errorf("addresses %+v, added %v", a.Addresses(), a.Added())
	}
	if _, ok := a.Deadline(start); ok {
		t.Error("a configured address expires")
	}
	if b := table(func(c *Config) { c.NoIPv6 = true }); len(b.Addresses()) != 0 || b.MTU() != 0 {
		t.Errorf("without IPv6: %+v, MTU %d", b.Addresses(), b.MTU())
	}
}

// TestAddressesAreOpaque holds that a generated address depends on the secret, the MAC, the network
// and the counter of duplicates, and on nothing else (RFC 7217).
func TestAddressesAreOpaque(t *testing.T) {
	of := func(change ...func(*Config)) netip.Addr { return table(change...).addrs[0].Addr() }
	if first, second := of(), of(); first != second {
		t.Errorf("the same host has the addresses %v and %v", first, second)
	}
	if of() == of(func(c *Config) { c.Secret = []byte("another") }) ||
		of() == of(func(c *Config) { c.MAC = wire.MAC{2, 5: 1} }) {
		t.Error("two hosts have one address")
	}
	a := table()
	own := a.addrs[0].Addr()
	seen := []netip.Addr{own}
	for range idgenRetries {
		a.Added()
		a.Duplicate(own)
		added := a.Added()
		if len(added) != 1 || slices.Contains(seen, added[0]) {
			t.Fatalf("after %v: %v", seen, added)
		}
		own = added[0]
		seen = append(seen, own)
	}
	a.Duplicate(own)
	a.Duplicate(far) // is none of ours
	if len(a.Addresses()) != 0 || len(a.Added()) != 0 {
		t.Errorf("after %d duplicates: %v", len(seen), a.Addresses())
	}
}

// TestLifetimes follows an address from its advertisement to its end.
func TestLifetimes(t *testing.T) {
	a, now := table(), start
	a.Advertise(routerA, advert(86400, 7200), now)
	own := generated(a)
	if own == nil || !own.Optimistic || !slices.Contains(a.Added(), own.Addr()) {
		t.Fatalf("generated: %+v", own)
	}
	a.Unique(own.Addr())
	if due, ok := a.Deadline(now); !ok || due != now.Add(time.Hour) {
		t.Errorf("the first deadline is %v, %v: that of the router is in an hour", due, ok)
	}
	now = now.Add(2 * time.Hour)
	a.Expire(now)
	if own = generated(a); own == nil || !own.Deprecated(now) || own.Deprecated(now.Add(-1)) {
		t.Errorf("after its preferred lifetime: %+v", own)
	}
	if _, ok := a.Routes().Next(far); ok {
		t.Error("a router is used after its lifetime")
	}
	if next, ok := a.Routes().Next(prefix.Addr().Next()); !ok || next != prefix.Addr().Next() {
		t.Errorf("on the link: %v, %v", next, ok)
	}
	now = now.Add(22 * time.Hour)
	a.Expire(now)
	if generated(a) != nil || len(a.networks) != 0 {
		t.Errorf("after its valid lifetime: %+v, %+v", a.addrs, a.networks)
	}
	if _, ok := a.Deadline(now); ok {
		t.Error("something is left that expires")
	}
}

// TestTheTwoHourRule is the table of RFC 4862 section 5.5.3 e.
func TestTheTwoHourRule(t *testing.T) {
	const hour = 3600
	for _, c := range []struct{ first, second, want int64 }{
		{86400, 0, 2 * hour},
		{86400, 60, 2 * hour},
		{86400, 3 * hour, 3 * hour},
		{hour, 60, hour},            // what is left is less than two hours: it stays
		{hour, 90 * 60, 90 * 60},    // more than what is left
		{hour, 86400, 86400},        // more than two hours
		{0xffffffff, 60, 2 * hour},  // for ever
		{60, 0xffffffff, -1},        // for ever from then on
		{0xffffffff, 86400, 86400},  // more than two hours
		{2*hour + 1, 1, 2 * hour},   // just above
		{2 * hour, 1, 2 * hour},     // just so
		{2*hour - 1, 1, 2*hour - 1}, // just below
	} {
		a := table()
		a.Advertise(routerA, advert(c.first, min(c.first, 60)), start)
		a.Advertise(routerA, advert(c.second, 0), start)
		own := generated(a)
		if own == nil {
			t.Fatalf("%+v: it is gone", c)
		}
		want := time.Time{}
		if c.want >= 0 {
			want = start.Add(time.Duration(c.want) * time.Second)
		}
		if own.valid != want || !own.Deprecated(start) {
			t.Errorf("%+v: valid until %v", c, own.valid)
		}
	}
}

// TestAdvertisedSettings holds which settings of a router are taken.
func TestAdvertisedSettings(t *testing.T) {
	a := table()
	server := netip.MustParseAddr("2001:db8::53")
	a.Advertise(routerA, &wire.RouterAdvert{HopLimit: 63, MTU: 1279, DNS: []netip.Addr{server},
		DNSLifetime: time.Minute}, start)
	if a.MTU() != 1500 || a.HopLimit() != 64 || !slices.Equal(a.DNS(), []netip.Addr{server}) {
		t.Errorf("MTU %d, hop limit %d, DNS %v", a.MTU(), a.HopLimit(), a.DNS())
	}
	if _, ok := a.Routes().Next(far); ok {
		t.Error("a router with a lifetime of 0 is used")
	}
	a.Advertise(routerA, &wire.RouterAdvert{HopLimit: 255, MTU: 1280, Lifetime: time.Minute}, start)
	if a.MTU() != 1280 || a.HopLimit() != 255 {
		t.Errorf("MTU %d, hop limit %d", a.MTU(), a.HopLimit())
	}
	a.Advertise(routerA, &wire.RouterAdvert{MTU: 9000, Lifetime: time.Minute}, start)
	a.Advertise(routerA, &wire.RouterAdvert{MTU: 0xffffffff, Lifetime: time.Minute}, start)
	if a.MTU() != 1280 {
		t.Errorf("MTU %d: larger than the link's", a.MTU())
	}
	a.Expire(start.Add(time.Minute))
	if len(a.DNS()) != 0 {
		t.Errorf("DNS %v", a.DNS())
	}
}

// TestRouters holds which of two routers is used.
func TestRouters(t *testing.T) {
	a := table()
	expect := func(want netip.Addr) {
		t.Helper()
		if next, ok := a.Routes().Next(far); next != want || ok != (want != far) {
			t.Errorf("by %v, %v, want %v", next, ok, want)
		}
	}
	expect(far)
	a.Advertise(routerA, &wire.RouterAdvert{Lifetime: time.Hour}, start)
	a.Advertise(routerB, &wire.RouterAdvert{Lifetime: time.Hour}, start)
	expect(routerA)
	if !a.AvoidRouter(routerA) || a.AvoidRouter(routerA) || a.AvoidRouter(far) {
		t.Error("which router is avoided?")
	}
	expect(routerB)
	if !a.RemoveRouter(routerB) || a.RemoveRouter(routerB) {
		t.Error("which router is removed?")
	}
	expect(routerA)
	gateways := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	a.Configure([]netip.Prefix{netip.MustParsePrefix("10.0.0.3/24")}, gateways)
	if !a.AvoidRouter(gateways[0]) {
		t.Error("a configured router is not avoided")
	}
	if next, _ := a.Routes().Next(netip.MustParseAddr("192.0.2.1")); next != gateways[1] {
		t.Errorf("by %v, want %v", next, gateways[1])
	}
}

// TestFloodsOfAdvertisements holds the bounds of what routers may add.
func TestFloodsOfAdvertisements(t *testing.T) {
	a := table()
	for i := range 1000 {
		raw := prefix.Addr().As16()
		binary.BigEndian.PutUint16(raw[6:], uint16(i))
		other := netip.AddrFrom16(raw)
		r := advert(86400, 86400)
		r.Prefixes[0].Prefix = netip.PrefixFrom(other, 64)
		r.DNS, r.DNSLifetime = []netip.Addr{other}, time.Hour
		a.Advertise(netip.AddrFrom16([16]byte{0xfe, 0x80, 14: byte(i >> 8), 15: byte(i)}), r, start)
	}
	if len(a.routers) != MaxRouters || len(a.networks) != MaxNetworks || len(a.dns) != MaxDNS ||
		len(a.addrs) != MaxGenerated {
		t.Errorf("%d routers, %d networks, %d servers, %d addresses", len(a.routers),
			len(a.networks), len(a.dns), len(a.addrs))
	}
	// an address of the user's in a prefix is left alone
	b := table()
	b.Configure([]netip.Prefix{netip.PrefixFrom(prefix.Addr().Next(), 64)}, nil)
	b.Unique(prefix.Addr().Next())
	b.Advertise(routerA, advert(60, 60), start)
	b.Expire(start.Add(time.Hour))
	if len(b.addrs) != 2 || generated(b).Deprecated(start.Add(time.Hour)) {
		t.Errorf("%+v", b.addrs)
	}
}

// FuzzTable runs a sequence of events, each of three bytes: the bounds hold, no address is there
// twice, and in the end what routers have said is forgotten.
func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0, 9, 200, 1, 0, 0, 2, 0, 0, 3, 1, 1, 4, 255, 3, 5, 0, 0})
	f.Fuzz(func(t *testing.T, events []byte) {
		a, now := table(), start
		for ; len(events) >= 3; events = events[3:] {
			x, y := events[1], events[2]
			router := netip.AddrFrom16([16]byte{0xfe, 0x80, 15: x & 15})
			switch events[0] % 6 {
			case 0:
				r := advert(int64(y)*60, int64(x)*60)
				r.Lifetime, r.HopLimit, r.MTU = time.Duration(y)*time.Minute, x, uint32(x)*16
				raw := prefix.Addr().As16()
				raw[7] = x
				r.Prefixes[0].Prefix = netip.PrefixFrom(netip.AddrFrom16(raw), 64)
				a.Advertise(router, r, now)
			case 1:
				a.RemoveRouter(router)
			case 2:
				a.AvoidRouter(router)
			case 3:
				if len(a.addrs) > 0 {
					a.Duplicate(a.addrs[int(x)%len(a.addrs)].Addr())
				}
			case 4:
				now = now.Add(time.Duration(x) * time.Minute)
				a.Expire(now)
			case 5:
				a.Configure([]netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, x, y}),
					24)}, nil)
			}
			seen := map[netip.Addr]bool{}
			for _, own := range a.addrs {
				if seen[own.Addr()] {
					t.Fatalf("%v is there twice", own)
				}
				seen[own.Addr()] = true
			}
			if len(a.addrs) > MaxGenerated+2 || len(a.routers) > MaxRouters ||
				len(a.networks) > MaxNetworks || a.MTU() < wire.IPv6MinMTU || a.MTU() > 1500 ||
				a.HopLimit() < 64 {
				t.Fatalf("%+v", a)
			}
			if due, ok := a.Deadline(now); ok && !due.After(now) {
				t.Fatalf("the deadline %v has passed", due)
			}
		}
		a.Expire(now.Add(365 * 24 * time.Hour))
		if len(a.routers) != 0 || len(a.networks) != 0 || len(a.dns) != 0 || len(a.addrs) > 2 {
			t.Errorf("%+v is left", a)
		}
	})
}
