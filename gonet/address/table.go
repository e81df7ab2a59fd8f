// Package address keeps the addresses and routes of a host: those that were configured, and those
// that IPv6 routers advertise (stateless address autoconfiguration, RFC 4862; router and prefix
// discovery, RFC 4861 section 6.3; DNS servers, RFC 8106), each until the end of its lifetime.
//
// A Table has no I/O, clock, goroutine or lock. Its owner hands in the advertisements and the time,
// has each address of Added checked for duplicates, and calls Expire at the Deadline.
package address

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

// Config configures a table.
type Config struct {
	// Secret, with the MAC and the prefix, is what interface identifiers are made from (RFC 7217).
	Secret []byte
	MAC    wire.MAC
	NoIPv6 bool // there is no IPv6: no link-local address, and no routers
	// Optimistic: a new IPv6 address is optimistic until Unique is called (RFC 4429).
	Optimistic bool
	Routes     []ip.Route // static routes
	MTU        int        // of the link, in bytes; a router may advertise a smaller one for IPv6
	HopLimit   uint8      // of IPv6 packets; a router may advertise a larger one
}

// Table is the state of a host's addresses and routes.
type Table struct {
	cfg      Config
	addrs    []Address
	static   []ip.Route
	routers  []expiring[netip.Addr]   // the default routers
	networks []expiring[netip.Prefix] // the on-link prefixes
	dns      []expiring[netip.Addr]
	mtu      int
	hopLimit uint8
	added    []netip.Addr
}

// Address is an address of the host.
type Address struct {
	netip.Prefix // the address with its prefix length
	// Optimistic: the address is in use, while duplicate address detection runs (RFC 4429).
	Optimistic bool
	generated  bool // from a prefix
	// The ends of its preferred and valid lifetimes (RFC 4862); zero: never.
	preferred, valid time.Time
	dadCounter       int // DAD_Counter of RFC 7217: how many predecessors were duplicates
}

// Deprecated tells whether new connections should use another address: its preferred lifetime has
// ended, or it is optimistic (RFC 4429 section 2.1).
func (a *Address) Deprecated(now time.Time) bool { return a.Optimistic || ended(a.preferred, now) }

// expiring is a value with the end of its lifetime; zero: never.
type expiring[T any] struct {
	value T
	until time.Time
}

func ended(end, now time.Time) bool { return !end.IsZero() && !end.After(now) }

// linkLocal is the prefix of link-local addresses.
var linkLocal = netip.MustParsePrefix("fe80::/64")

// New makes a table, which has a link-local address if there is IPv6.
func New(cfg Config) *Table {
	t := &Table{cfg: cfg}
	if !cfg.NoIPv6 {
		t.mtu, t.hopLimit = cfg.MTU, cfg.HopLimit
		t.add(Address{Prefix: t.opaque(linkLocal, 0), generated: true})
	}
	return t
}

// Addresses returns the addresses.
func (t *Table) Addresses() []Address { return t.addrs }

// Find returns the entry of an address of the host.
func (t *Table) Find(a netip.Addr) (Address, bool) {
	if own := t.find(a); own != nil {
		return *own, true
	}
	return Address{}, false
}

func (t *Table) find(a netip.Addr) *Address {
	for i := range t.addrs {
		if t.addrs[i].Addr() == a {
			return &t.addrs[i]
		}
	}
	return nil
}

// Routes returns the routing table.
func (t *Table) Routes() ip.Routes {
	routes := slices.Clone(t.static)
	for _, l := range t.networks {
		routes = append(routes, ip.Route{Network: l.value})
	}
	for _, r := range t.routers {
		routes = append(routes, ip.Route{Network: ip.Default(r.value), Via: r.value})
	}
	return ip.NewRoutes(routes...)
}

// DNS returns the servers that routers advertise.
func (t *Table) DNS() (all []netip.Addr) {
	for _, d := range t.dns {
		all = append(all, d.value)
	}
	return all
}

// MTU returns the MTU of IPv6 on the link, in bytes; 0: there is no IPv6.
func (t *Table) MTU() int { return t.mtu }

// HopLimit returns the hop limit of IPv6 packets.
func (t *Table) HopLimit() uint8 { return t.hopLimit }

// Added returns the IPv6 addresses that are new since the last call.
func (t *Table) Added() []netip.Addr {
	added := t.added
	t.added = nil
	return added
}

// add takes an address into use.
func (t *Table) add(a Address) {
	a.Optimistic = a.Addr().Is6() && t.cfg.Optimistic
	t.addrs = append(t.addrs, a)
	if a.Addr().Is6() {
		t.added = append(t.added, a.Addr())
	}
}

// Configure takes addresses and default routers into use in place of the configured ones. What was
// learned from router advertisements stays.
func (t *Table) Configure(addresses []netip.Prefix, gateways []netip.Addr) {
	t.static = nil
	if !t.cfg.NoIPv6 {
		t.static = append(t.static, ip.Route{Network: linkLocal})
	}
	for _, a := range addresses {
		t.static = append(t.static, ip.Route{Network: a})
	}
	t.static = append(t.static, t.cfg.Routes...)
	for _, g := range gateways {
		t.static = append(t.static, ip.Route{Network: ip.Default(g), Via: g})
	}
	t.addrs = slices.DeleteFunc(t.addrs,
		func(a Address) bool { return !a.generated && !slices.Contains(addresses, a.Prefix) })
	for _, a := range addresses {
		if t.find(a.Addr()) == nil {
			t.add(Address{Prefix: a})
		}
	}
}

// Unique ends the optimistic state of an address: no other station has it. It returns false if the
// address was not optimistic.
func (t *Table) Unique(a netip.Addr) bool {
	own := t.find(a)
	if own == nil || !own.Optimistic {
		return false
	}
	own.Optimistic = false
	return true
}

// idgenRetries is how many addresses are generated in one prefix before the table gives up (RFC
// 7217 section 7).
const idgenRetries = 3

// Duplicate removes an address that another station has, and generates a new one in place of a
// generated one.
func (t *Table) Duplicate(a netip.Addr) {
	own := t.find(a)
	if own == nil {
		return
	}
	was := *own
	t.addrs = slices.DeleteFunc(t.addrs, func(x Address) bool { return x.Addr() == a })
	if was.generated && was.dadCounter < idgenRetries {
		was.dadCounter++
		was.Prefix = t.opaque(was.Masked(), was.dadCounter)
		t.add(was)
	}
}

// Expire removes all whose lifetime has ended.
func (t *Table) Expire(now time.Time) {
	t.addrs = slices.DeleteFunc(t.addrs, func(a Address) bool { return ended(a.valid, now) })
	t.routers = expire(t.routers, now)
	t.networks = expire(t.networks, now)
	t.dns = expire(t.dns, now)
}

func expire[T any](all []expiring[T], now time.Time) []expiring[T] {
	return slices.DeleteFunc(all, func(x expiring[T]) bool { return ended(x.until, now) })
}

// Deadline returns when the next lifetime ends after now. It returns false if none does.
func (t *Table) Deadline(now time.Time) (time.Time, bool) {
	at := time.Time{}
	look := func(end time.Time) {
		if !end.IsZero() && end.After(now) && (at.IsZero() || end.Before(at)) {
			at = end
		}
	}
	for _, a := range t.addrs {
		look(a.valid)
		look(a.preferred)
	}
	for _, x := range t.networks {
		look(x.until)
	}
	for _, x := range slices.Concat(t.routers, t.dns) {
		look(x.until)
	}
	return at, !at.IsZero()
}

// end returns the end of a lifetime that begins now.
func end(lifetime time.Duration, now time.Time) time.Time {
	if lifetime == wire.Infinite {
		return time.Time{}
	}
	return now.Add(lifetime)
}

// left returns what is left of a lifetime.
func left(end, now time.Time) time.Duration {
	if end.IsZero() {
		return math.MaxInt64
	}
	return end.Sub(now)
}
