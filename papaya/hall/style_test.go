package hall

import (
	"strings"
	"testing"
)

// TestBatchesOfFormat3: what servers of that format have refused is refused again, so that the text
// becomes the same: modes, messages for a part of a room, and those of users outside.
func TestBatchesOfFormat3(t *testing.T) {
	var text memory
	h := New(Config{Server: "a", Name: "chat", Founder: true, Text: &text,
		Password: func() (string, bool) { return "", false }}, 0)
	number := uint64(0)
	apply := func(format byte, entries ...Entry) {
		t.Helper()
		number++
		if !h.Begin(Batch{Server: "a", Run: 1, Number: number, Time: int64(number),
			Format: format}) {
			t.Fatal("a batch is passed over")
		}
		for _, e := range entries {
			h.Apply(e, nil, "")
		}
		_, lines := h.Lines()
		text.lines = append(text.lines, lines...)
	}
	said := func(id uint64, line string) Entry {
		return Entry{Client: id, Kind: Said, Data: []byte(line)}
	}
	lines := []Entry{said(1, "MODE #tea +Cn"), said(1, "MODE #tea -n"), said(1, "MODE eve +B"),
		said(1, "PRIVMSG #tea,@#tea :here"), NewOrder(1, PostTo, "#tea", "hub/hook", "posted"),
		said(2, "PRIVMSG #tea :outside")}
	apply(fewFormat, append([]Entry{
		{Client: 1, Kind: Enter, Data: []byte("eve\neve\nhost\nEve\n\n-")},
		{Client: 2, Kind: Enter, Data: []byte("bob\nbob\nhost\nBob\n\n-")},
		said(1, "JOIN #tea")}, lines...)...)
	r, eve := h.rooms["#tea"], h.nicks["eve"]
	if got := r.modeLine(true) + " " + eve.modes(); got != "+ +" {
		t.Errorf("in format 3: %s", got)
	}
	if got := string(text.lines); strings.Count(got, "\n") != 2 || strings.Contains(got, "@bot") ||
		!strings.Contains(got, ":eve!eve@host PRIVMSG #tea :here\n") {
		t.Errorf("in format 3: %s", got)
	}
	apply(0, lines...)
	if got := r.modeLine(true) + " " + eve.modes(); got != "+C +B" {
		t.Errorf("today: %s", got)
	}
	if got := string(text.lines); strings.Count(got, "\n") != 6 ||
		!strings.Contains(got, " @bot :hub/hook!program@papaya PRIVMSG #tea :posted\n") ||
		!strings.Contains(got, " @bot :eve!eve@host PRIVMSG @#tea :here\n") ||
		!strings.HasSuffix(got, ":bob!bob@host PRIVMSG #tea :outside\n") {
		t.Errorf("today: %s", got)
	}
}

// TestReactionsOfFormat5: servers of that format kept no reaction without +draft/persist, so that
// the text becomes the same. Today one that names a message is kept.
func TestReactionsOfFormat5(t *testing.T) {
	var text memory
	h := New(Config{Server: "a", Name: "chat", Founder: true, Text: &text,
		Password: func() (string, bool) { return "", false }}, 0)
	for number, test := range []struct {
		format byte
		tags   string
		kept   bool
	}{
		{5, "+draft/react=x;+draft/reply=1", false}, {0, "+draft/react=x;+draft/reply=1", true},
		{0, "+react=x;+reply=1", true}, {0, "+draft/unreact=x;+draft/reply=1", true},
		{0, "+draft/react=x", false}, {0, "+draft/react;+draft/reply=1", false},
		{0, "+draft/reply=1", false}, {0, "+typing=active;+draft/reply=1", false},
		{5, "+typing=active;+draft/persist", true}, {fewFormat, "+x;+draft/persist", false},
	} {
		h.Begin(Batch{Server: "a", Run: 1, Number: uint64(number) + 1, Time: 1,
			Format: test.format})
		apply := func(kind byte, data string) {
			h.Apply(Entry{Client: 1, Kind: kind, Data: []byte(data)}, nil, "")
		}
		if number == 0 {
			apply(Enter, "eve\neve\nhost\nEve\n\n-")
			apply(Said, "JOIN #tea")
		}
		apply(Said, "@"+test.tags+" TAGMSG #tea")
		_, lines := h.Lines()
		text.lines = append(text.lines, lines...)
		if kept := len(lines) > 0; kept != test.kept {
			t.Errorf("in format %d, %s is kept: %v", test.format, test.tags, kept)
		}
	}
}

// TestUsersWhoAreInvisible: with Config.Invisible, a user is invisible when it comes. An account
// that is here has the mode that it has set. The sessions of other versions know nothing of it.
func TestUsersWhoAreInvisible(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}, always: true}
	p.add("a")
	p.add("b")
	invisible := true
	for _, s := range p.halls {
		s.hall.config.Invisible = func() bool { return invisible }
		s.hall.config.UTF8Only = true
	}
	said := func(line string) string {
		p.script.Reset()
		p.step(line)
		return p.script.String()
	}
	come := func(name string) string {
		p.step("[connect " + name + " with ann]")
		heard := ""
		for _, l := range []string{"CAP REQ :sasl", "AUTHENTICATE EXTERNAL", "AUTHENTICATE +",
			"NICK ann", "USER ann 0 * :Ann", "CAP END", "MODE ann"} {
			heard += said(name + " > " + l)
		}
		return heard
	}
	if got := come("phone"); !strings.Contains(got, " 221 ann +i\n") ||
		!strings.Contains(got, " UTF8ONLY :are supported") {
		t.Errorf("the first session: %s", got)
	}
	said("phone > MODE ann -i")
	if got := come("laptop"); !strings.Contains(got, " 221 ann +\n") {
		t.Errorf("another session: %s", got)
	}
	p.step("[connect eve at b]")
	p.step("eve > NICK eve")
	p.step("eve > USER eve 0 * :Eve")
	if got := said("eve > MODE eve"); !strings.Contains(got, " 221 eve +i\n") {
		t.Errorf("a guest: %s", got)
	}
	invisible = false
	p.step("[connect dan]")
	p.step("dan > NICK dan")
	p.step("dan > USER dan 0 * :Dan")
	if got := said("dan > MODE dan"); !strings.Contains(got, " 221 dan +\n") {
		t.Errorf("a guest, when the setting has changed: %s", got)
	}
}
