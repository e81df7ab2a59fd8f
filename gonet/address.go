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
	return address.New(address.Config{Secret: s.cfg.Secret, MAC: s.mac, NoIPv6: s.cfg.NoIPv6,
		Optimistic: !s.cfg.NoDAD, Routes: s.cfg.Routes, MTU: s.features.MTU,
		HopLimit: defaultTTL})
}

// publish replaces the snapshot by one of the table, without what has expired. It sets a timer for
// the next expiry, reports groups that were left, and has new addresses checked for duplicates.
// Dealer only.
func (s *Stack) publish() {
	t, now := s.table, time.Now()
	t.Expire(now)
	n := &network{mtu6: t.MTU(), hopLimit: t.HopLimit(), dns: t.DNS(), routes: t.Routes()}
	for _, a := range t.Addresses() {
		n.addrs = append(n.addrs, ip.Address{Prefix: a.Prefix, Deprecated: a.Deprecated(now)})
		if a.Addr().Is4() && a.Bits() < 31 {
			n.broadcasts = append(n.broadcasts, broadcastOf(a.Prefix))
		}
		// nobody solicits neighbours on an L3 link
		if group := wire.SolicitedNode(a.Addr()); a.Addr().Is6() && !s.features.L3 &&
			!slices.Contains(n.groups, group) {
			n.groups = append(n.groups, group)
		}
	}
	if old := s.net.Swap(n); old != nil {
		left := slices.DeleteFunc(slices.Clone(old.groups),
			func(g netip.Addr) bool { return slices.Contains(n.groups, g) })
		s.sendMLDReport(wire.MLDToInclude, left)
	}
	if next, ok := t.Deadline(now); ok {
		if s.tableTimer == nil {
			// a stack that has ended has no addresses
			s.tableTimer = time.AfterFunc(next.Sub(now), func() { _ = s.post(s.publish) })
		} else {
			s.tableTimer.Reset(next.Sub(now))
		}
	}
	for _, a := range t.Added() {
		if !s.features.L3 {
			go s.probe(a)
		}
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
		if s.table.Unique(a) {
			s.publish()
		}
	})
	s.sendMLDReport(wire.MLDToExclude, []netip.Addr{group})
}

// duplicate gives up an address that another station has. Dealer only.
func (s *Stack) duplicate(a netip.Addr) {
	s.stats.conflicts.Add(1)
	s.table.Duplicate(a)
	s.publish()
}
