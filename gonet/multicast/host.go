// Package multicast is the host's side of IGMP and MLD: how routers, and switches that snoop, learn
// which multicast groups a host is in (IGMP: RFC 3376, 2236 and 1112; MLD: RFC 3810 and 2710).
//
// A Host is the state of one protocol on one link. It is a state machine without I/O and without a
// clock: it is told of joins, of queries and of the time, and returns messages that are to be sent.
// The newest versions, IGMPv3 and MLDv2, are alike. An older version is spoken while a querier is
// there that speaks it.
package multicast

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/wire"
)

// The newest versions of the protocols.
const (
	IGMP = 3
	MLD  = 2
)

// The defaults of RFC 3376 section 8 and RFC 3810 section 9. changeInterval and joinInterval are
// the Unsolicited Report Intervals of the newest and of the older versions.
const (
	defaultRobustness = 2
	maxRobustness     = 7 // three bits of a query
	queryInterval     = 125 * time.Second
	changeInterval    = time.Second
	joinInterval      = 10 * time.Second
)

// minResponse bounds what queries can make a host send: answers are spread over at least this time,
// and a general query so soon after another is ignored. A guess: queriers wait for a second or
// more.
const minResponse = 100 * time.Millisecond

// maxAsked bounds the sources that are remembered of queries for sources of one group. Beyond it
// the whole group is reported, which tells more than was asked for. A guess.
const maxAsked = 64

// Message is a message that is to be sent.
type Message struct {
	Version int
	Records []wire.GroupRecord // of the newest version; of older ones there are none
	Group   netip.Addr         // of older versions: the group that is reported
	Leave   bool               // the group is left
}

// Host is the state of a host. Its methods return at once; what is to be sent is in Messages.
type Host struct {
	newest int // version
	random func(limit time.Duration) time.Duration

	version    int          // that is spoken
	older      [2]time.Time // until when queriers of the version newest-1 and newest-2 are there
	robustness int
	groups     map[netip.Addr]*group
	generalAt  time.Time // when the last general query was taken
	answerAt   time.Time // when a general query is answered; zero: never
	changesAt  time.Time // when changes are reported again; zero: never
	next       time.Time // no later than any of the times at which something is to be done
	out        []Message
}

// group is the state of a group.
type group struct {
	filter Filter
	// answerAt is when the group is reported: because of a query for it, or in older versions
	// because of any query, or once more after a join. Zero: never.
	answerAt time.Time
	asked    []netip.Addr // of which sources a query has asked; nil: of the whole group
	// How often the change of the filter's mode, and those of sources, are still to be reported.
	modeLeft    int
	sourcesLeft map[netip.Addr]int
	joinLeft    int // how often a join is still to be reported, in older versions
}

// New returns the state of a protocol: IGMP or MLD. random returns a time between 0 and a limit.
func New(protocol int, random func(limit time.Duration) time.Duration) *Host {
	return &Host{newest: protocol, version: protocol, random: random,
		robustness: defaultRobustness, groups: map[netip.Addr]*group{}}
}

// Groups returns how many groups the host is in, or has left and must still say so.
func (h *Host) Groups() int { return len(h.groups) }

// Version returns the version that is spoken.
func (h *Host) Version() int { return h.version }

// Messages returns what is to be sent since the last call.
func (h *Host) Messages() []Message {
	out := h.out
	h.out = nil
	return out
}

// Deadline returns when Expire must be called. It returns false if nothing is to be done.
func (h *Host) Deadline() (time.Time, bool) { return h.next, !h.next.IsZero() }

// schedule has Expire called at a time.
func (h *Host) schedule(at time.Time) {
	if h.next.IsZero() || at.Before(h.next) {
		h.next = at
	}
}

// isReported tells whether a group is reported: those that never leave a host or a link's hosts
// alone are not (RFC 3376 section 6, RFC 3810 section 6).
func isReported(a netip.Addr) bool {
	if a.Is4() {
		return a != allHosts
	}
	scope := a.As16()[1] & 0xf
	return a != allNodes && scope > scopeInterface
}

var (
	allHosts = netip.AddrFrom4([4]byte{224, 0, 0, 1})
	allNodes = netip.AddrFrom16([16]byte{0xff, 2, 15: 1})
)

// scopeInterface is the scope of groups within a host (RFC 4291 section 2.7). 0 is reserved.
const scopeInterface = 1

// Set sets the filter of a group: joins it, changes its sources, or leaves it with a filter that
// wants none.
func (h *Host) Set(a netip.Addr, f Filter, now time.Time) {
	g := h.groups[a]
	if g == nil {
		if f.IsNone() {
			return
		}
		g = &group{sourcesLeft: map[netip.Addr]int{}}
		h.groups[a] = g
	}
	was := g.filter
	g.filter = f
	switch {
	case !isReported(a):
		if f.IsNone() {
			delete(h.groups, a)
		}
	case h.version < h.newest:
		h.setOlder(a, g, was, now)
	case g.change(was, h.robustness):
		h.reportChanges([]netip.Addr{a}, now)
	}
}

// change notes the difference to the former filter, and tells whether there is one.
func (g *group) change(was Filter, robustness int) bool {
	if was.Exclude != g.filter.Exclude {
		g.modeLeft = robustness
		clear(g.sourcesLeft)
		return true
	}
	changed := slices.Concat(difference(was.Sources, g.filter.Sources),
		difference(g.filter.Sources, was.Sources))
	for _, source := range changed {
		g.sourcesLeft[source] = robustness
	}
	return len(changed) > 0
}

// changes returns the records that report the changes of a group once more (RFC 3376 section 5.1).
func (g *group) changes(a netip.Addr) (records []wire.GroupRecord) {
	allow := wire.GroupRecord{Type: wire.AllowSources, Group: a}
	block := wire.GroupRecord{Type: wire.BlockSources, Group: a}
	for _, source := range slices.SortedFunc(maps.Keys(g.sourcesLeft), netip.Addr.Compare) {
		if g.filter.Accepts(source) {
			allow.Sources = append(allow.Sources, source)
		} else {
			block.Sources = append(block.Sources, source)
		}
		if g.sourcesLeft[source]--; g.sourcesLeft[source] == 0 {
			delete(g.sourcesLeft, source)
		}
	}
	if g.modeLeft > 0 { // such a record has all sources, those too that have changed since
		g.modeLeft--
		mode := wire.GroupRecord{Type: wire.ToInclude, Group: a, Sources: g.filter.Sources}
		if g.filter.Exclude {
			mode.Type = wire.ToExclude
		}
		return []wire.GroupRecord{mode}
	}
	for _, r := range []wire.GroupRecord{allow, block} {
		if len(r.Sources) > 0 {
			records = append(records, r)
		}
	}
	return records
}

// settled tells whether all changes of a group have been reported as often as they are to be.
func (g *group) settled() bool { return g.modeLeft == 0 && len(g.sourcesLeft) == 0 }

// reportChanges reports the changes of groups, and forgets those that were left and need no further
// report.
func (h *Host) reportChanges(groups []netip.Addr, now time.Time) {
	var records []wire.GroupRecord
	for _, a := range groups {
		g := h.groups[a]
		records = append(records, g.changes(a)...)
		switch {
		case !g.settled():
			if h.changesAt.IsZero() {
				h.changesAt = now.Add(h.random(changeInterval))
				h.schedule(h.changesAt)
			}
		case g.filter.IsNone():
			delete(h.groups, a)
		}
	}
	h.report(records)
}

// report sends records, if there are any.
func (h *Host) report(records []wire.GroupRecord) {
	if len(records) > 0 {
		h.out = append(h.out, Message{Version: h.newest, Records: records})
	}
}

// sorted returns the groups in order.
func (h *Host) sorted() []netip.Addr {
	return slices.SortedFunc(maps.Keys(h.groups), netip.Addr.Compare)
}

// LeaveAll leaves all groups and says so once, because the host ends.
func (h *Host) LeaveAll(now time.Time) {
	var left []netip.Addr
	for _, a := range h.sorted() {
		g := h.groups[a]
		was := g.filter
		g.filter = Filter{}
		switch {
		case !isReported(a) || was.IsNone():
			delete(h.groups, a)
		case h.version < h.newest:
			h.setOlder(a, g, was, now)
		default:
			clear(g.sourcesLeft)
			g.modeLeft = 0
			g.change(was, 1)
			left = append(left, a)
		}
	}
	h.reportChanges(left, now)
}

// Announce reports all groups as if they had just been joined: after the host has got the address
// from which its reports must come (RFC 3590 section 4).
func (h *Host) Announce(now time.Time) {
	for a, g := range h.groups {
		switch {
		case !isReported(a) || g.filter.IsNone():
		case h.version < h.newest:
			g.answerAt = now
			h.schedule(now)
		default:
			g.modeLeft = max(g.modeLeft, 1)
			h.changesAt = now
			h.schedule(now)
		}
	}
}
