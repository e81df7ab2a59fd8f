package client

import (
	"strings"
	"testing"
)

const redacts = full + " draft/message-redaction"

// TestRedactionInHistory: a history may have a message and its REDACT, in one page or in two, or
// only the REDACT. The text of the message is never shown.
func TestRedactionInHistory(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, redacts)
	tea := s.Find("#tea")
	hear(t, s, ":x BATCH +h chathistory #tea",
		"@batch=h;msgid=5;time=2026-11-22T11:05:00.000Z :bob!b@h PRIVMSG #tea five",
		"@batch=h;msgid=6;time=2026-11-22T11:06:00.000Z :ann!a@h REDACT #tea 5 :old",
		"@batch=h;msgid=7;time=2026-11-22T11:07:00.000Z :ann!a@h REDACT #tea 3", ":x BATCH -h")
	wants(t, shown(tea), "ann: old\nann: \n")
	if !s.Older(tea) {
		t.Fatal("nothing older was asked for")
	}
	wants(t, out(s), "CHATHISTORY BEFORE #tea msgid=5 3\n")
	hear(t, s, ":x BATCH +i chathistory #tea",
		"@batch=i;msgid=3;time=2026-11-22T11:03:00.000Z :bob!b@h PRIVMSG #tea three",
		"@batch=i;msgid=4;time=2026-11-22T11:04:00.000Z :bob!b@h REDACT #tea 1", ":x BATCH -i")
	wants(t, shown(tea), "ann: \nbob: \nann: old\nann: \n")
	for _, m := range tea.Messages {
		if m.Kind != Deleted || m.Own || m.Mention {
			t.Errorf("got %+v, want a note", m)
		}
	}
	s.Older(tea)
	// A page that has nothing older is the last: another request would get it again.
	hear(t, s, ":x BATCH +j chathistory #tea",
		"@batch=j;msgid=4;time=2026-11-22T11:04:00.000Z :bob!b@h REDACT #tea 1", ":x BATCH -j")
	if !tea.Whole || s.Older(tea) {
		t.Error("the same page is requested for ever")
	}
}

// TestAPageOfRedactions: what follows a full page of REDACTs is requested, too.
func TestAPageOfRedactions(t *testing.T) {
	s := newSession(Settings{Rooms: []string{"#tea"}})
	connect(t, s, redacts)
	hear(t, s, ":x BATCH +h chathistory #tea", ":x BATCH -h",
		"@msgid=1;time=2026-11-22T12:01:00.000Z :bob!b@h PRIVMSG #tea one")
	s.Lost()
	connect(t, s, redacts)
	wants(t, hear(t, s, ":x BATCH +p chathistory #tea",
		"@batch=p;msgid=2;time=2026-11-22T12:02:01.000Z :bob!b@h REDACT #tea 1",
		"@batch=p;msgid=3;time=2026-11-22T12:02:02.000Z :bob!b@h REDACT #tea x",
		"@batch=p;msgid=4;time=2026-11-22T12:02:03.000Z :bob!b@h REDACT #tea 1", ":x BATCH -p"),
		"CHATHISTORY AFTER #tea msgid=4 3\n")
	wants(t, shown(s.Find("#tea")), "bob: \nbob: \n")
}

// TestMayDelete: one's own messages, or any as an operator of the room.
func TestMayDelete(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, redacts)
	tea := s.Find("#tea")
	hear(t, s, "@msgid=1 :bob!b@h PRIVMSG #tea one", "@msgid=2 :ann!a@h PRIVMSG #tea two",
		":bob!b@h PRIVMSG #tea three", ":dan!d@h JOIN #tea", "@msgid=4 :bob!b@h PRIVMSG ann four")
	may := func() string {
		var b strings.Builder
		for _, m := range append(tea.Messages, s.Find("bob").Messages...) {
			if s.MayDelete(s.Find("#tea"), m) {
				b.WriteString(m.Text + " ")
			}
		}
		return b.String()
	}
	if got := may(); got != "one two four " {
		t.Errorf("as an operator: got %q", got)
	}
	if s.MayDelete(s.Find("bob"), s.Find("bob").Messages[0]) {
		t.Error("nobody is operator of a conversation")
	}
	hear(t, s, ":x 353 ann = #tea :+ann @bob", ":x 366 ann #tea :end")
	if got := may(); got != "two " {
		t.Errorf("as a member: got %q", got)
	}
	if s.Delete(tea, tea.Messages[0], "") || !s.Delete(tea, tea.Messages[1], "my\nmistake") {
		t.Error("the wrong message was deleted")
	}
	wants(t, strings.TrimPrefix(out(s), "WHO #tea\n"), "REDACT #tea 2 :my mistake\n")
	s.Lost()
	if may() != "" {
		t.Error("without a connection messages can be deleted")
	}
}
