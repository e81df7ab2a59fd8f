package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/papaya/irc"
)

// noon is when these conversations begin; each line is a second later.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newSession(settings Settings) *Session {
	now := noon
	settings.Now = func() time.Time { now = now.Add(time.Second); return now }
	if settings.Nick == "" {
		settings.Nick = "ann"
	}
	return New(settings)
}

// hear passes lines of the server to a session, and returns the session's answers, one in a line.
func hear(t *testing.T, s *Session, lines ...string) string {
	t.Helper()
	for _, l := range lines {
		m, err := irc.Parse(l)
		if err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		s.Receive(m)
	}
	return out(s)
}

func out(s *Session) string {
	var b strings.Builder
	for _, m := range s.Out() {
		b.WriteString(m.String() + "\n")
	}
	return b.String()
}

func wants(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimLeft(want, "\n"); got != want {
		t.Fatalf("got:\n%s\nwant:\n%s", got, want)
	}
}

// full are all capabilities that a session uses.
const full = "server-time batch echo-message labeled-response draft/chathistory message-tags"

// connect registers with the capabilities, and joins #tea.
func connect(t *testing.T, s *Session, caps string) string {
	t.Helper()
	s.Opened()
	hear(t, s, ":x CAP * LS :"+caps)
	if caps != "" {
		hear(t, s, ":x CAP * ACK :"+caps)
	}
	got := hear(t, s, ":x 001 ann :hello",
		":x 005 ann CHATHISTORY=3 PREFIX=(ov)@+ CASEMAPPING=ascii :are supported",
		":x 422 ann :no MOTD")
	if !slices.ContainsFunc(s.Events(), func(e Event) bool { return e.Kind == Ready }) {
		t.Fatal("the session is not ready after 422")
	}
	return got + hear(t, s, ":ann!ann@host JOIN #tea", ":x 353 ann = #tea :@ann +bob cat",
		":x 366 ann #tea :end")
}

// shown returns a room's messages in a short form.
func shown(r *Room) string {
	var b strings.Builder
	for _, m := range r.Messages {
		marks := ""
		if m.Pending && !m.Failed {
			marks = " pending"
		}
		if m.Failed {
			marks = " failed"
		}
		fmt.Fprintf(&b, "%s: %s%s\n", m.Nick, m.Text, marks)
	}
	return b.String()
}

func TestRegistration(t *testing.T) {
	tests := []struct {
		name     string
		settings Settings
		lines    []string
		want     string
	}{
		{"a server that knows no CAP", Settings{}, []string{":x 421 ann CAP :what",
			":x 001 ann :hi", ":x 376 ann :end"}, ""},
		{"no capability is of use", Settings{}, []string{":x CAP * LS :tls sts"}, "CAP END\n"},
		{"a list in two lines", Settings{}, []string{":x CAP * LS * :batch",
			":x CAP * LS :server-time x=y"}, "CAP REQ :server-time batch\n"},
		{"granted", Settings{}, []string{":x CAP * ACK :server-time"}, "CAP END\n"},
		{"refused", Settings{}, []string{":x CAP * NAK :server-time"}, "CAP END\n"},
		{
			"an account", Settings{Account: "ann", Password: "pw"},
			[]string{":x CAP * LS :sasl=PLAIN", ":x CAP * ACK :sasl", "AUTHENTICATE +",
				":x 900 ann a ann :in", ":x 903 ann :ok"},
			"CAP REQ sasl\nAUTHENTICATE PLAIN\nAUTHENTICATE AGFubgBwdw==\nCAP END\n",
		},
		{
			"a nick that is the account's own", Settings{Account: "ann", Password: "pw"},
			[]string{":x 433 * ann :in use", ":x CAP * LS :sasl", ":x CAP * ACK :sasl",
				"AUTHENTICATE +", ":x 903 ann :ok"},
			"CAP REQ sasl\nAUTHENTICATE PLAIN\nAUTHENTICATE AGFubgBwdw==\nNICK ann\nCAP END\n",
		},
		{"rooms", Settings{Rooms: []string{"#b", "#a"}}, []string{":x 001 ann :hi",
			":x 422 ann :no"}, "JOIN #a\nJOIN #b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(tt.settings)
			s.Opened()
			wants(t, out(s), "CAP LS 302\nNICK ann\nUSER ann 0 * ann\n")
			wants(t, hear(t, s, tt.lines...), tt.want)
		})
	}
}

func TestLongPasswordsGoInParts(t *testing.T) {
	// 300 bytes, which are 400 of base64.
	s := newSession(Settings{Account: "a", Password: strings.Repeat("p", 297)})
	s.Opened()
	out(s)
	lines := strings.Split(hear(t, s, "AUTHENTICATE +"), "\n")
	if len(lines) != 3 || len(lines[0]) != len("AUTHENTICATE ")+400 ||
		lines[1] != "AUTHENTICATE +" {
		t.Errorf("got %q", lines)
	}
}

func TestRefusedAtFirstRetriedLater(t *testing.T) {
	s := newSession(Settings{})
	s.Opened()
	hear(t, s, ":x 433 * ann :in use")
	if e := s.Events(); len(e) != 1 || e[0].Kind != Refused || e[0].Why != "ann: in use" {
		t.Errorf("at first: got %v", e)
	}
	s = newSession(Settings{})
	connect(t, s, full)
	s.Lost()
	s.Events()
	s.Opened()
	hear(t, s, ":x 433 * ann :in use")
	if e := s.Events(); len(e) != 1 || e[0].Kind != Retry {
		t.Errorf("after a loss, when it is our own ghost: got %v", e)
	}
}

func TestEchoTakesThePlaceOfWhatWaits(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	if s.Say(tea, Said, "one") != Sent || s.Say(tea, Action, "waves") != Sent {
		t.Fatal("nothing could be said")
	}
	wants(t, out(s), "@label=m1 PRIVMSG #tea one\n@label=m2 PRIVMSG #tea :\x01ACTION waves\x01\n")
	wants(t, shown(tea), "ann: one pending\nann: waves pending\n")
	hear(t, s, "@label=m1;msgid=1;time=2026-11-22T12:00:30.000Z :ann!a@h PRIVMSG #tea one")
	hear(t, s,
		"@label=m2;msgid=2;time=2026-11-22T12:00:31.000Z :ann!a@h PRIVMSG #tea :\x01ACTION "+
			"waves\x01")
	wants(t, shown(tea), "ann: one\nann: waves\n")
}

// TestOurHost: a long host of ours leaves less room in a line.
func TestOurHost(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	hear(t, s, ":bob!b@h CHGHOST b elsewhere", ":ann!ann@host CHGHOST ann",
		":ann!ann@host CHGHOST u "+strings.Repeat("h", 60))
	if want := "ann!u@" + strings.Repeat("h", 60); s.source != want {
		t.Errorf("we are %s, want %s", s.source, want)
	}
}

func TestWithoutEchoItIsShownOnce(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, "")
	s.Say(s.Find("#tea"), Said, "one")
	wants(t, shown(s.Find("#tea")), "ann: one\n")
}

func TestNothingIsSaidWhereNobodyHears(t *testing.T) {
	s := newSession(Settings{})
	if s.Say(s.Open("bob"), Said, "x") == Sent {
		t.Error("said before the session was ready")
	}
	connect(t, s, "")
	if s.Say(s.Open("#other"), Said, "x") == Sent || s.Say(s.Status, Said, "x") == Sent {
		t.Error("said where we are not")
	}
}

func TestReconnectHasNoGapAndNoDouble(t *testing.T) {
	s := newSession(Settings{Rooms: []string{"#tea"}})
	wants(t, connect(t, s, full), "JOIN #tea\nCHATHISTORY LATEST #tea * 3\nWHO #tea\n")
	hear(t, s, ":x BATCH +h chathistory #tea", ":x BATCH -h")
	tea := s.Find("#tea")
	hear(t, s, "@msgid=1;time=2026-11-22T12:01:00.000Z :bob!b@h PRIVMSG #tea one")
	s.Say(tea, Said, "did this arrive?")
	s.Say(tea, Said, "and this?")
	out(s)
	s.Lost()
	wants(t, shown(tea), "bob: one\nann: did this arrive? failed\nann: and this? failed\n")

	got := connect(t, s, full)
	wants(t, got,
		"JOIN #tea\nCHATHISTORY TARGETS timestamp=2026-11-22T12:00:59.999Z "+
			"timestamp=2026-11-22T12:01:19.000Z 3\nCHATHISTORY AFTER #tea msgid=1 3\nWHO #tea\n")
	// The server repeats some messages by itself, and another user writes before the page comes.
	hear(t, s, "@msgid=3;time=2026-11-22T12:02:02.000Z :bob!b@h PRIVMSG #tea three")
	hear(t, s, "@msgid=6;time=2026-11-22T12:02:09.000Z :bob!b@h PRIVMSG #tea six")
	got = hear(t, s, ":x BATCH +p chathistory #tea",
		"@batch=p;msgid=2;time=2026-11-22T12:02:01.000Z :ann!a@h PRIVMSG #tea :did this arrive?",
		"@batch=p;msgid=3;time=2026-11-22T12:02:02.000Z :bob!b@h PRIVMSG #tea three",
		"@batch=p;msgid=4;time=2026-11-22T12:02:03.000Z :bob!b@h PRIVMSG #tea four", ":x BATCH -p")
	wants(t, got, "CHATHISTORY AFTER #tea msgid=4 3\n") // the page was full, so there may be more
	wants(t, hear(t, s, ":x BATCH +q chathistory #tea",
		"@batch=q;msgid=5;time=2026-11-22T12:02:04.000Z :bob!b@h PRIVMSG #tea five",
		"@batch=q;msgid=6;time=2026-11-22T12:02:09.000Z :bob!b@h PRIVMSG #tea six", ":x BATCH -q"),
		"")
	wants(t, shown(tea),
		"bob: one\nann: and this? failed\nann: did this arrive?\nbob: three\nbob: four\nbob: "+
			"five\nbob: six\n")
	if tea.Unread != 5 {
		t.Errorf("%d unread, want 5: one, three, four, five and six", tea.Unread)
	}
}

func TestForgottenMsgidIsAskedForByTime(t *testing.T) {
	s := newSession(Settings{Rooms: []string{"#tea"}})
	connect(t, s, full)
	hear(t, s, ":x BATCH +h chathistory #tea", ":x BATCH -h",
		"@msgid=1;time=2026-11-22T12:01:00.000Z :bob!b@h PRIVMSG #tea one")
	s.Lost()
	connect(t, s, full)
	wants(t, hear(t, s, ":x FAIL CHATHISTORY INVALID_PARAMS AFTER #tea :no such msgid"),
		"CHATHISTORY AFTER #tea timestamp=2026-11-22T12:00:59.999Z 3\n")
	wants(t, hear(t, s, ":x FAIL CHATHISTORY INVALID_PARAMS AFTER #tea :no"), "")
}

// TestMessagesOfOneMillisecond: messages with the same time stay in the order of the server, also
// when those before them come later.
func TestMessagesOfOneMillisecond(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	line := func(batch, id, text string) string {
		return "@" + batch + "msgid=" + id +
			";time=2026-11-22T11:00:00.000Z :bob!b@h PRIVMSG #tea " + text
	}
	hear(t, s, ":x BATCH +h chathistory #tea", line("batch=h;", "c", "three"),
		line("batch=h;", "d", "four"), ":x BATCH -h", line("", "e", "five"))
	if !s.Older(tea) {
		t.Fatal("nothing older was asked for")
	}
	hear(t, s, ":x BATCH +i chathistory #tea", line("batch=i;", "a", "one"),
		line("batch=i;", "b", "two"), line("batch=i;", "c", "three"), ":x BATCH -i")
	wants(t, shown(tea), "bob: one\nbob: two\nbob: three\nbob: four\nbob: five\n")
}

func TestScrollingBackEndsAtTheBeginning(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	if s.Older(tea) {
		t.Error("asked for two pages at once")
	}
	hear(t, s, ":x BATCH +h chathistory #tea",
		"@batch=h;msgid=9;time=2026-11-22T11:00:00.000Z :bob!b@h PRIVMSG #tea nine", ":x BATCH -h")
	if tea.Unread != 0 {
		t.Errorf("%d unread of what was said before we came", tea.Unread)
	}
	if !s.Older(tea) {
		t.Fatal("nothing older was asked for")
	}
	wants(t, out(s), "CHATHISTORY BEFORE #tea msgid=9 3\n")
	hear(t, s, ":x BATCH +i chathistory #tea",
		"@batch=i;msgid=8;time=2026-11-22T10:00:00.000Z :bob!b@h PRIVMSG #tea eight", ":x BATCH -i")
	wants(t, shown(tea), "bob: eight\nbob: nine\n")
	s.Older(tea)
	hear(t, s, ":x BATCH +j chathistory #tea", ":x BATCH -j")
	if !tea.Whole || s.Older(tea) {
		t.Error("an empty page is the beginning of the room")
	}
}

func TestWhoIsThere(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	hear(t, s, ":dan!d@h JOIN #tea", ":bob!b@h NICK bobby", ":cat!c@h QUIT :bye",
		":x 352 ann #tea d h x dan G :0 dan", ":x 315 ann #tea :end", ":bobby!b@h AWAY :lunch")
	want := []Member{{Nick: "ann", Prefix: "@", Host: "host"},
		{Nick: "bobby", Prefix: "+", Away: true}, {Nick: "dan", Away: true, Host: "h"}}
	if got := tea.People(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	hear(t, s, ":x 306 ann :you are away")
	if !s.Away || !tea.Members["ann"].Away {
		t.Error("our own absence is not seen")
	}
	wants(t, shown(tea), ": dan joined\n: bob is now bobby\n: cat left: bye\n")
	hear(t, s, ":dan!d@h KICK #tea ann :out")
	if tea.Joined || s.wanted("#tea") {
		t.Error("a removed member must not be in the room, and must not come back")
	}
}

func TestMentions(t *testing.T) {
	s := newSession(Settings{})
	tests := []struct {
		text string
		want bool
	}{
		{"ann: hello", true}, {"hello, Ann!", true}, {"@ann", true}, {"(ann)", true}, {"ann", true},
		{"annual", false}, {"hannah", false}, {"ann-marie", false}, {"", false}, {"ann_", false},
	}
	for _, tt := range tests {
		if got := s.mentions(tt.text); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestConversations(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	hear(t, s, ":bob!b@h PRIVMSG ann :psst", ":ann!a@h PRIVMSG cat :said elsewhere",
		":x NOTICE ann :from the server", ":bob!b@h PRIVMSG ann :\x01VERSION\x01")
	wants(t, shown(s.Find("bob")), "bob: psst\n")
	wants(t, shown(s.Find("cat")), "ann: said elsewhere\n")
	if r := s.Find("bob"); r.Unread != 1 || r.Mentions != 1 {
		t.Errorf("what is written to us counts as a mention: got %d, %d", r.Unread, r.Mentions)
	}
	if !strings.Contains(shown(s.Status), "from the server") {
		t.Errorf("got %q", shown(s.Status))
	}
}

func TestTroubleIsShownWhereItBelongs(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	s.Say(tea, Said, "x")
	hear(t, s, "@label=m1 :x 404 ann #tea :cannot be written: no space left on device")
	wants(t, shown(tea), "ann: x failed\n: #tea cannot be written: no space left on device\n")
}

func TestPieces(t *testing.T) {
	tests := []struct {
		text string
		size int
		want []string
	}{
		{"", 10, nil},
		{"short", 10, []string{"short"}},
		{"two\nlines\r\n", 10, []string{"two", "lines"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"abcdefghijkl", 5, []string{"abcde", "fghij", "kl"}},
		{"ééé", 3, []string{"é", "é", "é"}},
		{"é", 1, nil},
		{"x", -1, nil},
	}
	for _, tt := range tests {
		if got := Pieces(tt.text, tt.size); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %d: got %q, want %q", tt.text, tt.size, got, tt.want)
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("one two three\nfour", 8)
	f.Add("ééé \xff", 3)
	f.Fuzz(func(t *testing.T, text string, size int) {
		for _, p := range Pieces(text, size) {
			if len(p) > size || p == "" || strings.ContainsAny(p, "\n") {
				t.Fatalf("%q in %d: got the piece %q", text, size, p)
			}
		}
	})
}

// FuzzReceive: after any lines of a server, no message is in a room twice.
func FuzzReceive(f *testing.F) {
	f.Add(":ann!a@h JOIN #tea\n@msgid=1;time=2026-11-22T12:00:00.000Z :b!b@h PRIVMSG #tea x\n" +
		":b!b@h PRIVMSG #tea \x01ACTION\x01")
	f.Add(":x BATCH +a chathistory #tea\n@batch=a;msgid=1 :b PRIVMSG #tea y\n:x BATCH -a\n" +
		"BATCH\nCAP\nNICK\nMODE #tea +o\n353 a = #tea :@+b")
	f.Add(":b!b@h REDACT #tea 1 :why\n@msgid=1 :b!b@h PRIVMSG #tea x\n:b REDACT #tea 1\nREDACT\n" +
		":x MARKREAD #tea timestamp=2999-01-01T00:00:00Z\nMARKREAD #tea *\n" +
		":x BATCH +a search #tea")
	f.Add("@batch=b :x BATCH +a draft/multiline #tea\n" +
		"@batch=a :b!b@h BATCH +b draft/multiline #tea\n@batch=b :b!b@h PRIVMSG #tea x\n" +
		"@batch=a;draft/multiline-concat :b!b@h PRIVMSG #tea y\nBATCH -a\nBATCH -b\n" +
		":x BATCH +h chathistory #tea\n@batch=h;msgid=5 :b!b@h PRIVMSG #tea z\n" +
		"@batch=h REDACT #tea 5\nBATCH -h\nFAIL CHATHISTORY x #tea\nFAIL SEARCH x #tea\n" +
		"421 a SEARCH")
	f.Add("005 x PREFIX=( CHATHISTORY=-1 CHANTYPES= :\n:a NICK\n:ann PART\nKICK #tea\nFAIL\n352 " +
		"a\nAUTHENTICATE +\n001")
	f.Fuzz(func(t *testing.T, text string) {
		s := newSession(Settings{Account: "a", Password: "b"})
		connect(t, s, full+" draft/multiline draft/message-redaction draft/read-marker")
		for l := range strings.SplitSeq(text, "\n") {
			if m, err := irc.Parse(l); err == nil {
				s.Receive(m)
			}
			for _, r := range append(s.Rooms(), s.Status) {
				if past := r.Past(); past != nil && len(past.Messages) == 0 {
					t.Fatalf("%q: nothing of %s is shown", l, r.Name)
				}
				seen := map[string]bool{}
				for _, m := range r.Messages {
					if k := m.key(); k != "" && seen[k] {
						t.Fatalf("%q: %s is in %s twice", l, k, r.Name)
					} else {
						seen[k] = true
					}
				}
				r.People()
				s.Older(r)
				s.Seek(r, &Message{ID: "5"})
				s.Newer(r)
			}
			s.Search(s.Searchable(), "x")
			s.SendMarkers()
			for _, m := range s.Out() {
				if strings.ContainsAny(m.String(), "\r\n\x00") {
					t.Fatalf("%q: an answer of two lines: %q", l, m)
				}
			}
		}
		s.Lost()
	})
}

func TestInvitation(t *testing.T) {
	s := newSession(Settings{Account: "ann", Password: "the kettle is on", Invitation: "TOKEN"})
	s.Opened()
	out(s)
	hear(t, s, ":x CAP * LS :sasl=PLAIN draft/account-registration=before-connect")
	wants(t, hear(t, s, ":x CAP * ACK :sasl"), "REGISTER ann TOKEN :the kettle is on\n")
	wants(t, hear(t, s, ":x REGISTER SUCCESS ann :Account created"), "AUTHENTICATE PLAIN\n")
	wants(t, hear(t, s, ":x 900 * * ann :You are now logged in as ann"), "")
	wants(t, hear(t, s, ":x 903 * :done"), "CAP END\n")
	// It may have another name by then.
	hear(t, s, ":x 001 ann :Welcome", ":x 900 ann ann!u@h Zoe :You are now logged in as Zoe")
	hear(t, s, ":NickServ!NickServ@x NOTICE ann :The account is renamed.")
	if s.settings.Account != "Zoe" || s.Find("NickServ") != nil {
		t.Errorf("the account is %s, and the talk with NickServ %v", s.settings.Account,
			s.Find("NickServ"))
	}
	// After a reconnect the account exists.
	s.Opened()
	out(s)
	hear(t, s, ":x CAP * LS :sasl=PLAIN draft/account-registration=before-connect")
	wants(t, hear(t, s, ":x CAP * ACK :sasl"), "AUTHENTICATE PLAIN\n")
}
