package multicast

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/gonet/wire"
)

var start = time.Unix(1_000_000, 0)

func addr(a string) netip.Addr { return netip.MustParseAddr(a) }

func addrs(list string) (all []netip.Addr) {
	for _, a := range strings.Fields(list) {
		all = append(all, addr(a))
	}
	return all
}

var (
	any1   = Filter{Exclude: true}
	none   = Filter{}
	groupA = addr("239.1.0.1")
	groupB = addr("239.1.0.2")
)

func from(sources string) Filter   { return Filter{Sources: addrs(sources)} }
func except(sources string) Filter { return Filter{true, addrs(sources)} }

// script runs a host in time that the test sets. Random times are half of their limit.
type script struct {
	t   *testing.T
	h   *Host
	now time.Time
}

func newScript(t *testing.T, protocol int) *script {
	return &script{t, New(protocol, func(limit time.Duration) time.Duration { return limit / 2 }),
		start}
}

// sent lists the messages since the last call.
func (s *script) sent() (lines []string) {
	for _, m := range s.h.Messages() {
		at := s.now.Sub(start).Round(time.Millisecond)
		switch {
		case m.Leave:
			lines = append(lines, fmt.Sprintf("%v v%d leave %v", at, m.Version, m.Group))
		case len(m.Records) == 0:
			lines = append(lines, fmt.Sprintf("%v v%d %v", at, m.Version, m.Group))
		default:
			line := fmt.Sprintf("%v v%d", at, m.Version)
			for _, r := range m.Records {
				kind := [...]string{"", "is-in", "is-ex", "to-in", "to-ex", "allow",
					"block"}[r.Type]
				line += fmt.Sprintf(" %s %v", kind, r.Group)
				for _, a := range r.Sources {
					line += fmt.Sprintf(" (%v)", a)
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// expect compares what is sent from now on, for as long as a time, with lines.
func (s *script) expect(during time.Duration, want ...string) {
	s.t.Helper()
	got, end := s.sent(), s.now.Add(during)
	for {
		due, ok := s.h.Deadline()
		if !ok || due.After(end) {
			break
		}
		if due.After(s.now) {
			s.now = due
		}
		s.h.Expire(s.now)
		got = append(got, s.sent()...)
	}
	s.now = end
	if !slices.Equal(got, want) {
		s.t.Errorf("sent:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"),
			strings.Join(want, "\n\t"))
	}
}

func (s *script) set(group netip.Addr, f Filter) { s.h.Set(group, f, s.now) }

func (s *script) query(version int, response time.Duration, group string, sources string) {
	q := wire.GroupQuery{Version: version, MaxResponse: response,
		Group: netip.IPv4Unspecified(), Sources: addrs(sources)}
	if group != "" {
		q.Group = addr(group)
	}
	s.h.Query(&q, s.now)
}

// TestChanges follows the reports of joins, leaves and changed sources (RFC 3376 section 5.1): each
// at once, and once more within a second.
func TestChanges(t *testing.T) {
	s := newScript(t, IGMP)
	s.set(groupA, any1)
	s.expect(10*time.Second, "0s v3 to-ex 239.1.0.1", "500ms v3 to-ex 239.1.0.1")
	s.set(groupA, any1) // no change
	s.expect(10 * time.Second)
	s.set(groupA, except("10.0.0.1"))
	s.set(groupA, except("10.0.0.1 10.0.0.2")) // a second change before the first is done
	s.expect(10*time.Second, "20s v3 block 239.1.0.1 (10.0.0.1)",
		"20s v3 block 239.1.0.1 (10.0.0.1) (10.0.0.2)", "20.5s v3 block 239.1.0.1 (10.0.0.2)")
	s.set(groupA, from("10.0.0.2"))
	s.expect(100*time.Millisecond, "30s v3 to-in 239.1.0.1 (10.0.0.2)")
	s.set(groupA, from("10.0.0.3")) // while the change of the mode is being reported
	s.expect(10*time.Second, "30.1s v3 to-in 239.1.0.1 (10.0.0.3)",
		"30.5s v3 allow 239.1.0.1 (10.0.0.3) block 239.1.0.1 (10.0.0.2)")
	s.set(groupA, none)
	s.set(groupB, any1)
	s.expect(10*time.Second, "40.1s v3 block 239.1.0.1 (10.0.0.3)", "40.1s v3 to-ex 239.1.0.2",
		"40.6s v3 block 239.1.0.1 (10.0.0.3) to-ex 239.1.0.2")
	s.set(groupB, none)
	s.set(groupB, any1) // joined again before the leave is done
	s.set(groupB, none)
	s.expect(10*time.Second, "50.1s v3 to-in 239.1.0.2", "50.1s v3 to-ex 239.1.0.2",
		"50.1s v3 to-in 239.1.0.2", "50.6s v3 to-in 239.1.0.2")
	if n := s.h.Groups(); n != 0 {
		t.Errorf("%d groups are left", n)
	}
}

// TestAnswers follows the answers to queries (RFC 3376 section 5.2).
func TestAnswers(t *testing.T) {
	s := newScript(t, IGMP)
	s.set(groupA, any1)
	s.set(groupB, from("10.0.0.1 10.0.0.2"))
	s.set(allHosts, any1) // is never reported
	s.expect(time.Minute, "0s v3 to-ex 239.1.0.1", "0s v3 allow 239.1.0.2 (10.0.0.1) (10.0.0.2)",
		"500ms v3 to-ex 239.1.0.1 allow 239.1.0.2 (10.0.0.1) (10.0.0.2)")
	all := "v3 is-ex 239.1.0.1 is-in 239.1.0.2 (10.0.0.1) (10.0.0.2)"
	for range 3 { // one answer to all
		s.query(3, 10*time.Second, "", "")
	}
	s.expect(time.Minute, "1m5s "+all)
	s.query(3, time.Hour, "", "")
	s.query(3, 0, "", "") // comes too soon after the other
	s.expect(time.Second)
	s.query(3, 0, "", "") // brings the answer forward
	s.expect(time.Hour, "2m1.05s "+all)

	s.query(3, 2*time.Second, "239.1.0.2", "")
	s.query(3, 2*time.Second, "239.1.0.9", "") // is not ours
	s.query(3, 2*time.Second, "224.0.0.1", "")
	s.expect(time.Hour, "1h2m2s v3 is-in 239.1.0.2 (10.0.0.1) (10.0.0.2)")
	s.query(3, 2*time.Second, "239.1.0.2", "10.0.0.1 10.0.0.7")
	s.expect(500 * time.Millisecond)
	s.query(3, 2*time.Second, "239.1.0.2", "10.0.0.8 10.0.0.2") // for more sources
	s.query(3, 2*time.Second, "239.1.0.1", "10.0.0.8 10.0.0.2")
	s.expect(time.Hour, "2h2m2s v3 is-in 239.1.0.2 (10.0.0.1) (10.0.0.2)",
		"2h2m2.5s v3 is-in 239.1.0.1 (10.0.0.2) (10.0.0.8)")
	s.query(3, 2*time.Second, "239.1.0.2", "10.0.0.7") // of which it wants nothing
	s.expect(time.Hour)
	s.query(3, 2*time.Second, "239.1.0.2", "10.0.0.1")
	s.query(3, 2*time.Second, "239.1.0.2", "") // the whole group counts
	s.query(3, 2*time.Second, "239.1.0.2", "10.0.0.1")
	s.expect(time.Hour, "4h2m2.5s v3 is-in 239.1.0.2 (10.0.0.1) (10.0.0.2)")
	// More sources than are remembered: the whole group is reported.
	q := wire.GroupQuery{Version: 3, MaxResponse: time.Second, Group: groupB}
	for i := range maxAsked + 1 {
		q.Sources = append(q.Sources, netip.AddrFrom4([4]byte{10, 9, 0, byte(i)}))
	}
	s.h.Query(&q, s.now)
	s.expect(time.Hour, "5h2m2s v3 is-in 239.1.0.2 (10.0.0.1) (10.0.0.2)")
}

// TestRobustness takes over the robustness of the querier, within bounds.
func TestRobustness(t *testing.T) {
	s := newScript(t, IGMP)
	for _, c := range []struct{ says, reports int }{{4, 4}, {1, 2}, {0, 2}, {7, 7}} {
		q := wire.GroupQuery{Version: 3, Robustness: c.says, Group: groupB}
		s.h.Query(&q, s.now)
		s.set(groupA, any1)
		n := 0
		for end := s.now.Add(time.Minute); ; n++ {
			n += len(s.h.Messages()) - 1
			due, ok := s.h.Deadline()
			if !ok || due.After(end) {
				break
			}
			s.now = due
			s.h.Expire(due)
		}
		if n++; n != c.reports {
			t.Errorf("robustness %d: %d reports, want %d", c.says, n, c.reports)
		}
		s.set(groupA, none)
		s.h.Messages()
		for range 10 {
			s.now = s.now.Add(time.Second)
			s.h.Expire(s.now)
		}
		s.h.Messages()
	}
}

// TestOlderVersions speaks version 2, then 1, and then 3 again (RFC 3376 section 7.2, RFC 2236).
func TestOlderVersions(t *testing.T) {
	s := newScript(t, IGMP)
	s.set(groupA, any1)
	s.query(2, 10*time.Second, "", "") // the second report of the change is forgotten
	s.expect(time.Minute, "0s v3 to-ex 239.1.0.1", "5s v2 239.1.0.1")
	s.set(groupB, from("10.0.0.1")) // sources cannot be told
	s.expect(time.Minute, "1m0s v2 239.1.0.2", "1m5s v2 239.1.0.2")
	s.query(3, 10*time.Second, "239.1.0.2", "10.0.0.7") // another router's: answered in version 2
	s.expect(time.Minute, "2m5s v2 239.1.0.2")
	s.query(2, 10*time.Second, "", "")
	s.h.Reported(groupA) // another host's report is enough
	s.h.Reported(addr("239.1.0.9"))
	s.expect(time.Minute, "3m5s v2 239.1.0.2")
	s.set(groupA, none)
	s.set(groupB, none)
	s.set(groupA, any1)
	s.expect(time.Minute, "4m0s v2 leave 239.1.0.1", "4m0s v2 leave 239.1.0.2",
		"4m0s v2 239.1.0.1", "4m5s v2 239.1.0.1")
	s.query(1, 10*time.Second, "", "")
	s.expect(time.Minute, "5m5s v1 239.1.0.1")
	s.set(groupA, none) // version 1 does not tell
	s.expect(time.Minute)
	s.set(groupA, any1)
	// 2 * 125 s + 10 s after the last query of version 1
	s.expect(time.Hour, "7m0s v1 239.1.0.1", "7m5s v1 239.1.0.1")
	s.query(3, 10*time.Second, "", "")
	s.expect(time.Minute, "1h7m5s v3 is-ex 239.1.0.1")
	s.query(1, 10*time.Second, "", "")
	s.set(groupA, none)
	s.query(2, 10*time.Second, "", "")
	s.expect(time.Hour)
	if n := s.h.Groups(); n != 0 {
		t.Errorf("%d groups are left", n)
	}
	m := newScript(t, MLD)
	group := addr("ff0e::1")
	m.set(group, any1)
	m.query(1, time.Second, "ff0e::1", "")
	m.expect(time.Minute, "0s v2 to-ex ff0e::1", "500ms v1 ff0e::1")
	m.set(group, none)
	m.set(addr("ff02::1"), any1)
	m.set(addr("ff11::5"), any1) // stays within the host
	m.query(1, time.Second, "ff11::5", "")
	m.expect(time.Minute, "1m0s v1 leave ff0e::1")
}

// TestTheEndLeavesAllGroups leaves all groups, in each version.
func TestTheEndLeavesAllGroups(t *testing.T) {
	s := newScript(t, IGMP)
	s.set(groupA, any1) // its second report is still to come
	s.set(groupB, from("10.0.0.1"))
	s.set(allHosts, any1)
	s.set(addr("239.1.0.3"), any1)
	s.set(addr("239.1.0.3"), none)
	s.h.Messages()
	s.h.LeaveAll(s.now)
	s.expect(time.Hour, "0s v3 to-in 239.1.0.1 block 239.1.0.2 (10.0.0.1)")
	s.query(2, 0, "", "")
	s.set(groupA, any1)
	s.h.LeaveAll(s.now)
	s.expect(time.Hour, "1h0m0s v2 239.1.0.1", "1h0m0s v2 leave 239.1.0.1")
	if n := s.h.Groups(); n != 0 {
		t.Errorf("%d groups are left", n)
	}
}

// TestAnnounce reports all groups again, in each version.
func TestAnnounce(t *testing.T) {
	s := newScript(t, MLD)
	s.set(addr("ff0e::1"), any1)
	s.set(addr("ff0e::2"), from("2001:db8::1"))
	s.set(addr("ff02::1"), any1)
	s.expect(time.Minute, "0s v2 to-ex ff0e::1", "0s v2 allow ff0e::2 (2001:db8::1)",
		"500ms v2 to-ex ff0e::1 allow ff0e::2 (2001:db8::1)")
	s.h.Announce(s.now)
	s.expect(time.Minute, "1m0s v2 to-ex ff0e::1 to-in ff0e::2 (2001:db8::1)")
	s.query(1, 0, "ff0e::9", "")
	s.h.Announce(s.now)
	s.expect(time.Minute, "2m0s v1 ff0e::1", "2m0s v1 ff0e::2")
}

func TestFilters(t *testing.T) {
	for _, c := range []struct {
		all  []Filter
		want Filter
	}{
		{nil, none},
		{[]Filter{from("10.0.0.2"), from("10.0.0.1 10.0.0.2")}, from("10.0.0.1 10.0.0.2")},
		{[]Filter{any1, except("10.0.0.1")}, any1},
		{[]Filter{except("10.0.0.1 10.0.0.2 10.0.0.4"), from("10.0.0.2 10.0.0.3"),
			except("10.0.0.1 10.0.0.2 10.0.0.3")}, except("10.0.0.1")}, // of RFC 3376 section 3.2
	} {
		got := Merge(c.all...)
		if got.Exclude != c.want.Exclude || !slices.Equal(got.Sources, c.want.Sources) {
			t.Errorf("%v: %v, want %v", c.all, got, c.want)
		}
	}
	f := from("10.0.0.1").With(addr("10.0.0.3")).With(addr("10.0.0.2")).Without(addr("10.0.0.1"))
	if !slices.Equal(f.Sources, addrs("10.0.0.2 10.0.0.3")) || !f.Accepts(addr("10.0.0.3")) ||
		f.Accepts(addr("10.0.0.1")) || !except("10.0.0.3").Accepts(addr("10.0.0.1")) ||
		except("10.0.0.3").Accepts(addr("10.0.0.3")) || !any1.Accepts(addr("10.0.0.1")) {
		t.Errorf("%v", f)
	}
}

// TestSplit divides records among messages: none is too long, and what they tell stays the same.
func TestSplit(t *testing.T) {
	many := func(n int) (all []netip.Addr) {
		for i := range n {
			all = append(all, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
		}
		return all
	}
	records := []wire.GroupRecord{{Type: wire.IsInclude, Group: groupA, Sources: many(100)},
		{Type: wire.IsExclude, Group: groupB, Sources: many(100)}}
	for i := range 50 {
		records = append(records, wire.GroupRecord{Type: wire.IsExclude,
			Group: netip.AddrFrom4([4]byte{239, 2, 0, byte(i)})})
	}
	for _, room := range []int{36, 100, 576, 1476} {
		sources, groups := map[netip.Addr]int{}, map[netip.Addr]bool{}
		for _, m := range Split(records, room) {
			if n := wire.GroupReportLen(m); n > room || len(m) == 0 {
				t.Errorf("a message of %d records and %d bytes in %d", len(m), n, room)
			}
			for _, r := range m {
				groups[r.Group] = true
				sources[r.Group] += len(r.Sources)
			}
		}
		if len(groups) != 52 || sources[groupA] != 100 || sources[groupB] == 0 ||
			sources[groupB] > 100 {
			t.Errorf("in %d bytes: %d groups, %d and %d sources", room, len(groups),
				sources[groupA], sources[groupB])
		}
	}
}

// TestAttackQueries floods a host with queries of each kind: what it sends and remembers stays
// bounded.
func TestAttackQueries(t *testing.T) {
	s := newScript(t, IGMP)
	const groups = 100
	for i := range groups {
		s.set(netip.AddrFrom4([4]byte{239, 1, 0, byte(i)}), any1)
	}
	s.expectAny(time.Minute)
	var sent int
	const seconds = 10
	for i := range seconds * 10_000 {
		q := wire.GroupQuery{Version: 3, Group: netip.IPv4Unspecified(),
			MaxResponse: []time.Duration{0, time.Hour, time.Second}[i%3], Robustness: i % 8}
		if i%2 == 1 { // for sources, each time others
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], uint32(i))
			q.Group = netip.AddrFrom4([4]byte{239, 1, 0, byte(i % groups)})
			q.Sources = []netip.Addr{netip.AddrFrom4(b)}
		}
		s.h.Query(&q, s.now)
		s.now = s.now.Add(100 * time.Microsecond)
		if due, ok := s.h.Deadline(); ok && !due.After(s.now) {
			s.h.Expire(s.now)
		}
		sent += len(s.h.Messages())
		if g := s.h.groups[q.Group]; g != nil && len(g.asked) > maxAsked {
			t.Fatalf("%d sources are remembered", len(g.asked))
		}
	}
	// Each group answers at most once in half of minResponse, and so do all together.
	most := (groups + 1) * seconds * int(time.Second/minResponse) * 2
	if sent == 0 || sent > most {
		t.Errorf("%d reports in %d s, want at most %d", sent, seconds, most)
	}
}

// expectAny lets a time pass.
func (s *script) expectAny(during time.Duration) {
	for end := s.now.Add(during); ; {
		due, ok := s.h.Deadline()
		if !ok || due.After(end) {
			s.now = end
			s.h.Messages()
			return
		}
		s.now = due
		s.h.Expire(due)
	}
}

// FuzzHost runs a sequence of events, each of four bytes: what is due is done by Expire, and in the
// end nothing is left of groups that were left.
func FuzzHost(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 2, 0, 3, 9, 0, 1, 1, 2, 2, 1, 3, 3, 4, 0, 0, 50, 3, 1, 0, 0, 1, 1, 0,
		0})
	f.Add([]byte{0, 1, 0, 0, 2, 0, 2, 9, 0, 2, 1, 2, 4, 0, 0, 90, 2, 0, 1, 3, 5, 0, 0, 0, 4, 0, 9,
		9})
	f.Fuzz(func(t *testing.T, events []byte) {
		h, now := New(IGMP, func(limit time.Duration) time.Duration { return limit / 2 }), start
		group := func(x byte) netip.Addr { return netip.AddrFrom4([4]byte{239, 0, 0, x % 8}) }
		sources := func(x byte) (all []netip.Addr) {
			for i := range x % 8 {
				all = append(all, netip.AddrFrom4([4]byte{10, 0, 0, i + x/8}))
			}
			return all
		}
		for ; len(events) >= 4; events = events[4:] {
			x, y, z := events[1], events[2], events[3]
			switch events[0] % 6 {
			case 0:
				h.Set(group(x), Filter{y%2 == 0, sources(z)}, now)
			case 1:
				h.Set(group(x), none, now)
			case 2:
				q := wire.GroupQuery{Version: 1 + int(y%3), Robustness: int(y >> 5),
					MaxResponse: time.Duration(z) * time.Second, Group: netip.IPv4Unspecified()}
				if x > 0 {
					q.Group, q.Sources = group(x), sources(y)
				}
				h.Query(&q, now)
			case 3:
				h.Reported(group(x))
			case 4:
				now = now.Add(time.Duration(y)*time.Minute + time.Duration(z)*time.Second)
				h.Expire(now)
				if due, ok := h.Deadline(); ok && !due.After(now) {
					h.Expire(due) // a report may be due at once
				}
			case 5:
				h.Announce(now)
			}
			for _, m := range h.Messages() {
				if m.Version < h.newest && len(m.Records) > 0 || m.Version == h.newest && m.Leave {
					t.Fatalf("%+v", m)
				}
				for _, r := range m.Records {
					if r.Group == allHosts {
						t.Fatalf("%+v", m)
					}
				}
			}
			if h.Groups() > 8 {
				t.Fatalf("%d groups", h.Groups())
			}
		}
		for x := range byte(8) {
			h.Set(group(x), none, now)
		}
		for range 100 {
			due, ok := h.Deadline()
			if !ok {
				break
			}
			now = due
			h.Expire(now)
		}
		if due, ok := h.Deadline(); ok || h.Groups() != 0 {
			t.Fatalf("%d groups are left, and something to do at %v", h.Groups(), due)
		}
	})
}
