package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/proc"
)

// A checkout is a small module with a table of rings, whose tests a test runs.
type checkout struct {
	t    *testing.T
	root string
	o    Options
	out  bytes.Buffer
}

// small is a module of two packages; the tests of the second read testdata and the environment.
var small = map[string]string{
	"go.mod":        "module small\n\ngo 1.26\n",
	"one/one.go":    "package one\n\nfunc One() int { return 1 }\n",
	"two/data/text": "a text\n",
	"two/two_test.go": `package two

import (
	"flag"
	"os"
	"testing"

	"small/one"
)

var most = flag.Int("most", 1, "")

func TestTwo(t *testing.T) {
	text, err := os.ReadFile("data/text")
	if err != nil || one.One() > *most {
		t.Fatalf("%q, %v", text, err)
	}
	if os.Getenv("SMALL") == "fails" {
		t.Error("the environment says so")
	}
}

func TestWhole(t *testing.T) {}
`,
	"internal/prove/rings.toml": `
[[ring]]
name  = "core"
about = "what is quick"

[[ring]]
name  = "whole"
about = "what takes long"

[[part]]
ring     = "whole"
packages = ["two"]
tests    = ["TestWhole"]
moved    = true
why      = "it is slow"

[[part]]
ring     = "whole"
packages = ["two"]
tests    = ["TestTwo"]
args     = ["-most=1"]
why      = "it can do more"

[[reads]]
packages = ["two"]
files    = ["one", "two"]
`,
}

// newCheckout makes the small module, with some files changed or added.
func newCheckout(t *testing.T, files map[string]string) *checkout {
	t.Helper()
	c := &checkout{t: t, root: t.TempDir()}
	for _, set := range []map[string]string{small, files} {
		for name, text := range set {
			c.write(name, text)
		}
	}
	c.write("out/packages", "a package 1.0\n")
	c.write("out/runner", "a program\n")
	c.write(toolsFile, "ok cc (12)\n")
	c.o = Options{Root: c.root, Rings: []string{"core"}, Out: &c.out, Shared: linked,
		host: &host{filepath.Join(c.root, "out/packages"), filepath.Join(c.root, "out/runner"),
			"a machine", time.Now}}
	return c
}

func (c *checkout) write(name, text string) {
	c.t.Helper()
	file := filepath.Join(c.root, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text),
		0o644))
	if err != nil {
		c.t.Fatal(err)
	}
}

// change replaces a text in a file by another.
func (c *checkout) change(name, from, to string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, name))
	if err != nil || !strings.Contains(string(text), from) {
		c.t.Fatalf("%s has no %q: %v", name, from, err)
	}
	c.write(name, strings.Replace(string(text), from, to, 1))
}

// run runs the rings.
func (c *checkout) run() (*Report, error) {
	c.t.Helper()
	c.out.Reset()
	report, err := Run(c.t.Context(), c.o)
	if report == nil || err != nil && !errors.Is(err, ErrFailed) {
		c.t.Fatalf("%v\n%s", err, c.out.String())
	}
	return report, err
}

// mustRemember runs the rings and checks that no package ran, or that all did.
func (c *checkout) mustRemember(want bool) *Report {
	c.t.Helper()
	report, err := c.run()
	if err != nil {
		c.t.Fatalf("%v\n%s", err, c.out.String())
	}
	for _, r := range report.Results {
		if r.Remembered != want {
			c.t.Errorf("%s: remembered is %v, want %v", r.Package, r.Remembered, want)
		}
	}
	return report
}

// TestStale changes each part of the key, and checks that the tests run then, and are remembered
// before and after.
func TestStale(t *testing.T) {
	c := newCheckout(t, nil)
	c.mustRemember(false)
	c.mustRemember(true)
	setenv := t.Setenv // for all that follows, not for a part of this test
	changes := []struct {
		part   string
		change func(t *testing.T)
	}{
		{partProgram, func(*testing.T) { c.change("two/two_test.go", "says so", "says it") }},
		{partProgram, func(*testing.T) { c.change("one/one.go", "return 1", "return 0") }},
		{partFiles, func(*testing.T) { c.change("two/data/text", "a text", "another text") }},
		{partFiles, func(*testing.T) { c.write("two/data/new", "") }},
		{partFiles, func(t *testing.T) {
			if err := os.Chmod(filepath.Join(c.root, "two/data/text"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{partFiles, func(t *testing.T) {
			if err := os.Remove(filepath.Join(c.root, "two/data/new")); err != nil {
				t.Fatal(err)
			}
		}},
		{partTools, func(*testing.T) { c.write(toolsFile, "ok cc (13)\n") }},
		{partPackages, func(*testing.T) { c.write("out/packages", "a package 1.1\n") }},
		{partRunner, func(*testing.T) { c.write("out/runner", "another program\n") }},
		{partEnvironment, func(*testing.T) { setenv("SMALL", "larger") }},
		{partMachine, func(*testing.T) { c.o.host.facts = "another machine" }},
		{"the week", func(*testing.T) {
			c.o.host.now = func() time.Time { return time.Now().Add(rememberFor + time.Minute) }
		}},
		{partArguments,
			func(*testing.T) { c.change(RingsFile, `["TestWhole"]`, `["TestWhole", "TestNone"]`) }},
	}
	parts := map[string]bool{}
	for _, change := range changes {
		t.Run(change.part, func(t *testing.T) {
			c.t = t
			change.change(t)
			report := c.mustRemember(false)
			if why := report.Results[0].Why; !slices.Contains(why, change.part) {
				t.Errorf("it ran for %q, want %q", why, change.part)
			}
			c.mustRemember(true)
			parts[change.part] = true
		})
	}
	key, err := newMemory(t, c).keyOf(&job{}, c.o.host.runner, nil)
	if err != nil {
		t.Fatal(err)
	}
	for part := range key {
		if !parts[part] {
			t.Errorf("no change was made to a part of the key: %s", part)
		}
	}
}

func newMemory(t *testing.T, c *checkout) *memory {
	t.Helper()
	m, err := openMemory(t.Context(), c.root, c.o.host)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFresh runs remembered packages, too. A change of a file that a package does not read does not
// concern it.
func TestFresh(t *testing.T) {
	c := newCheckout(t, nil)
	c.mustRemember(false)
	c.write("docs/page.md", "a page")
	c.mustRemember(true)
	c.o.Fresh = true
	c.mustRemember(false)
}

// TestFailureIsNotRemembered fails by the environment. The same environment fails again, and the
// earlier success is not recalled.
func TestFailureIsNotRemembered(t *testing.T) {
	c := newCheckout(t, nil)
	t.Setenv("SMALL", "") // the environment of the last run, too
	c.mustRemember(false)
	c.mustRemember(true)
	t.Setenv("SMALL", "fails")
	for range 2 {
		report, err := c.run()
		if !errors.Is(err, ErrFailed) || report.Failed() != 1 || report.Results[0].Remembered {
			t.Fatalf("got %v and %d failures, want one\n%s", err, report.Failed(), c.out.String())
		}
		for _, want := range []string{"the environment says so", "meanwhile: load average ",
			"again:     go test ./two -count=1 -run '^TestTwo$'",
			"\n0 passed, 1 failed, 0 skipped\n"} {
			if !strings.Contains(c.out.String(), want) {
				t.Errorf("the output lacks %q:\n%s", want, c.out.String())
			}
		}
	}
	t.Setenv("SMALL", "")
	if report, err := c.run(); err != nil || report.Results[0].Remembered {
		t.Errorf("a result that an earlier failure made void was recalled: %v", err)
	}
}

// TestRings runs the first ring without the second's tests, and the second with its arguments. A
// failure in one ring prevents the next from starting.
func TestRings(t *testing.T) {
	c := newCheckout(t, nil)
	if report := c.mustRemember(false); report.Passed() != 1 {
		t.Errorf("the first ring has %d tests, want 1", report.Passed())
	}
	c.o.Rings = []string{"whole"}
	if report := c.mustRemember(false); report.Passed() != 2 || len(report.Results) != 2 {
		t.Errorf("the second ring has %d tests, want 2", report.Passed())
	}
	c.o.Rings, c.o.Fresh, c.o.AtOnce = []string{"core", "whole"}, true, 1
	t.Setenv("SMALL", "fails")
	report, err := c.run()
	if !errors.Is(err, ErrFailed) || report.Failed() != 1 || len(report.NotRun) != 2 {
		t.Errorf("got %v, %d failures and %q not run, want 1 and 2", err, report.Failed(),
			report.NotRun)
	}
	c.o.Rings = []string{"none"}
	if _, err := Run(t.Context(), c.o); err == nil ||
		!strings.Contains(err.Error(), `no ring "none"`) {
		t.Errorf("got %v, want that there is no such ring", err)
	}
}

// TestAlone checks that a part which must run alone runs after all others, those of the next ring
// included.
func TestAlone(t *testing.T) {
	const sees = `package %[1]s

import (
	"os"
	"testing"
)

func TestSees(t *testing.T) {
	if err := os.Mkdir("../out/mark", 0o755); err != nil {
		t.Error("it is not alone")
	}
	for range 1 << 12 { // time for another to begin
		os.ReadDir("..")
	}
	os.Remove("../out/mark")
}
`
	c := newCheckout(t, map[string]string{
		"three/three_test.go": fmt.Sprintf(sees, "three"), "four/four_test.go": fmt.Sprintf(sees,
			"four")})
	c.change(RingsFile, "[[reads]]",
		"[[part]]\nring = \"whole\"\npackages = [\"three\", \"four\"]\ntests = [\"TestSees\"]\n"+
			"moved = true\nalone = true\nwhy = \"they meet\"\n\n[[reads]]")
	c.o.Rings = []string{"whole", "core"}
	report, err := c.run()
	if err != nil {
		t.Errorf("got %v\n%s", err, c.out.String())
	}
	var ran []string
	for _, r := range report.Results {
		ran = append(ran, r.Ring+" "+r.Package)
	}
	slices.Sort(ran[max(0, len(ran)-2):])
	if want := []string{"whole four", "whole three"}; len(ran) < 5 ||
		!slices.Equal(ran[len(ran)-2:], want) {
		t.Errorf("ran %q, want those last that are alone", ran)
	}
}

// TestDoesNotBuild checks that the compiler's message is shown.
func TestDoesNotBuild(t *testing.T) {
	c := newCheckout(t, map[string]string{"three/three_test.go": "package three\n\nnot Go\n"})
	_, err := Run(t.Context(), c.o)
	if err == nil || !strings.Contains(err.Error(), "three_test.go:3") {
		t.Errorf("got %v, want the place of the mistake", err)
	}
}

// TestUnlisted checks that a result which depends on an unlisted file is not remembered.
func TestUnlisted(t *testing.T) {
	c := newCheckout(t, map[string]string{
		"elsewhere/text": "a text",
		"two/more_test.go": `package two

import (
	"os"
	"testing"
)

func TestReads(t *testing.T) {
	if _, err := os.ReadFile("../elsewhere/text"); err != nil {
		t.Error(err)
	}
}
`})
	c.mustRemember(false)
	if want := "not remembered: it read elsewhere/text"; !strings.Contains(c.out.String(), want) {
		t.Errorf("the output lacks %q:\n%s", want, c.out.String())
	}
	c.mustRemember(false)
}

// TestStopped checks that stopping a run ends the test programs, and their children.
func TestStopped(t *testing.T) {
	c := newCheckout(t, map[string]string{"three/three_test.go": `package three

import (
	"os"
	"os/exec"
	"testing"
)

func TestLong(t *testing.T) {
	child := exec.Command("sleep", "1000")
	child.Start()
	os.WriteFile("../out/begun", nil, 0o644)
	child.Wait()
}
`})
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by the test")
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(c.root, "out/begun")); err == nil ||
				ctx.Err() != nil {
				cancel(stopped)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := Run(ctx, c.o); !errors.Is(err, stopped) {
		t.Errorf("got %v, want that it was stopped", err)
	}
	if left, _ := filepath.Glob("/proc/[0-9]*/cwd"); len(left) > 0 {
		for _, link := range left {
			if where, _ := os.Readlink(link); strings.HasPrefix(where, c.root) {
				t.Errorf("%s is left, in %s", link, where)
			}
		}
	}
}

// TestFlakes finds a test that fails every other time.
func TestFlakes(t *testing.T) {
	c := newCheckout(t, map[string]string{"three/three_test.go": `package three

import (
	"os"
	"testing"
)

func TestOdd(t *testing.T) {
	if os.Remove("../out/odd") != nil {
		os.WriteFile("../out/odd", nil, 0o644)
		t.Error("an odd run")
	}
}
`})
	c.o.Packages = []string{"three"}
	if err := Flakes(t.Context(), c.o, 4, Nothing); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want that tests failed", err)
	}
	for _, want := range []string{"2 of 4 runs green", "2 of 4  three TestOdd"} {
		if !strings.Contains(c.out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, c.out.String())
		}
	}
	if err := Flakes(t.Context(), c.o, 1, "music"); err == nil {
		t.Error("it ran beside music")
	}
}

// TestBeside keeps every core busy for a moment.
func TestBeside(t *testing.T) {
	end, err := Busy.start()
	if err != nil {
		t.Fatal(err)
	}
	if got := loops(); got != runtime.NumCPU() {
		t.Errorf("%d loops beside the tests, want one for each of %d cores", got, runtime.NumCPU())
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if got := loops(); got != 0 {
		t.Errorf("%d loops are left", got)
	}
}

// TestStops lets a process of this one stand still, and go on.
func TestStops(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	still := func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		s, ok := proc.ParseStat(text)
		return ok && s.State == 'T'
	}
	end, err := Stops.start()
	if err != nil {
		t.Fatal(err)
	}
	for !still() { // the test's own time limit ends it
		time.Sleep(time.Millisecond)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil { // it would never end if it stood still
		t.Error(err)
	}
}

// loops counts the endless loops that this process has started.
func loops() (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		command, _ := os.ReadFile(file) // gone meanwhile: none of ours
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if bytes.Contains(command, []byte("while :; do :; done")) &&
			bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", os.Getpid())) {
			n++
		}
	}
	return n
}

// TestTimes prints the recorded times.
func TestTimes(t *testing.T) {
	c := newCheckout(t, map[string]string{"three/three_test.go": `package three

import (
	"testing"
	"time"
)

func TestBuilds(t *testing.T) { t.Log("built echo/c-epoll in 1.5s") }

func TestParts(t *testing.T) {
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		time.Sleep(20 * time.Millisecond)
	})
}
`})
	var table bytes.Buffer
	if err := PrintTimes(c.root, nil, &table); err == nil {
		t.Error("there are times before anything ran")
	}
	c.mustRemember(false)
	if err := PrintTimes(c.root, []string{"core"}, &table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"core     two ", "TestTwo (0.0)", "TestParts/slow (0.0)",
		"echo/c-epoll 1.5s", " CPU s ", " waits s "} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
}

// TestWaits: what two cores can do in less than the duration is waited for.
func TestWaits(t *testing.T) {
	for _, c := range []struct{ wall, user, system, want time.Duration }{
		{10, 4, 2, 7}, {10, 20, 0, 0}, {10, 25, 0, 0}, {10, 0, 0, 10},
	} {
		r := Result{Wall: c.wall, User: c.user, System: c.system}
		if got := r.waits(2); got != c.want {
			t.Errorf("%+v waits for %d, want %d", c, got, c.want)
		}
	}
}

func TestParseLook(t *testing.T) {
	l, err := parseLook([]byte("cpu  10 1 5 80 4 0 0 20 7 0\ncpu0 1\n"),
		[]byte("1.50 1.00 0.50 1/2 3\n"))
	if err != nil || l.total != 120 || l.idle != 84 || l.steal != 20 || l.load != 1.5 {
		t.Errorf("got %+v, %v", l, err)
	}
	for _, wrong := range [][2]string{{"", "1 1 1"}, {"cpu 1 2", "1 1 1"},
		{"cpu 1 2 3 4 5 6 7 x", "1 1"}, {"cpu 1 2 3 4 5 6 7 8 9", "x"}} {
		if _, err := parseLook([]byte(wrong[0]), []byte(wrong[1])); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}

func TestMeanwhile(t *testing.T) {
	at := time.Now()
	m := &machine{looks: []look{
		{at, 1, 1000, 500, 10}, {at.Add(time.Second), 2, 1200, 600, 10},
		{at.Add(2 * time.Second), 5, 1400, 600, 110}}}
	for _, test := range []struct {
		from, to time.Duration
		want     Meanwhile
	}{
		{0, time.Second, Meanwhile{2, 0.5, 0}},
		{time.Second, 2 * time.Second, Meanwhile{5, 1, 0.5}},
		{0, 2 * time.Second, Meanwhile{5, 0.75, 0.25}},
		{-time.Hour, time.Hour, Meanwhile{5, 0.75, 0.25}},
		{2 * time.Second, 2 * time.Second, Meanwhile{5, 1, 0.5}}, // a test that failed at once
		{time.Hour, time.Hour, Meanwhile{5, 1, 0.5}},
	} {
		if got := m.between(at.Add(test.from), at.Add(test.to)); got != test.want {
			t.Errorf("from %v to %v: got %+v, want %+v", test.from, test.to, got, test.want)
		}
	}
}

func TestReason(t *testing.T) {
	for said, want := range map[string]string{
		"    a_test.go:12: SKIP: install luck\n":                   "install luck",
		"begun\n    a_test.go:12: install luck\n":                  "install luck",
		"> [!exec:/usr/sbin/sshd] skip 'install openssh-server'\n": "install openssh-server",
		"> skip 'SKIP: luck'\n":                                    "luck",
		"":                                                         "",
	} {
		if got := reason(said); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	p := func(path string) testPackage { return testPackage{path, path} }
	got := buckets([]testPackage{p("a/x"), p("b/x"), p("y"), p("x")})
	if fmt.Sprint(got) != "[[{a/x a/x} {y y}] [{b/x b/x}] [{x x}]]" {
		t.Errorf("got %v", got)
	}
}
