package client

import (
	"strings"
	"testing"
)

const edits = full + " draft/message-edit draft/multiline draft/event-playback"

// TestEdits: a message has its newest text, told now or by a page of the history, and its place. A
// change of what is not here, or of what was removed, is none.
func TestEdits(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, edits)
	tea := s.Find("#tea")
	hear(t, s, "@msgid=1;time=2026-11-22T11:01:00.000Z :bob!b@h PRIVMSG #tea one",
		"@msgid=2;time=2026-11-22T11:02:00.000Z :cat!c@h PRIVMSG #tea two",
		"@msgid=3;time=2026-11-22T11:03:00.000Z;+draft/edit=1 :bob!b@h PRIVMSG #tea :one more",
		"@msgid=4;+draft/edit=none :bob!b@h PRIVMSG #tea nothing",
		"@msgid=5;+draft/edit :bob!b@h PRIVMSG #tea nothing",
		"@msgid=6;+draft/edit=1 :bob!b@h PRIVMSG ann elsewhere")
	wants(t, shown(tea), "bob: one more\ncat: two\n")
	unread := tea.Unread
	hear(t, s, "@msgid=7;time=2026-11-22T11:04:00.000Z;+draft/edit=1 :bob!b@h BATCH +m "+
		"draft/multiline #tea", "@batch=m :bob!b@h PRIVMSG #tea a",
		"@batch=m :bob!b@h PRIVMSG #tea b", ":bob!b@h BATCH -m")
	wants(t, shown(tea), "bob: a\nb\ncat: two\n")
	if m := tea.find("1"); m.Edited.Minute() != 4 || tea.Unread != unread {
		t.Errorf("changed at %v; %d unread, %d before", m.Edited, tea.Unread, unread)
	}
	// what comes late does not bring an earlier text back
	hear(t, s, ":x BATCH +h chathistory #tea",
		"@batch=h;msgid=1;time=2026-11-22T11:01:00.000Z;papaya/edited=2026-11-22T11:03:00.000Z "+
			":bob!b@h PRIVMSG #tea :one more",
		"@batch=h;msgid=2;time=2026-11-22T11:02:00.000Z;papaya/edited=2026-11-22T11:09:00.000Z "+
			":cat!c@h PRIVMSG #tea :two, changed",
		"@batch=h;msgid=8;time=2026-11-22T11:09:00.000Z;+draft/edit=2 :cat!c@h PRIVMSG #tea "+
			":two, changed", ":x BATCH -h")
	wants(t, shown(tea), "bob: a\nb\ncat: two, changed\n: \n")
	hear(t, s, ":bob!b@h REDACT #tea 1",
		"@msgid=9;time=2026-11-22T11:10:00.000Z;+draft/edit=1 :bob!b@h PRIVMSG #tea again")
	if m := tea.find("1"); m.Kind != Deleted || strings.Contains(m.Text, "again") {
		t.Errorf("a removed message is %+v", m)
	}
}

// TestEdit: only what is ours is changed, by one message, and a refusal leaves it as it was.
func TestEdit(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, edits)
	tea := s.Find("#tea")
	hear(t, s, "@msgid=1 :bob!b@h PRIVMSG #tea one", "@msgid=2 :ann!a@h PRIVMSG #tea two",
		"@msgid=3 :ann!a@h PRIVMSG #tea :\x01ACTION waves\x01")
	out(s)
	if s.MayEdit(tea, tea.find("1")) || s.Edit(tea, tea.find("1"), "x") != Unheard {
		t.Error("the message of another can be changed")
	}
	mine := tea.find("2")
	if got := s.Edit(tea, mine, "deux"); got != Sent {
		t.Fatalf("got %v", got)
	}
	wants(t, out(s), "@+draft/edit=2;label=m1 PRIVMSG #tea deux\n")
	hear(t, s, "@label=m1 FAIL PRIVMSG EDIT_FORBIDDEN #tea 2 :no")
	if mine.Text != "two" || mine.changing != "" || mine.Failed {
		t.Errorf("it was refused, and is %+v", mine)
	}
	if got := s.Edit(tea, tea.find("3"), "nods"); got != Sent {
		t.Fatalf("got %v", got)
	}
	wants(t, out(s), "@+draft/edit=3;label=m2 PRIVMSG #tea :\x01ACTION nods\x01\n")
	hear(t, s, "@label=m2;msgid=4;time=2026-11-22T11:10:00.000Z;+draft/edit=3 :ann!a@h PRIVMSG "+
		"#tea :\x01ACTION nods\x01")
	if m := tea.find("3"); m.Text != "nods" || m.Kind != Action || m.Edited.IsZero() {
		t.Errorf("it was changed, and is %+v", m)
	}
	if got := s.Edit(tea, mine, strings.Repeat("long ", 4000)); got != TooLong || out(s) != "" {
		t.Errorf("got %v", got)
	}
	s.Edit(tea, mine, "lost")
	s.Lost()
	if last := tea.Messages[len(tea.Messages)-1]; last.Kind != Wrong || mine.Text != "two" {
		t.Errorf("after a lost connection the last line is %+v", last)
	}
}

// TestServersWithoutEdits: the tag is one that everybody may send.
func TestServersWithoutEdits(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	hear(t, s, "@msgid=1 :bob!b@h PRIVMSG #tea one",
		"@msgid=2;+draft/edit=1 :eve!e@h PRIVMSG #tea forged",
		"@msgid=3 :ann!a@h PRIVMSG #tea mine")
	wants(t, shown(tea), "bob: one\neve: forged\nann: mine\n")
	if s.Edit(tea, tea.find("3"), "x") != Unheard {
		t.Error("it can be changed")
	}
}
