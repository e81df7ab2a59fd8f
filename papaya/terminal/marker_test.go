package terminal

import (
	"strings"
	"testing"
)

// TestMarkers: the line "new" and the counts follow what was read here and elsewhere, and a
// terminal that is not looked at reads nothing.
func TestMarkers(t *testing.T) {
	u := newUser(t, 80, 16)
	u.connectsWith("draft/read-marker")
	say := func(id, who string) {
		u.hears("@msgid=" + id + ";time=2026-11-22T12:00:" + id + ".000Z :" + who +
			"!x@h PRIVMSG #tea :said at " + id)
	}
	line := func() string { // the text below the line "new"
		_, after, _ := strings.Cut(u.screen(), "─ new ─")
		_, after, _ = strings.Cut(after, "bob ")
		after, _, _ = strings.Cut(after, " │")
		return strings.TrimRight(strings.SplitN(after, "  ", 2)[0], " ")
	}
	say("11", "bob")
	if !u.m.Waits || line() != "" {
		t.Errorf("a message that is seen at once: waits %v, line above %q", u.m.Waits, line())
	}
	u.take(Tick{})
	const marked = "MARKREAD #tea timestamp=2026-11-22T12:00:11.000Z"
	if got := strings.Join(u.sent, "\n"); got != marked || u.m.Waits {
		t.Errorf("sent %q", got)
	}
	u.take(Focus(false))
	say("12", "bob")
	say("13", "bob")
	say("14", "bob")
	u.golden("unfocused")
	u.hears(":x MARKREAD #tea timestamp=2026-11-22T12:00:12.000Z")
	if r := u.m.session.Active(); r.Unread != 2 || line() != "said at 13" || u.m.Waits {
		t.Errorf("partly read elsewhere: %d unread, line above %q", r.Unread, line())
	}
	u.hears(":x MARKREAD #tea timestamp=2026-11-22T12:00:14.000Z")
	if r := u.m.session.Active(); r.Unread != 0 || line() != "" {
		t.Errorf("read elsewhere: %d unread, line above %q", r.Unread, line())
	}
	say("15", "bob")
	u.take(Focus(true))
	if r := u.m.session.Active(); r.Unread != 0 || line() != "said at 15" || !u.m.Waits {
		t.Errorf("with the focus again: %d unread, line above %q", r.Unread, line())
	}
	u.sent = nil
	u.presses("ctrl+c")
	if got := strings.Join(u.sent, "\n"); got !=
		"MARKREAD #tea timestamp=2026-11-22T12:00:15.000Z\nQUIT left" {
		t.Errorf("at the end: sent %q", got)
	}
}

// TestMissedMessagesAreMarked: a history that comes after the JOIN has the line "new" where the
// user has stopped reading on another device.
func TestMissedMessagesAreMarked(t *testing.T) {
	u := newUser(t, 60, 16)
	u.connects()
	u.hears(":ann!ann@host JOIN #pot", ":x MARKREAD #pot timestamp=2026-11-22T11:00:01.000Z")
	u.presses("ctrl+p")
	u.hears(":x BATCH +p chathistory #pot",
		"@batch=p;msgid=1;time=2026-11-22T11:00:01.000Z :bob!b@h PRIVMSG #pot :seen",
		"@batch=p;msgid=2;time=2026-11-22T11:00:02.000Z :bob!b@h PRIVMSG #pot :missed",
		":x BATCH -p")
	u.golden("missed")
	if r := u.m.session.Active(); r.Name != "#pot" || r.Unread != 0 {
		t.Errorf("%s has %d unread", r.Name, r.Unread)
	}
}
