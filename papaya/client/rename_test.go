package client

import "testing"

const renames = full + " draft/channel-rename"

// TestRename: a room goes on under its other name, with its messages and what is unread, and is
// joined by it after a reconnect.
func TestRename(t *testing.T) {
	s := newSession(Settings{Rooms: []string{"#Tea"}})
	connect(t, s, renames)
	tea := s.Find("#tea")
	hear(t, s, ":x BATCH +h chathistory #tea", ":x BATCH -h",
		"@msgid=1;time=2026-11-22T12:10:00.000Z :bob!b@h PRIVMSG #tea one")
	s.Look(tea)
	hear(t, s, ":x RENAME #none #other :", ":x RENAME #tea bob :", ":x RENAME",
		"@time=2026-11-22T12:11:00.000Z :bob!b@h RENAME #tea #chai :a warmer word",
		"@msgid=2;time=2026-11-22T12:12:00.000Z :bob!b@h PRIVMSG #chai two")
	if s.Find("#tea") != nil || s.Find("#chai") != tea || s.Active() != tea || tea.Name != "#chai" {
		t.Errorf("the rooms are %v", s.Rooms())
	}
	wants(t, shown(tea),
		"bob: one\n: bob renamed the room from #tea to #chai: a warmer word\nbob: two\n")
	hear(t, s, ":bob!b@h RENAME #chai #Chai :")
	if s.Find("#chai") != tea || tea.Name != "#Chai" {
		t.Errorf("in other letters it is %q", tea.Name)
	}
	s.Rename(tea, "#brew", "")
	s.Rename(tea, "#brew", "no reason")
	wants(t, out(s), "RENAME #Chai #brew\nRENAME #Chai #brew :no reason\n")
	s.Lost()
	wants(t, connect(t, s, renames)[:len("JOIN #Chai\n")], "JOIN #Chai\n")
}

// TestJoinOfAFormerName: the room that is joined by a name that it had before is followed, once,
// and goes on from what we have of it.
func TestJoinOfAFormerName(t *testing.T) {
	s := newSession(Settings{Rooms: []string{"#tea"}})
	connect(t, s, renames)
	tea := s.Find("#tea")
	s.Lost()
	s.Events()
	s.Opened()
	hear(t, s, ":x CAP * LS :"+renames, ":x CAP * ACK :"+renames, ":x 001 ann :hello",
		":x 422 ann :no MOTD")
	wants(t, hear(t, s, ":x FAIL JOIN CHANNEL_RENAMED #tea #chai :The channel has been renamed"),
		"JOIN #chai\n")
	if s.Find("#chai") != tea || s.wanted("#tea") || !s.wanted("#chai") {
		t.Errorf("the rooms are %v, and wanted are %v", s.Rooms(), s.wants)
	}
	hear(t, s, ":ann!a@h JOIN #chai")
	s.Open("#old")
	s.Look(s.Find("#old"))
	wants(t, hear(t, s, ":x FAIL JOIN CHANNEL_RENAMED #old #chai :renamed",
		":x FAIL JOIN CHANNEL_RENAMED #old :renamed",
		":x FAIL JOIN CHANNEL_RENAMED #chai #CHAI :renamed"), "")
	if s.Find("#old") != nil || s.Active() != tea || !tea.Joined {
		t.Errorf("the rooms are %v", s.Rooms())
	}
	moved := 0
	for _, e := range s.Events() {
		if e.Kind == Moved {
			moved++
		}
	}
	if moved != 2 {
		t.Errorf("told %d times, want 2", moved)
	}
}
