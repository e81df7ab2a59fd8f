package demux

import (
	"net/netip"
	"slices"
	"testing"

	"interleave/gonet/internal/random"
)

func newSource() *random.Source {
	var r random.Source
	r.SetKey([16]byte{7})
	return &r
}

func TestFlow(t *testing.T) {
	for _, ends := range [][2]string{{"192.0.2.1:80", "192.0.2.2:1000"},
		{"[2001:db8::1]:80", "[2001:db8::2]:65535"}} {
		local, remote := netip.MustParseAddrPort(ends[0]), netip.MustParseAddrPort(ends[1])
		f := FlowOf(local, remote)
		if a, b := f.Ends(); a != local || b != remote {
			t.Errorf("the ends of %v are %v and %v", ends, a, b)
		}
		moved := FlowOf(remote, remote)
		if moved.SetLocal(local); moved != f || f.LocalEnd() != local || f.RemoteEnd() != remote ||
			f.Is4() != remote.Addr().Is4() {
			t.Errorf("%v is %v, from %v to %v, of IPv4: %v", f, moved, f.LocalEnd(), f.RemoteEnd(),
				f.Is4())
		}
		back := f.Reversed()
		if a, b := back.Ends(); a != remote || b != local {
			t.Errorf("the ends of %v reversed are %v and %v", ends, a, b)
		}
		if r := newSource(); f.Hash(r, random.ForCookie, 0) == back.Hash(r, random.ForCookie, 0) {
			t.Error("the hash does not depend on the direction")
		}
	}
}

// TestTable holds which binding receives what, and which may be made beside others.
func TestTable(t *testing.T) {
	at, r := netip.MustParseAddrPort, newSource()
	from := at("192.0.2.9:9")
	all := Table[string]{}
	find := func(to string) string { return all.Find(r, at(to), from) }
	if find("192.0.2.1:80") != "" {
		t.Error("an empty table has something")
	}
	all.Add(DualWildcard(80), "both", Sharing{})
	for to, want := range map[string]string{"192.0.2.1:80": "both", "[2001:db8::1]:80": "both",
		"192.0.2.1:81": ""} {
		if got := find(to); got != want {
			t.Errorf("%s is for %q, want %q", to, got, want)
		}
	}
	for a, want := range map[string]bool{"0.0.0.0:80": false, "[::]:80": false,
		"192.0.2.1:80": true, "0.0.0.0:81": true} {
		if got := all.IsFree(at(a), true); got != want {
			t.Errorf("%s is free: %v", a, got)
		}
	}
	all.Remove(DualWildcard(80), "both")
	all.Add(at("0.0.0.0:80"), "four", Sharing{})
	all.Add(at("192.0.2.1:80"), "one", Sharing{})
	for to, want := range map[string]string{"192.0.2.1:80": "one", "192.0.2.2:80": "four",
		"[2001:db8::1]:80": ""} {
		if got := find(to); got != want {
			t.Errorf("%s is for %q, want %q", to, got, want)
		}
	}
	if all.IsFree(DualWildcard(80), false) || all.IsFree(at("192.0.2.1:80"), true) ||
		!all.IsFree(DualWildcard(81), false) {
		t.Error("a port that is taken is free, or the other way round")
	}
	if all.FindExactly(r, at("192.0.2.2:80"), from) != "" || !all.Has(at("192.0.2.1:80")) ||
		all.FindExactly(r, at("192.0.2.1:80"), from) != "one" {
		t.Error("FindExactly is not exact")
	}
	all.Remove(at("192.0.2.1:80"), "another")
	n := 0
	all.Each(func(netip.AddrPort, string) { n++ })
	if n != 2 {
		t.Errorf("%d are bound", n)
	}
	all.Remove(at("192.0.2.1:80"), "one")
	all.Remove(at("0.0.0.0:80"), "four")
	if len(all) != 0 {
		t.Errorf("%v is left", all)
	}
}

// TestSharing: a flow stays with its listener while others come and go, and all get a fair share.
func TestSharing(t *testing.T) {
	r := newSource()
	at := netip.MustParseAddrPort("192.0.2.1:80")
	type member struct {
		name    int
		sharing Sharing
	}
	var members []member
	for i := range 5 {
		members = append(members, member{1 + i, Sharing{true, r.Uint64()}})
	}
	tableOf := func(members []member) Table[int] {
		all := Table[int]{}
		for _, m := range members {
			if !all.IsFree(at, true) {
				t.Fatal("the address cannot be shared")
			}
			all.Add(at, m.name, m.sharing)
		}
		if all.IsFree(at, false) {
			t.Fatal("one that does not share gets the address")
		}
		return all
	}
	all, turned := tableOf(members), tableOf(slices.Concat(members[3:], members[:3]))
	left := tableOf(slices.Concat(members[:2], members[3:]))
	const flows = 10_000
	counts := map[int]int{}
	for i := range flows {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 2}), uint16(1+i))
		got := all.Find(r, at, from)
		counts[got]++
		if turned.Find(r, at, from) != got {
			t.Fatal("the order counts")
		}
		if now := left.Find(r, at, from); now != got && got != 3 || now == 3 {
			t.Fatal("the flow of another listener moves")
		}
	}
	for name, n := range counts {
		if n < flows/5-400 || n > flows/5+400 { // ten standard deviations
			t.Errorf("%d flows of %d for %d", n, flows, name)
		}
	}
	if len(counts) != 5 {
		t.Errorf("%d get flows", len(counts))
	}
}

func TestChoosePort(t *testing.T) {
	r, any4 := newSource(), netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	taken := map[netip.AddrPort]bool{}
	free := func(a netip.AddrPort) bool { return !taken[a] }
	seen := 0
	for range LastPort - FirstPort + 1 {
		a, ok := ChoosePort(r, any4, free)
		if !ok || taken[a] || a.Port() < FirstPort || a.Addr() != any4.Addr() {
			t.Fatalf("after %d ports: %v, %v", seen, a, ok)
		}
		taken[a] = true
		seen++
	}
	if a, ok := ChoosePort(r, any4, free); ok {
		t.Errorf("%v was taken already", a)
	}
	chosen := netip.AddrPortFrom(any4.Addr(), 80)
	if a, ok := ChoosePort(r, chosen, free); !ok || a != chosen {
		t.Errorf("%v, %v for a chosen port", a, ok)
	}
	taken[chosen] = true
	if _, ok := ChoosePort(r, chosen, free); ok {
		t.Error("a chosen port is taken twice")
	}
}
