package play

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestParseTranscript(t *testing.T) {
	text := `# Two clients say hello.
# A second comment is no title.

limit 5s
stdout is pipe
dial a
dial c*100   # a group
a send "hello\n" "x"*3 hex 00 ff*2 by 4 every 10ms
c recv pattern 8MiB seed 7 by 64KiB
server idle
`
	got, err := ParseTranscript("conform/hello.txt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "hello" || got.Title != "Two clients say hello." || got.Limit != 5*time.Second {
		t.Errorf("got %q, %q, %v", got.Name, got.Title, got.Limit)
	}
	if len(got.Stdout) != 1 || got.Stdout[0] != StdoutPipe || len(got.steps) != 5 {
		t.Errorf("got %v and %d steps, want a pipe and 5", got.Stdout, len(got.steps))
	}
	sent := got.steps[2].do.(*send)
	bytes, _ := io.ReadAll(sent.data.reader())
	if want := "hello\nxxx\x00\xff\xff"; string(bytes) != want ||
		sent.pace != (pace{4, 10 * time.Millisecond}) {
		t.Errorf("got %q at %v, want %q", bytes, sent.pace, want)
	}
	received := got.steps[3].do.(*receive)
	if received.data.size() != 8<<20 || received.pace.by != 64<<10 {
		t.Errorf("got %d bytes by %d", received.data.size(), received.pace.by)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "t.txt: expected at least one step"},
		{"# nothing\n\n", "expected at least one step"},
		{"dial", "t.txt:1: expected a name at the end of the line; it is written dial NAME, or"},
		{"\ndial A", `t.txt:2: expected a name of small letters, digits and hyphens, got "A"`},
		{"dial server", "expected a name of small letters"},
		{"dial a\ndial a", "t.txt:2: expected a new name: a was dialled before"},
		{"dial a*0", "expected between 1 and 10000 clients, got 0"},
		{"dial a*b", "expected between 1 and 10000 clients, got b"},
		{"a send \"x\"",
			"expected limit, dial, ping, visit, server, stdout, data, log, power or a name that " +
				"was dialled, got a"},
		{"\"a\" send", `expected a name or a verb, got "a"`},
		{"dial a\na", "t.txt:2: expected one of catches, chats, close, closed, drains, echo"},
		{"dial a\na sned \"x\"",
			"expected one of catches, chats, close, closed, drains, echo, eof, fill, gets, " +
				"hears, ignores, joins, leave, lines, recv, registers, reset, says, send, shut, " +
				"silent, skips, tally, try, value after a"},
		{"dial a\na send", "expected data"},
		{"ping", "expected the bytes of an echo request at the end of the line"},
		{"ping 65508",
			"expected the bytes of an echo request between 0 and 65507, got 65508; it is " +
				"written ping SIZE [times COUNT]"},
		{"ping 56 times 0", "expected a number of echo requests between 1 and 3000"},
		{"ping 56 twice", "expected the end of the line, got twice"},
		{"dial ping", "expected a name of small letters"},
		{"dial a port+2", "expected the end of the line, got port+2; it is written dial NAME"},
		{"dial a\na recv rising", "expected a size such as 64KiB"},
		{"dial a\na send x", `expected data: "text"`},
		{"dial a\na send \"x", "expected a closing quote"},
		{"dial a\na send \"\"", "expected at least one byte"},
		{"dial a\na send \"x\"*0", "expected a number of times"},
		{"dial a\na send hex 0", "expected bytes of two hexadecimal digits"},
		{"dial a\na send hex zz", "expected bytes of two hexadecimal digits"},
		{"dial a\na send pattern 8MB", "expected a size such as 64KiB, at most 1GiB, got 8MB"},
		{"dial a\na send pattern 2GiB", "at most 1GiB"},
		{"dial a\na send pattern 1GiB \"x\"", "expected at most 1GiB of data"},
		{"dial a\na send pattern 1KiB seed x", "expected a seed between"},
		{"dial a\na send \"x\" every 5ms", "expected by SIZE before every"},
		{"dial a\na send \"x\" by 5 every 5", "expected a duration such as 20ms"},
		{"dial a\na send \"x\" loudly",
			"expected the end of the line, got loudly; it is written NAME send DATA"},
		{"dial a\na recv filled", `expected a line "a fill DATA" before this one`},
		{"dial a\nstdout filled a", `expected a line "a fill DATA" before this one`},
		{"dial a\na value", "expected a number, or a range"},
		{"dial a\na value 1..x", "expected a number, or a range such as 1..100, got 1..x"},
		{"dial a\na value 0..18446744073709551615", "expected a number, or a range"},
		{"dial a\na tally 0", "expected a number of increments between 1 and"},
		{"dial a\na lines 5 length 0..4 seed 1", "expected lengths such as 1..4096"},
		{"dial a\na lines 5 length 1..4097 seed 1", "expected lengths such as 1..4096"},
		{"dial a\na lines 5 length 1..4", "expected seed NUMBER"},
		{"dial a\na silent", "expected a duration such as 20ms at the end of the line"},
		{"dial a\nlimit 5s", "t.txt:2: expected limit before the first step"},
		{"limit 0s\ndial a", "expected a limit between"},
		{"stdout is printer\ndial a", "expected file, pipe or full, got printer"},
		{"server opens 5 files", "expected at most NUMBER files after server opens"},
		{"server opens at most 5 files", "expected a number of files between 16 and"},
		{"dial a\nserver opens at most 50 files",
			"t.txt:2: expected \"server opens\" before the first step"},
		{"server",
			"expected one of fails, idle, keeps, killed, memory, starts, terminates after server"},
		{"server memory below 1MiB", "expected more after the size"},
		{"stdout",
			"expected one of a quoted string, filled, hex, hold, pattern, release, whole after " +
				"stdout"},
	} {
		_, err := ParseTranscript("t.txt", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

// Every transcript of the tree is read; each says in its first comment what it shows.
func TestOurTranscripts(t *testing.T) {
	files, err := filepath.Glob("../../../services/*/conform/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		transcript, err := LoadTranscript(file, file)
		if err != nil {
			t.Error(err)
		} else if transcript.Title == "" {
			t.Errorf("%s:1: expected a comment that says what it shows", file)
		}
	}
}

func FuzzTranscript(f *testing.F) {
	files, _ := filepath.Glob("../../../services/*/conform/*.txt")
	for _, file := range files {
		if transcript, err := LoadTranscript(file, file); err == nil {
			var text strings.Builder
			for _, s := range transcript.steps {
				text.WriteString(s.text + "\n")
			}
			f.Add(text.String())
		}
	}
	f.Add("ping 56 times 20\ndial a*2 port+1\na recv rising 1MiB hex 00\n")
	f.Add("dial a\na send \"x\"*1000000 hex 00*3 pattern 1GiB seed 4294967296 by 1 every 1ns\n")
	f.Fuzz(func(t *testing.T, text string) {
		transcript, err := ParseTranscript("f.txt", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.txt:") ||
				!strings.Contains(err.Error(), "expected") {
				t.Errorf("%q: the error does not say where and what was expected: %v", text, err)
			}
			return
		}
		if transcript.Limit <= 0 || len(transcript.Stdout) == 0 {
			t.Errorf("%q: limit %v, standard output %v", text, transcript.Limit, transcript.Stdout)
		}
		for _, s := range transcript.steps {
			if d, ok := s.do.(*send); ok && (d.data.size() < 1 || d.data.size() > maxData) {
				t.Errorf("%q: sends %d bytes", text, d.data.size())
			}
		}
	})
}

func TestDataIsTheSameHoweverItIsRead(t *testing.T) {
	d := data{{text: []byte("abc"), times: 5}, {length: 1000, seed: 0},
		{text: []byte("\n"), times: 1}, {length: 77, seed: 9}, {text: rising, length: 600}}
	whole, err := io.ReadAll(d.reader())
	if err != nil || int64(len(whole)) != d.size() {
		t.Fatalf("got %d bytes, %v; want %d", len(whole), err, d.size())
	}
	single, err := io.ReadAll(iotest.OneByteReader(d.reader()))
	if err != nil || string(single) != string(whole) {
		t.Errorf("read byte by byte it is something else: %v", err)
	}
	if !strings.HasPrefix(string(whole), "abcabcabcabcabc") {
		t.Errorf("got %q", whole[:15])
	}
	if end := whole[len(whole)-600:]; end[0] != 0 || end[250] != 250 || end[251] != 0 ||
		end[599] != 599%251 {
		t.Errorf("rising bytes are % x", end)
	}
	seen := map[string]bool{} // a pattern in which eight bytes come back would hide an exchange
	for at := 15; at+8 <= 1015; at++ {
		if word := string(whole[at : at+8]); seen[word] {
			t.Fatalf("the bytes at %d are there twice", at)
		} else {
			seen[word] = true
		}
	}
}

func TestShort(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"plain\r\n", `"plain\r\n"`},
		{"\x00\xff", "hex 00 ff"},
		{strings.Repeat("y", 61), `"` + strings.Repeat("y", 60) + `"...`},
	} {
		if got := short([]byte(test.text)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
