package differential

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"interleave/eve/trial"
)

// A command line has commands with flags of their own, and flags that all of them have.
func TestSubcommands(t *testing.T) {
	l := libraryProgram(t, "subcommands")
	for _, c := range []struct{ line, out, err string }{
		{"add -b ada a.txt", "add: dry false, at ., [a.txt]\nby ada, tags []\n", ""},
		{"-n add --tag x --by=ada -ty a b -t z --at=/s",
			"add: dry true, at /s, [a, b]\nby ada, tags [x, y, z]\n", ""},
		{"add -b add -- add -n", "add: dry false, at ., [add, -n]\nby add, tags []\n", ""},
		{"remote list", "remote list: dry false, at ., []\n", ""},
		{"--at x remote -n remove y", "remote remove: dry true, at x, [y]\n", ""},
		{"", "", "store: a command is missing\nstore --help says more\n"},
		{"-n", "", "store: a command is missing\nstore --help says more\n"},
		{"remote", "", "store remote: a command is missing\nstore remote --help says more\n"},
		{"ad x", "", "store: there is no command ad; did you mean add?\nstore --help says more\n"},
		{"quite-another", "", "store: there is no command quite-another\nstore --help says more\n"},
		{"remote ad", "", "store remote: there is no command ad\nstore remote --help says more\n"},
		{"remote lost", "",
			"store remote: there is no command lost; did you mean list?\n" +
				"store remote --help says more\n"},
		{"add a", "", "store add: --by USER is missing\nstore add --help says more\n"},
		{"add -b ada", "", "store add: FILE... is missing\nstore add --help says more\n"},
		{"remote list x", "",
			"store remote list: \"x\" is one word too many\nstore remote list --help says more\n"},
		{"--tag x add -b ada a", "",
			"store: there is no flag --tag; did you mean --at?\nstore --help says more\n"},
		{"add --tga x", "",
			"store add: there is no flag --tga; did you mean --tag?\nstore add --help says more\n"},
	} {
		t.Run(c.line, func(t *testing.T) {
			got := l.everywhere(t, fixed(strings.Fields(c.line)...), asItIs)
			status := 0
			if c.err != "" {
				status = 2
			}
			if want := (trial.Ending{Status: status, Out: c.out, Err: c.err}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	const help = `usage: store [flags] COMMAND

keeps files

commands:
  add     adds files
  remote  other stores

flags:
  -n, --dry-run    do nothing
  -a, --at FOLDER  where the store is (standard: .)
  -h, --help       print this text and end
`
	const add = `usage: store add [flags] FILE...

adds files

flags:
  -t, --tag NAME   a word to find it by (may be repeated)
  -b, --by USER    who adds it (required)
  -n, --dry-run    do nothing
  -a, --at FOLDER  where the store is (standard: .)
  -h, --help       print this text and end
`
	for line, want := range map[string]string{"--help": help, "help": help, "-nh": help,
		"add --help": add, "help add": add, "add -b x a -h": add} {
		got := l.everywhere(t, fixed(strings.Fields(line)...), asItIs)
		if got != (trial.Ending{Out: want}) {
			t.Errorf("%s: got\n%s%s", line, got.Out, got.Err)
		}
	}
}

// FuzzSubcommands gives any words to a command with commands.
func FuzzSubcommands(f *testing.F) {
	for _, line := range []string{"", "add -b ada a", "-n remote list", "help", "help help add",
		"remote help remove", "-- add", "add -- -b", "remote remote", "\xff", "help -n add"} {
		f.Add(line)
	}
	l := libraryText(f, "subcommands")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		got := l.interpret(1, words...)
		ok := got.Status == 0 && got.Err == "" && got.Out != "" ||
			got.Status == 2 && got.Out == "" && strings.HasPrefix(got.Err, "store") &&
				strings.HasSuffix(got.Err, " --help says more\n")
		if !ok {
			t.Errorf("%q: got %+v", words, got)
		}
	})
}

var moment = regexp.MustCompile(`("time":"|time=)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

func timeless(e trial.Ending) trial.Ending {
	e.Err = moment.ReplaceAllString(e.Err, "${1}T")
	return e
}

// Lines of JSON have the text of an event as it is, and values of their kind.
func TestJSONLog(t *testing.T) {
	t.Setenv("EVE_LOG_FORM", "json")
	t.Setenv("EVE_LOG", "")
	l := libraryProgram(t, "jsonlog")
	const want = `{"time":"T","level":"info","text":"two words","two words":"two words"}
{"time":"T","level":"info","text":"\"\\\n\t\ufffd€","\"\\\n\t\ufffd€":"\"\\\n\t\ufffd€"}
{"time":"T","level":"info","text":"time","time_":"time"}
{"time":"T","level":"error","text":"all","client":"a \"b\"","n":-7,` +
		`"whole":4611686018427387904,"part":0.5,"huge":1e+300,"yes":true,"took":1.5,"none":null}
{"time":"T","level":"warning","text":"standard","x":"1"}
time=T level=warning text=plain n=3 took=1.5s text="two words"
true true
`
	got := l.everywhere(t, fixed("two words", "\"\\\n\t\xff€", "time"), timeless)
	if d := trial.Difference(l.text, want, got.Err); d != "" || got.Status != 0 {
		t.Errorf("status %d\n%s", got.Status, d)
	}
}

// FuzzJSONLog writes any text to the log. Go reads it back from the line.
func FuzzJSONLog(f *testing.F) {
	for _, s := range []string{"", "plain", `"\`, "line\nbreak", "\xff\xc2", "é€😀", "\u0085",
		"\x7f\x01", "\xed\xa0\x80", "\xf4\x90\x80\x80", "text", "\u2028</script>"} {
		f.Add(s)
	}
	l := libraryText(f, "jsonlog")
	f.Fuzz(func(t *testing.T, text string) {
		line, _, _ := strings.Cut(l.interpret(1, text).Err, "\n")
		var fields map[string]string
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v in %q", text, err, line)
		}
		want := text
		if !utf8.ValidString(text) {
			want = string(bytes.ToValidUTF8([]byte(text), []byte("\ufffd")))
			fields["text"] = merged(fields["text"])
			want = merged(want)
		}
		if fields["text"] != want {
			t.Errorf("%q is read back as %q", text, fields["text"])
		}
	})
}

// merged has one U+FFFD for several that follow each other.
func merged(s string) string {
	for strings.Contains(s, "\ufffd\ufffd") {
		s = strings.ReplaceAll(s, "\ufffd\ufffd", "\ufffd")
	}
	return s
}
