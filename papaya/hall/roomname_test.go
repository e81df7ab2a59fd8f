package hall

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"interleave/papaya/irc"
)

// TestRoomsThatAreRenamed: programs find a room by each name that it had, and read all that was
// said in it. A later room of such a name is another.
func TestRoomsThatAreRenamed(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	p.add("b")
	for _, s := range p.halls {
		s.hall.config.Founder = true
	}
	for _, l := range []string{"[connect ann]", "ann > NICK ann", "ann > USER ann 0 * :Ann",
		"ann > JOIN #chai", "ann > PRIVMSG #chai :of another room", "ann > PART #chai",
		"ann > JOIN #tea", "ann > PRIVMSG #tea :one", "ann > RENAME #tea #Chai",
		"ann > PRIVMSG #chai :two", "[order post #TEA hub/hook three]"} {
		p.step(l)
	}
	read := func(name string) (texts string) {
		t.Helper()
		all, err := messagesOf(t, p.halls["b"].hall, name, Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			texts += m.Text + " "
		}
		return texts
	}
	for _, name := range []string{"#tea", "#chai"} {
		if r, ok := p.halls["b"].hall.Room(name); !ok || r.Name != "#Chai" ||
			fmt.Sprint(r.Former) != "[#tea]" {
			t.Errorf("%s is %+v, %v", name, r, ok)
		}
		if got := read(name); got != "one two three " {
			t.Errorf("%s has %q", name, got)
		}
	}
	for _, l := range []string{"ann > JOIN #tea", "ann > PRIVMSG #tea :of a later room",
		"[order post #tea hub/hook four]"} {
		p.step(l)
	}
	if got := read("#tea") + read("#chai"); got != "of a later room four one two three " {
		t.Errorf("with a later room: %q", got)
	}
	p.step("ann > PART #chai")
	if got := read("#tea"); got != "of a later room four " {
		t.Errorf("the end of the other room has removed something: %q", got)
	}
	if n := len(p.halls["a"].hall.formers); n != 0 {
		t.Errorf("%d former names are left of a room that has ended", n)
	}
}

// TestFormerNamesOfTwoRooms: when a later room of a former name has ended, no program that is for
// that name reads or posts in the room that had the name before. A room that gets its name back has
// it as at first.
func TestFormerNamesOfTwoRooms(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	p.add("b")
	for _, s := range p.halls {
		s.hall.config.Founder = true
	}
	steps := func(lines ...string) {
		for _, l := range lines {
			p.step(l)
		}
	}
	steps("[connect ann]", "ann > NICK ann", "ann > USER ann 0 * :Ann", "ann > JOIN #tea",
		"ann > PRIVMSG #tea :one", "ann > RENAME #tea #chai", "ann > JOIN #tea",
		"ann > PRIVMSG #tea :of a later room", "ann > PART #tea", "[order post #tea hub/hook two]")
	for name, s := range p.halls {
		if _, err := s.hall.Messages("#tea", Page{Limit: 10}); !errors.Is(err, ErrNoRoom) {
			t.Errorf("%s: messages of a name that another room had: %v", name, err)
		}
		if r, ok := s.hall.Room("#tea"); ok {
			t.Errorf("%s: #tea is %+v", name, r)
		}
		all, err := messagesOf(t, s.hall, "#chai", Page{Limit: 10})
		if err != nil || len(all) != 1 || all[0].Text != "one" {
			t.Errorf("%s: #chai has %v, %v", name, all, err)
		}
		if r, ok := s.hall.Room("#chai"); !ok || len(r.Former) > 0 {
			t.Errorf("%s: #chai is %+v, %v", name, r, ok)
		}
		state, err := s.hall.Save()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(s.hall.config, state)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := again.Room("#tea"); ok {
			t.Errorf("%s: after a start #tea is %+v", name, r)
		}
	}
	steps("ann > RENAME #chai #tea", "ann > RENAME #tea #pot")
	for name, s := range p.halls {
		if r, ok := s.hall.Room("#tea"); !ok || r.Name != "#pot" {
			t.Errorf("%s: #tea is %+v, %v", name, r, ok)
		}
	}
}

// TestRemovedUnderAFormerName: a removal that was on its way when a room was renamed is done, and
// told under the name that the room has.
func TestRemovedUnderAFormerName(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	a := p.halls["a"]
	a.hall.config.Founder = true
	for _, l := range []string{"[connect ann]",
		"ann > CAP REQ :draft/message-redaction echo-message", "ann > CAP END", "ann > NICK ann",
		"ann > USER ann 0 * :Ann", "ann > JOIN #tea", "ann > PRIVMSG #tea :one",
		"ann > PRIVMSG #tea :two"} {
		p.step(l)
	}
	m, err := irc.Parse("REDACT #tea " + p.msgid("{one}"))
	if err != nil {
		t.Fatal(err)
	}
	entry, ok := a.hall.Line(&p.people["ann"].Client, &m)
	if !ok {
		t.Fatal("the removal is not logged")
	}
	p.step("ann > RENAME #tea #chai")
	p.log(a, entry, nil)
	all, err := messagesOf(t, a.hall, "#chai", Page{Limit: 10})
	if err != nil || len(all) != 1 || all[0].Text != "two" {
		t.Errorf("the room has %v, %v", all, err)
	}
	if !strings.Contains(p.script.String(), ":ann!ann@host REDACT #chai ") {
		t.Errorf("ann is told\n%s", p.script.String())
	}
}

// TestConfirmedUnderAFormerName: an entry that was on its way when a room was renamed has the
// former name. The room then counts as one in which the client lags.
func TestConfirmedUnderAFormerName(t *testing.T) {
	r := newRoom("#new", 0, 0)
	r.former = []tenure{{nick: "#old", until: 50}}
	for _, test := range []struct {
		lags string
		mark uint64
	}{{"", 99}, {" #old@" + string(appendPlace(nil, 20)), 20},
		{" #new@" + string(appendPlace(nil, 30)), 30}, {" #other@1", 99},
		{" #old@k #new@u", 20}} {
		u := &user{}
		in := &member{user: u, room: r, mark: 10}
		u.rooms = []*member{in}
		u.had(99, parseLags(test.lags))
		if in.mark != test.mark || u.inbox != 99 {
			t.Errorf("%q: the mark is %d, and the inbox's %d; want %d and 99", test.lags, in.mark,
				u.inbox, test.mark)
		}
	}
}

// TestToldUnderTheNewName: a line of the text is told with another target, within the length of a
// line.
func TestToldUnderTheNewName(t *testing.T) {
	r := newRoom("#Chai", 0, 0)
	long := ":a!a@h PRIVMSG #tea :" + strings.Repeat("x", irc.MaxLine)
	for _, test := range []struct{ target, command, line, want string }{
		{"#tea", "PRIVMSG", ":a!a@h PRIVMSG #tea :one  two", ":a!a@h PRIVMSG #Chai :one  two"},
		{"@#tea", "NOTICE", ":a!a@h NOTICE @#tea :one", ":a!a@h NOTICE @#Chai :one"},
		{"#chai", "TOPIC", ":a!a@h TOPIC #chai :one", ":a!a@h TOPIC #chai :one"},
		{"#tea", "RENAME", ":a!a@h RENAME #tea #Chai :", ":a!a@h RENAME #tea #Chai :"},
		{"#tea", "PRIVMSG", long[:irc.MaxLine-2], ":a!a@h PRIVMSG #Chai :" +
			strings.Repeat("x", irc.MaxLine-2-len(":a!a@h PRIVMSG #Chai :"))},
		{"#tea", "PRIVMSG", "short", "short"},
	} {
		s := said{target: test.target, command: test.command, body: []byte(test.line),
			more: []joined{{body: []byte(test.line)}}}
		got := r.under(s)
		if string(got.body) != test.want || string(got.more[0].body) != test.want {
			t.Errorf("%s becomes %s and %s, want %s", test.line, got.body, got.more[0].body,
				test.want)
		}
	}
}

// TestBoundsOfRenaming: a room has a bounded number of former names, and of members that are told.
func TestBoundsOfRenaming(t *testing.T) {
	h := New(Config{Server: "a", Name: "chat", Text: &memory{}}, 0)
	u := &user{account: "ann"}
	r := newRoom("#tea", 0, 0)
	h.rooms["#tea"] = r
	h.setFounder(r, "ann")
	if code, why := h.cannotRename(u, r, "#chai"); code != "" {
		t.Errorf("at first: %s %s", code, why)
	}
	r.here = make([]*member, maxRenamed+1)
	if code, why := h.cannotRename(u, r, "#chai"); code != "CANNOT_RENAME" ||
		!strings.Contains(why, "members") {
		t.Errorf("with many members: %s %s", code, why)
	}
	r.here = nil
	for n := range maxFormer {
		h.renameRoom(u, r, fmt.Sprintf("#tea%d", n), "")
	}
	if code, why := h.cannotRename(u, r, "#chai"); code != "CANNOT_RENAME" ||
		!strings.Contains(why, "too often") {
		t.Errorf("after %d names: %s %s", maxFormer, code, why)
	}
	if code, why := h.cannotRename(u, r, strings.ToUpper(r.name)); code != "" {
		t.Errorf("in other letters: %s %s", code, why)
	}
}
