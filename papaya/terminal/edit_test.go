package terminal

import (
	"strings"
	"testing"
)

// TestEdit: a user changes her last message, or one of hers that she chooses. The new text stands
// in the place of the other, and says that it is not the first.
func TestEdit(t *testing.T) {
	u := newUser(t, 80, 16)
	u.connectsWith("draft/message-edit")
	u.presses("/edit text", "enter")
	if len(u.sent) > 0 || !strings.HasPrefix(u.m.told, "there is no message of yours") {
		t.Errorf("with nothing to change: sent %q, told %q", u.sent, u.m.told)
	}
	u.take(Key("ctrl+u"))
	u.hears("@msgid=2;time=2026-11-22T12:01:00.000Z :ann!ann@host PRIVMSG #tea :the ketle is on",
		"@msgid=3;time=2026-11-22T12:02:00.000Z :bob!b@h PRIVMSG #tea :the what?",
		"@msgid=4;time=2026-11-22T12:03:00.000Z :ann!ann@host PRIVMSG #tea :sory")
	u.presses("/edit sorry", "enter", "ctrl+up", "ctrl+up", "ctrl+up", "/edit the kettle is on",
		"enter", "ctrl+up", "ctrl+up", "/edit mine", "enter")
	want := []string{"@+draft/edit=4;label=m1 PRIVMSG #tea sorry",
		"@+draft/edit=2;label=m2 PRIVMSG #tea :the kettle is on"}
	if strings.Join(u.sent, "\n") != strings.Join(want, "\n") ||
		u.m.told != "you cannot change this message" {
		t.Errorf("sent %q, want %q; told %q", u.sent, want, u.m.told)
	}
	u.take(Key("ctrl+u"))
	u.take(Key("esc"))
	u.screen() // what is drawn once is drawn anew
	u.hears("@msgid=5;label=m1;time=2026-11-22T12:04:00.000Z;+draft/edit=4 :ann!ann@host PRIVMSG "+
		"#tea :sorry",
		"@msgid=6;time=2026-11-22T12:05:00.000Z;+draft/edit=3 :bob!b@h PRIVMSG #tea :\x1b[2Jwhat?",
		"@label=m2 FAIL PRIVMSG EDIT_WINDOW_EXPIRED #tea 2 86400 :The message is too old")
	u.golden("edited")
}
