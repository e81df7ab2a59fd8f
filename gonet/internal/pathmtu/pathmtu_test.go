package pathmtu

import (
	"net/netip"
	"testing"

	"interleave/gonet/tcp"
)

func TestTable(t *testing.T) {
	var paths Table
	a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	const now = tcp.Time(1e9)
	if !paths.IsEmpty() || paths.Least(a, 1500, now) != 1500 {
		t.Error("an empty table has a path MTU")
	}
	paths.Note(a, 1400, now)
	paths.Note(a, 1300, now)
	for _, c := range []struct {
		to   netip.Addr
		link int
		at   tcp.Time
		want int
	}{{a, 1500, now, 1300}, {a, 1280, now, 1280}, {b, 1500, now, 1500},
		{a, 1500, now.Add(Lifetime) - 1, 1300}, {a, 1500, now.Add(Lifetime), 1500}} {
		if got := paths.Least(c.to, c.link, c.at); got != c.want {
			t.Errorf("to %v at %v: %d, want %d", c.to, c.at, got, c.want)
		}
	}
}

// TestFlood holds the bound, whatever routers report.
func TestFlood(t *testing.T) {
	var paths Table
	address := netip.MustParseAddr("2001:db8::1")
	for i := range 10 * maxEntries {
		paths.Note(address, 1300, 1)
		n := 0
		paths.all.Range(func(any, any) bool { n++; return true })
		if n > maxEntries || n != int(paths.count.Load()) {
			t.Fatalf("%d entries after %d reports, counted %d", n, i+1, paths.count.Load())
		}
		if paths.Least(address, 1500, 1) != 1300 {
			t.Fatal("the latest report is not there")
		}
		address = address.Next()
	}
}
