package terminal

import (
	"strings"
	"testing"

	"interleave/papaya/client"
)

// connectsWith is connects, with more capabilities.
func (u *user) connectsWith(caps string) {
	u.t.Helper()
	u.connects()
	name, _, _ := strings.Cut(caps, "=")
	u.hears(":x CAP ann NEW :"+caps, ":x CAP ann ACK :"+name)
	u.sent = nil
}

// TestDelete: a user deletes her last message, and as an operator one that she chooses. The
// messages are replaced in their places, also those of histories.
func TestDelete(t *testing.T) {
	u := newUser(t, 80, 16)
	u.connectsWith("draft/message-redaction")
	u.presses("/delete", "enter")
	if len(u.sent) > 0 || !strings.HasPrefix(u.m.told, "there is no message of yours") {
		t.Errorf("with nothing to delete: sent %q, told %q", u.sent, u.m.told)
	}
	u.take(Key("ctrl+u"))
	u.hears("@msgid=2;time=2026-11-22T12:01:00.000Z :bob!b@h PRIVMSG #tea :rude words",
		"@msgid=3;time=2026-11-22T12:02:00.000Z :ann!ann@host PRIVMSG #tea :a secret",
		"@msgid=4;time=2026-11-22T12:03:00.000Z :cat!c@h PRIVMSG #tea :what?")
	u.presses("/delete wrong room", "enter", "ctrl+up", "ctrl+up", "ctrl+up")
	u.golden("picked")
	if text, _, _ := u.m.View(); !strings.Contains(text, "\x1b[7m12:01        bob rude words") {
		t.Errorf("the chosen message does not stand out: %q", text)
	}
	u.presses("/delete", "enter")
	want := []string{"REDACT #tea 3 :wrong room", "REDACT #tea 2"}
	if strings.Join(u.sent, "\n") != strings.Join(want, "\n") || u.m.picked != nil {
		t.Errorf("sent %q, want %q", u.sent, want)
	}
	u.hears("@msgid=5 :ann!ann@host REDACT #tea 3 :wrong\u202e room\x07",
		"@msgid=6 :ann!ann@host REDACT #tea 2", "@msgid=7 :ann!ann@host REDACT #tea 2",
		"@msgid=8;time=2026-11-22T12:04:00.000Z :bob!b@h REDACT #tea nothing :never shown",
		":bob!b@h REDACT #nowhere 4", ":bob!b@h REDACT #tea", "REDACT",
		":x FAIL REDACT REDACT_FORBIDDEN #tea 4 :You cannot remove the messages of others")
	u.golden("deleted")
	u.take(Size{40, 16})
	u.screen()
	for range 9 {
		u.presses("ctrl+up")
	}
	for range 9 {
		u.presses("ctrl+down")
	}
	if u.m.picked != nil || u.m.bottom != nil {
		t.Error("beyond the newest message one is still chosen")
	}
	u.m.session.Open("bob")
	u.hears("@msgid=9 :bob!b@h PRIVMSG ann :psst", ":bob!b@h REDACT ann 9 :never mind")
	talk := u.m.session.Find("bob")
	if talk.Messages[0].Kind != client.Deleted || talk.Unread != 0 {
		t.Errorf("in a conversation: got %v, %d unread", talk.Messages[0], talk.Unread)
	}
}
