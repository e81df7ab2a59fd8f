package terminal

import (
	"fmt"
	"strings"
	"testing"
)

// TestSearchLeadsToTheMessage: what was found in all rooms is listed, and leads to the message
// among those around it. Esc goes back to the newest.
func TestSearchLeadsToTheMessage(t *testing.T) {
	u := newUser(t, 80, 16)
	u.connects()
	u.hears(":x 005 ann SEARCH :are supported", ":ann!ann@host JOIN #pot",
		":x BATCH +p chathistory #pot", ":x BATCH -p")
	u.sent = nil
	u.presses("/searchall kettle", "enter")
	u.hears(":x BATCH +s papaya/search #pot",
		"@batch=s;msgid=p1;time=2026-11-21T10:00:00.000Z :bob!b@h PRIVMSG #pot :a \x1b[2Jkettle",
		":x BATCH -s", ":x BATCH +t papaya/search #tea",
		"@batch=t;msgid=t1;time=2026-11-20T10:00:00.000Z :cat!c@h PRIVMSG #tea :the kettle",
		":x BATCH -t")
	u.golden("found")
	u.hears(":cat!c@h REDACT #tea t1 :oops")
	if text := u.screen(); strings.Contains(text, "the kettle") ||
		!strings.Contains(text, "message deleted by cat") {
		t.Errorf("a result that was deleted: got\n%s", text)
	}
	if got := strings.Join(u.sent, "\n"); got != "SEARCH #pot kettle\nSEARCH #tea kettle" {
		t.Errorf("sent %q", got)
	}
	u.sent = nil
	u.presses("enter")
	if got := strings.Join(u.sent, "\n"); got != "CHATHISTORY AROUND #pot msgid=p1 50" {
		t.Errorf("sent %q", got)
	}
	u.hears(":x BATCH +a chathistory #pot")
	for i := range 50 {
		id := fmt.Sprint("q", i)
		if i == 25 {
			id = "p1"
		}
		u.hears(fmt.Sprintf("@batch=a;msgid=%s;time=2026-11-21T10:00:%02d.000Z :bob!b@h PRIVMSG "+
			"#pot :kettle %d", id, i, i))
	}
	u.hears(":x BATCH -a")
	u.golden("context")
	u.hears("@msgid=new;time=2026-11-22T12:30:00.000Z :bob!b@h PRIVMSG #pot :meanwhile")
	room := u.m.session.Active()
	if room.Name != "#pot" || room.Unread != 1 {
		t.Errorf("%s has %d unread, want #pot with 1", room.Name, room.Unread)
	}
	u.sent = nil
	for range 5 {
		u.presses("pgdown")
	}
	if got := strings.Join(u.sent, "\n"); got != "CHATHISTORY AFTER #pot msgid=q49 50" {
		t.Errorf("at the end: sent %q", got)
	}
	u.presses("esc")
	if text := u.screen(); room.Unread != 0 || !strings.Contains(text, "meanwhile") ||
		strings.Contains(text, "kettle 4") {
		t.Errorf("at the newest: got\n%s", text)
	}
	u.presses("/search nothing", "enter")
	u.hears(":x BATCH +s papaya/search #pot", ":x BATCH -s")
	if text := u.screen(); !strings.Contains(text, "nothing was found") {
		t.Errorf("got\n%s", text)
	}
}
