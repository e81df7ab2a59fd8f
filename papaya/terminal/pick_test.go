package terminal

import (
	"fmt"
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

// TestAnswersAndReactions: an answer quotes its message, and reactions stand below one. Both are of
// the chosen message, or of the last one of somebody else.
func TestAnswersAndReactions(t *testing.T) {
	u := newUser(t, 80, 16)
	u.connectsWith("draft/message-redaction")
	u.hears("@msgid=2;time=2026-11-22T12:01:00.000Z :bob!b@h PRIVMSG #tea :who brings\u202e cake?",
		"@msgid=3;time=2026-11-22T12:02:00.000Z;+draft/reply=2 :cat!c@h PRIVMSG #tea :not me",
		"@msgid=4;time=2026-11-22T12:03:00.000Z;+draft/reply=gone :bob!b@h PRIVMSG #tea :oh",
		"@msgid=5;time=2026-11-22T12:04:00.000Z :ann!ann@host PRIVMSG #tea :hm")
	for i, l := range []string{"+draft/react=👍;+draft/reply=3 :bob!b@h",
		"+react=👍;+reply=3 :dan!d@h", "+draft/react=no\x1b[2J;+draft/reply=3 :bob!b@h",
		"+draft/react=👎;+draft/reply=3 :cat!c@h",
		"+draft/unreact=👎;+draft/reply=3 :cat!c@h", "+draft/react=x :cat!c@h",
		"+draft/react=far-too-long-for-one;+draft/reply=3 :cat!c@h"} {
		u.hears(fmt.Sprintf("@time=2026-11-22T12:05:0%d.000Z;msgid=r%d;%s TAGMSG #tea", i, i, l))
	}
	u.golden("answers")
	u.sent = nil
	u.presses("/reply I do", "enter", "/react 🎉", "enter", "ctrl+up", "ctrl+up", "ctrl+up",
		"/react 👍", "enter", "/reply", "enter")
	if want := []string{"@+draft/reply=4;label=m1 PRIVMSG #tea :I do",
		"@+draft/react=🎉;+draft/reply=4 TAGMSG #tea",
		"@+draft/react=👍;+draft/reply=4 TAGMSG #tea"}; strings.Join(u.sent, "\n") !=
		strings.Join(want, "\n") || u.m.told != "how to use it: /reply text" {
		t.Errorf("sent %q, want %q; told %q", u.sent, want, u.m.told)
	}
	u.take(Key("ctrl+u"))
	u.hears("@msgid=6 :bob!b@h REDACT #tea r0", "@msgid=7 :bob!b@h REDACT #tea 2")
	if got := u.screen(); !strings.Contains(got, "┌ message deleted by bob") ||
		!strings.Contains(got, "👍 1") || strings.Contains(got, "cake") {
		t.Errorf("after the deletions:\n%s", got)
	}
}
