package client

import (
	"testing"
	"time"
)

const marks = full + " draft/read-marker"

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-11-22T"+text+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

// TestMarkersOfTwoDevices: what was read on one device is read on the other, and the messages
// after that are unread on both.
func TestMarkersOfTwoDevices(t *testing.T) {
	s := newSession(Settings{Rooms: []string{"#tea"}})
	connect(t, s, marks)
	tea := s.Find("#tea")
	hear(t, s, ":x MARKREAD #tea timestamp=2026-11-22T11:00:02.000Z",
		":x BATCH +h chathistory #tea",
		"@batch=h;msgid=1;time=2026-11-22T11:00:01.000Z :bob!b@h PRIVMSG #tea one",
		"@batch=h;msgid=2;time=2026-11-22T11:00:02.000Z :bob!b@h PRIVMSG #tea two",
		"@batch=h;msgid=3;time=2026-11-22T11:00:03.000Z :bob!b@h PRIVMSG #tea :three, ann",
		"@batch=h;msgid=4;time=2026-11-22T11:00:04.000Z :ann!a@h PRIVMSG #tea four", ":x BATCH -h",
		"@msgid=5;time=2026-11-22T11:00:05.000Z :bob!b@h PRIVMSG #tea five")
	if tea.Unread != 2 || tea.Mentions != 1 || !tea.ReadUpTo().Equal(at("11:00:02")) {
		t.Errorf("%d unread, %d for us, read up to %v", tea.Unread, tea.Mentions, tea.ReadUpTo())
	}
	if s.MarkersWait() {
		t.Error("nothing was looked at, and is to be told")
	}
	s.Events()
	hear(t, s, ":x MARKREAD #tea timestamp=2026-11-22T11:00:03.000Z")
	if e := s.Events(); len(e) != 1 || e[0].Kind != ReadElsewhere || tea.Unread != 1 ||
		tea.Mentions != 0 {
		t.Errorf("read elsewhere: got %v, %d unread", e, tea.Unread)
	}
	s.Look(tea)
	if !s.MarkersWait() {
		t.Fatal("what was read is not to be told")
	}
	s.SendMarkers()
	s.SendMarkers()
	wants(t, out(s), "MARKREAD #tea timestamp=2026-11-22T11:00:05.000Z\n")
	hear(t, s, ":x MARKREAD #tea timestamp=2026-11-22T11:00:05.000Z", ":x MARKREAD #tea *",
		":x MARKREAD #tea timestamp=2026-11-22T11:00:01.000Z", ":x MARKREAD #tea timestamp=x",
		":x MARKREAD #other timestamp=2026-11-22T11:00:01.000Z", "MARKREAD", ":x MARKREAD #tea x")
	if e := s.Events(); len(e) != 0 || s.MarkersWait() || tea.Unread != 0 {
		t.Errorf("what says nothing new: got %v, %d unread", e, tea.Unread)
	}
	// What was said elsewhere is read there.
	hear(t, s, "@msgid=6;time=2026-11-22T11:00:06.000Z :bob!b@h PRIVMSG #tea six",
		"@msgid=7;time=2026-11-22T11:00:07.000Z :ann!a@h PRIVMSG #tea seven")
	if tea.Unread != 0 || s.MarkersWait() {
		t.Errorf("after a message from elsewhere: %d unread", tea.Unread)
	}
}

// TestRefusedMarkers are sent again after a while, and on the next connection, but not at once.
func TestRefusedMarkers(t *testing.T) {
	now := noon
	s := New(Settings{Nick: "ann", Now: func() time.Time { return now }})
	connect(t, s, marks)
	tea := s.Find("#tea")
	hear(t, s, ":x BATCH +h chathistory #tea", ":x BATCH -h",
		"@msgid=1;time=2026-11-22T11:00:01.000Z :bob!b@h PRIVMSG #tea one")
	s.Look(tea)
	const marker = "MARKREAD #tea timestamp=2026-11-22T11:00:01.000Z\n"
	refused := func() {
		t.Helper()
		s.SendMarkers()
		wants(t, out(s), marker)
		hear(t, s, ":x FAIL MARKREAD INTERNAL_ERROR #tea :The log says: no space left on device")
	}
	refused()
	if s.SendMarkers(); s.MarkersWait() || out(s) != "" || len(tea.Messages) != 1 {
		t.Errorf("a refused marker is sent again at once, or is told: %q", shown(tea))
	}
	now = now.Add(markAgain)
	refused()
	s.Lost()
	connect(t, s, marks)
	refused()
	hear(t, s, ":x MARKREAD #tea timestamp=2026-11-22T11:00:01.000Z")
	if now = now.Add(markAgain); s.MarkersWait() {
		t.Error("a marker that the server has is sent again")
	}
}

// TestMarkersFromTheFuture do not hide what is said later.
func TestMarkersFromTheFuture(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, marks)
	tea := s.Find("#tea")
	hear(t, s, ":x BATCH +h chathistory #tea", ":x BATCH -h",
		"@msgid=1;time=2026-11-22T12:10:00.000Z :bob!b@h PRIVMSG #tea one",
		":x MARKREAD #tea timestamp=2999-01-01T00:00:00.000Z")
	if tea.Unread != 0 || !tea.ReadUpTo().Equal(at("12:10:00")) {
		t.Errorf("%d unread, read up to %v", tea.Unread, tea.ReadUpTo())
	}
	hear(t, s, "@msgid=2;time=2026-11-22T12:10:01.000Z :bob!b@h PRIVMSG #tea two")
	if tea.Unread != 1 {
		t.Errorf("%d unread, want 1", tea.Unread)
	}
}

// TestMarkersOfConversations are requested, since no JOIN tells them. A room without a marker is
// read up to when we came, on all devices.
func TestMarkersOfConversations(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, marks)
	wants(t, hear(t, s, "@msgid=1;time=2026-11-22T11:00:01.000Z :bob!b@h PRIVMSG ann psst"),
		"MARKREAD bob\n")
	talk := s.Find("bob")
	hear(t, s, ":x MARKREAD bob timestamp=2026-11-22T11:00:01.000Z")
	if talk.Unread != 0 || talk.Mentions != 0 {
		t.Errorf("%d unread, %d for us", talk.Unread, talk.Mentions)
	}
	wants(t, hear(t, s, ":x MARKREAD #tea *", ":x BATCH +h chathistory #tea",
		"@batch=h;msgid=1;time=2026-11-22T11:00:01.000Z :bob!b@h PRIVMSG #tea one", ":x BATCH -h"),
		"")
	s.SendMarkers()
	wants(t, out(s), "MARKREAD #tea timestamp=2026-11-22T11:00:01.000Z\n")
	s.Lost()
	wants(t, connect(t, s, marks)[:len("JOIN #tea\nMARKREAD bob\n")], "JOIN #tea\nMARKREAD bob\n")
	s = newSession(Settings{})
	connect(t, s, full)
	hear(t, s, "@msgid=1;time=2026-11-22T11:00:01.000Z :bob!b@h PRIVMSG ann psst")
	s.Look(s.Find("bob"))
	if s.SendMarkers(); out(s) != "" {
		t.Error("a server without markers was told one")
	}
}
