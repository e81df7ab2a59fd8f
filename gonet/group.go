package gonet

import (
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"interleave/gonet/multicast"
	"interleave/gonet/wire"
)

// groups has the multicast groups that the stack is in. Dealer only, except for joined.
type groups struct {
	joined    atomic.Pointer[map[netip.Addr]bool] // those that sockets have joined
	igmp, mld *multicast.Host
	members   map[netip.Addr]map[*PacketConn]multicast.Filter
	sockets   map[*PacketConn]bool // those of ListenMulticastUDP; several may have one port
	timer     *time.Timer
	due       time.Time // when the timer goes off; zero: it does not run
}

// maxGroups bounds the groups of a stack, of both families. A guess: the answer to a general query
// takes a few packets.
const maxGroups = 1024

// startGroups prepares the protocols of both families. It runs before the dealer does.
func (s *Stack) startGroups() {
	random := func(limit time.Duration) time.Duration {
		return time.Duration(s.random.Uint64() % uint64(limit+1))
	}
	g := &s.groups
	g.igmp, g.mld = multicast.New(multicast.IGMP, random), multicast.New(multicast.MLD, random)
	g.members = map[netip.Addr]map[*PacketConn]multicast.Filter{}
	g.sockets = map[*PacketConn]bool{}
	g.joined.Store(&map[netip.Addr]bool{})
}

// hostOf returns the protocol of a group's family.
func (g *groups) hostOf(group netip.Addr) *multicast.Host {
	if group.Is4() {
		return g.igmp
	}
	return g.mld
}

// hasJoined tells whether a socket has joined a group. Any goroutine.
func (g *groups) hasJoined(group netip.Addr) bool { return (*g.joined.Load())[group] }

// setFilter sets what a socket wants of a group. A filter that wants nothing leaves it. It fails if
// the stack is in too many groups. Dealer only.
func (s *Stack) setFilter(p *PacketConn, group netip.Addr, f multicast.Filter) error {
	members := s.groups.members[group]
	switch {
	case !f.IsNone() && members == nil:
		if s.groups.igmp.Groups()+s.groups.mld.Groups() >= maxGroups {
			return errNoBuffers
		}
		s.groups.members[group] = map[*PacketConn]multicast.Filter{p: f}
	case !f.IsNone():
		members[p] = f
	default:
		if delete(members, p); len(members) == 0 {
			delete(s.groups.members, group)
		}
	}
	if joined := s.groups.members[group] != nil; joined != s.groups.hasJoined(group) {
		all := maps.Clone(*s.groups.joined.Load())
		if all[group] = true; !joined {
			delete(all, group)
		}
		s.groups.joined.Store(&all)
	}
	s.updateGroup(group)
	s.runGroups()
	return nil
}

// updateGroup tells the protocol what all sockets and the stack itself want of a group. Dealer
// only.
func (s *Stack) updateGroup(group netip.Addr) {
	wanted := slices.Collect(maps.Values(s.groups.members[group]))
	if slices.Contains(s.addresses.current().groups, group) { // for neighbour discovery
		wanted = append(wanted, multicast.Filter{Exclude: true})
	}
	s.groups.hostOf(group).Set(group, multicast.Merge(wanted...), time.Now())
}

// leaveGroups takes a socket that is closed out of its groups. Dealer only.
func (s *Stack) leaveGroups(p *PacketConn) {
	delete(s.groups.sockets, p)
	for group, members := range s.groups.members {
		if _, ok := members[p]; ok {
			_ = s.setFilter(p, group, multicast.Filter{}) // only a join may fail
		}
	}
}

// leaveAllGroups tells routers and switches that the stack ends, and needs no datagrams any more.
// Dealer only.
func (s *Stack) leaveAllGroups() {
	now := time.Now()
	s.groups.igmp.LeaveAll(now)
	s.groups.mld.LeaveAll(now)
	s.runGroups()
}

// runGroups sends what the protocols have to send, and sets the timer for what they have to do
// next. Dealer only.
func (s *Stack) runGroups() {
	g := &s.groups
	for _, h := range []*multicast.Host{g.igmp, g.mld} {
		for _, m := range h.Messages() {
			if h == g.igmp {
				s.sendIGMP(&m)
			} else {
				s.sendMLD(&m)
			}
		}
		due, ok := h.Deadline()
		if !ok || !g.due.IsZero() && !due.Before(g.due) {
			continue
		}
		g.due = due
		if wait := max(time.Until(due), 0); g.timer == nil {
			// a stack that has ended is in no group
			g.timer = time.AfterFunc(wait, func() { _ = s.post(s.expireGroups) })
		} else {
			g.timer.Reset(wait)
		}
	}
}

// expireGroups does what is due. Dealer only.
func (s *Stack) expireGroups() {
	now := time.Now()
	s.groups.due = time.Time{}
	s.groups.igmp.Expire(now)
	s.groups.mld.Expire(now)
	s.runGroups()
}

// queryGroups processes a query for groups. Dealer only.
func (s *Stack) queryGroups(h *multicast.Host, q *wire.GroupQuery) {
	h.Query(q, time.Now())
	s.runGroups()
}

// isQueryFor tells whether a query may have been sent to the packet's destination: the hosts of the
// link for all groups, or else the group itself, or this host alone (RFC 3376 sections 4.1.12 and
// 9.1).
func isQueryFor(p *packet, q *wire.GroupQuery, all netip.Addr) bool {
	switch {
	case !p.dst.IsMulticast():
		return !p.group // it is no broadcast
	case q.Group.IsUnspecified():
		return p.dst == all
	}
	return p.dst == q.Group
}

// groupReports writes the report or the reports that a message needs, with their checksums to be
// filled in, of at most room bytes each.
func groupReports(m *multicast.Message, kind uint8, room int) (reports [][]byte) {
	if len(m.Records) == 0 {
		b := make([]byte, wire.GroupMessageLen(m.Group))
		wire.PutGroupMessage(b, kind, m.Group)
		return [][]byte{b}
	}
	for _, records := range multicast.Split(m.Records, room) {
		b := make([]byte, wire.GroupReportLen(records))
		wire.PutGroupReport(b, kind, records)
		reports = append(reports, b)
	}
	return reports
}

// deliverToGroup gives copies of a datagram to the sockets that have joined its group and accept
// its source. The groups that every host is in count as joined by all sockets of the port. It
// returns false if no socket takes it. Dealer only.
func (s *Stack) deliverToGroup(d datagram, to netip.AddrPort) (taken bool) {
	members := s.groups.members[to.Addr()]
	for p, f := range members {
		if p.receivesGroup(to) && f.Accepts(d.from.Addr()) {
			taken = true
			p.deliver(d.clone())
		}
	}
	if to.Addr() != allHosts && to.Addr() != allNodes &&
		!slices.Contains(s.addresses.current().groups, to.Addr()) {
		return taken
	}
	p := s.socketFor(to, d.from)
	if _, member := members[p]; p == nil || member {
		return taken
	}
	p.deliver(d.clone())
	return true
}
