// Package neighbour is the neighbour cache of a host (the Neighbor Cache of RFC 4861 section 7):
// which station of the link, by its link-layer address, has which IP address. ARP and neighbour
// discovery both ask for it, and share its states (RFC 1122 section 2.3.2 asks the same of ARP in
// fewer words).
//
// A Cache has no I/O, clock, goroutine or lock. Its owner hands in packets, answers and the time,
// and does what Actions returns.
//
//	station, answer := cache.Lookup(a, now)
//	switch answer {
//	case neighbour.Found: // send the packet to station
//	case neighbour.Asking: // no station is known yet
//		cache.Hold(a, packet)
//	case neighbour.RateLimited: // a has not answered a moment ago: it is unreachable
//	}
//	do(cache.Actions())
package neighbour

import (
	"net/netip"
	"sync"
	"time"

	"interleave/gonet/wire"
)

// The numbers of requests and the times of RFC 4861 section 10. RetryDelay is for how long a
// neighbour that has not answered is not asked for again: RFC 1122 section 2.3.2.1 allows one
// request a second for each address.
const (
	MaxMulticastSolicit = 3
	MaxUnicastSolicit   = 3
	RetransTimer        = time.Second
	ReachableTime       = 30 * time.Second
	DelayFirstProbeTime = 5 * time.Second
	RetryDelay          = time.Second
)

// Answer says whether a packet can be sent to a neighbour now.
type Answer uint8

// The answers of Lookup.
const (
	Found       Answer = iota + 1 // the station is known
	Asking                        // requests are being sent; the packet can wait, see Hold
	RateLimited                   // nobody has answered, and no request is sent for a moment
)

// Cache is a neighbour cache. Its zero value is empty. Get may be called by any goroutine at any
// time, all other methods by one at a time.
type Cache struct {
	entries sync.Map // netip.Addr -> *Entry
	all     []*Entry // the same entries, in the order in which the hand visits them
	hand    int      // see victim
	timers  timers
	waiting int // the size in bytes of all packets that wait
	actions Actions
}

// Actions is what the owner of a cache must do.
type Actions struct {
	Solicit []Solicitation
	Send    []Delivery
	// Unreachable has the neighbours that did not answer: their users must be told.
	Unreachable []netip.Addr
	Dropped     int // packets that waited in vain, or that had no room
}

// Solicitation is a request that is due: an ARP request or a neighbour solicitation.
type Solicitation struct {
	Addr netip.Addr
	To   *wire.MAC // the station that had the address; nil: ask all stations
}

// Delivery has the packets that have waited for a station, which is known now.
type Delivery struct {
	Station *wire.MAC
	Packets [][]byte
}

// Actions returns what must be done since the last call.
func (c *Cache) Actions() Actions {
	a := c.actions
	c.actions = Actions{}
	return a
}

// Len returns the number of entries, at most MaxEntries.
func (c *Cache) Len() int { return len(c.all) }

// Waiting returns the size in bytes of the packets that wait.
func (c *Cache) Waiting() int { return c.waiting }

// Info describes a neighbour.
type Info struct {
	Addr  netip.Addr
	MAC   wire.MAC // of its station; zero: none is known
	State State
}

// List describes the neighbours, without those that AddPermanent has added.
func (c *Cache) List() (all []Info) {
	for _, e := range c.all {
		if e.state == Permanent {
			continue
		}
		i := Info{Addr: e.addr, State: e.state}
		if e.mac != nil {
			i.MAC = *e.mac
		}
		all = append(all, i)
	}
	return all
}

// Get returns the entry of an address, or nil. Any goroutine.
func (c *Cache) Get(a netip.Addr) *Entry {
	if e, known := c.entries.Load(a); known {
		return e.(*Entry)
	}
	return nil
}

// Add returns the entry of an address. If there is none, it makes one, for which nothing is sent
// until the first Lookup. A full cache removes another entry for it.
func (c *Cache) Add(a netip.Addr) *Entry {
	if e := c.Get(a); e != nil {
		return e
	}
	if len(c.all) == MaxEntries {
		c.remove(c.victim())
	}
	e := &Entry{addr: a, index: len(c.all)}
	c.all = append(c.all, e)
	c.entries.Store(a, e)
	return e
}

// AddPermanent sets the station of an address that is never asked for, such as a group. It counts
// as an entry, and may be removed to make room.
func (c *Cache) AddPermanent(a netip.Addr, mac wire.MAC) *Entry {
	e := c.Add(a)
	e.mac = &mac
	c.enter(e, Permanent, time.Time{})
	c.deliver(e)
	return e
}

// RemovePermanent removes what AddPermanent has added.
func (c *Cache) RemovePermanent() {
	for i := len(c.all) - 1; i >= 0; i-- { // remove fills the index from the end
		if c.all[i].state == Permanent {
			c.remove(c.all[i])
		}
	}
}

// Lookup returns the station to which a packet for a neighbour is sent. Without one it has requests
// sent; the caller may then leave the packet to Hold. A packet to a STALE neighbour begins the
// check whether it is still there (RFC 4861 section 7.3.3).
func (c *Cache) Lookup(a netip.Addr, now time.Time) (*wire.MAC, Answer) {
	e := c.Add(a)
	switch e.state {
	case Incomplete:
		if !e.asking() {
			c.solicit(e, now)
		}
		return nil, Asking
	case Failed:
		return nil, RateLimited
	case Stale:
		c.enter(e, Delay, now)
	}
	e.used.Store(true)
	return e.mac, Found
}

// Advertisement is what a neighbour advertisement or an ARP message says of a neighbour.
type Advertisement struct {
	MAC       wire.MAC
	HasMAC    bool // else the message confirms the station that is known
	Override  bool // it may replace another station
	Solicited bool // it answers a request: packets pass in both directions
}

// Advertise processes an advertisement (RFC 4861 section 7.2.5). One of a neighbour that is not in
// the cache is ignored.
func (c *Cache) Advertise(a netip.Addr, n Advertisement, now time.Time) {
	if e := c.Get(a); e != nil {
		c.advertise(e, n, now)
	}
}

// Learn records the station that a neighbour names as its own when it asks for us (RFC 4861
// sections 6.3.4 and 7.2.3). The neighbour is added to the cache: an answer to it is due.
func (c *Cache) Learn(a netip.Addr, mac wire.MAC, now time.Time) {
	c.advertise(c.Add(a), Advertisement{MAC: mac, HasMAC: true, Override: true}, now)
}

func (c *Cache) advertise(e *Entry, n Advertisement, now time.Time) {
	if e.state == Permanent || e.mac == nil && !n.HasMAC {
		return
	}
	other := n.HasMAC && (e.mac == nil || n.MAC != *e.mac)
	if other && e.mac != nil && !n.Override {
		if e.state == Reachable {
			c.enter(e, Stale, now)
		}
		return
	}
	if other {
		mac := n.MAC
		e.mac = &mac
	}
	switch {
	case n.Solicited:
		c.enter(e, Reachable, now)
	case other:
		c.enter(e, Stale, now)
	}
	c.deliver(e)
}

// Deadline returns when Expire must be called next. It returns false if there is no such time.
func (c *Cache) Deadline() (time.Time, bool) {
	if len(c.timers) == 0 {
		return time.Time{}, false
	}
	return c.timers[0].due, true
}

// Expire runs the timers that are due (RFC 4861 section 7.3.3).
func (c *Cache) Expire(now time.Time) {
	for len(c.timers) > 0 && !c.timers[0].due.After(now) {
		switch e := c.timers[0]; {
		case e.state == Reachable:
			c.enter(e, Stale, now)
		case e.state == Delay:
			c.enter(e, Probe, now)
			c.solicit(e, now)
		case e.state == Incomplete && e.asked < MaxMulticastSolicit,
			e.state == Probe && e.asked < MaxUnicastSolicit:
			c.solicit(e, now)
		case e.state == Failed:
			c.remove(e)
		default:
			c.fail(e, now)
		}
	}
}

// solicit has a request sent: to the known station in PROBE, else to all.
func (c *Cache) solicit(e *Entry, now time.Time) {
	e.asked++
	s := Solicitation{Addr: e.addr}
	if e.state == Probe {
		s.To = e.mac
	}
	c.actions.Solicit = append(c.actions.Solicit, s)
	c.timers.start(e, now.Add(RetransTimer))
}

// fail notes that a neighbour has not answered.
func (c *Cache) fail(e *Entry, now time.Time) {
	c.dropWaiting(e)
	e.mac = nil
	c.enter(e, Failed, now)
	c.actions.Unreachable = append(c.actions.Unreachable, e.addr)
}
