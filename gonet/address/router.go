package address

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

// The bounds of what router advertisements may add, so that a flood of them cannot fill the memory.
// Linux keeps 16 addresses.
const (
	MaxRouters   = 8
	MaxNetworks  = 16
	MaxGenerated = 16 // addresses in the prefixes of routers
	MaxDNS       = 8
)

// Advertise processes a router advertisement (RFC 4861 section 6.3.4, RFC 4862 section 5.5.3).
func (t *Table) Advertise(router netip.Addr, r *wire.RouterAdvert, now time.Time) {
	t.routers = renew(t.routers, router, end(r.Lifetime, now), MaxRouters)
	if r.HopLimit >= t.cfg.HopLimit { // a small forged limit would cut the host off
		t.hopLimit = r.HopLimit
	}
	if r.MTU >= wire.IPv6MinMTU && int64(r.MTU) <= int64(t.cfg.MTU) {
		t.mtu = int(r.MTU)
	}
	for _, d := range r.DNS {
		t.dns = renew(t.dns, d, end(r.DNSLifetime, now), MaxDNS)
	}
	for _, x := range r.Prefixes {
		if x.OnLink {
			t.networks = renew(t.networks, x.Prefix, end(x.Valid, now), MaxNetworks)
		}
		if x.Autonomous && x.Prefix.Bits() == 64 {
			t.autoconfigure(x, now)
		}
	}
	t.Expire(now)
}

// renew sets the end of an item's lifetime, or appends the item. A new one beyond the bound is
// ignored.
func renew[T comparable](all []expiring[T], value T, until time.Time, bound int) []expiring[T] {
	for i := range all {
		if all[i].value == value {
			all[i].until = until
			return all
		}
	}
	if len(all) >= bound {
		return all
	}
	return append(all, expiring[T]{value, until})
}

// twoHours is the least lifetime that an advertisement can leave an address, so that a forged one
// cannot take the address from the host at once (RFC 4862 section 5.5.3 e).
const twoHours = 2 * time.Hour

// autoconfigure generates an address in a prefix that a router advertises, or updates the lifetimes
// of the existing one.
func (t *Table) autoconfigure(x wire.Prefix, now time.Time) {
	generated := 0
	for i := range t.addrs {
		a := &t.addrs[i]
		if a.generated {
			generated++
		}
		if !x.Prefix.Contains(a.Addr()) {
			continue
		}
		if !a.generated {
			return // the address was configured by the user
		}
		a.preferred = end(x.Preferred, now)
		if l := left(a.valid, now); x.Valid > twoHours || x.Valid > l {
			a.valid = end(x.Valid, now)
		} else if l > twoHours {
			a.valid = end(twoHours, now)
		}
		return
	}
	if x.Valid > 0 && generated < MaxGenerated {
		t.add(Address{Prefix: t.opaque(x.Prefix, 0), preferred: end(x.Preferred, now),
			valid: end(x.Valid, now), generated: true})
	}
}

// opaque generates an address in a prefix. It is the same each time that the host is on this
// network, and does not reveal the host on another network (RFC 7217).
func (t *Table) opaque(network netip.Prefix, dadCounter int) netip.Prefix {
	raw := network.Addr().As16()
	b := append(slices.Clone(t.cfg.Secret), raw[:8]...)
	b = binary.BigEndian.AppendUint32(append(b, t.cfg.MAC[:]...), uint32(dadCounter)) //nolint:gosec // at most idgenRetries
	sum := sha256.Sum256(b)
	copy(raw[8:], sum[:8])
	return netip.PrefixFrom(netip.AddrFrom16(raw), network.Bits())
}

// RemoveRouter removes a neighbour that is no router any more. It returns false if it was none.
func (t *Table) RemoveRouter(a netip.Addr) bool {
	n := len(t.routers)
	t.routers = slices.DeleteFunc(t.routers,
		func(r expiring[netip.Addr]) bool { return r.value == a })
	return len(t.routers) < n
}

// AvoidRouter moves a router that does not answer behind the others (RFC 4861 section 6.3.6). It
// returns false if that changes nothing.
func (t *Table) AvoidRouter(a netip.Addr) bool {
	learned := moveToEnd(t.routers, func(r expiring[netip.Addr]) bool { return r.value == a })
	configured := moveToEnd(t.static, func(r ip.Route) bool { return r.Via == a })
	return learned || configured
}

// moveToEnd moves the first element for which f is true to the end. It returns false if that
// changes nothing.
func moveToEnd[T any](all []T, f func(T) bool) bool {
	i := slices.IndexFunc(all, f)
	if i < 0 || i == len(all)-1 {
		return false
	}
	x := all[i]
	copy(all[i:], all[i+1:])
	all[len(all)-1] = x
	return true
}
