package gonet

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// place is what snapshots of the network are made of: addresses, routers and what these say, each
// for its time. The dealer's own.
type place struct {
	addrs    []address
	static   []ip.Route
	routers  []router
	networks []lease[netip.Prefix] // that routers say are on the link
	dns      []lease[netip.Addr]
	mtu6     int
	hopLimit uint8
	timer    *time.Timer // goes off when something has had its time
}

// address is one of ours.
type address struct {
	netip.Prefix
	preferred, valid tcp.Time // until when it is for new conversations, and for any
	// it is used, and it is not known yet whether it is somebody else's (RFC 4429)
	optimistic bool
	made       bool // by us, of a network
	unlucky    int  // how many that we made before it were somebody else's
}

// lease is something that counts for a while.
type lease[T any] struct {
	of    T
	until tcp.Time
}

// forever is an instant that does not come.
const forever tcp.Time = math.MaxInt64

// find returns the address that is a, nil if it is not ours.
func (p *place) find(a netip.Addr) *address {
	for i := range p.addrs {
		if p.addrs[i].Addr() == a {
			return &p.addrs[i]
		}
	}
	return nil
}

// isOptimistic tells whether an address may turn out to be somebody else's. A deprecated one counts
// as such: it is as little to be told.
func (n *network) isOptimistic(a netip.Addr) bool {
	for i := range n.addrs {
		if n.addrs[i].Addr() == a {
			return n.addrs[i].Deprecated
		}
	}
	return false
}

// publish makes a snapshot of the place, without what has had its time, and has itself called when
// more has. The dealer's.
func (s *Stack) publish() {
	p, now := &s.place, s.clock()
	p.expire(now)
	n := &network{mtu6: p.mtu6, hopLimit: p.hopLimit}
	routes := slices.Clone(p.static)
	for i := range p.addrs {
		a := &p.addrs[i]
		n.addrs = append(n.addrs, ip.Address{Prefix: a.Prefix, Deprecated: a.optimistic ||
			a.preferred <= now})
		if a.Addr().Is4() && a.Bits() < 31 {
			n.all4 = append(n.all4, lastOf(a.Prefix))
		}
		if group := wire.SolicitedNode(a.Addr()); a.Addr().Is6() &&
			!slices.Contains(n.groups, group) {
			n.groups = append(n.groups, group)
		}
	}
	for _, l := range p.networks {
		routes = append(routes, ip.Route{Network: l.of})
	}
	for _, r := range p.routers {
		routes = append(routes, ip.Route{Network: ip.Default(r.of), Via: r.of})
	}
	for _, d := range p.dns {
		n.dns = append(n.dns, d.of)
	}
	n.routes = ip.NewRoutes(routes...)
	if old := s.net.Swap(n); old != nil {
		left := slices.DeleteFunc(slices.Clone(old.groups),
			func(g netip.Addr) bool { return slices.Contains(n.groups, g) })
		s.report(wire.MLDToInclude, left)
	}
	if next := p.next(now); next != forever {
		if p.timer == nil {
			// a stack that has ended needs no addresses
			p.timer = time.AfterFunc(next.Sub(now), func() { _ = s.post(s.publish) })
		} else {
			p.timer.Reset(next.Sub(now))
		}
	}
}

// expire takes out what has had its time.
func (p *place) expire(now tcp.Time) {
	p.addrs = slices.DeleteFunc(p.addrs, func(a address) bool { return a.valid <= now })
	p.routers = slices.DeleteFunc(p.routers, func(r router) bool { return r.until <= now })
	p.networks = slices.DeleteFunc(p.networks,
		func(l lease[netip.Prefix]) bool { return l.until <= now })
	p.dns = slices.DeleteFunc(p.dns, func(l lease[netip.Addr]) bool { return l.until <= now })
}

// next is when something will have had its time.
func (p *place) next(now tcp.Time) tcp.Time {
	at := forever
	for _, a := range p.addrs {
		at = min(at, a.valid)
		if a.preferred > now {
			at = min(at, a.preferred)
		}
	}
	for _, r := range p.routers {
		at = min(at, r.until)
	}
	for _, l := range p.networks {
		at = min(at, l.until)
	}
	for _, l := range p.dns {
		at = min(at, l.until)
	}
	return at
}

// addAddress takes an address into use. One of IPv6 is asked for at the same time, and given up if
// somebody has it. The dealer's.
func (s *Stack) addAddress(a address) {
	a.optimistic = a.Addr().Is6() && !s.cfg.NoDAD
	s.place.addrs = append(s.place.addrs, a)
	s.publish()
	if a.Addr().Is6() {
		go s.probe(a.Addr())
	}
}

// retransTimer is the time in which somebody who has an address says so (RFC 4861 section 10, RFC
// 4862 section 5.4).
const retransTimer = time.Second

// probe is the goroutine that takes an address of IPv6 into use: it joins the group in which
// neighbours ask for it, asks whether somebody has it already, and tells the dealer when
// nobody has said so (RFC 4862 section 5.4). The report is sent twice, as it may be lost (RFC
// 3810 section 6.1).
func (s *Stack) probe(a netip.Addr) {
	group := wire.SolicitedNode(a)
	s.report(wire.MLDToExclude, []netip.Addr{group})
	if !s.cfg.NoDAD {
		n := wire.Neighbor{Target: a}
		var b [32]byte
		s.sendND(wire.MulticastMAC(group), netip.IPv6Unspecified(), group,
			b[:n.Put(b[:], wire.ICMPv6NeighborSolicit)])
	}
	timer := time.NewTimer(retransTimer)
	defer timer.Stop()
	select {
	case <-s.done:
		return
	case <-timer.C:
	}
	_ = s.claim(func() { // a stack that has ended needs no addresses
		if own := s.place.find(a); own != nil && own.optimistic {
			own.optimistic = false
			s.publish()
		}
	})
	s.report(wire.MLDToExclude, []netip.Addr{group})
}

// maxUnlucky is how many addresses are made of one network before it is given up (RFC 7217 section
// 7: IDGEN_RETRIES).
const maxUnlucky = 3

// duplicate gives up an address that somebody has, and makes another if we made it. The dealer's.
func (s *Stack) duplicate(own *address) {
	was := *own
	s.stats.conflicts.Add(1)
	s.place.addrs = slices.DeleteFunc(s.place.addrs,
		func(a address) bool { return a.Addr() == was.Addr() })
	s.publish()
	if was.made && was.unlucky < maxUnlucky {
		was.unlucky++
		was.Prefix = s.opaque(was.Masked(), was.unlucky)
		s.addAddress(was)
	}
}

// opaque makes an address of a network: the same each time that this host comes to it, and of no
// use to follow the host to another (RFC 7217).
func (s *Stack) opaque(network netip.Prefix, unlucky int) netip.Prefix {
	raw := network.Addr().As16()
	b := append(slices.Clone(s.cfg.Secret), raw[:8]...)
	b = binary.BigEndian.AppendUint32(append(b, s.mac[:]...), uint32(unlucky)) //nolint:gosec // at most maxUnlucky
	sum := sha256.Sum256(b)
	copy(raw[8:], sum[:8])
	return netip.PrefixFrom(netip.AddrFrom16(raw), network.Bits())
}

// linkLocal is the network of addresses that do not leave the link.
var linkLocal = netip.MustParsePrefix("fe80::/64")
