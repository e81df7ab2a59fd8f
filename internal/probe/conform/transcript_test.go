package conform

import (
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/probe/play"
	"interleave/internal/probe/transcript"
)

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
		_, err := transcript.Parse("t.txt", []byte(test.text), Vocabulary)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

// TestOurTranscripts reads every transcript of the tree. Each says in its first comment what it
// shows.
func TestOurTranscripts(t *testing.T) {
	files, err := filepath.Glob("../../../services/*/conform/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		got, err := Load(file, file)
		if err != nil {
			t.Error(err)
		} else if got.Title == "" {
			t.Errorf("%s:1: expected a comment that says what it shows", file)
		}
	}
}

// FuzzTranscript reads transcripts with all verbs. FuzzTranscript of package transcript looks at
// the data that is read.
func FuzzTranscript(f *testing.F) {
	files, _ := filepath.Glob("../../../services/*/conform/*.txt")
	for _, file := range files {
		if ours, err := Load(file, file); err == nil {
			var text strings.Builder
			for _, s := range ours.Steps {
				text.WriteString(s.Text + "\n")
			}
			f.Add(text.String())
		}
	}
	f.Add("ping 56 times 20\ndial a*2 port+1\na recv rising 1MiB hex 00\n")
	f.Add("dial a\na send \"x\"*1000000 hex 00*3 pattern 1GiB seed 4294967296 by 1 every 1ns\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := transcript.Parse("f.txt", []byte(text), Vocabulary)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.txt:") ||
				!strings.Contains(err.Error(), "expected") {
				t.Errorf("%q: the error does not say where and what was expected: %v", text, err)
			}
			return
		}
		if got.Limit <= 0 || len(got.Stdout) == 0 {
			t.Errorf("%q: limit %v, standard output %v", text, got.Limit, got.Stdout)
		}
	})
}

// parse reads a transcript.
func parse(t *testing.T, text string) *play.Transcript {
	t.Helper()
	got, err := transcript.Parse("t.txt", []byte(text), Vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestWhoShares has transcripts that want a server of their own, and others that do not.
func TestWhoShares(t *testing.T) {
	for _, test := range []struct {
		text   string
		shares bool
	}{
		{"dial a\na echo \"x\"", true},
		{"dial a\na send \"x\\n\"\nstdout \"x\\n\"", true},
		{"dial a\na value 0", true},
		{"stdout is pipe\ndial a\na send \"x\"", false},
		{"server opens at most 99 files\ndial a", false},
		{"data is small\ndial a", false},
		{"dial a\nserver terminates", false},
		{"dial a\nserver killed\nserver starts", false},
		{"dial a\nserver fails", false},
		{"dial ann\nann registers", false},
		{"dial a\na gets \"/test/7\"", false},
	} {
		if got := parse(t, test.text).Shares(); got != test.shares {
			t.Errorf("%q shares a server: %v, want %v", test.text, got, test.shares)
		}
	}
}
