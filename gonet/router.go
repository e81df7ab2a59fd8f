package gonet

import (
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// router is one that has offered itself for all networks.
type router = lease[netip.Addr]

// The bounds of what routers may tell us: who floods the link with advertisements must not fill the
// memory. Linux has 16 addresses.
const (
	maxRouters  = 8
	maxNetworks = 16
	maxMade     = 16 // addresses that we make
	maxDNS      = 8
)

// The questions for a router (RFC 4861 section 10).
const (
	solicitTimes    = 3
	solicitInterval = 4 * time.Second
)

// solicitRouters is the goroutine that asks for routers, until one has answered.
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
			src, mac = a, &s.mac // RFC 4429 section 3.2: not before it is known to be ours
		}
		s.sendND(wire.MulticastMAC(allRouters), src, allRouters,
			b[:wire.PutRouterSolicit(b[:], mac)])
		timer.Reset(solicitInterval)
	}
}

// inputRouter takes what a router says of itself and its link (RFC 4861 section
// 6.3.4). The dealer's.
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
	w := &s.place
	w.routers = renew(w.routers, p.src, s.until(r.Lifetime), maxRouters)
	if r.HopLimit >= defaultTTL { // a forged small one would cut us off
		w.hopLimit = r.HopLimit
	}
	if r.MTU >= wire.IPv6MinMTU && int64(r.MTU) <= int64(s.fast.MTU) {
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
	if r.HasMAC && r.Lifetime > 0 {
		s.meet(p.src, true, advertisement{mac: r.MAC, override: true})
	}
	for _, x := range r.Prefixes {
		if x.Autonomous && x.Prefix.Bits() == 64 {
			s.autoconfigure(x)
		}
	}
}

// renew sets until when something counts; there is a bound, beyond which what is new does not.
func renew[T comparable](all []lease[T], of T, until tcp.Time, bound int) []lease[T] {
	for i := range all {
		if all[i].of == of {
			all[i].until = until
			return all
		}
	}
	if len(all) >= bound {
		return all
	}
	return append(all, lease[T]{of, until})
}

// until is the end of a lifetime that begins now.
func (s *Stack) until(lifetime time.Duration) tcp.Time {
	if lifetime == wire.Infinite {
		return forever
	}
	return s.now.Add(lifetime)
}

// twoHours is what is left at least of an address that a router takes back: one who forges
// advertisements must not take it from us at once (RFC 4862 section 5.5.3 e).
const twoHours = 2 * time.Hour

// autoconfigure makes an address of a network that a router advertises, or changes how long the one
// that was made counts. The dealer's.
func (s *Stack) autoconfigure(x wire.Prefix) {
	made := 0
	for i := range s.place.addrs {
		a := &s.place.addrs[i]
		if a.made {
			made++
		}
		if !x.Prefix.Contains(a.Addr()) {
			continue
		}
		if !a.made {
			return // it was configured
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
	if x.Valid > 0 && made < maxMade {
		s.addAddress(address{Prefix: s.opaque(x.Prefix, 0), preferred: s.until(x.Preferred),
			valid: s.until(x.Valid), made: true})
	}
}

// dropRouter forgets one that is a router no more. The dealer's.
func (s *Stack) dropRouter(a netip.Addr) {
	if n := len(s.place.routers); n > 0 {
		s.place.routers = slices.DeleteFunc(s.place.routers,
			func(r router) bool { return r.of == a })
		if len(s.place.routers) < n {
			s.publish()
		}
	}
}

// avoidRouter puts one that does not answer behind the others (RFC 4861 section
// 6.3.6). The dealer's.
func (s *Stack) avoidRouter(a netip.Addr) {
	w := &s.place
	changed := false
	if i := slices.IndexFunc(w.routers, func(r router) bool { return r.of == a }); i >= 0 &&
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
