package toolchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
)

// A compiledModel is built by a cc of the test's own, which writes a script that prints the source.
type compiledModel struct {
	*manifest.Model
	t     *testing.T
	calls string // a file to which cc adds a line
}

func newCompiled(t *testing.T) *compiledModel {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	bin, dir := t.TempDir(), t.TempDir()
	m := &compiledModel{t: t, calls: filepath.Join(bin, "calls"), Model: &manifest.Model{
		Name: "c-none", Service: "echo", Dir: dir, Language: "c",
		Build: [][]string{{"cc", "-o", "{out}/bin/echo", "echo.c"}},
		Run:   []string{"{out}/bin/echo", "{port}"},
		Env:   map[string]string{"PATH": bin + ":" + os.Getenv("PATH")},
	}}
	m.source("one")
	write(t, filepath.Join(bin, "cc"), "#!/bin/sh\necho cc >>"+m.calls+
		"\nmkdir -p \"${2%/*}\" && (echo '#!/bin/sh' && echo \"echo $(cat \"$3\")\") >\"$2\" &&"+
		" chmod +x \"$2\" && ! grep -q wrong \"$3\"\n")
	if err := os.Chmod(filepath.Join(bin, "cc"), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *compiledModel) source(text string) {
	m.t.Helper()
	write(m.t, filepath.Join(m.Dir, "echo.c"), text)
}

// built builds the model in a checkout and checks what its program prints, and how often cc has
// been called since the test began.
func (m *compiledModel) built(outRoot, want string, calls int) *Built {
	m.t.Helper()
	b, err := Build(m.t.Context(), m.Model, BuildOptions{OutRoot: outRoot})
	if err != nil {
		m.t.Fatal(err)
	}
	said, err := exec.Command(filepath.Join(b.Out, "bin/echo")).Output()
	if string(said) != want+"\n" || err != nil {
		m.t.Errorf("the program prints %q, %v, want %s", said, err, want)
	}
	m.called(calls)
	return b
}

func (m *compiledModel) called(want int) {
	m.t.Helper()
	text, _ := os.ReadFile(m.calls) // not there: cc was not called
	if got := strings.Count(string(text), "cc"); got != want {
		m.t.Errorf("cc was called %d times, want %d", got, want)
	}
}

// kept is the program of the only shared build.
func (m *compiledModel) kept() string {
	m.t.Helper()
	kept, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"),
		"interleave/builds/*/bin/echo"))
	if err != nil || len(kept) != 1 {
		m.t.Fatalf("got %v, %v, want one shared build", kept, err)
	}
	return kept[0]
}

// A second checkout takes the build of the first, as long as nothing differs that it is made from.
func TestCheckoutsShareBuilds(t *testing.T) {
	m := newCompiled(t)
	here, there := t.TempDir(), t.TempDir()
	if m.built(here, "one", 1).Reused {
		t.Error("the first build was there before")
	}
	if !m.built(there, "one", 1).Reused {
		t.Error("the second checkout does not say that the build was there")
	}
	m.source("two")
	m.built(there, "two", 2)
	m.built(here, "two", 2)
	m.source("one") // which another build has replaced in this checkout
	m.built(here, "one", 2)
	t.Setenv("CPATH", "/elsewhere")
	m.built(t.TempDir(), "one", 3)
	t.Setenv("CPATH", "")
	m.built(t.TempDir(), "one", 4) // set to nothing is not the same as not set
	m.Build[0] = append(m.Build[0], "-O2")
	m.built(t.TempDir(), "one", 5)
}

// A build of which the server needs all files is shared without its stamp, which only a whole copy
// may have.
func TestStampsAreNotShared(t *testing.T) {
	m := newCompiled(t)
	m.Run = append(m.Run, "{out}")
	m.built(t.TempDir(), "one", 1)
	b := m.built(t.TempDir(), "one", 1)
	if _, err := os.Stat(filepath.Join(b.Out, stampName)); err != nil {
		t.Errorf("the copy does not count: %v", err)
	}
	shared := filepath.Dir(filepath.Dir(m.kept()))
	if _, err := os.Stat(filepath.Join(shared, stampName)); err == nil {
		t.Error("a copy of this build that is cut short has a stamp")
	}
}

// npm's packages are shared, with the script that loads them.
func TestPackagesOfNodeAreShared(t *testing.T) {
	m := newCompiled(t)
	m.Run = []string{"node", "{out}/bin/echo.js", "{port}"}
	bin, _, _ := strings.Cut(m.Env["PATH"], ":")
	if err := os.Rename(filepath.Join(bin, "cc"), filepath.Join(bin, "npm")); err != nil {
		t.Fatal(err)
	}
	m.Build = [][]string{{"npm", "ci", "{out}/bin/echo", "echo.c"},
		{"cp", "echo.c", "{out}/bin/echo.js"}}
	m.built(t.TempDir(), "one", 1)
	b := m.built(t.TempDir(), "one", 1)
	if !b.Reused {
		t.Error("the second checkout has called npm")
	}
	if _, err := os.Stat(filepath.Join(b.Out, "bin/echo.js")); err != nil {
		t.Error(err)
	}
}

// A build that failed is not shared, and one that cannot be copied is made again.
func TestBrokenBuildsAreNotShared(t *testing.T) {
	m := newCompiled(t)
	m.source("wrong")
	for n := range 2 {
		if _, err := Build(t.Context(), m.Model, BuildOptions{OutRoot: t.TempDir()}); err == nil {
			t.Error("a build that fails was taken")
		}
		m.called(n + 1)
	}
	m.source("one")
	m.built(t.TempDir(), "one", 3)
	if err := os.Remove(m.kept()); err != nil {
		t.Fatal(err)
	}
	m.built(t.TempDir(), "one", 4)
	m.built(t.TempDir(), "one", 4)
}

// A script named build.sh is shared as a compiler is, with what it says.
func TestScriptsShareBuilds(t *testing.T) {
	m := newCompiled(t)
	m.Build = [][]string{{"sh", "build.sh", "{out}"}}
	script := filepath.Join(m.Dir, "build.sh")
	write(t, script, `exec cc -o "$1/bin/echo" echo.c`)
	m.built(t.TempDir(), "one", 1)
	m.built(t.TempDir(), "one", 1)
	write(t, script, `exec cc -o "$1/bin/echo" ./echo.c`)
	m.built(t.TempDir(), "one", 2)
}

// What other commands make is not shared: it may depend on where it is made, and on a network.
func TestOtherBuildsAreNotShared(t *testing.T) {
	m := newCompiled(t)
	m.Build = append(m.Build, []string{"sh", "-c", "true"})
	m.built(t.TempDir(), "one", 1)
	m.built(t.TempDir(), "one", 2)
}

// Another state of the system's packages is another machine, even if the tools have their versions.
func TestPackagesAreOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]string{}
	for _, text := range []string{"libc6 2.36-9", "libc6 2.36-10", ""} {
		name := filepath.Join(dir, "status")
		if text == "" {
			name = filepath.Join(dir, "none")
		} else {
			write(t, name, text)
		}
		m := machineOf(name)
		if before, ok := seen[m]; ok || m != machineOf(name) {
			t.Errorf("with %q the machine is the one with %q, or changes by itself", text, before)
		}
		seen[m] = text
	}
}

func TestPartsOf(t *testing.T) {
	for command, want := range map[string]string{
		"{out}/echo {port}":                "./echo",
		"erl -pa {out} -run echo":          ".",
		"{out}/bin/{kernel} {port}":        "./bin",
		"{out}/{kernel}":                   ".",
		"java -cp {out}/a:{out}/lib/* {x}": "./a ./lib",
		"{out}{x}":                         ".",
		"node echo.js {data}":              "",
		"{out}/b/x {out}/b/x":              "./b/x",
		"node {out}/echo.js {port}":        ".",
		"node {out}/b/echo.js":             "./b",
	} {
		want := strings.Fields(want)
		if got := partsOf(strings.Fields(command)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

// go is given the program that another checkout has linked. It links another one if that is not up
// to date, and then that one is shared, though the model's own files are the same.
func TestGoLooksItself(t *testing.T) {
	if testing.Short() {
		t.Skip("go links two programs")
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skip("SKIP: install go to have it look at the programs that it is given")
	}
	m := newCompiled(t)
	m.Language, m.Env = "go", nil
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache))) // the library is compiled already
	m.Build = [][]string{{"go", "build", "-o", "{out}/bin/echo", "."}}
	t.Setenv("GOWORK", "off")
	if err := os.Remove(filepath.Join(m.Dir, "echo.c")); err != nil { // go would refuse it
		t.Fatal(err)
	}
	word := filepath.Join(m.Dir, "target", "word.go") // a folder that does not count as the model's
	for name, text := range map[string]string{
		filepath.Join(m.Dir, "go.mod"): "module none\n\ngo 1.26\n",
		filepath.Join(m.Dir, "echo.go"): "package main\n\nimport (\n\t\"os\"\n\n\t" +
			"\"none/target\"\n)\n\nfunc main() { os.Stdout.WriteString(target.Word) }\n",
		word: "package target\n\nconst Word = \"one\\n\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, name, text)
	}
	// go reads the beginning of a program, so that a mark at its end shows where it goes.
	const mark = "taken"
	marked := func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && strings.HasSuffix(string(text), mark)
	}
	m.built(t.TempDir(), "one", 0)
	kept := m.kept()
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, append(text, mark...), 0o755); err != nil {
		t.Fatal(err)
	}
	if b := m.built(t.TempDir(), "one", 0); !marked(filepath.Join(b.Out, "bin/echo")) {
		t.Error("the second checkout has linked the program again")
	}
	write(t, word, "package target\n\nconst Word = \"two\\n\"\n")
	m.built(t.TempDir(), "two", 0)
	if marked(kept) || m.kept() != kept {
		t.Error("the program that go has linked last is not the shared one")
	}
}
