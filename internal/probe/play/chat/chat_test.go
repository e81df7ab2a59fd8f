package chat

import (
	"strings"
	"testing"

	"interleave/internal/probe/play"
	"interleave/internal/probe/transcript"
)

// verbs are those that transcripts of chats use.
var verbs = transcript.Join(play.Core, Verbs)

func TestWanted(t *testing.T) {
	for _, test := range []struct {
		want, line string
		matches    bool
	}{
		{"PONG", "PONG", true},
		{"PONG", "PONG ", false},
		{"PONG", "xPONG", false},
		{":chat 001 ann :…", ":chat 001 ann :Welcome, ann", true},
		{":chat 001 ann :…", ":chat 001 ann :", true},
		{":chat 001 ann :…", ":chat 001 bob :Welcome", false},
		{":chat 433 * ann :…", ":chat 433 * ann :in use", true},
		{":chat 433 * ann :…", ":chat 433 ann ann :in use", false},
		{"…b", "ab bb", true},
		{"…b", "ab ba", false},
		{"a…b…c", "a-b-bc", true},
		{"a…b…c", "a-c-b", false},
		{"…#tea…", ":x JOIN :#tea", true},
		{"@time={time} x", "@time=2026-11-22T07:20:11.123Z x", true},
		{"@time={time} x", "@time=2026-11-22T07:20:11Z x", false},
		{"@time={log} x", "@time=2026-11-22T07:20:11.123Z x", true},
		{"…{time}…y", "t=2026-11-22T07:20:11.123Z, y", true},
		{"…{time}", "2026-11-22T07:20:11.12xZ", false},
	} {
		if got := newWanted(test.want).matches(test.line); got != test.matches {
			t.Errorf("%q and %q: got %v", test.want, test.line, got)
		}
	}
}

func TestCutLine(t *testing.T) {
	for _, test := range []struct{ raw, tags, line, want string }{
		{"PING x\r\n", "", "PING x", ""},
		{"@time=1;a :x PRIVMSG #a :b\r\n", "@time=1;a", ":x PRIVMSG #a :b", ""},
		{strings.Repeat("x", 510) + "\r\n", "", strings.Repeat("x", 510), ""},
		{strings.Repeat("x", 511) + "\r\n", "", "", "got a line of 513 bytes"},
		{"@" + strings.Repeat("t", 2000) + " x\r\n", "@" + strings.Repeat("t", 2000), "x", ""},
		{"PING x\n", "", "", "does not end in CR LF"},
	} {
		tags, line, err := cutLine(test.raw)
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%.20q: got %v, want %s", test.raw, err, test.want)
			}
		} else if err != nil || tags != test.tags || line != test.line {
			t.Errorf("%.20q: got %.20q, %.20q, %v", test.raw, tags, line, err)
		}
	}
}

// saidBy returns a talk with one line for each letter, which names its speaker.
func saidBy(speakers string) *talk {
	t := newTalk()
	for _, s := range speakers {
		c := chats{count: 1, least: 10, most: 10}
		t.enter(string(s), "#a")
		t.generate(string(s), c)
	}
	return t
}

func TestOneOrder(t *testing.T) {
	for _, test := range []struct {
		name, speakers string
		heard          [][]int
		want           string
	}{
		{"all alike", "abc", [][]int{{0, 1, 2}, {0, 1, 2}}, ""},
		{"parts of one order", "abcd", [][]int{{0, 2}, {1, 2, 3}, {0, 1}, {0, 1, 3}}, ""},
		{"nothing", "a", [][]int{{}, {}}, ""},
		{"two exchanged", "abc", [][]int{{0, 1, 2}, {0, 2, 1}}, "two heard in different orders"},
		{"three in a circle", "abc", [][]int{{0, 1}, {1, 2}, {2, 0}}, "different orders"},
		{"a speaker's own", "aa", [][]int{{1, 0}, {1, 0}}, "a.0 was heard after a.1: out of order"},
	} {
		err := saidBy(test.speakers).oneOrder(test.heard)
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// Lines that were in their form are not looked at again, but one that has changed since is.
func TestReading(t *testing.T) {
	const (
		ann = "2026-11-22T07:20:11.123Z :ann!ann@127.0.0.1 PRIVMSG #tea :a\n"
		bob = "2026-11-22T07:20:12.123Z :bob!bob@127.0.0.1 PRIVMSG #tea :b\n"
	)
	var r reading
	for _, test := range []struct {
		text  string
		lines int
		want  string
	}{
		{"", 0, ""},
		{ann, 1, ""},
		{ann + bob, 2, ""},
		{ann + bob + "broken\n", 0, `line 3 of the log is "broken"`},
		{ann + bob + ann, 3, ""},
		{"broken\n" + bob + ann, 0, `line 1 of the log is "broken"`},
		{bob, 1, ""}, // after it was removed
		{bob + "\n", 0, `line 2 of the log is ""`},
	} {
		lines, err := r.linesOf([]byte(test.text))
		switch {
		case test.want != "":
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q: got %v, want %s", test.text, err, test.want)
			}
		case err != nil || len(lines) != test.lines ||
			test.text != "" && strings.Join(lines, "\n")+"\n" != test.text:
			t.Errorf("%q: got %q, %v", test.text, lines, err)
		}
	}
}

func TestNote(t *testing.T) {
	talk := saidBy("a")
	text := talk.said[0].text
	for _, test := range []struct{ line, want string }{
		{":a!a@h PRIVMSG #a :" + text, ""},
		{":b!b@h JOIN #a", ""},
		{":a!a@h PRIVMSG #a :" + text[:9], "it is torn or mixed with another"},
		{":a!a@h PRIVMSG #b :" + text, "it is torn or mixed"},
		{":b!b@h PRIVMSG #a :" + text, "which a said"},
		{":a!a@h PRIVMSG #a :hello", "which nobody said"},
	} {
		err := talk.note("z", test.line)
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %q", test.line, err, test.want)
		}
	}
	if heard := talk.member("z").heard; len(heard) != 1 {
		t.Errorf("%d lines count as heard, want 1", len(heard))
	}
}

func TestIsPong(t *testing.T) {
	for _, test := range []struct {
		line, token string
		want        bool
	}{
		{":chat PONG chat :fence1", "fence1", true},
		{":chat PONG chat fence1", "fence1", true},
		{"PONG fence1", "fence1", true},
		{":chat PONG chat :fence12", "fence1", false},
		{":chat PONG chat :fence1 2", "fence1", false},
		{":ann!ann@h PRIVMSG #tea :PONG fence1", "fence1", false},
		{"PONG", "fence1", false},
		{"", "fence1", false},
	} {
		if got := isPong(test.line, test.token); got != test.want {
			t.Errorf("%q and %q: got %v", test.line, test.token, got)
		}
	}
}

func TestNoteWelcome(t *testing.T) {
	for _, test := range []struct {
		line, nick string
	}{
		{":chat 422 ann :MOTD File is missing", "ann"},
		{":chat 376 ann :End of MOTD", "ann"},
		{":chat 372 ann :- the text of the day", ""},
		{":chat 422", ""},
		{":ann!ann@h PRIVMSG #tea :422 ann 422", ""},
		{"PING 422", ""},
	} {
		s := &speaker{}
		s.noteWelcome(test.line)
		if s.nick != test.nick || s.welcome != (test.nick != "") {
			t.Errorf("%q: got %q, %v", test.line, s.nick, s.welcome)
		}
	}
}

func TestParseSpeech(t *testing.T) {
	text := `# Ann says something, the server dies, and Bob hears it.
data is small
data file "password" "x\n"
dial a
a registers as "ann" with "echo-message"
a joins "#r" 2 of 8
a says "PRIVMSG #r0 :" "x"*300 until ":chat 404 …"
a chats 9 length 20..400 seed 3 pipeline 5 until server killed after 4
server starts
dial a buffer 4KiB
a hears "x" "y" as often
a catches up once
log is "z" as often
data append "log" hex 00
`
	got, err := transcript.Parse("t.txt", []byte(text), verbs)
	if err != nil {
		t.Fatal(err)
	}
	if got.Folder != transcript.FolderSmall || len(got.Files) != 1 || len(got.Steps) != 11 {
		t.Errorf("got a folder %q with %d files and %d steps, want small, 1, 11", got.Folder,
			len(got.Files), len(got.Steps))
	}
	c := wordsOf(t, readChats, "9 length 20..400 seed 3 pipeline 5 until server killed after 4")
	if want := (chats{count: 9, least: 20, most: 400, seed: 3, pipeline: 5, end: endKilled,
		after: 4}); c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if w := wordsOf(t, readHears, `"x" "y" as often`); len(w.lines) != 2 || !w.often {
		t.Errorf("got %+v", w)
	}
}

// wordsOf has a function of this package read the words after a verb.
func wordsOf[W any](t *testing.T, read func(*play.Line) (W, error), words string) W {
	t.Helper()
	dial := func(l *play.Line) (w W, err error) {
		name, err := l.Word("a name")
		if err != nil {
			return w, err
		}
		return w, l.Dial(name)
	}
	v := transcript.Vocabulary[W]{
		{Word: "dial", Verbs: transcript.Verbs[W]{"": {Read: dial}}},
		{Word: transcript.Client, Verbs: transcript.Verbs[W]{"": {Read: read}}},
	}
	got, err := transcript.Parse("t.txt", []byte("dial a\na "+words), v)
	if err != nil {
		t.Fatal(err)
	}
	return got.Steps[1].Do
}

func TestParseSpeechErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"dial a\na says", "expected data"},
		{"dial a\na hears", "expected a line in quotes; it is written NAME hears PATTERN"},
		{"dial a\na hears \"x\" as always", "expected often"},
		{"dial a\na hears names", "expected a room in quotes"},
		{"dial a\na skips \"x\"", "expected to"},
		{"dial a\na ignores", "expected pings"},
		{"dial a\na joins", "expected a room in quotes"},
		{"dial a\na joins \"#a\" 3 of 2", "expected a number of rooms between 3 and"},
		{"dial a\na registers as", "expected a nick in quotes"},
		{"dial a\na chats 0 seed 1", "expected a number of lines between 1 and"},
		{"dial a\na chats 5", "expected seed"},
		{"dial a\na chats 5 length 1..401 seed 1", "expected lengths such as 20..400, at most 400"},
		{"dial a\na chats 5 seed 1 until dawn",
			"expected server killed, server terminates or power lost after until"},
		{"dial a\na chats 5 seed 1 until server sings", "expected killed or terminates"},
		{"dial a\na chats 5 seed 1 until power returns", "expected lost"},
		{"data is small\ndial a\npower lost", "expected no \"data is small\" where power is lost"},
		{"dial a\npower", "expected one of lost after power"},
		{"dial a\na catches cold", "expected up"},
		{"visit 0", "expected a number of connections between 1 and"},
		{"data is big\ndial a", "expected absent or small, got big"},
		{"data has room\ndial a",
			"expected data is absent, data is small or data file before the first step"},
		{"dial a\ndata is small", "expected private or full after data is"},
		{"data file \"../x\" \"y\"\ndial a", "expected the name of a file in the server's folder"},
		{"dial a\nlog", "expected one of ends, is, removed, whole after log"},
		{"dial a\nlog is", "expected a line in quotes"},
		{"dial a\nserver keeps a secret", "expected its folder"},
		{"dial log", "expected a name of small letters"},
	} {
		_, err := transcript.Parse("t.txt", []byte(test.text), verbs)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}
