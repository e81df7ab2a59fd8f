package terminal

import (
	"fmt"
	"strings"
	"testing"
)

// TestLines: a pasted text is one message of several lines. Long ones are folded, and what they
// hold cannot draw beside them.
func TestLines(t *testing.T) {
	u := newUser(t, 80, 24)
	u.connectsWith("draft/multiline=max-bytes=4096,max-lines=32")
	u.presses("first", "shift+enter", "second\n\n\tthird\n", "enter")
	want := []string{"@label=m1 BATCH +l1 draft/multiline #tea", "@batch=l1 PRIVMSG #tea first",
		"@batch=l1 PRIVMSG #tea second", "@batch=l1 PRIVMSG #tea :",
		"@batch=l1 PRIVMSG #tea : third", "BATCH -l1"}
	if strings.Join(u.sent, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent %q, want %q", u.sent, want)
	}
	u.hears("@msgid=2;time=2026-11-22T12:01:00.000Z :bob!b@h BATCH +m draft/multiline #tea")
	for i := range 40 {
		u.hears(fmt.Sprintf("@batch=m :bob!b@h PRIVMSG #tea :\x02line %d\u202e \x1b[2J", i))
	}
	u.hears(":bob!b@h BATCH -m",
		"@msgid=3;time=2026-11-22T12:02:00.000Z :cat!c@h PRIVMSG #tea :so long")
	u.golden("folded")
	u.presses("ctrl+up", "ctrl+up", "ctrl+up", "enter") // past our own, which has no echo
	if text := u.screen(); !strings.Contains(text, "line 19 [2J") ||
		strings.Contains(text, "more lines") {
		t.Errorf("opened: got\n%s", text)
	}
	u.presses("enter", "esc")
	if text := u.screen(); !strings.Contains(text, "… 28 more lines") {
		t.Errorf("folded again: got\n%s", text)
	}
	u.take(Size{20, 8})
	u.screen()
	u.sent = nil
	u.take(Text(strings.Repeat("x\n", 4000)))
	u.presses("enter")
	if len(u.sent) > 0 || u.m.told != "the text is too long to be sent at once" ||
		u.m.in.String() == "" {
		t.Errorf("4,000 lines: sent %d, told %q", len(u.sent), u.m.told)
	}
}
