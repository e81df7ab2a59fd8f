package transcript

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// deed is the action of these tests: what Read has read.
type deed struct {
	data        Data
	pace        Pace
	text        string
	least, most int64
}

// words is a small vocabulary with a verb for each method of Line.
var words = Vocabulary[deed]{
	{"dial", Verbs[deed]{"": {Usage: "dial NAME", Shares: true, Read: func(l *Line) (deed, error) {
		name, err := l.Word("a name")
		if err != nil {
			return deed{}, err
		}
		return deed{text: name}, l.Dial(name)
	}}}},
	{"server", Verbs[deed]{
		"ends":         {Read: func(l *Line) (deed, error) { l.EndsServer(); return deed{}, nil }},
		"memory below": {Usage: "server memory below SIZE", Read: readSize},
	}},
	{"stdout", Verbs[deed]{
		`"`:       {Usage: "stdout DATA", Read: readData},
		"hex":     {Usage: "stdout DATA", Read: readData, Whole: true},
		"filled":  {Usage: "stdout filled NAME", Read: readFilled},
		"release": {Read: func(*Line) (deed, error) { return deed{}, nil }},
	}},
	{"power", Verbs[deed]{"lost": {Read: func(l *Line) (deed, error) {
		l.LosesPower()
		return deed{}, nil
	}}}},
	{Client, Verbs[deed]{
		"send": {Usage: "NAME send DATA [by SIZE [every TIME]]", Shares: true, Read: readData},
		"fill": {Read: func(l *Line) (deed, error) { l.Fills(); return readData(l) }},
		"eof":  {Read: func(l *Line) (deed, error) { l.EndsClient(); return deed{}, nil }},
		"waits": {Read: func(l *Line) (deed, error) {
			during, err := l.Duration()
			return deed{most: int64(during)}, err
		}},
		"counts": {Usage: "NAME counts FROM..TO times NUMBER", Read: readCounts},
		"hears":  {Usage: "NAME hears TEXT", Read: readHears},
		"hears nothing": {Usage: "NAME hears nothing",
			Read: func(*Line) (deed, error) { return deed{text: "nothing"}, nil }},
	}},
}

func readSize(l *Line) (d deed, err error) {
	d.most, err = l.Bytes()
	return d, err
}

func readData(l *Line) (d deed, err error) {
	if d.data, err = l.Data(); err != nil {
		return d, err
	}
	d.pace, err = l.Pace()
	return d, err
}

func readFilled(l *Line) (d deed, err error) {
	if d.text, err = l.Word("a name"); err != nil {
		return d, err
	}
	return d, l.HasFilled(d.text)
}

func readCounts(l *Line) (d deed, err error) {
	if d.least, d.most, err = l.Span("numbers such as 1..9", 100); err != nil {
		return d, err
	}
	if err := l.Expect("times"); err != nil {
		return d, err
	}
	_, err = l.Number("a number of times", 1, 9)
	return d, err
}

func readHears(l *Line) (d deed, err error) {
	for {
		text, err := l.Quoted("a line")
		if err != nil {
			return d, err
		}
		if d.text += text; l.AtEnd() {
			return d, nil
		}
		if !l.AtQuoted() {
			return d, fmt.Errorf("expected a line in quotes, got %q", l.NextWord())
		}
	}
}

func TestParse(t *testing.T) {
	got, err := Parse("conform/hello.txt", []byte(`# Two clients say hello.
# A second comment is no title.

limit 5s
server opens at most 99 files
data is small
data file "password" "secret\n"
dial a   # a comment
a send "hello\n" "x"*3 hex 00 ff*2 by 4 every 10ms
a hears "one" "two"
a hears nothing
a fill pattern 8MiB seed 7
stdout filled a
stdout hex 0a
a eof
dial a
a counts 3..7 times 2
`), words)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "hello" || got.Title != "Two clients say hello." || got.Limit != 5*time.Second {
		t.Errorf("got %q, %q, %v", got.Name, got.Title, got.Limit)
	}
	if got.Folder != FolderSmall || len(got.Files) != 1 || got.Files[0].Name != "password" ||
		got.OpenFiles != 99 || got.Shares() {
		t.Errorf("got the folder %q with %v, %d open files, and that it shares a server: %v",
			got.Folder, got.Files, got.OpenFiles, got.Shares())
	}
	if !slices.Equal(got.Stdout, []StdoutKind{StdoutFile, StdoutPipe}) || len(got.Steps) != 10 {
		t.Fatalf("got %v and %d steps, want a file, a pipe and 10", got.Stdout, len(got.Steps))
	}
	sent := got.Steps[1]
	bytes, _ := io.ReadAll(sent.Do.data.Reader())
	if want := "hello\nxxx\x00\xff\xff"; string(bytes) != want ||
		sent.Do.pace != (Pace{4, 10 * time.Millisecond}) {
		t.Errorf("got %q at %v, want %q", bytes, sent.Do.pace, want)
	}
	if sent.Line != 9 || sent.Who != "a" || !strings.HasPrefix(sent.Text, `a send "hello\n" "x"`) {
		t.Errorf("got line %d of %q: %s", sent.Line, sent.Who, sent.Text)
	}
	if one, two := got.Steps[2].Do.text, got.Steps[3].Do.text; one != "onetwo" || two != "nothing" {
		t.Errorf("got %q and %q, want onetwo and nothing", one, two)
	}
	if size := got.Steps[4].Do.data.Size(); size != 8<<20 {
		t.Errorf("got %d bytes, want 8 MiB", size)
	}
}

func TestShares(t *testing.T) {
	for _, test := range []struct {
		text   string
		shares bool
	}{
		{"dial a\na send \"x\"", true},
		{"dial a\na eof", false},
		{"stdout is pipe\ndial a", false},
		{"server opens at most 99 files\ndial a", false},
		{"data is absent\ndial a", false},
		{"data file \"x\" \"y\"\ndial a", false},
	} {
		got, err := Parse("t.txt", []byte(test.text), words)
		if err != nil {
			t.Fatal(err)
		}
		if got.Shares() != test.shares {
			t.Errorf("%q shares a server: %v, want %v", test.text, got.Shares(), test.shares)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "t.txt: expected at least one step"},
		{strings.Repeat("#", maxFile+1), "t.txt: expected at most"},
		{"\ndial", "t.txt:2: expected a name at the end of the line; it is written dial NAME"},
		{"dial server", "expected a name of small letters"},
		{"dial a\ndial a", "t.txt:2: expected a new name: a was dialled before"},
		{"x y", "t.txt:1: expected limit, dial, server, stdout, power or a name that was " +
			"dialled, got x"},
		{"\"a\" send", `expected a name or a verb, got "a"`},
		{"dial a\na", "t.txt:2: expected one of counts, eof, fill, hears, send, waits after a"},
		{"dial a\na hears silence", "expected a line in quotes; it is written NAME hears TEXT"},
		{"dial a\na hears \"x\" y", `expected a line in quotes, got "y"`},
		{"dial a\na hears nothing more", "expected the end of the line, got more; it is written " +
			"NAME hears nothing"},
		{"stdout", "expected one of a quoted string, filled, hex, release after stdout"},
		{"dial a\nstdout filled a", `expected a line "a fill DATA" before this one`},
		{"dial a\na waits 20", "expected a duration such as 20ms, at most 10m0s, got 20"},
		{"dial a\na counts 0..7 times 2", "expected numbers such as 1..9, at most 100, got 0..7"},
		{"dial a\na counts 1..7 twice", "expected times"},
		{"dial a\na counts 1..7 times 10", "expected a number of times between 1 and 9, got 10"},
		{"server memory below 1KB", "expected a size such as 64KiB, at most 1GiB, got 1KB"},
		{"data is small\ndial a\npower lost", "expected no \"data is small\" where power is lost"},
		{"data file \"..\" \"x\"\ndial a", `expected the name of a file in the server's folder, ` +
			`got ".."; it is written data file`},
		{"limit 11m\ndial a", "expected a duration such as 20ms, at most 10m0s, got 11m"},
	} {
		_, err := Parse("t.txt", []byte(test.text), words)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.50q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

// TestNamesAreFreeAgain dials names whose connections are over.
func TestNamesAreFreeAgain(t *testing.T) {
	got, err := Parse("t.txt", []byte("dial a\ndial b\na eof\ndial a\nserver ends\ndial a\n"+
		"dial b\npower lost\ndial b"), words)
	if err != nil || got.Folder != FolderMortal {
		t.Errorf("got %v and a folder %q", err, got.Folder)
	}
}

func TestJoin(t *testing.T) {
	both := Join(words, Vocabulary[deed]{{"log", nil}, {Client, Verbs[deed]{"recv": {}}}})
	if got, want := strings.Join(both.words(), " "), "dial server stdout power log"; got != want {
		t.Errorf("lines begin with %s, want %s", got, want)
	}
	verbs, _ := both.after(Client)
	first, _ := words.after(Client)
	if len(verbs) != len(first)+1 {
		t.Errorf("got %d verbs of clients, want one more than %d", len(verbs), len(first))
	}
	defer func() {
		if said := fmt.Sprint(recover()); said != "two vocabularies have the verb NAME send" {
			t.Errorf("got %s", said)
		}
	}()
	Join(words, Vocabulary[deed]{{Client, Verbs[deed]{"send": {}}}})
	t.Error("two verbs of one name were joined")
}

func FuzzTranscript(f *testing.F) {
	f.Add("limit 5s\ndial a\na send \"x\"*3 hex 00 rising 1KiB by 4 every 10ms\nstdout hex 0a")
	f.Add("data is absent\ndial a\na hears \"x\" \"y\"\na fill pattern 1MiB\nstdout filled a")
	f.Add("server opens at most 20 files\nstdout is full\ndial a\na counts 1..9 times 2")
	f.Add("data file \"x\" \"y\"\ndial a\na eof\npower lost\nserver ends\ndial a")
	f.Add("dial a\na send \"x\"*1000000 hex 00*3 pattern 1GiB seed 4294967296 by 1 every 1ns\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse("f.txt", []byte(text), words)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.txt:") ||
				!strings.Contains(err.Error(), "expected") {
				t.Errorf("%q: the error does not say where and what was expected: %v", text, err)
			}
			return
		}
		if got.Limit <= 0 || len(got.Stdout) == 0 || len(got.Steps) == 0 {
			t.Errorf("%q: limit %v, standard output %v, %d steps", text, got.Limit, got.Stdout,
				len(got.Steps))
		}
		for _, s := range got.Steps {
			size := s.Do.data.Size()
			if s.Do.data != nil && (size < 1 || size > MaxData) {
				t.Errorf("%q: sends %d bytes", text, size)
			}
		}
	})
}
