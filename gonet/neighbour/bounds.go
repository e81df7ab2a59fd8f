package neighbour

import (
	"container/heap"
	"net/netip"
	"slices"
	"time"
)

// The bounds of a cache. A flood of addresses on the link, or packets to every address of a
// network, must neither fill the memory nor keep a host from its real neighbours (RFC 6583 section
// 7). The last three are guesses.
const (
	// MaxEntries bounds the neighbours.
	MaxEntries = 4096
	// maxWaiting bounds the packets that wait for one neighbour, maxWaitingBytes the size of those
	// that wait for all: 16 packets of Ethernet for each of 170.
	maxWaiting      = 16
	maxWaitingBytes = 4 << 20
	// maxScanned bounds the entries that the hand visits to find one that was not used. Then one in
	// use is removed.
	maxScanned = 64
)

// victim returns the entry to be removed for a new one, by the clock algorithm: the next one to
// which nothing was sent since the last visit.
func (c *Cache) victim() *Entry {
	for range maxScanned {
		c.hand = (c.hand + 1) % len(c.all)
		if !c.all[c.hand].used.Swap(false) {
			break
		}
	}
	return c.all[c.hand]
}

// remove takes an entry out of the cache. Those that have kept it see that by Removed, and that it
// has no station.
func (c *Cache) remove(e *Entry) {
	c.entries.Delete(e.addr)
	n := len(c.all) - 1
	last := c.all[n]
	c.all[e.index], last.index = last, e.index
	c.all[n] = nil
	c.all = c.all[:n]
	c.timers.stop(e)
	c.dropWaiting(e)
	e.removed.Store(true)
	e.station.Store(nil)
}

// Hold keeps a packet until the station of a neighbour is known; Actions then returns it. The cache
// owns the packet from then on. A neighbour's oldest packet is dropped if it has too many: the
// latest should be saved (RFC 1122 section 2.3.2.2).
func (c *Cache) Hold(a netip.Addr, packet []byte) {
	e := c.Get(a)
	if e == nil || e.state != Incomplete || c.waiting+len(packet) > maxWaitingBytes {
		c.actions.Dropped++
		return
	}
	if len(e.waiting) == maxWaiting {
		c.actions.Dropped++
		c.waiting -= len(e.waiting[0])
		e.waiting = slices.Delete(e.waiting, 0, 1)
	}
	e.waiting = append(e.waiting, packet)
	c.waiting += len(packet)
}

// deliver has the packets sent that have waited for a station.
func (c *Cache) deliver(e *Entry) {
	if packets := c.takeWaiting(e); len(packets) > 0 {
		c.actions.Send = append(c.actions.Send, Delivery{e.mac, packets})
	}
}

func (c *Cache) dropWaiting(e *Entry) { c.actions.Dropped += len(c.takeWaiting(e)) }

func (c *Cache) takeWaiting(e *Entry) [][]byte {
	packets := e.waiting
	e.waiting = nil
	for _, p := range packets {
		c.waiting -= len(p)
	}
	return packets
}

// timers is a heap of the entries whose timer runs, the one that goes off first on top.
type timers []*Entry

// start sets the timer of an entry, which may run already.
func (t *timers) start(e *Entry, due time.Time) {
	e.due = due
	if e.timer == 0 {
		heap.Push(t, e)
	} else {
		heap.Fix(t, e.timer-1)
	}
}

func (t *timers) stop(e *Entry) {
	if e.timer != 0 {
		heap.Remove(t, e.timer-1)
	}
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timer, t[j].timer = i+1, j+1
}

// Push implements heap.Interface.
func (t *timers) Push(x any) {
	e := x.(*Entry)
	*t = append(*t, e)
	e.timer = len(*t)
}

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	n := len(*t) - 1
	e := (*t)[n]
	(*t)[n] = nil
	*t, e.timer = (*t)[:n], 0
	return e
}
