package terminal

import (
	"strings"
	"testing"
)

// TestPresenceIsShown: the list of rooms names partners that are away or offline, and the title
// of a conversation says it, too, however narrow the screen is.
func TestPresenceIsShown(t *testing.T) {
	u := newUser(t, 100, 24)
	u.connects()
	u.hears(":x 005 ann MONITOR=100 :are supported")
	u.presses("/query dan", "enter")
	for _, tt := range []struct{ line, title, list string }{
		{":x 731 ann :dan", " dan  offline", " dan       offline"},
		{":x 730 ann :dan!d@h", " dan  here", " dan"},
		{":dan!d@h AWAY :tea", " dan  away", " dan          away"},
	} {
		u.hears(tt.line)
		lines := strings.Split(u.screen(), "\n")
		if lines[0] != tt.title {
			t.Errorf("%s: the title is %q, want %q", tt.line, lines[0], tt.title)
		}
		found := false
		for _, l := range lines[1:] {
			row, _, _ := strings.Cut(l, "│")
			found = found || strings.TrimRight(row, " ") == tt.list
		}
		if !found {
			t.Errorf("%s: no row is %q:\n%s", tt.line, tt.list, u.screen())
		}
	}
	u.hears(":dan!d@h PRIVMSG ann :ann: psst")
	for width := 1; width < 110; width += 7 {
		u.take(Size{width, 16})
		u.screen()
	}
}
