package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// connectLines connects to a server that takes messages of at most 4 lines.
func connectLines(t *testing.T, s *Session) *Room {
	t.Helper()
	connect(t, s, full)
	hear(t, s, ":x CAP ann NEW :draft/multiline=max-bytes=2000,max-lines=4",
		":x CAP ann ACK :draft/multiline", ":x BATCH +h chathistory #tea", ":x BATCH -h")
	return s.Find("#tea")
}

// TestSeveralLinesAreOneMessage: what is sent, its echo, and its refusal.
func TestSeveralLinesAreOneMessage(t *testing.T) {
	s := newSession(Settings{})
	tea := connectLines(t, s)
	long := strings.Repeat("word ", 120)
	if got := s.Say(tea, Said, "\n \none\r\n\n  two\n"+long+"\n\n"); got != Sent {
		t.Fatalf("got %v", got)
	}
	lines := strings.Split(out(s), "\n")
	if !slices.Equal(lines[:4], []string{"@label=m1 BATCH +l1 draft/multiline #tea",
		"@batch=l1 PRIVMSG #tea one", "@batch=l1 PRIVMSG #tea :",
		"@batch=l1 PRIVMSG #tea :  two"}) {
		t.Errorf("got %q", lines)
	}
	var text string
	for _, l := range lines[4:] {
		if head, rest, ok := strings.Cut(l, " PRIVMSG #tea :"); ok {
			if joins := strings.Contains(head, concatTag); joins != (text != "" &&
				strings.HasPrefix(head, "@batch=l2;")) {
				t.Errorf("%q: joins %v", l, joins)
			}
			text += rest
		}
	}
	if text != strings.TrimRight(long, " ") {
		t.Errorf("the long line arrives as %q", text)
	}
	first := tea.Messages[0].Text
	echo := []string{
		"@label=m1;msgid=1;time=2026-11-22T12:00:05.000Z :ann!a@h BATCH +m1 draft/multiline #tea",
		"@batch=m1 :ann!a@h PRIVMSG #tea one"}
	for l := range strings.SplitSeq(strings.TrimPrefix(first, "one\n"), "\n") {
		echo = append(echo, "@batch=m1 :ann!a@h PRIVMSG #tea :"+l)
	}
	hear(t, s, append(echo, ":ann!a@h BATCH -m1")...)
	if len(tea.Messages) != 2 || tea.Messages[0].ID != "1" || tea.Messages[0].Text != first ||
		tea.Messages[0].Pending {
		t.Errorf("after the echo: got %q", shown(tea))
	}
	hear(t, s, "@label=m2 :x FAIL BATCH MULTILINE_MAX_LINES 4 :There are too many lines")
	if !tea.Messages[len(tea.Messages)-1].Failed {
		t.Errorf("after a refusal: got %q", shown(tea))
	}
}

// TestSeveralLinesWithoutTheCapability: each line is a message, and a text of too many is kept.
func TestSeveralLinesWithoutTheCapability(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, "")
	tea := s.Find("#tea")
	s.Say(tea, Said, "one\n\ntwo")
	wants(t, out(s), "PRIVMSG #tea one\nPRIVMSG #tea two\n")
	if got := s.Say(tea, Said, strings.Repeat("x\n", 10000)); got != TooLong || out(s) != "" {
		t.Errorf("10,000 lines: got %v", got)
	}
	s = newSession(Settings{})
	tea = connectLines(t, s)
	if got := s.Say(tea, Said, strings.Repeat("x\n", 10000)); got != TooLong || out(s) != "" {
		t.Errorf("10,000 lines as messages of 4: got %v", got)
	}
	s.Say(tea, Action, "one\ntwo")
	wants(t, out(s), "@label=m1 PRIVMSG #tea :\x01ACTION one\x01\n"+
		"@label=m2 PRIVMSG #tea :\x01ACTION two\x01\n")
}

// TestSeveralLinesInHistory: a batch in a batch, and batches that are no message.
func TestSeveralLinesInHistory(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full)
	tea := s.Find("#tea")
	hear(t, s, ":x BATCH +h chathistory #tea",
		"@batch=h;msgid=1;time=2026-11-22T11:00:00.000Z :bob!b@h BATCH +m draft/multiline #tea",
		"@batch=m :bob!b@h PRIVMSG #tea :the kettle", "@batch=m :bob!b@h PRIVMSG #tea :is ",
		"@batch=m;draft/multiline-concat :bob!b@h PRIVMSG #tea :on", "@batch=h :bob!b@h BATCH -m",
		"@batch=h;msgid=2;time=2026-11-22T11:00:01.000Z :bob!b@h PRIVMSG #tea two", ":x BATCH -h",
		"@batch=m;time=2026-11-22T11:00:02.000Z :bob!b@h PRIVMSG #tea three", ":b BATCH -m",
		":b BATCH +e draft/multiline #tea", ":b BATCH -e", ":b BATCH +j draft/multiline #tea",
		"@batch=j :bob!b@h JOIN #tea", ":b BATCH -j",
		"@batch=k :b BATCH +k draft/multiline #tea",
		"@batch=k;time=2026-11-22T11:00:03.000Z :b!b@h NOTICE #tea four", ":b BATCH -k")
	wants(t, shown(tea), "bob: the kettle\nis on\nbob: two\nbob: three\nb: four\n")
}

func TestParseLimits(t *testing.T) {
	for value, want := range map[string]limits{
		"": {4096, 32}, "max-bytes=40000,max-lines=24": {40000, 24}, "max-lines=1": {4096, 1},
		"max-bytes=1,max-lines=-5,x,=": {4096, 32},
		"max-bytes=-1,max-lines=99999": {4096, 256},
		"max-bytes=9999999":            {1 << 16, 32},
	} {
		if got := parseLimits(value); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

// FuzzCompose: the messages have the whole text, within the limits.
func FuzzCompose(f *testing.F) {
	f.Add("one\n\ntwo three four", 8, 600, 3)
	f.Add("\n\n\u00e9\u00e9\u00e9 \xff\r\nx", 3, 512, 1)
	f.Fuzz(func(t *testing.T, text string, size, bytes, lines int) {
		size = 8 + max(size, -size)%500 // room for any character
		most := parseLimits(fmt.Sprintf("max-bytes=%d,max-lines=%d", bytes, lines))
		for _, message := range compose(text, size, most) {
			if len(message) > most.lines || len(joined(message)) > most.bytes || message[0].same ||
				strings.Trim(joined(message), "\n") == "" {
				t.Fatalf("%q: got %v", text, message)
			}
			for _, p := range message {
				if len(p.text) > size || strings.Contains(p.text, "\n") {
					t.Fatalf("%q: got %v", text, p)
				}
			}
		}
		short := compose(text, len(text)+1, limits{len(text) + 1, len(text) + 1})
		if got := trimLines(text); got != "" && (len(short) != 1 || joined(short[0]) != got) {
			t.Fatalf("%q: got %v", text, short)
		}
	})
}
