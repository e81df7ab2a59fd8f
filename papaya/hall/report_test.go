package hall

import (
	"fmt"
	"strings"
	"testing"
)

// reporting is a hall with users who report by its entries.
type reporting struct {
	hall *Hall
	n    uint64
}

func newReporting() *reporting { return &reporting{hall: New(Config{Server: "a"}, 0)} }

// say applies an entry of a user at a time.
func (r *reporting) say(u *user, now int64, data string) {
	r.n++
	r.hall.Begin(Batch{Server: "a", Run: 1, Number: r.n, Time: now})
	r.hall.applyReport(&session{user: u}, []byte(data))
}

func (r *reporting) report(u *user, now int64, why string) {
	r.say(u, now, string(reportData(report{of: "eve", target: "-", why: why})))
}

// TestReportsAreBounded: neither one user nor all together fill the memory. The report that was
// closed first makes room for another one.
func TestReportsAreBounded(t *testing.T) {
	r, olga := newReporting(), &user{nick: "olga", account: "olga", role: Operator}
	ann := &user{nick: "ann", account: "ann"}
	for n := range maxOwnOpen + 1 {
		r.report(ann, 1000, fmt.Sprint(n))
	}
	if n := r.hall.OpenReports(); n != maxOwnOpen {
		t.Errorf("%d reports of one user are open", n)
	}
	r.say(olga, 1000, "-\n1\n")
	r.report(ann, 1000, "another one")
	if n := r.hall.OpenReports(); n != maxOwnOpen {
		t.Errorf("after one was closed, %d are open", n)
	}
	for n := 0; len(r.hall.reports.list) < maxReports; n++ {
		r.report(&user{nick: fmt.Sprintf("g%d", n)}, 2000, strings.Repeat("é", maxReportWhy))
	}
	if why := r.hall.reports.list[maxReports-1].why; len(why) > maxReportWhy {
		t.Errorf("a reason has %d bytes", len(why))
	}
	r.say(olga, 3000, "-\n3\n")
	late := &user{nick: "late"}
	r.report(late, 4000, "1") // instead of report 1
	r.report(late, 4000, "2") // instead of report 3
	last := r.hall.reports.last
	r.report(late, 4000, "3")
	if r.hall.report("1") != nil || r.hall.report("3") != nil || r.hall.reports.last != last ||
		len(r.hall.reports.list) != maxReports {
		t.Errorf("there are %d reports, and the last is %d, want %d", len(r.hall.reports.list),
			r.hall.reports.last, last)
	}
}

// TestClosedReportsEnd: a closed report leaves the state when its time has come, and not before.
func TestClosedReportsEnd(t *testing.T) {
	r, olga := newReporting(), &user{nick: "olga", role: Operator}
	ann := &user{nick: "ann"}
	for range 3 {
		r.report(ann, 1000, "x")
	}
	r.say(olga, 2000, "-\n2\nfirst")
	r.say(olga, 3000, "-\n1\nsecond")
	r.say(ann, 3000, "-\n3\nann is no operator")
	for _, test := range []struct {
		now  int64
		want string
	}{{1999, "1 2 3"}, {2000, "1 3"}, {2999, "1 3"}, {3000, "3"}, {1 << 40, "3"}} {
		r.say(ann, test.now+keepClosed, "")
		var ids []string
		for _, one := range r.hall.reports.list {
			ids = append(ids, fmt.Sprint(one.id))
		}
		if got := strings.Join(ids, " "); got != test.want {
			t.Errorf("%d ms after it was closed: %s, want %s", test.now, got, test.want)
		}
	}
}

// FuzzParseReport: a report is read as it was logged, and one that is saved is loaded again.
func FuzzParseReport(f *testing.F) {
	f.Add("eve\neve\n#tea\n1a\n1000\nrude\nline\nline")
	f.Add("eve\n\n-\n\n0\n\n")
	f.Add("eve\n\n*\n0\n-1\n\xff\n\xff")
	f.Fuzz(func(t *testing.T, data string) {
		r, ok := parseReport(data)
		if !ok {
			return
		}
		again, ok := parseReport(string(reportData(r)[len("+\n"):]))
		if !ok || again != r {
			t.Errorf("%q is %+v, and then %+v", data, r, again)
		}
		h := newReporting()
		h.say(&user{nick: "ann"}, 1000, "+\n"+data)
		state, err := h.hall.Save()
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(Config{Server: "a"}, state)
		if err != nil || len(loaded.reports.list) != 1 || len(h.hall.reports.list) != 1 ||
			*loaded.reports.list[0] != *h.hall.reports.list[0] || loaded.reports.last != 1 {
			t.Errorf("%q is saved as %s: %v", data, state, err)
		}
	})
}
