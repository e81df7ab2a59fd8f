package client

import (
	"fmt"
	"strings"
	"testing"
)

// hits returns what the last search has found, in a short form.
func hits(t *testing.T, s *Session) string {
	t.Helper()
	var b strings.Builder
	for _, e := range s.Events() {
		if e.Kind == Found {
			b.WriteString("found:\n")
			for _, h := range e.Hits {
				fmt.Fprintf(&b, "%s %s\n", h.Room.Name, h.Message.Text)
			}
		}
	}
	return b.String()
}

// TestSearch: rooms are searched one after the other, and what is found is not in the rooms.
func TestSearch(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	hear(t, s, ":x BATCH +h chathistory #tea", ":x BATCH -h")
	if s.Search(s.Searchable(), "kettle") {
		t.Error("searched where no search is offered")
	}
	hear(t, s, ":x 005 ann SEARCH :are supported")
	s.Open("bob")
	s.Open("#left")
	s.Events()
	if !s.Search(s.Searchable(), "the kettle") {
		t.Fatal("could not search")
	}
	wants(t, out(s), "SEARCH #tea :the kettle\n")
	s.Older(tea) // a page may be requested meanwhile
	wants(t, hear(t, s, ":x BATCH +s papaya/search #tea",
		"@batch=s;msgid=1;time=2026-11-22T09:00:00.000Z :bob!b@h PRIVMSG #tea :the kettle",
		"@batch=s;msgid=3;time=2026-11-22T09:02:00.000Z :bob!b@h PRIVMSG #tea :a kettle",
		":x BATCH -s"), "SEARCH bob :the kettle\n")
	hear(t, s, ":x NOTE SEARCH MORE #tea :There are older matches")
	hear(t, s, ":x BATCH +f chathistory bob",
		"@batch=f;msgid=2;time=2026-11-22T09:01:00.000Z :ann!a@h PRIVMSG bob :my kettle",
		":x BATCH -f")
	wants(t, hits(t, s), "found:\n#tea the kettle\nbob my kettle\n#tea a kettle\n")
	if tea.oldest() != nil || !strings.Contains(shown(s.Active()), "older matches in #tea") {
		t.Errorf("got %q and %q", shown(tea), shown(s.Active()))
	}
	// A search that another has replaced, and one that is refused.
	s.Search([]*Room{tea}, "one")
	s.Search([]*Room{tea}, "two")
	wants(t, out(s), "SEARCH #tea one\n")
	wants(t, hear(t, s, ":x BATCH +s papaya/search #tea",
		"@batch=s;msgid=1;time=2026-11-22T09:00:00.000Z :bob!b@h PRIVMSG #tea :one", ":x BATCH -s"),
		"SEARCH #tea two\n")
	s.Say(tea, Said, "not refused")
	hear(t, s, ":x FAIL SEARCH TEMPORARILY_UNAVAILABLE #tea :One search at a time",
		":x FAIL MARKREAD INTERNAL_ERROR #tea :There are too many read markers",
		":x FAIL SEARCH INVALID_TARGET #tea :You may not read that")
	wants(t, hits(t, s), "found:\n")
	if got := shown(tea); !strings.Contains(got, "not refused pending") ||
		!strings.Contains(got, "at a time") || strings.Contains(got, "markers") ||
		strings.Contains(got, "may not") {
		t.Errorf("what was refused is no message: got %q", got)
	}
	s.Search([]*Room{s.Open("#gone")}, "x")
	s.Close(s.Find("#gone"), "")
	hear(t, s, ":x BATCH +s papaya/search #gone", ":x BATCH -s")
	wants(t, hits(t, s), "found:\n")
	s.Search([]*Room{tea}, "x")
	s.Lost()
	if s.searching != nil || s.Search([]*Room{tea}, "x") || s.Seek(tea, &Message{ID: "x"}) {
		t.Error("a search is waited for without a connection")
	}
}

// page makes the lines of a page of #tea with messages of these numbers.
func page(from, to int) []string {
	lines := []string{":x BATCH +p chathistory #tea"}
	for i := from; i <= to; i++ {
		lines = append(lines, fmt.Sprintf(
			"@batch=p;msgid=%d;time=2026-11-22T09:00:%02d.000Z :bob!b@h PRIVMSG #tea :%d", i, i, i))
	}
	return append(lines, ":x BATCH -p")
}

func texts(list []*Message) string {
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.Text + " ")
	}
	return strings.TrimSpace(b.String())
}

// TestSeek: a message that was found is shown among those around it, and scrolling joins them with
// the newest.
func TestSeek(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	hear(t, s, page(40, 42)...)
	s.Events()
	s.Seek(tea, &Message{ID: "41"})
	if e := s.Events(); len(e) != 1 || e[0].Kind != Shown || e[0].Message != tea.Messages[1] ||
		out(s) != "" {
		t.Fatalf("of a message that is there: got %v", e)
	}
	s.Seek(tea, &Message{ID: "20"})
	wants(t, out(s), "CHATHISTORY AROUND #tea msgid=20 3\n")
	hear(t, s, page(19, 21)...)
	e := s.Events()
	if len(e) != 1 || e[0].Kind != Shown || e[0].Message.Text != "20" ||
		texts(tea.Shown()) != "19 20 21" || texts(tea.Messages) != "40 41 42" {
		t.Fatalf("got %v, %q", e, texts(tea.Shown()))
	}
	s.Older(tea)
	wants(t, out(s), "CHATHISTORY BEFORE #tea msgid=19 3\n")
	hear(t, s, page(16, 18)...)
	hear(t, s, "@msgid=43;time=2026-11-22T09:00:43.000Z :bob!b@h PRIVMSG #tea :43",
		"@msgid=90;time=2026-11-22T09:01:00.000Z :bob!b@h REDACT #tea 17")
	if texts(tea.Shown()) != "16  18 19 20 21" || tea.Unread != 1 {
		t.Errorf("got %q, %d unread", texts(tea.Shown()), tea.Unread)
	}
	s.Older(tea)
	hear(t, s, page(1, 0)...)
	if s.Older(tea) || tea.Whole {
		t.Error("the beginning was not seen, or not only there")
	}
	s.Newer(tea)
	wants(t, out(s), "CHATHISTORY AFTER #tea msgid=21 3\n")
	hear(t, s, page(22, 24)...)
	s.Newer(tea)
	hear(t, s, page(39, 41)...)
	if got := texts(tea.Shown()); tea.Past() != nil || !tea.Whole ||
		got != "16  18 19 20 21 22 23 24 39 40 41 42 43" {
		t.Errorf("joined: got %q", got)
	}
	// What is gone, what the server refuses, and what nobody waits for any more.
	s.Seek(tea, &Message{ID: "5"})
	hear(t, s, page(3, 4)...)
	s.Seek(tea, &Message{ID: "6"})
	hear(t, s, ":x FAIL CHATHISTORY INVALID_PARAMS AROUND #tea :no")
	if got := shown(s.Active()); !strings.Contains(got, "this message is not there") ||
		!strings.Contains(got, "the server does not have these") || tea.Past() != nil {
		t.Errorf("got %q", got)
	}
	s.Events()
	s.Seek(tea, &Message{ID: "7"})
	tea.Latest()
	hear(t, s, page(6, 8)...)
	if tea.Past() != nil || len(s.Events()) != 0 {
		t.Error("the past is shown to somebody who has gone back")
	}
}
