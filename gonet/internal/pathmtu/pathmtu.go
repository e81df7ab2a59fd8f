// Package pathmtu has the path MTUs that routers have reported: what RFC 4861 keeps in the
// destination cache of IPv6. TCP connections keep their own. The table is given the time.
package pathmtu

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet/tcp"
)

// Table has the path MTUs to destinations, which are below the MTU of the link. Any goroutine may
// read it, and one may write. Its zero value is empty.
type Table struct {
	all   sync.Map // netip.Addr -> entry
	count atomic.Int32
}

type entry struct {
	mtu   int
	until tcp.Time
}

// The bounds of the table. After 10 minutes a larger packet is tried again (RFC 8201 section 4).
const (
	maxEntries = 256
	Lifetime   = 10 * time.Minute
)

// IsEmpty tells whether no path MTU is known: then there is no need to read the clock for Least.
func (t *Table) IsEmpty() bool { return t.count.Load() == 0 }

// Least returns the lesser one of the path MTU to a destination and of the MTU of the link to it,
// in bytes.
func (t *Table) Least(dst netip.Addr, link int, now tcp.Time) int {
	if e, ok := t.all.Load(dst); ok && e.(entry).until > now {
		return min(link, e.(entry).mtu)
	}
	return link
}

// Note stores the path MTU to a destination.
func (t *Table) Note(dst netip.Addr, mtu int, now tcp.Time) {
	if t.count.Load() >= maxEntries {
		t.all.Clear()
		t.count.Store(0)
	}
	if _, known := t.all.Swap(dst, entry{mtu, now.Add(Lifetime)}); !known {
		t.count.Add(1)
	}
}
