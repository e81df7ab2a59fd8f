package gonet

import (
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// router is a default router, and the end of its lifetime.
type router = expiring[netip.Addr]

// The bounds of what router advertisements may add, so that a flood of them cannot fill the memory.
// Linux keeps 16 addresses.
const (
	maxRouters   = 8
	maxNetworks  = 16
	maxGenerated = 16 // addresses that the stack has generated
	maxDNS       = 8
)

// The number of router solicitations and the time between two (RFC 4861 section 10).
const (
	solicitTimes    = 3
	solicitInterval = 4 * time.Second
)

// solicitRouters is the goroutine that sends router solicitations, until a router has answered.
func (s *Stack) solicitRouters() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for range solicitTimes {
		select {
		case <-timer.C:
		case <-s.advertised:
			return
		case <-s.done:
			return
		}
		var b [16]byte
		src, mac := netip.IPv6Unspecified(), (*wire.MAC)(nil)
		if a, err := s.source(allRouters); err == nil && !s.net.Load().isOptimistic(a) {
			src, mac = a, &s.mac // not from an optimistic address (RFC 4429 section 3.2)
		}
		if s.features.L3 {
			mac = nil
		}
		s.sendND(wire.MulticastMAC(allRouters), src, allRouters,
			b[:wire.PutRouterSolicit(b[:], mac)])
		timer.Reset(solicitInterval)
	}
}

// inputRouter processes a router advertisement (RFC 4861 section 6.3.4). Dealer only.
func (s *Stack) inputRouter(p *packet, m wire.ICMP, body []byte) {
	r, err := wire.ParseRouterAdvert(m, body)
	if err != nil || !p.src.IsLinkLocalUnicast() || r.MAC.IsGroup() {
		s.stats.malformed.Add(1)
		return
	}
	if s.cfg.NoAutoconf {
		s.stats.foreign.Add(1)
		return
	}
	if !s.heardRouter {
		s.heardRouter = true
		close(s.advertised)
	}
	w := &s.netState
	w.routers = renew(w.routers, p.src, s.until(r.Lifetime), maxRouters)
	if r.HopLimit >= defaultTTL { // a small forged limit would cut the host off
		w.hopLimit = r.HopLimit
	}
	if r.MTU >= wire.IPv6MinMTU && int64(r.MTU) <= int64(s.features.MTU) {
		w.mtu6 = int(r.MTU)
	}
	for _, d := range r.DNS {
		w.dns = renew(w.dns, d, s.until(r.DNSLifetime), maxDNS)
	}
	for _, x := range r.Prefixes {
		if x.OnLink {
			w.networks = renew(w.networks, x.Prefix, s.until(x.Valid), maxNetworks)
		}
	}
	s.publish()
	if r.HasMAC && r.Lifetime > 0 && !s.features.L3 {
		s.learnNeighbour(p.src, r.MAC)
	}
	for _, x := range r.Prefixes {
		if x.Autonomous && x.Prefix.Bits() == 64 {
			s.autoconfigure(x)
		}
	}
}

// renew sets the end of an item's lifetime, or appends the item. A new one beyond the bound is
// ignored.
func renew[T comparable](all []expiring[T], value T, until tcp.Time, bound int) []expiring[T] {
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

// until returns the end of a lifetime that begins now.
func (s *Stack) until(lifetime time.Duration) tcp.Time {
	if lifetime == wire.Infinite {
		return forever
	}
	return s.now.Add(lifetime)
}

// twoHours is the least lifetime that an advertisement can leave an address, so that a forged one
// cannot take the address from us at once (RFC 4862 section 5.5.3 e).
const twoHours = 2 * time.Hour

// autoconfigure generates an address in a prefix that a router advertises, or updates the lifetimes
// of the existing one. Dealer only.
func (s *Stack) autoconfigure(x wire.Prefix) {
	made := 0
	for i := range s.netState.addrs {
		a := &s.netState.addrs[i]
		if a.generated {
			made++
		}
		if !x.Prefix.Contains(a.Addr()) {
			continue
		}
		if !a.generated {
			return // the address was configured by the user
		}
		a.preferred = s.until(x.Preferred)
		if left := a.valid.Sub(s.now); x.Valid > twoHours || x.Valid > left {
			a.valid = s.until(x.Valid)
		} else if left > twoHours {
			a.valid = s.until(twoHours)
		}
		s.publish()
		return
	}
	if x.Valid > 0 && made < maxGenerated {
		s.addAddress(address{Prefix: s.opaque(x.Prefix, 0), preferred: s.until(x.Preferred),
			valid: s.until(x.Valid), generated: true})
	}
}

// removeRouter removes a neighbour that is no router any more. Dealer only.
func (s *Stack) removeRouter(a netip.Addr) {
	if n := len(s.netState.routers); n > 0 {
		s.netState.routers = slices.DeleteFunc(s.netState.routers,
			func(r router) bool { return r.value == a })
		if len(s.netState.routers) < n {
			s.publish()
		}
	}
}

// avoidRouter moves a router that does not answer behind the others (RFC 4861 section 6.3.6).
// Dealer only.
func (s *Stack) avoidRouter(a netip.Addr) {
	w := &s.netState
	changed := false
	if i := slices.IndexFunc(w.routers, func(r router) bool { return r.value == a }); i >= 0 &&
		i < len(w.routers)-1 {
		r := w.routers[i]
		w.routers = append(slices.Delete(w.routers, i, i+1), r)
		changed = true
	}
	if i := slices.IndexFunc(w.static, func(r ip.Route) bool { return r.Via == a }); i >= 0 &&
		i < len(w.static)-1 {
		r := w.static[i]
		w.static = append(slices.Delete(w.static, i, i+1), r)
		changed = true
	}
	if changed {
		s.publish()
	}
}
