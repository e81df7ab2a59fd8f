package hall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"interleave/papaya/bans"
)

// TestBansAreBounded: there are not more than maxBans, but one of them may be changed. An order
// that was possible when it was given is refused.
func TestBansAreBounded(t *testing.T) {
	var refused []string
	h := New(Config{Server: "a", Ordered: func(number uint64, why error) {
		refused = append(refused, fmt.Sprintf("%d: %v", number, why))
	}}, 0)
	h.now = 1000
	for n := range maxBans {
		if said, err := h.addBan(fmt.Sprintf("n%d", n), "0", "root", ""); err != nil ||
			!strings.Contains(said, "is banned for ever") {
			t.Fatalf("ban %d: %s, %v", n, said, err)
		}
	}
	next, _ := bans.Parse("one")
	if said, err := h.addBan("one", "0", "root", ""); err == nil || said != "" {
		t.Errorf("one more: %s", said)
	}
	if err := h.CheckBan(next); err == nil {
		t.Error("one more is no error")
	}
	h.Begin(Batch{Server: "a", Run: 1, Number: 1, Time: 1000})
	for n, words := range [][]string{{"one", "0", "root", ""}, {"*", "0", "root", ""},
		{"n8", "0", "root", ""}} {
		h.Apply(NewOrder(uint64(n), AddBan, words...), nil, "")
	}
	if got, want := strings.Join(refused, ", "), "0: there are 1000 bans already, "+
		"1: * is not understood, 2: <nil>"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if said, err := h.addBan("N7", "1000", "olga", strings.Repeat("é", maxBanWhy)); err != nil ||
		!strings.Contains(said, "is banned until") {
		t.Errorf("one again: %s, %v", said, err)
	}
	b, banned := h.bans.list.Account("n7", h.now)
	if list, _ := h.Bans(); len(list) != maxBans || !banned || b.Until != 2000 || b.By != "olga" ||
		len(b.Why) > maxBanWhy {
		t.Errorf("of %d bans it is %+v", len(list), b)
	}
}

// TestBansEnd: an ended ban leaves the state with the next batch, and Config.Banned is told. Until
// then nobody is kept out by it.
func TestBansEnd(t *testing.T) {
	var told []string
	h := New(Config{Banned: func(what string, b bans.Ban) {
		told = append(told, what+" "+b.Target.String())
	}}, 0)
	batch := func(n uint64, now int64, entries ...Entry) {
		h.Begin(Batch{Server: "a", Run: 1, Number: n, Time: now})
		for _, e := range entries {
			h.Apply(e, nil, "")
		}
	}
	batch(1, 1000, NewOrder(1, AddBan, "eve", "1000", "root", "x"),
		NewOrder(2, AddBan, "192.0.2.7", "0", "root", "x"))
	_, before := h.Bans()
	h.Tick(2000)
	if open := h.OpenBans(); len(open) != 1 || len(h.bans.list) != 2 {
		t.Errorf("by the server's clock %v are open", open)
	}
	batch(2, 1999)
	if list, changes := h.Bans(); len(list) != 2 || changes != before {
		t.Errorf("before the end the bans are %v", list)
	}
	batch(3, 2000)
	if list, changes := h.Bans(); len(list) != 1 || changes == before {
		t.Errorf("after the end the bans are %v", list)
	}
	batch(4, 2000, NewOrder(3, RemoveBan, "192.0.2.7"), NewOrder(4, RemoveBan, "192.0.2.7"),
		NewOrder(5, RemoveBan), NewOrder(6, AddBan), NewOrder(7, AddBan, "eve", "-5", "root", ""))
	want := "added eve, added 192.0.2.7, ended eve, removed 192.0.2.7"
	if got := strings.Join(told, ", "); got != want || len(h.bans.list) != 0 {
		t.Errorf("told %s, want %s", got, want)
	}
}

// TestBannedAccountsAreNotNotified: no push tells a banned account what others say.
func TestBannedAccountsAreNotNotified(t *testing.T) {
	for _, test := range []struct {
		banned string
		want   int
	}{{"zoe", 1}, {"ANN", 0}} {
		p := &pushes{}
		h := New(Config{Server: "a", Push: p}, 0)
		h.Begin(Batch{Server: "a", Run: 1, Number: 1, Time: 1000})
		ann := h.newUser("ann", "ann")
		h.Apply(NewOrder(1, AddBan, test.banned, "0", "root", ""), nil, "")
		h.notify(ann, "ann", &user{nick: "bob", source: "bob!b@c"},
			speech{command: "PRIVMSG", text: "hi"}, &out{})
		if len(p.said) != test.want {
			t.Errorf("with %s banned, ann is told of %q, want %d", test.banned, p.said, test.want)
		}
	}
}

func TestParseBan(t *testing.T) {
	for _, test := range []struct {
		words  string
		target string // empty: an error
		length time.Duration
		myself bool
		why    string
	}{
		{"ann", "ann", 0, false, ""},
		{"ann DURATION 7d a reason", "ann", 7 * 24 * time.Hour, false, "a reason"},
		{"ann 30m MYSELF DURATION 7d", "ann", 30 * time.Minute, true, "DURATION 7d"},
		{"ann myself duration forever x", "ann", 0, true, "x"},
		{"ann spam MYSELF 7d", "ann", 0, false, "spam MYSELF 7d"},
		{"ann DURATION", "", 0, false, ""}, {"ann DURATION x", "", 0, false, ""},
		{"*", "", 0, false, ""},
	} {
		o, err := parseBan(strings.Fields(test.words))
		if err != nil {
			o = banOrder{}
		}
		if o.target.String() != test.target || o.length != test.length ||
			o.myself != test.myself || o.why != test.why {
			t.Errorf("%q is %+v, %v", test.words, o, err)
		}
	}
}

// FuzzParseBan: what an operator has said is applied as it was understood.
func FuzzParseBan(f *testing.F) {
	f.Add("ann DURATION 7d MYSELF spam")
	f.Add("192.0.2.0/24 30m x")
	f.Add("*.example \xff")
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Fields(text)
		if len(words) == 0 || strings.ContainsAny(text, "\r\n\x00") {
			return
		}
		o, err := parseBan(words)
		if err != nil {
			return
		}
		h := New(Config{}, 0)
		c := &Client{ID: 1, user: &user{nick: "root", role: Admin}, captured: new([][]byte)}
		e := h.banEntry(c, words)
		if o.target.Account() != "" {
			return // nobody has an account here
		}
		h.applyBan(&session{user: c.user}, e.Data)
		list, _ := h.Bans()
		if len(list) != 1 || !list[0].Target.Same(o.target) || list[0].Why != o.why ||
			list[0].Until != o.length.Milliseconds() || list[0].By != "root" {
			t.Errorf("%q becomes %+v", text, list)
		}
	})
}

// TestBannedAccountsLeaveTheirRooms: a banned account is no absent member of a room. One whose mask
// is banned is.
func TestBannedAccountsLeaveTheirRooms(t *testing.T) {
	for target, want := range map[string]int{"ann": 0, "ann!*@*": 1} {
		p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
		p.add("a")
		for _, l := range []string{"[connect ann with ann]", "ann > CAP REQ :sasl",
			"ann > AUTHENTICATE EXTERNAL", "ann > AUTHENTICATE +", "ann > NICK ann",
			"ann > USER ann 0 * :Ann", "ann > CAP END", "ann > JOIN #tea",
			"[order ban " + target + " 0 root x]"} {
			p.step(l)
		}
		if got := len(p.halls["a"].hall.rooms["#tea"].absent); got != want {
			t.Errorf("with %s banned, #tea has %d absent members, want %d", target, got, want)
		}
	}
}
