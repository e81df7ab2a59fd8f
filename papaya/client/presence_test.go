package client

import (
	"fmt"
	"strings"
	"testing"
)

// monitored is a session on a server that watches two nicks.
func monitored(t *testing.T) *Session {
	t.Helper()
	s := newSession(Settings{Rooms: []string{"#tea"}})
	s.Opened()
	hear(t, s, ":x CAP * LS :away-notify extended-monitor", ":x CAP * ACK :away-notify "+
		"extended-monitor", ":x 001 ann :hello", ":x 005 ann MONITOR=2 :are supported")
	s.Open("bob")
	wants(t, out(s), "") // not before the session is ready
	wants(t, hear(t, s, ":x 422 ann :no MOTD"), "JOIN #tea\nMONITOR + bob\n")
	return s
}

// TestPresence: the server tells who of the conversations is here, away and offline.
func TestPresence(t *testing.T) {
	s := monitored(t)
	is := func(nick string, want Presence) {
		t.Helper()
		if got := s.Presence(s.Open(nick)); got != want {
			t.Errorf("%s: got %q, want %q", nick, got, want)
		}
	}
	is("bob", Unknown)
	hear(t, s, ":x 731 ann :bob")
	is("bob", Offline)
	wants(t, hear(t, s, ":x 730 ann :bob!b@h"), "USERHOST bob\n")
	is("bob", Here)
	hear(t, s, ":x 302 ann :bob*=-b@h")
	is("bob", Away)
	hear(t, s, ":bob!b@h AWAY")
	is("bob", Here)
	hear(t, s, ":bob!b@h AWAY :tea")
	is("bob", Away)
	wants(t, hear(t, s, ":bob!b@h NICK bert"), "MONITOR - bob\nMONITOR + bert\n")
	is("bert", Unknown)
	hear(t, s, ":x 730 ann :bert!b@h")
	out(s)
	s.Open("cat")
	wants(t, out(s), "MONITOR + cat\n")
	s.Open("dan") // there are more than the server watches
	hear(t, s, ":ann!a@h JOIN #tea", ":x 353 ann = #tea :@ann dan", ":x 366 ann #tea :end")
	out(s)
	is("dan", Here) // as the room tells
	hear(t, s, ":dan!d@h AWAY :tea")
	is("dan", Away)
	s.Close(s.Find("cat"), "")
	wants(t, out(s), "MONITOR - cat\n")
	s.Lost()
	is("bert", Unknown)
}

// TestUserhostOfTheUser: an answer to USERHOST that the user has asked for is shown, and that to
// the session's own question is not.
func TestUserhostOfTheUser(t *testing.T) {
	s := monitored(t)
	s.Look(s.Status)
	hear(t, s, ":x 730 ann :bob!b@h", ":x 302 ann :bob=+b@h")
	if got := shown(s.Status); strings.Contains(got, "bob=") {
		t.Errorf("shown: %s", got)
	}
	hear(t, s, ":x 302 ann :bob=+b@h")
	if got := shown(s.Status); !strings.Contains(got, "bob=+b@h") {
		t.Errorf("not shown: %s", got)
	}
}

// TestManyAreWatched: lines are not too long, and no nick makes two words of a line.
func TestManyAreWatched(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	hear(t, s, ":x 005 ann MONITOR :are supported")
	var nicks []string
	for i := range 100 {
		nicks = append(nicks, fmt.Sprintf("somebody-with-a-name-%d", i))
	}
	s.watch(append(nicks, "a,b", "a b", ":a", "*", "", "ann", nicks[0])...)
	n := 0
	for _, l := range s.Out() {
		if len(l.String()) > 450 {
			t.Errorf("a line has %d bytes", len(l.String()))
		}
		n += strings.Count(l.Param(1), ",") + 1
	}
	if n != len(nicks) {
		t.Errorf("%d nicks are watched, want %d", n, len(nicks))
	}
	line := ":x 730 ann :" + strings.Join(nicks[:12], ",")
	if got := strings.Count(hear(t, s, line), "USERHOST"); got != 3 {
		t.Errorf("%d questions for 12 nicks, want 3", got)
	}
	hear(t, s, ":x 730", ":x 730 ann :", ":x 731", ":x 302", ":x 302 ann :=+ x=? a", ":x 734")
}
