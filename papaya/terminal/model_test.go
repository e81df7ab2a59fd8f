package terminal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"interleave/papaya/client"
	"interleave/papaya/irc"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

// noon is when the tests begin; an event without a time of its own is a second later.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A user is a model and the lines that it has sent.
type user struct {
	t    *testing.T
	m    *Model
	sent []string
}

func newUser(t *testing.T, width, height int) *user {
	now := noon
	s := client.New(client.Settings{Nick: "ann", Rooms: []string{"#tea"},
		Now: func() time.Time { now = now.Add(time.Second); return now }})
	u := &user{t: t, m: NewModel(s, time.UTC)}
	u.take(Size{width, height})
	return u
}

func (u *user) take(e any) {
	for _, l := range u.m.Take(e) {
		u.sent = append(u.sent, l.String())
	}
}

func (u *user) hears(lines ...string) {
	u.t.Helper()
	for _, l := range lines {
		m, err := irc.Parse(l)
		if err != nil {
			u.t.Fatalf("%q: %v", l, err)
		}
		u.take(client.Line{Message: m})
	}
}

// presses sends keys by name. Other words are typed as text.
func (u *user) presses(keys ...string) {
	for _, k := range keys {
		switch {
		case strings.Contains(k, "+") || k == "enter" || k == "tab" || k == "up" || k == "down" ||
			k == "left" || k == "pgup" || k == "pgdown" || k == "esc" || k == "backspace":
			u.take(Key(k))
		default:
			u.take(Text(k))
		}
	}
}

func (u *user) connects() {
	u.t.Helper()
	u.take(client.Opened{})
	caps := "server-time batch echo-message labeled-response draft/chathistory message-tags"
	u.hears(":x CAP * LS :"+caps, ":x CAP * ACK :"+caps, ":x 001 ann :hello",
		":x 005 ann CHATHISTORY=50 NETWORK=Papaya :are supported", ":x 422 ann :no MOTD",
		":ann!ann@host JOIN #tea", ":x 332 ann #tea :Leaves, water, patience",
		":x 353 ann = #tea :@ann bob cat", ":x 366 ann #tea :end",
		":x BATCH +h chathistory #tea",
		"@batch=h;msgid=1;time=2026-11-21T18:30:00.000Z :bob!b@h PRIVMSG #tea :the last of the "+
			"oolong is gone", ":x BATCH -h")
}

// screen returns the screen as plain text, and checks its size.
func (u *user) screen() string {
	u.t.Helper()
	text, x, y := u.m.View()
	lines := strings.Split(text, "\n")
	if len(lines) != u.m.height && u.m.height >= leastPicture {
		u.t.Errorf("%d lines on a screen of %d", len(lines), u.m.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w != u.m.width {
			u.t.Errorf("line %d is %d wide on a screen of %d: %q", i, w, u.m.width, ansi.Strip(l))
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	if x < 0 || x >= u.m.width || y < 0 || y >= max(u.m.height, 1) {
		u.t.Errorf("the cursor is at %d,%d on a screen of %dx%d", x, y, u.m.width, u.m.height)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (u *user) golden(name string) {
	u.t.Helper()
	got := u.screen()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			u.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		u.t.Fatal(err)
	}
	if got != string(want) {
		u.t.Errorf("%s: got\n%s\nwant\n%s\n(go test ./papaya/terminal -update rewrites it)", file,
			got, want)
	}
}

// afternoon is a conversation to show.
func afternoon(u *user) {
	u.connects()
	u.hears(
		"@msgid=2;time=2026-11-22T12:01:00.000Z :bob!b@h PRIVMSG #tea :ann: is there any left? "+
			"I looked in every cupboard and behind the flour, and found nothing but a very old "+
			"biscuit",
		"@msgid=3;time=2026-11-22T12:01:30.000Z :cat!c@h PRIVMSG #tea :\x01ACTION looks "+
			"innocent\x01",
		"@msgid=4;time=2026-11-22T12:02:00.000Z :dàn日本語の長い名前!d@h PRIVMSG #tea :お茶をください 🍵 👩‍👩‍👧 "+
			"please",
		":eve!e@h JOIN #tea", ":x 352 ann #tea e h x eve G :0 eve",
		"@msgid=5;time=2026-11-22T12:03:00.000Z :bob!b@h PRIVMSG ann :psst",
		":ann!a@h JOIN #coffee",
		"@msgid=6;time=2026-11-22T12:04:00.000Z :bob!b@h PRIVMSG #coffee :strong",
		"@msgid=7;time=2026-11-22T12:04:01.000Z :bob!b@h PRIVMSG #coffee :black")
	u.presses("on my way", "enter")
	u.presses("two cups or th")
}

func TestScreens(t *testing.T) {
	for _, size := range []Size{{100, 24}, {80, 24}, {60, 16}, {40, 16}, {20, 8}} {
		t.Run(fmt.Sprintf("%dx%d", size.Width, size.Height), func(t *testing.T) {
			u := newUser(t, size.Width, size.Height)
			afternoon(u)
			u.golden(fmt.Sprintf("afternoon-%dx%d", size.Width, size.Height))
		})
	}
}

func TestScreensOfTrouble(t *testing.T) {
	u := newUser(t, 80, 10)
	u.golden("connecting")
	afternoon(u)
	u.take(client.Lost{Err: fmt.Errorf("dial tcp 127.0.0.1:6697: connect: connection refused"),
		In: 4 * time.Second})
	u.golden("lost")
	u.presses("enter")
	u.golden("not-sent")
}

func TestAllSizes(t *testing.T) {
	u := newUser(t, 80, 24)
	afternoon(u)
	for w := 1; w <= 130; w += 9 {
		for h := 1; h <= 40; h += 7 {
			u.take(Size{w, h})
			if w >= 8 { // a wide character needs two columns beside the time
				u.screen()
			} else {
				u.m.View()
			}
		}
	}
}

func TestScrollingBack(t *testing.T) {
	u := newUser(t, 60, 10)
	u.connects()
	for i := range 40 {
		u.hears(fmt.Sprintf("@msgid=a%d;time=2026-11-22T12:10:%02d.000Z :bob!b@h PRIVMSG #tea "+
			":line %d", i, i, i))
	}
	u.sent = nil
	u.presses("pgup", "pgup")
	u.golden("scrolled")
	u.hears("@msgid=new;time=2026-11-22T12:11:00.000Z :bob!b@h PRIVMSG #tea :what is new does " +
		"not move the screen")
	u.golden("scrolled-with-news")
	if r := u.m.session.Active(); r.Unread != 1 {
		t.Errorf("%d unread while scrolled back, want 1", r.Unread)
	}
	for range 10 {
		u.presses("pgup")
	}
	if len(u.sent) != 1 || u.sent[0] != "CHATHISTORY BEFORE #tea msgid=1 50" {
		t.Fatalf("at the beginning: sent %q", u.sent)
	}
	u.hears(":x BATCH +o chathistory #tea",
		"@batch=o;msgid=0;time=2026-11-21T18:00:00.000Z :cat!c@h PRIVMSG #tea :older still",
		":x BATCH -o")
	u.presses("pgup")
	if !strings.Contains(u.screen(), "older still") {
		t.Errorf("got\n%s", u.screen())
	}
	u.presses("esc")
	if !strings.Contains(u.screen(), "what is new") || u.m.session.Active().Unread != 0 {
		t.Errorf("at the newest: got\n%s", u.screen())
	}
	for range 60 {
		u.presses("shift+up")
	}
	for range 100 {
		u.presses("shift+down")
	}
	if u.m.bottom != nil {
		t.Error("scrolling down to the end is the end")
	}
}

func TestCompletion(t *testing.T) {
	tests := []struct {
		keys []string
		want string
	}{
		{[]string{"b", "tab"}, "bob: "},
		{[]string{"hello b", "tab"}, "hello bob "},
		{[]string{"C", "tab"}, "cat: "},
		{[]string{"/wh", "tab"}, "/whois "},
		{[]string{"/n", "tab"}, "/names "},
		{[]string{"/n", "tab", "tab"}, "/nick "},
		{[]string{"/n", "tab", "tab", "shift+tab"}, "/names "},
		{[]string{"/n", "shift+tab"}, "/ns "},
		{[]string{"in #t", "tab"}, "in #tea "},
		{[]string{"x", "tab"}, "x"},
		{[]string{"tab"}, ""},
		{[]string{"b", "tab", "!", "tab"}, "bob: !"},
		{[]string{"b then", "left", "left", "left", "left", "left", "tab"}, "bob:  then"},
	}
	for _, tt := range tests {
		u := newUser(t, 80, 10)
		u.connects()
		u.presses(tt.keys...)
		if got := u.m.in.String(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.keys, got, tt.want)
		}
	}
}

func TestCommands(t *testing.T) {
	tests := []struct{ text, sent, told string }{
		{"hello", "@label=m1 PRIVMSG #tea hello", ""},
		{"//slash", "@label=m1 PRIVMSG #tea /slash", ""},
		{"/me waves", "@label=m1 PRIVMSG #tea :\x01ACTION waves\x01", ""},
		{"/msg bob hi there", "@label=m1 PRIVMSG bob :hi there", ""},
		{"/msg bob", "", "how to use it: /msg nick text"},
		{"/notice bob hi", "@label=m1 NOTICE bob hi", ""},
		{"/join coffee", "JOIN #coffee", ""},
		{"/join #coffee key", "JOIN #coffee key", ""},
		{"/join", "", "how to use it: /join #room [key]"},
		{"/part", "PART #tea", ""},
		{"/part #tea gone home", "PART #tea :gone home", ""},
		{"/part #nowhere", "", "you are not in #nowhere"},
		{"/topic", "", "Leaves, water, patience"},
		{"/topic new one", "TOPIC #tea :new one", ""},
		{"/rename chai", "RENAME #tea #chai", ""},
		{"/rename #chai a warmer word", "RENAME #tea #chai :a warmer word", ""},
		{"/rename", "", "how to use it: /rename #name [why]"},
		{"/nick anna", "NICK anna", ""},
		{"/ns", "NS HELP", ""},
		{`/ns passwd "old one" new`, `NS :passwd "old one" new`, ""},
		{"/files", "NS :FILE LIST", ""},
		{"/files del 0a1b", "NS :FILE DEL 0a1b", ""},
		{"/files 0a1b", "", "how to use it: /files [del id]"},
		{"/away", "AWAY away", ""},
		{"/away for lunch", "AWAY :for lunch", ""},
		{"/back", "AWAY", ""},
		{"/whois bob", "WHOIS bob", ""},
		{"/invite dan", "INVITE dan #tea", ""},
		{"/kick bob enough now", "KICK #tea bob :enough now", ""},
		{"/list", "LIST", ""},
		{"/raw privmsg bob :a b", "PRIVMSG bob :a b", ""},
		{"/search x", "", "this server does not offer search"},
		{"/query bob", "CHATHISTORY LATEST bob * 50", ""},
		{"/nothing", "", "there is no command /nothing: /help lists them"},
		{"/", "", "a command is missing behind the /: /help lists them"},
		{"/quit bye", "QUIT bye", ""},
	}
	for _, tt := range tests {
		u := newUser(t, 80, 24)
		u.connects()
		u.sent = nil
		u.presses(tt.text, "enter")
		if got := strings.Join(u.sent, "\n"); got != tt.sent || u.m.told != tt.told {
			t.Errorf("%s: sent %q and told %q, want %q and %q", tt.text, got, u.m.told, tt.sent,
				tt.told)
		}
		u.screen()
	}
}

func TestWaysToLeave(t *testing.T) {
	for _, keys := range [][]string{{"ctrl+c"}, {"/quit", "enter"}} {
		u := newUser(t, 80, 24)
		u.connects()
		u.presses(keys...)
		if !u.m.Quit || u.sent[len(u.sent)-1] != "QUIT left" {
			t.Errorf("%q: quit %v, sent %q", keys, u.m.Quit, u.sent)
		}
	}
	u := newUser(t, 80, 24)
	u.presses("ctrl+c")
	if !u.m.Quit || len(u.sent) != 0 {
		t.Errorf("before there is a connection: quit %v, sent %q", u.m.Quit, u.sent)
	}
	u = newUser(t, 80, 24)
	u.take(client.Opened{})
	u.hears(":x 433 * ann :nickname is already in use")
	if !u.m.Quit || u.m.Failed != "ann: nickname is already in use" {
		t.Errorf("refused: quit %v, why %q", u.m.Quit, u.m.Failed)
	}
}

func TestRoomsKeepTheirDraftsAndMarks(t *testing.T) {
	u := newUser(t, 80, 16)
	afternoon(u)
	u.presses("alt+a") // to bob, who has written a private message
	if got := u.m.session.Active().Name; got != "bob" {
		t.Fatalf("looked at %s, want bob", got)
	}
	u.presses("ctrl+p", "ctrl+p") // past #tea to #coffee
	if got := u.m.session.Active().Name; got != "#coffee" {
		t.Fatalf("looked at %s, want #coffee", got)
	}
	u.golden("coffee")
	u.presses("alt+down")
	if got := u.m.in.String(); got != "two cups or th" {
		t.Errorf("the draft of #tea: got %q", got)
	}
	u.presses("ctrl+n")
	u.hears("@msgid=20;time=2026-11-22T12:06:00.000Z :cat!c@h PRIVMSG #tea :meanwhile")
	u.presses("ctrl+p")
	u.golden("mark")
}

func TestEditing(t *testing.T) {
	u := newUser(t, 80, 10)
	u.connects()
	u.presses("one two", "ctrl+w", "three", "ctrl+a", "x", "ctrl+e", "backspace", "left", "ctrl+k")
	if got := u.m.in.String(); got != "xone thr" {
		t.Errorf("got %q", got)
	}
	u.presses("ctrl+u", "first", "enter", "second", "enter", "up", "up")
	if got := u.m.in.String(); got != "first" {
		t.Errorf("what was written before: got %q", got)
	}
	u.presses("down", "down", "down", "pasted\r\nin \x1b[31mtwo\x07 lines")
	if got := u.m.in.String(); got != "pasted\nin [31mtwo lines" {
		t.Errorf("what is pasted: got %q", got)
	}
	if text := u.screen(); !strings.Contains(text, "> pasted⏎in [31mtwo lines") {
		t.Errorf("two lines in the input: got\n%s", text)
	}
	u.presses("ctrl+u", "all ", strings.Repeat("é\n", maxInput/2))
	if got := u.m.in.String(); got != "all " ||
		!strings.HasPrefix(u.m.told, "the text is too long") {
		t.Errorf("of a text that is too long %d bytes are there, told %q", len(got), u.m.told)
	}
	u.screen()
}
