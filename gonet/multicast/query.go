package multicast

import (
	"net/netip"
	"time"

	"interleave/gonet/wire"
)

// Query processes a router's query. The answer follows after a random part of the time that the
// query leaves for it, together with those to other queries (RFC 3376 section 5.2).
func (h *Host) Query(q *wire.GroupQuery, now time.Time) {
	general := q.Group.IsUnspecified()
	if general {
		if !h.generalAt.IsZero() && now.Sub(h.generalAt) < minResponse &&
			q.Version >= h.version {
			return
		}
		h.generalAt = now
	}
	h.noteQuerier(q, now)
	at := now.Add(h.random(max(q.MaxResponse, minResponse)))
	switch {
	case general && h.version == h.newest:
		h.answerAt = earlier(h.answerAt, at)
		h.schedule(h.answerAt)
	case general:
		for a, g := range h.groups {
			if isReported(a) {
				g.answerAt = earlier(g.answerAt,
					now.Add(h.random(max(q.MaxResponse, minResponse))))
				h.schedule(g.answerAt)
			}
		}
	default:
		if g := h.groups[q.Group]; g != nil && isReported(q.Group) {
			g.ask(q.Sources, at)
			h.schedule(g.answerAt)
		}
	}
}

// earlier returns the earlier of two times, the first of which may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// ask notes that a query for the group, or for sources of it, is to be answered.
func (g *group) ask(sources []netip.Addr, at time.Time) {
	if whole := !g.answerAt.IsZero() && g.asked == nil; !whole && len(sources) > 0 {
		g.asked = union(g.asked, sources)
	} else {
		g.asked = nil
	}
	if len(g.asked) > maxAsked {
		g.asked = nil
	}
	g.answerAt = earlier(g.answerAt, at)
}

// noteQuerier takes over the robustness of a querier, and its version if it is older (RFC 3376
// section 7.2.1, RFC 3810 section 8.2.1).
func (h *Host) noteQuerier(q *wire.GroupQuery, now time.Time) {
	if q.Version == h.newest {
		// one report of a change would be lost too easily (RFC 3376 section 8.1)
		h.robustness = min(max(q.Robustness, defaultRobustness), maxRobustness)
		return
	}
	age := h.newest - 1 - q.Version
	h.older[age] = now.Add(time.Duration(h.robustness)*queryInterval + q.MaxResponse)
	h.schedule(h.older[age])
	h.chooseVersion(now)
}

// chooseVersion takes the oldest version of which a querier is there. When that changes, all that
// was to be sent is forgotten.
func (h *Host) chooseVersion(now time.Time) {
	version := h.newest
	for age, until := range h.older {
		if now.Before(until) {
			version = h.newest - 1 - age
		}
	}
	if version == h.version {
		return
	}
	h.version = version
	h.answerAt, h.changesAt = time.Time{}, time.Time{}
	for a, g := range h.groups {
		if g.filter.IsNone() {
			delete(h.groups, a)
			continue
		}
		clear(g.sourcesLeft)
		*g = group{filter: g.filter, sourcesLeft: g.sourcesLeft}
	}
}

// setOlder reports a join or a leave in an older version, which knows no sources.
func (h *Host) setOlder(a netip.Addr, g *group, was Filter, now time.Time) {
	switch {
	case g.filter.IsNone():
		delete(h.groups, a)
		// IGMPv1 has no such message. It may be left out if another host has reported the group
		// last (RFC 2236 section 3). But then a switch that snoops would not see that nobody is
		// left at its port.
		if h.version == h.newest-1 {
			h.out = append(h.out, Message{Version: h.version, Group: a, Leave: true})
		}
	case was.IsNone():
		g.joinLeft = h.robustness
		h.reportOlder(a, g, now)
	}
}

// reportOlder reports a group in an older version.
func (h *Host) reportOlder(a netip.Addr, g *group, now time.Time) {
	g.answerAt, g.asked = time.Time{}, nil
	h.out = append(h.out, Message{Version: h.version, Group: a})
	if g.joinLeft > 0 {
		g.joinLeft--
	}
	if g.joinLeft > 0 {
		g.answerAt = now.Add(h.random(joinInterval))
		h.schedule(g.answerAt)
	}
}

// Reported processes another host's report of an older version: one is enough for the router.
func (h *Host) Reported(a netip.Addr) {
	g := h.groups[a]
	if g == nil || h.version == h.newest || g.answerAt.IsZero() {
		return
	}
	g.answerAt, g.asked, g.joinLeft = time.Time{}, nil, 0
}

// Expire does what is due.
func (h *Host) Expire(now time.Time) {
	h.next = time.Time{}
	h.chooseVersion(now)
	var answers []wire.GroupRecord
	general := h.due(&h.answerAt, now)
	again := h.due(&h.changesAt, now)
	var changed []netip.Addr
	for _, a := range h.sorted() {
		g := h.groups[a]
		asked := h.due(&g.answerAt, now)
		switch {
		case asked && h.version < h.newest:
			h.reportOlder(a, g, now)
			continue
		case (asked || general) && isReported(a):
			answers = append(answers, g.answer(a, general)...)
		}
		if asked {
			g.asked = nil
		}
		if again && !g.settled() {
			changed = append(changed, a)
		}
	}
	h.report(answers)
	h.reportChanges(changed, now)
	for _, until := range h.older {
		if until.After(now) {
			h.schedule(until)
		}
	}
}

// due tells whether a time has come, and then clears it. Otherwise Expire is called again then.
func (h *Host) due(at *time.Time, now time.Time) bool {
	switch {
	case at.IsZero():
		return false
	case at.After(now):
		h.schedule(*at)
		return false
	}
	*at = time.Time{}
	return true
}

// answer returns the record that answers a query: the whole state of the group, or that of the
// sources that were asked for (RFC 3376 section 5.2).
func (g *group) answer(a netip.Addr, whole bool) []wire.GroupRecord {
	r := wire.GroupRecord{Type: wire.IsInclude, Group: a, Sources: g.filter.Sources}
	switch {
	case !whole && g.asked != nil:
		r.Sources = nil
		for _, source := range g.asked {
			if g.filter.Accepts(source) {
				r.Sources = append(r.Sources, source)
			}
		}
	case g.filter.Exclude:
		r.Type = wire.IsExclude
		return []wire.GroupRecord{r}
	}
	if len(r.Sources) == 0 {
		return nil
	}
	return []wire.GroupRecord{r}
}
