package terminal

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"interleave/papaya/client"
	"interleave/papaya/irc"
)

func FuzzClean(f *testing.F) {
	f.Add("\x1b[2J\x1b]52;c;aGk=\x07 \x031,2 \u202e")
	f.Add("\x03\x0312\x1b")
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text)
		if strings.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("%q: a control character is left in %q", text, got)
		}
		if ansi.Strip(got) != got {
			t.Fatalf("%q: an escape sequence is left in %q", text, got)
		}
	})
}

// FuzzView: whatever a server sends, the screen keeps its size, and has no escape sequences but
// those of our styles.
func FuzzView(f *testing.F) {
	f.Add(":b!b@h PRIVMSG #tea :\x1b[2J\x9b0m hello\n:b!b@h TOPIC #tea :\x1b]0;x\x07\n"+
		":\x1b[1m!x@h JOIN #tea", 40, 10)
	f.Add("@time=2026-11-22T12:00:00Z :日本!b@h PRIVMSG ann :👩\u200d👩\u200d👧日本\u0300\u0301", 61, 5)
	f.Add(":x 005 ann NETWORK=\x1b[5m\n:x 433 a b :c\n:ann!a@h PART #tea\n:ann!a@h NICK \x1b", 100,
		30)
	f.Fuzz(func(t *testing.T, text string, width, height int) {
		width, height = 8+(width&0x7f), height&0x3f
		s := client.New(client.Settings{Nick: "ann", Rooms: []string{"#tea"},
			Now: func() time.Time { return noon }})
		u := &user{t: t, m: NewModel(s, time.UTC)}
		u.take(Size{width, height})
		u.connects()
		for l := range strings.SplitSeq(text, "\n") {
			m, err := irc.Parse(l)
			if err != nil {
				continue
			}
			u.take(client.Line{Message: m})
			u.screen()
			screen, _, _ := u.m.View()
			if left := dropStyles(screen); strings.ContainsFunc(strings.ReplaceAll(left, "\n", ""),
				unicode.IsControl) {
				t.Fatalf("%q: controls on the screen: %q", l, left)
			}
			u.presses("ctrl+n", "pgup")
		}
	})
}

// dropStyles removes SGR sequences only.
func dropStyles(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n := strings.IndexFunc(rest,
			func(c rune) bool { return !strings.ContainsRune("0123456789;:", c) })
		if n < 0 || rest[n] != 'm' {
			b.WriteString("\x1b[")
			s = rest
			continue
		}
		s = rest[n+1:]
	}
}
