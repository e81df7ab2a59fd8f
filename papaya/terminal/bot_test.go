package terminal

import (
	"strings"
	"testing"
)

// TestBotsAreMarked: what a bot says begins with a mark, and so the list of members has one.
func TestBotsAreMarked(t *testing.T) {
	u := newUser(t, 100, 24)
	u.connects()
	u.hears(":x 005 ann BOT=B :are supported", ":x 352 ann #tea b h x bob HB :0 bob",
		"@bot;msgid=9 :bob!b@h PRIVMSG #tea :90 degrees", "@bot :robo!r@h JOIN #tea",
		"@msgid=10 :cat!c@h PRIVMSG #tea :thanks")
	screen := u.screen()
	for _, want := range []string{"bob [bot] 90 degrees", "cat thanks", "bob (bot)", "robo (bot)"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	if strings.Contains(screen, "cat (bot)") {
		t.Errorf("cat is no bot:\n%s", screen)
	}
	for width := 1; width < 110; width += 7 {
		u.take(Size{width, 16})
		u.screen()
	}
}
