package gonet

import (
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/address"
	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

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

// newTable returns the table of addresses and routes as it is before Configure.
func (s *Stack) newTable() *address.Table {
	return address.New(address.Config{Secret: s.cfg.Secret, MAC: s.link.mac, NoIPv6: s.cfg.NoIPv6,
		Optimistic: !s.cfg.NoDAD, Routes: s.cfg.Routes, MTU: s.link.features.MTU,
		HopLimit: defaultTTL})
}

// publish replaces the snapshot by one of the table, without what has expired. It sets a timer for
// the next expiry, joins and leaves the groups of addresses, and has new addresses checked for
// duplicates. Dealer only.
func (s *Stack) publish() {
	t, now := s.addresses.table, time.Now()
	t.Expire(now)
	n := &network{mtu6: t.MTU(), hopLimit: t.HopLimit(), dns: t.DNS(), routes: t.Routes()}
	for _, a := range t.Addresses() {
		n.addrs = append(n.addrs, ip.Address{Prefix: a.Prefix, Deprecated: a.Deprecated(now)})
		if a.Addr().Is4() && a.Bits() < 31 {
			n.broadcasts = append(n.broadcasts, broadcastOf(a.Prefix))
		}
		// nobody solicits neighbours on an L3 link
		if group := wire.SolicitedNode(a.Addr()); a.Addr().Is6() && !s.link.features.L3 &&
			!slices.Contains(n.groups, group) {
			n.groups = append(n.groups, group)
		}
	}
	old := s.addresses.published.Swap(n)
	for _, g := range n.groups {
		s.updateGroup(g)
	}
	if old != nil { // else New has the dealer send the reports
		for _, g := range old.groups {
			s.updateGroup(g)
		}
		s.runGroups()
	}
	if next, ok := t.Deadline(now); ok {
		if s.addresses.timer == nil {
			// a stack that has ended has no addresses
			s.addresses.timer = time.AfterFunc(next.Sub(now), func() { _ = s.post(s.publish) })
		} else {
			s.addresses.timer.Reset(next.Sub(now))
		}
	}
	for _, a := range t.Added() {
		if !s.cfg.NoDAD {
			go s.detectDuplicate(a)
		}
	}
}

// retransTimer is how long duplicate address detection waits for an answer: RetransTimer (RFC 4861
// section 10, RFC 4862 section 5.4).
const retransTimer = time.Second

// detectDuplicate is the goroutine of duplicate address detection for one IPv6 address (RFC 4862
// section 5.4), whose solicited-node group was joined. It sends a solicitation for the address, and
// has the dealer end the optimistic state if nobody has answered.
func (s *Stack) detectDuplicate(a netip.Addr) {
	group := wire.SolicitedNode(a)
	n := wire.Neighbor{Target: a}
	var b [32]byte
	s.sendND(wire.MulticastMAC(group), netip.IPv6Unspecified(), group,
		b[:n.Put(b[:], wire.ICMPv6NeighborSolicit)])
	timer := time.NewTimer(retransTimer)
	defer timer.Stop()
	select {
	case <-s.dealer.done:
		return
	case <-timer.C:
	}
	_ = s.claim(func() { // a stack that has ended has no addresses
		if !s.addresses.table.Unique(a) {
			return
		}
		s.publish()
		if a.IsLinkLocalUnicast() { // from now on reports have a source that routers take
			s.groups.mld.Announce(time.Now())
			s.runGroups()
		}
	})
}

// duplicate gives up an address that another station has. Dealer only.
func (s *Stack) duplicate(a netip.Addr) {
	s.stats.conflicts.Add(1)
	s.addresses.table.Duplicate(a)
	s.publish()
}
