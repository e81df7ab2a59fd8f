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

// networkState is the state from which the snapshots are made: addresses, routers and what routers
// advertise, each with the end of its lifetime. Dealer only.
type networkState struct {
	addrs    []address
	static   []ip.Route
	routers  []router
	networks []expiring[netip.Prefix] // on-link prefixes of router advertisements
	dns      []expiring[netip.Addr]
	mtu6     int
	hopLimit uint8
	timer    *time.Timer // goes off when the next lifetime ends
}

// address is an address of this stack.
type address struct {
	netip.Prefix
	preferred, valid tcp.Time // the ends of its preferred and valid lifetimes (RFC 4862)
	// optimistic: the address is in use, while duplicate address detection runs (RFC 4429).
	optimistic bool
	generated  bool // the stack has generated it from a prefix
	dadCounter int  // DAD_Counter of RFC 7217: how many predecessors were duplicates
}

// expiring is a value with the end of its lifetime.
type expiring[T any] struct {
	value T
	until tcp.Time
}

// forever is an instant that never comes.
const forever tcp.Time = math.MaxInt64

// find returns the entry of address a, or nil if it is not ours.
func (p *networkState) find(a netip.Addr) *address {
	for i := range p.addrs {
		if p.addrs[i].Addr() == a {
			return &p.addrs[i]
		}
	}
	return nil
}

// isOptimistic tells whether a's uniqueness is not known yet. A deprecated address counts as such
// too: its MAC need not be told either.
func (n *network) isOptimistic(a netip.Addr) bool {
	for i := range n.addrs {
		if n.addrs[i].Addr() == a {
			return n.addrs[i].Deprecated
		}
	}
	return false
}

// publish replaces the snapshot by one of the current state, without what has expired, and sets a
// timer for the next expiry. Dealer only.
func (s *Stack) publish() {
	p, now := &s.netState, s.clock()
	p.expire(now)
	n := &network{mtu6: p.mtu6, hopLimit: p.hopLimit}
	routes := slices.Clone(p.static)
	for i := range p.addrs {
		a := &p.addrs[i]
		n.addrs = append(n.addrs, ip.Address{Prefix: a.Prefix, Deprecated: a.optimistic ||
			a.preferred <= now})
		if a.Addr().Is4() && a.Bits() < 31 {
			n.broadcasts = append(n.broadcasts, broadcastOf(a.Prefix))
		}
		// nobody solicits neighbours on an L3 link
		if group := wire.SolicitedNode(a.Addr()); a.Addr().Is6() && !s.features.L3 &&
			!slices.Contains(n.groups, group) {
			n.groups = append(n.groups, group)
		}
	}
	for _, l := range p.networks {
		routes = append(routes, ip.Route{Network: l.value})
	}
	for _, r := range p.routers {
		routes = append(routes, ip.Route{Network: ip.Default(r.value), Via: r.value})
	}
	for _, d := range p.dns {
		n.dns = append(n.dns, d.value)
	}
	n.routes = ip.NewRoutes(routes...)
	if old := s.net.Swap(n); old != nil {
		left := slices.DeleteFunc(slices.Clone(old.groups),
			func(g netip.Addr) bool { return slices.Contains(n.groups, g) })
		s.sendMLDReport(wire.MLDToInclude, left)
	}
	if next := p.next(now); next != forever {
		if p.timer == nil {
			// a stack that has ended has no addresses
			p.timer = time.AfterFunc(next.Sub(now), func() { _ = s.post(s.publish) })
		} else {
			p.timer.Reset(next.Sub(now))
		}
	}
}

// expire removes all whose lifetime has ended.
func (p *networkState) expire(now tcp.Time) {
	p.addrs = slices.DeleteFunc(p.addrs, func(a address) bool { return a.valid <= now })
	p.routers = slices.DeleteFunc(p.routers, func(r router) bool { return r.until <= now })
	p.networks = slices.DeleteFunc(p.networks,
		func(l expiring[netip.Prefix]) bool { return l.until <= now })
	p.dns = slices.DeleteFunc(p.dns, func(l expiring[netip.Addr]) bool { return l.until <= now })
}

// next returns the instant at which the next lifetime ends.
func (p *networkState) next(now tcp.Time) tcp.Time {
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

// addAddress takes an address into use. Duplicate address detection for an IPv6 address runs at the
// same time, and removes a duplicate again. Dealer only.
func (s *Stack) addAddress(a address) {
	a.optimistic = a.Addr().Is6() && !s.cfg.NoDAD
	s.netState.addrs = append(s.netState.addrs, a)
	s.publish()
	if a.Addr().Is6() && !s.features.L3 {
		go s.probe(a.Addr())
	}
}

// retransTimer is how long duplicate address detection waits for an answer: RetransTimer (RFC 4861
// section 10, RFC 4862 section 5.4).
const retransTimer = time.Second

// probe is the goroutine of duplicate address detection for one IPv6 address (RFC 4862 section
// 5.4). It joins the address's solicited-node group, sends a solicitation for the address, and has
// the dealer end the optimistic state if nobody has answered. The MLD report is sent twice, as one
// may be lost (RFC 3810 section 6.1).
func (s *Stack) probe(a netip.Addr) {
	group := wire.SolicitedNode(a)
	s.sendMLDReport(wire.MLDToExclude, []netip.Addr{group})
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
	_ = s.claim(func() { // a stack that has ended has no addresses
		if own := s.netState.find(a); own != nil && own.optimistic {
			own.optimistic = false
			s.publish()
		}
	})
	s.sendMLDReport(wire.MLDToExclude, []netip.Addr{group})
}

// idgenRetries is how many addresses are generated in one prefix before the stack gives up (RFC
// 7217 section 7).
const idgenRetries = 3

// duplicate removes an address that another station has, and generates a new one in place of a
// generated one. Dealer only.
func (s *Stack) duplicate(own *address) {
	was := *own
	s.stats.conflicts.Add(1)
	s.netState.addrs = slices.DeleteFunc(s.netState.addrs,
		func(a address) bool { return a.Addr() == was.Addr() })
	s.publish()
	if was.generated && was.dadCounter < idgenRetries {
		was.dadCounter++
		was.Prefix = s.opaque(was.Masked(), was.dadCounter)
		s.addAddress(was)
	}
}

// opaque generates an address in a prefix. It is the same each time that the host is on this
// network, and does not reveal the host on another network (RFC 7217).
func (s *Stack) opaque(network netip.Prefix, dadCounter int) netip.Prefix {
	raw := network.Addr().As16()
	b := append(slices.Clone(s.cfg.Secret), raw[:8]...)
	b = binary.BigEndian.AppendUint32(append(b, s.mac[:]...), uint32(dadCounter)) //nolint:gosec // at most maxUnlucky
	sum := sha256.Sum256(b)
	copy(raw[8:], sum[:8])
	return netip.PrefixFrom(netip.AddrFrom16(raw), network.Bits())
}

// linkLocal is the prefix of link-local addresses.
var linkLocal = netip.MustParsePrefix("fe80::/64")
