package differential

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/interp"
	"interleave/eve/ir"
	"interleave/eve/trial"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A library is one program of testdata/library, checked and built.
type library struct {
	text string
	p    *ir.Program
	exes []string
}

// libraryProgram checks a program, and builds it as `eve run` and `eve build` do.
func libraryProgram(t *testing.T, name string) library {
	t.Helper()
	l := libraryText(t, name)
	for _, o := range []build.Options{{}, {Optimise: true}} {
		l.exes = append(l.exes, trial.Build(t, l.p, emit.Options{Checked: !o.Optimise,
			Debug: !o.Optimise}, o))
	}
	return l
}

// libraryText checks a program.
func libraryText(t testing.TB, name string) library {
	t.Helper()
	file := filepath.Join("..", "testdata", "library", name+".eve")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return library{text: string(text), p: trial.Check(t, file, string(text))}
}

// interpret runs a program in the interpreter.
func (l library) interpret(seed uint64, args ...string) trial.Ending {
	var out, said strings.Builder
	end := interp.Run(l.p, interp.Options{Seed: seed, Stdout: &out, Stderr: &said, Args: args,
		Env: os.LookupEnv})
	return trial.Ending{Status: end.Status, Out: out.String(), Err: said.String() + end.Trace}
}

// everywhere runs a program in the interpreter and compiled, with the arguments that args makes for
// each run, and returns the ending, which must be the same; same compares two of them.
func (l library) everywhere(t *testing.T, args func() []string,
	same func(trial.Ending) trial.Ending) trial.Ending {
	t.Helper()
	want := same(l.interpret(1, args()...))
	for seed := range uint64(3) {
		if got := same(l.interpret(seed+2, args()...)); got != want {
			t.Errorf("two schedules of the interpreter: %+v and %+v", want, got)
		}
	}
	for _, exe := range l.exes {
		for _, n := range workers {
			if got := same(trial.Run(t, exe, n, args()...)); got != want {
				t.Errorf("%d workers: got\n%s\n%s\nwant\n%s\n%s", n, got.Out, got.Err, want.Out,
					want.Err)
			}
		}
	}
	return want
}

// fixed are the same arguments for each run.
func fixed(args ...string) func() []string { return func() []string { return args } }

func asItIs(e trial.Ending) trial.Ending { return e }

// The words of which paths are made for the tests.
var somePaths = []string{"", ".", "/", "a", "a/b", "/a/b/", "a//b", "./a", "a/./b", "a/../b",
	"../a", "/..", "/../../a", "a/..", "../..", "a/b/../../..", "//", "///a", "a.txt", "a.tar.gz",
	".profile", "a.b/c", "a/", "a/.", "..", "...", "a/...", "a b/c", "\xff/\xfe", "/a/b/../../..",
	"é/ü"}

// wantPath is what testdata/library/path.eve prints for one argument.
func wantPath(p string) string {
	dir, file := path.Split(p)
	return fmt.Sprintf("%s|%s|%s|%s|%s|%s|%v\n", path.Clean(p), path.Base(p), path.Dir(p),
		path.Ext(p), dir, file, path.IsAbs(p))
}

// Module path has the semantics of Go's.
func TestPath(t *testing.T) {
	l := libraryProgram(t, "path")
	var want strings.Builder
	for _, p := range somePaths {
		want.WriteString(wantPath(p))
	}
	want.WriteString(path.Join(somePaths[:4]...) + "\n")
	got := l.everywhere(t, fixed(somePaths...), asItIs)
	if d := trial.Difference(l.text, want.String(), got.Out); d != "" {
		t.Error(d)
	}
	for i := range len(somePaths) - 3 {
		four := somePaths[i : i+4]
		lines := strings.Split(l.interpret(1, four...).Out, "\n")
		if got, want := lines[len(lines)-2], path.Join(four...); got != want {
			t.Errorf("join of %q: got %q, want %q", four, got, want)
		}
	}
}

// The texts of dates: good ones first.
var someDates = []string{
	"1970-01-01T00:00:00Z", "2026-11-25T22:30:00.5+01:00", "2024-02-29T23:59:59.999999999Z",
	"1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59",
	"2000-02-29T00:00:00+00:00", "1900-02-28T12:00:00-00:00", "2026-11-25T22:30:00.1234567891Z",
	"1582-10-10T00:00:00Z", "2026-11-25T22:30:00.000Z", "2026-01-01T00:00:00+23:59",
	"", "2026", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
	"2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z", "2026-11-25T24:00:00Z",
	"2026-11-25T22:60:00Z", "2026-11-25T22:30:60Z", "2026-11-25 22:30:00Z", "2026-11-25t22:30:00z",
	"2026-11-25T22:30:00", "2026-11-25T22:30:00.Z", "2026-11-25T22:30:00,5Z",
	"2026-11-25T22:30:00+24:00", "2026-11-25T22:30:00+01:60", "2026-11-25T22:30:00+0100",
	"2026-11-25T2:30:00Z", "2026-1-25T22:30:00Z", "+2026-11-25T22:30:00Z", "2026-11-25T22:30:00ZZ",
	"2026-11-25T22:30:00Z ", " 2026-11-25T22:30:00Z", "2026-11-25T22:30:0\xffZ",
	"2026-11-25T22:30:00+1:000", "2026-11-25T22:30:00.5",
}

// dateForm is the form of RFC 3339, which Go reads less strictly.
var dateForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?` +
	`(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// wantDate is what dates.eve prints for a text that is a date; empty if it is none.
func wantDate(text string) string {
	d, err := time.Parse(time.RFC3339, text)
	if err != nil || !dateForm.MatchString(text) {
		return ""
	}
	return fmt.Sprintf("%s %d %d %d\n", d.Format(time.RFC3339Nano), d.Unix(), (d.Weekday()+6)%7+1,
		d.YearDay())
}

// Dates are read as Go reads them, if they have the form of RFC 3339.
func TestDates(t *testing.T) {
	l := libraryProgram(t, "dates")
	got := strings.SplitAfter(l.everywhere(t, fixed(someDates...), asItIs).Out, "\n")
	for i, text := range someDates {
		compareDate(t, text, got[i])
	}
}

// compareDate compares a line of dates.eve with what Go says.
func compareDate(t *testing.T, text, got string) {
	t.Helper()
	want := wantDate(text)
	if refused := strings.HasPrefix(got, "22 \""); want == "" && refused || want == got {
		return
	}
	t.Errorf("%q: got %q, want %q", text, got, want)
}

// Instants and dates say the same as Go, in several zones.
func TestInstants(t *testing.T) {
	l := libraryProgram(t, "instants")
	all := []int64{0, 1, -1, 999999999, -999999999, 1e18, -1e18, 1<<63 - 1, -1 << 63,
		951782400e9, 951868799e9, -2208988800e9, 1711846800e9, 1711846799e9, 1729987200e9,
		253402300799, 4102444800e9, -9223372036e9}
	var args []string
	for _, n := range all {
		args = append(args, fmt.Sprint(n))
	}
	for _, zone := range []string{"UTC", "Europe/Lisbon", "America/St_Johns", "Australia/Lord_Howe",
		"Asia/Kolkata", "", "Nowhere/At_All"} {
		there, err := time.LoadLocation(zone)
		if err != nil && zone != "Nowhere/At_All" {
			t.Logf("no zone %s on this machine", zone)
			continue
		}
		if err != nil {
			there = time.UTC
		}
		t.Setenv("TZ", zone)
		got := strings.SplitAfter(l.everywhere(t, fixed(args...), asItIs).Out, "\n")
		for i, n := range all {
			compareInstant(t, n, there, got[2*i], got[2*i+1])
		}
	}
}

// compareInstant compares the two lines of an instant with what Go says.
func compareInstant(t *testing.T, n int64, zone *time.Location, dates, read string) {
	t.Helper()
	utc := time.Unix(0, n).UTC()
	local := utc.In(zone)
	if _, ahead := local.Zone(); ahead%60 != 0 { // RFC 3339 has no seconds of an offset
		local = utc.In(time.FixedZone("", ahead-ahead%60))
	}
	want := fmt.Sprintf("%s %s %s %d\n", utc.Format(time.RFC3339Nano),
		utc.Format(time.RFC3339Nano), local.Format(time.RFC3339Nano), utc.Unix())
	if dates != want {
		t.Errorf("%d in %s: got %q, want %q", n, zone, dates, want)
	}
	if !strings.HasSuffix(read, "true\n") || strings.Contains(read, "false") {
		t.Errorf("%d in %s is read back as %q", n, zone, read)
	}
}

// TestLibrary runs the programs whose output is in a file beside them.
func TestLibrary(t *testing.T) {
	inScratch := func() []string { return []string{scratch(t)} }
	for _, c := range []struct {
		name string
		args func() []string
	}{
		{"calendar", fixed()}, {"children", fixed()}, {"commands", fixed()},
		{"datagrams", fixed()}, {"patterns", fixed()},
		{"files", inScratch}, {"links", inScratch}, {"many", inScratch}, {"walk", inScratch},
		{"watch", inScratch},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TZ", "Europe/Lisbon")
			l := libraryProgram(t, c.name)
			got := l.everywhere(t, c.args, asItIs)
			golden := filepath.Join("..", "testdata", "library", c.name+".out")
			if *update {
				if err := os.WriteFile(golden, []byte(got.Out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := trial.Difference(l.text, string(want), got.Out); d != "" || got.Status != 0 ||
				got.Err != "" {
				t.Errorf("status %d\n%s\n%s\ngo test ./eve/differential -update rewrites it",
					got.Status, got.Err, d)
			}
		})
	}
}

// scratch is a new folder with a pipe in it.
func scratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Files are read and written without a race, and no memory is lost, with the ring and without it.
func TestFilesSanitized(t *testing.T) {
	for _, name := range []string{
		"children", "commands", "datagrams", "files", "links", "many", "walk", "watch",
	} {
		l := libraryText(t, name)
		want, err := os.ReadFile(filepath.Join("..", "testdata", "library", name+".out"))
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"thread", "address"} {
			exe := trial.Build(t, l.p, emit.Options{Checked: true}, build.Options{Sanitize: kind})
			for _, loop := range []string{"epoll", ""} {
				t.Setenv("EVE_IO", loop)
				for _, n := range workers {
					got := trial.Run(t, exe, n, scratch(t))
					if d := trial.Difference(l.text, string(want), got.Out); d != "" ||
						got.Status != 0 {
						t.Errorf("%s, %s, EVE_IO=%s, %d workers: status %d\n%s\n%s", name, kind,
							loop, n, got.Status, got.Err, d)
					}
				}
			}
		}
	}
}

// Signals interrupt system calls, and nothing is lost or done twice by that.
func TestStorm(t *testing.T) {
	l := libraryText(t, "storm")
	exe := trial.Build(t, l.p, emit.Options{Checked: true, Debug: true}, build.Options{})
	for _, loop := range []string{"epoll", ""} {
		t.Run("EVE_IO="+loop, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), trial.Limit)
			defer cancel()
			cmd := exec.CommandContext(ctx, exe, filepath.Join(t.TempDir(), "file"))
			cmd.Env = append(os.Environ(), "EVE_IO="+loop, "EVE_WORKERS=2")
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Errorf("got %q first", lines.Text())
			}
			over := make(chan bool)
			go func() {
				defer close(over)
				for cmd.Process.Signal(syscall.SIGHUP) == nil {
					time.Sleep(100 * time.Microsecond)
				}
			}()
			if !lines.Scan() || lines.Text() != "signals true" {
				t.Errorf("got %q last", lines.Text())
			}
			if err := cmd.Wait(); err != nil || said.Len() > 0 {
				t.Errorf("%v: %s", err, said.String())
			}
			<-over
		})
	}
}

// xoshiro is the generator of module random, written a second time.
type xoshiro [4]uint64

func seeded(x uint64) *xoshiro {
	var s xoshiro
	for i := range s {
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		s[i] = z ^ z>>31
	}
	return &s
}

func (s *xoshiro) next() uint64 {
	turned := func(x uint64, n int) uint64 { return x<<n | x>>(64-n) }
	result := turned(s[1]*5, 7) * 9
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = turned(s[3], 45)
	return result
}

// The numbers of a seed are those of the published algorithm, everywhere.
func TestRandom(t *testing.T) {
	l := libraryProgram(t, "random")
	for _, seed := range []uint64{0, 1, 42, 1<<63 - 1} {
		got := l.everywhere(t, fixed(fmt.Sprint(seed)), asItIs)
		g := seeded(seed)
		var first []string
		for range 4 {
			first = append(first, fmt.Sprint(g.next()))
		}
		if want := strings.Join(first, " ") + " \n"; !strings.HasPrefix(got.Out, want) {
			t.Errorf("seed %d: got %q, want %q first", seed, got.Out, want)
		}
		lines := strings.Split(got.Out, "\n")
		if want := []string{"true", "32 false", "false"}; !slices.Equal(lines[6:9], want) {
			t.Errorf("seed %d: got %q, want %q last", seed, lines[6:9], want)
		}
	}
}

// A command line is read as people know it.
func TestArgs(t *testing.T) {
	l := libraryProgram(t, "args")
	const usage = "tool --help says more\n"
	for _, c := range []struct{ line, out, err string }{
		{"-k=1 a", "verbose 0, dry false, size 10, out ., tags [], key 1\n[a]\n", ""},
		{"--key x --size=5 -vn -o/tmp a - b",
			"verbose 1, dry true, size 5, out /tmp, tags [], key x\n[a, -, b]\n", ""},
		{"a -vv --tag 1 --tag=2 -k -- -- -v",
			"verbose 2, dry false, size 10, out ., tags [1, 2], key --\n[a, -v]\n", ""},
		{"-nvk5 a", "verbose 1, dry true, size 10, out ., tags [], key 5\n[a]\n", ""},
		{"--size -3 --key= a", "verbose 0, dry false, size -3, out ., tags [], key \n[a]\n", ""},
		{"-k 1", "", "tool: FILE... is missing\n" + usage},
		{"a", "", "tool: --key KEY is missing\n" + usage},
		{"-k 1 a b c d", "", "tool: \"d\" is one word too many\n" + usage},
		{"--siez 5 a", "", "tool: there is no flag --siez; did you mean --size?\n" + usage},
		{"--nothing-like-it a", "", "tool: there is no flag --nothing-like-it\n" + usage},
		{"-x a", "", "tool: there is no flag -x\n" + usage},
		{"-size a", "", "tool: --size is a whole number, not \"ize\"\n" + usage},
		{"-verbose a", "", "tool: there is no flag -e; did you mean --verbose?\n" + usage},
		{"--verbose=yes a", "", "tool: --verbose takes no value\n" + usage},
		{"--size", "", "tool: a value is missing: --size BYTES\n" + usage},
		{"-s", "", "tool: a value is missing: -s BYTES\n" + usage},
		{"--size big a", "", "tool: --size is a whole number, not \"big\"\n" + usage},
		{"--size=99999999999999999999 a", "",
			"tool: --size is a whole number, not \"99999999999999999999\"\n" + usage},
		{"--=5 a", "", "tool: there is no flag --\n" + usage},
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
	const help = `usage: tool [flags] FILE...

shows what a command line says, and nothing else

flags:
  -v, --verbose     say more; twice: say all
  -n, --dry-run     do nothing
  -s, --size BYTES  the least size of a file that is looked at, which is a long
                    story with many words in it (standard: 10)
  -o, --out FOLDER  where to write (standard: .)
      --tag NAME    may be given more than once
  -k, --key KEY     what to look for (required)
  -h, --help        print this text and end
`
	for _, line := range []string{"--help", "-h", "-vh", "--key 1 -h b"} {
		got := l.everywhere(t, fixed(strings.Fields(line)...), asItIs)
		if want := (trial.Ending{Out: help}); got != want {
			t.Errorf("%s: got %+v, want %+v", line, got, want)
		}
	}
}

// A command without flags and operands.
func TestBareArgs(t *testing.T) {
	l := libraryProgram(t, "bare_args")
	for line, want := range map[string]trial.Ending{
		"":       {Out: "0\n"},
		"--help": {Out: "usage: bare [flags]\n\nflags:\n  -h, --help  print this text and end\n"},
		"x":      {Status: 2, Err: "bare: \"x\" is one word too many\nbare --help says more\n"},
		"--":     {Out: "0\n"},
	} {
		if got := l.everywhere(t, fixed(strings.Fields(line)...), asItIs); got != want {
			t.Errorf("%q: got %+v, want %+v", line, got, want)
		}
	}
}

// stamped matches the time of a line of the log.
var stamped = regexp.MustCompile(`(?m)^time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z `)

// unstamped is an ending without the times of the log, and with its lines in order.
func unstamped(e trial.Ending) trial.Ending {
	lines := strings.SplitAfter(stamped.ReplaceAllString(e.Err, ""), "\n")
	slices.Sort(lines)
	e.Err = strings.Join(lines, "")
	return e
}

// The log has a line an event, whatever its text is.
func TestLog(t *testing.T) {
	l := libraryProgram(t, "log")
	words := []string{"plain", "", "two words", "a=b", `"`, `\`, "line\nbreak", "\t\r", "é€😀",
		"\xff", "\xc2\x85", "\xed\xa0\x80", "\x1b[31m", "\x7f", "\xf0\x9f\x98"}
	written := []string{"plain", `""`, `"two words"`, `"a=b"`, `"\""`, `"\\"`, `"line\nbreak"`,
		`"\t\r"`, "é€😀", `"\xff"`, `"\u0085"`, `"\xed\xa0\x80"`, `"\x1b[31m"`, `"\x7f"`,
		`"\xf0\x9f\x98"`}
	var want []string
	for _, w := range written {
		want = append(want, fmt.Sprintf("level=info text=%s %s=%s\n", w, w, w))
	}
	want = append(want, "level=warning text=warning\n", "level=error text=error code=7\n",
		"level=debug text=seen client=\"a b\" x=\"\" y=\"1=1\"\n", "false true true\n",
		"level=info text=task client=\"a b\" n=4\n")
	for i := range 3 {
		want = append(want, fmt.Sprintf("level=info text=\"child %d\" client=\"a b\"\n", i))
	}
	slices.Sort(want)
	for level, more := range map[string]string{"": "", "debug": "level=debug text=debug\n"} {
		t.Setenv("EVE_LOG", level)
		all := slices.Sorted(slices.Values(append(slices.Clone(want), more)))
		got := l.everywhere(t, fixed(words...), unstamped)
		if d := trial.Difference(l.text, strings.Join(all, ""), got.Err); d != "" {
			t.Errorf("EVE_LOG=%s: %s", level, d)
		}
	}
}
