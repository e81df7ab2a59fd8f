package prove

import (
	"context"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// root is the checkout that this package is part of.
const root = "../.."

// TestTable checks that every pattern of rings.toml matches an existing test in each of its
// packages: a renamed test must not drop out of all rings.
func TestTable(t *testing.T) {
	table, err := LoadRings(filepath.Join(root, RingsFile))
	if err != nil {
		t.Fatal(err)
	}
	packages := testsOf(t)
	for _, part := range table.Part {
		for _, pattern := range part.Packages {
			if !slices.ContainsFunc(sorted(packages),
				func(dir string) bool { return matches([]string{pattern}, dir) }) {
				t.Errorf("%s: no package %s has tests", part.Why, pattern)
			}
		}
		for _, pattern := range slices.Concat(part.Tests, part.Skip) {
			first, _, _ := strings.Cut(pattern, "/")
			name := regexp.MustCompile(first)
			for dir, tests := range packages {
				if part.has(dir) && !slices.ContainsFunc(tests, name.MatchString) {
					t.Errorf("%s has no test %s", dir, pattern)
				}
			}
		}
	}
	for ring, jobs := range table.Seconds {
		for name := range jobs {
			dir, _, _ := strings.Cut(name, " ")
			if len(packages[dir]) == 0 {
				t.Errorf("seconds.%s: no package %s has tests", ring, dir)
			}
		}
	}
	for _, entry := range table.Reads {
		for _, file := range entry.Files {
			if there, err := filepath.Glob(filepath.Join(root, file)); len(there) == 0 {
				t.Errorf("%v reads what is not there: %s, %v", entry.Packages, file, err)
			}
		}
	}
}

// TestReadsHaveImports checks that the list of a package has all that the Go code in it imports of
// ours. Its tests may build a command there, and package testing does not log what go then reads.
func TestReadsHaveImports(t *testing.T) {
	table, err := LoadRings(filepath.Join(root, RingsFile))
	if err != nil {
		t.Fatal(err)
	}
	names, err := listFiles(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{} // of different packages
	for dir := range testsOf(t) {
		if reads := table.reads(dir); len(reads) > 0 {
			lists[strings.Join(reads, " ")] = reads
		}
	}
	if len(lists) < 5 {
		t.Errorf("only %d lists", len(lists))
	}
	found := map[string]bool{}
	for _, name := range names {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil,
			parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range imports(file) {
			dir, ours := strings.CutPrefix(imported, "interleave/")
			if !ours {
				continue
			}
			for list, reads := range lists {
				message := list + " has " + path.Dir(name) + ", and lacks " + dir
				if covered(reads, name) && !covered(reads, dir+"/any.go") && !found[message] {
					found[message] = true
					t.Error(message)
				}
			}
		}
	}
}

// TestFirstRing checks that no package of the checkout is left out.
func TestFirstRing(t *testing.T) {
	table, err := LoadRings(filepath.Join(root, RingsFile))
	if err != nil {
		t.Fatal(err)
	}
	var packages []testPackage
	for dir := range testsOf(t) {
		packages = append(packages, testPackage{"interleave/" + dir, dir})
	}
	if jobs := table.jobs("core", packages); len(jobs) != len(packages) {
		t.Errorf("the first ring has %d packages of %d", len(jobs), len(packages))
	}
}

// outside are the modules of the tree that go does not list with the others. A test of package
// gonet runs the tests of each.
var outside = []string{"gonet/beside", "gonet/wireguard", "gonet/wintun"}

// TestNothingIsLeftOut compares the packages that go lists with the folders that have tests.
func TestNothingIsLeftOut(t *testing.T) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	packages, err := listPackages(t.Context(), checkout)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, p := range packages {
		listed[p.dir] = true
	}
	for dir := range testsOf(t) {
		alone := slices.ContainsFunc(outside,
			func(module string) bool { return strings.HasPrefix(dir+"/", module+"/") })
		if listed[dir] == alone {
			t.Errorf("%s: its tests are in a ring: %v, in a module that is tested alone: %v", dir,
				listed[dir], alone)
		}
	}
}

// testsOf finds the names of the tests of all packages, by their folders.
func testsOf(t *testing.T) map[string][]string {
	t.Helper()
	files, err := listFiles(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+|Example\w*)\(`)
	packages := map[string][]string{}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range names.FindAllStringSubmatch(string(text), -1) {
			dir := filepath.ToSlash(filepath.Dir(file))
			packages[dir] = append(packages[dir], found[1])
		}
	}
	return packages
}

func sorted(packages map[string][]string) (dirs []string) {
	for dir := range packages {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}

func TestWrongTables(t *testing.T) {
	const rings = "[[ring]]\nname = \"core\"\nabout = \"a\"\n[[ring]]\nname = \"whole\"\nabout " +
		"= \"b\"\n"
	for text, want := range map[string]string{
		"":                                      "expected at least one ring",
		"[[ring]]\nname = \"core\"":             "expected a name and a line",
		rings + "[[part]]\nring = \"hole\"":     `no ring "hole"`,
		rings + "[[part]]\nring = \"whole\"":    "expected packages",
		rings + "[[part]]\nrings = [\"whole\"]": "strict mode",
		rings + part(`packages = ["a"]`):        "expected why",
		rings + part(`packages = ["a"]`, `why = "w"`,
			`moved = true`): "expected the tests",
		rings + part(`packages = ["a"]`, `why = "w"`,
			`tests = ["("]`): "missing closing )",
		rings + part(`packages = ["["]`,
			`why = "w"`): "syntax error in pattern",
		rings + "[seconds.hole]\na = 1\n": `seconds: no ring "hole"`,
		rings + part(`packages = ["a"]`, `why = "w"`, `tests = ["T"]`, `moved = true`) +
			"x": "toml",
	} {
		file := filepath.Join(t.TempDir(), "rings.toml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadRings(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func part(lines ...string) string {
	return "[[part]]\nring = \"whole\"\n" + strings.Join(lines, "\n") + "\n"
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, dir string
		want         bool
	}{
		{"services/*", "services/echo", true}, {"services/*", "services/echo/c-epoll", false},
		{"papaya/...", "papaya/server", true}, {"papaya/...", "papaya", true},
		{"papaya/...", "papayas", false},
		{"./...", "eve", true}, {"eve", "eve/build", false}, {"./eve", "eve", true},
	} {
		if got := matches([]string{test.pattern}, test.dir); got != test.want {
			t.Errorf("%s matches %s: %v, want %v", test.pattern, test.dir, got, test.want)
		}
	}
}

func TestAgain(t *testing.T) {
	j := &job{pkg: testPackage{"interleave/a", "a"}, race: true, args: []string{"-sanitize=race"}}
	want := `CGO_ENABLED=1 go test ./a -count=1 -race -run '^TestX$/^one \(two\)$' -args -sanitize=race`
	if got := j.repeat("TestX/one (two)"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOrder sorts jobs: the first ring, then the longest of any other, then those that run alone.
func TestOrder(t *testing.T) {
	j := func(ring, dir string, expected time.Duration, alone bool) *job {
		return &job{ring: ring, pkg: testPackage{dir, dir}, expected: expected, alone: alone}
	}
	jobs := []*job{
		j("whole", "a", 5, false), j("whole", "b", 9, true), j("core", "c", 1, false),
		j("core", "d", 2, false), j("race", "e", 7, false), j("race", "f", 5, false),
		j("core", "g", 3, true),
	}
	sortJobs(jobs, "core")
	var order []string
	for _, j := range jobs {
		order = append(order, j.pkg.dir)
	}
	if got := strings.Join(order, " "); got != "d c e a f g b" {
		t.Errorf("got %s, want d c e a f g b", got)
	}
}

// TestRoom starts one more job beside those that leave cores idle, once it is known that the last
// one does, or when that one has ended.
func TestRoom(t *testing.T) {
	now := time.Now()
	counts := func(idle uint64) *machine {
		return &machine{looks: []look{{now.Add(-idleTime), 0, 0, 0, 0}, {now, 0, 100, idle, 0}}}
	}
	first, second := &job{}, &job{}
	r := &runner{Options: Options{AtOnce: 2 + runtime.NumCPU()}, report: &Report{},
		say: &speaker{io.Discard}, running: runtime.NumCPU(), watch: counts(50)}
	mustHave := func(what string, want bool) {
		t.Helper()
		if got := r.room(); got != want {
			t.Errorf("%s: room is %v, want %v", what, got, want)
		}
	}
	r.cancel = map[*job]context.CancelCauseFunc{
		first: func(error) {}, second: func(error) {}}
	r.last, r.started = second, now
	mustHave("a job has just begun", false)
	r.started = now.Add(-idleTime)
	mustHave("it leaves half of the cores idle", true)
	r.watch = counts(10)
	mustHave("it leaves a tenth", false)
	r.watch = counts(50)
	r.started = now
	if err := r.ended(done{job: first, result: &Result{}}); err != nil {
		t.Fatal(err)
	}
	mustHave("another one has ended", false)
	if err := r.ended(done{job: second, result: &Result{}}); err != nil {
		t.Fatal(err)
	}
	mustHave("it has ended", true)
	r.running = r.AtOnce
	mustHave("as many run as may", false)
	r.running = runtime.NumCPU() - 1
	r.watch = counts(0)
	mustHave("a core has none", true)
}

// TestEveryRingIsRun checks that CI runs each ring, by `make test` with all of them. `make test`
// alone has the first, `make rest` has the others, and `make check` all.
func TestEveryRingIsRun(t *testing.T) {
	table, err := LoadRings(filepath.Join(root, RingsFile))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	ci, err := os.ReadFile(filepath.Join(root, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	names := table.names()
	for target, rings := range map[string][]string{"test": names[:1], "rest": names[1:],
		"check": names} {
		found := regexp.MustCompile(`(?m)^` + target + `: +RINGS = (.*)$`).FindSubmatch(makefile)
		if found == nil || !slices.Equal(strings.Fields(string(found[1])), rings) {
			t.Errorf("make %s runs the rings %q, want %v", target, found, rings)
		}
	}
	if call := "\nstep make test RINGS='" + strings.Join(names, " ") + "' "; !strings.Contains(
		string(ci), call) {
		t.Errorf(".ci/run does not call %q", strings.TrimSpace(call))
	}
}
