package arch

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// workspace are the folders of the modules that are built and tested as one.
var workspace = []string{".", "gonet", "gonet/cmd/gonet"}

// outside are the modules that are built alone, with the reason.
var outside = map[string]string{
	"gonet/wireguard": "wireguard-go: gonet's TestWireGuardModule tests it",
	"gonet/wintun":    "the driver of Windows: gonet's TestWintunModule tests it",
	"gonet/beside":    "gVisor, wireguard-go and tun2socks: gonet's TestBesideModule tests it",

	"services/ping/go-goroutine-gvisor":             "gVisor in a version of its own",
	"services/ping/go-goroutine-gvisor-fdbased":     "gVisor",
	"services/transfer/go-goroutine-gvisor":         "gVisor",
	"services/transfer/go-goroutine-gvisor-fdbased": "gVisor",
}

// requirement is a line of a go.mod.
var requirement = regexp.MustCompile(`(?m)^(?:require |\t)(\S+) (v\S+)`)

// required lists the modules that a go.mod requires.
func required(t *testing.T, file string) (paths []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
		paths = append(paths, m[1])
	}
	return paths
}

// TestWorkspace checks that each module of the tree is one of the workspace, or is left out of it
// on purpose, and that modules of the workspace are replaced by their folders where they are
// required, so that each builds without it (GOWORK=off).
func TestWorkspace(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	uses := regexp.MustCompile(`(?m)^\t(\.\S*)$`)
	for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
		used = append(used, path.Clean(m[1]))
	}
	if !slices.Equal(used, workspace) {
		t.Errorf("go.work uses %q, want %q", used, workspace)
	}
	versions := map[string]string{} // of the modules that are required
	for _, f := range tracked(t) {
		if path.Base(f) != "go.mod" {
			continue
		}
		folder := path.Dir(f)
		if slices.Contains(workspace, folder) == (outside[folder] != "") {
			t.Errorf("%s: a module is one of the workspace, or of those outside", folder)
		}
		text, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
			of, version := m[1], m[2]
			if version == "v0.0.0" && !strings.Contains(string(text), "replace "+of+" => .") {
				t.Errorf("%s requires %s, but not as a folder", f, of)
			}
			if strings.HasPrefix(folder, "services/") {
				continue // a peer has the versions that it was released with
			}
			if first := versions[of]; first != "" && first != version {
				t.Errorf("%s requires %s at %s, another module at %s", f, of, version, first)
			}
			versions[of] = version
		}
	}
}

// stack is the path of GoNet's module.
const stack = "interleave/gonet"

// An elsewhere is a module outside of the tree, which imports the stack.
type elsewhere struct {
	t   *testing.T
	dir string
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	e := &elsewhere{t, t.TempDir()}
	for name, text := range map[string]string{
		"go.mod": "module outsider\n\ngo 1.26.0\n\nrequire " + stack + " v0.0.0\n\nreplace " +
			stack + " => " + filepath.Join(checkout, "gonet") + "\n",
		"main.go":    outsider,
		"tcp/tcp.go": "package tcp\n\nimport _ \"" + stack + "/tcp\"\n",
	} {
		to := filepath.Join(e.dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// run runs go in the module, without the network.
func (e *elsewhere) run(args ...string) string {
	e.t.Helper()
	c := exec.Command("go", args...)
	c.Dir = e.dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off",
		"GOSUMDB=off")
	said, err := c.CombinedOutput()
	if err != nil {
		e.t.Fatalf("go %v: %v\n%s", args, err, said)
	}
	return string(said)
}

// TestOutsider looks at what such a module needs: the stack, x/sys for links of other systems than
// Linux, and nothing of the laboratory's.
func TestOutsider(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t)
	modules := func(args ...string) []string {
		t.Helper()
		all := strings.Fields(e.run(append([]string{"list"}, args...)...))
		slices.Sort(all)
		return slices.Compact(all)
	}
	expect := func(what string, got []string, want ...string) {
		t.Helper()
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s: the modules %q, want %q", what, got, want)
		}
	}
	const of = "{{with .Module}}{{.Path}}{{end}}"
	program := []string{"outsider", stack}
	if runtime.GOOS != "linux" {
		program = append(program, "golang.org/x/sys")
	}
	expect("a program with a stack", modules("-deps", "-f", of, "."), program...)
	expect("a program without a link", modules("-deps", "-f", of, "./tcp"), "outsider", stack)
	e.run("mod", "tidy")
	got := required(t, filepath.Join(e.dir, "go.mod"))
	slices.Sort(got)
	expect("its go.mod", got, stack, "golang.org/x/sys")
	// The graph also has the libraries of the stack's tests, which are never fetched.
	expect("the graph", modules("-m", "-f", "{{.Path}}", "all"),
		append(required(t, filepath.Join(root, "gonet", "go.mod")), "outsider", stack)...)
}

// TestOutsiderRuns compiles and runs its program.
func TestOutsiderRuns(t *testing.T) {
	t.Parallel()
	if got := newElsewhere(t).run("run", "."); got != "hello <nil>\n" {
		t.Errorf("it says %q", got)
	}
}

// outsider says hello over a wire in memory.
const outsider = `package main

import (
	"fmt"
	"io"
	"log"
	"net/netip"

	"interleave/gonet"
	"interleave/gonet/link"
)

func main() {
	near, far := link.Pair()
	a := host(near, "10.0.0.1/24")
	b := host(far, "10.0.0.2/24")
	l, err := a.Listen("tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprint(c, "hello")
		c.Close()
	}()
	c, err := b.Dial("tcp", "10.0.0.1:80")
	if err != nil {
		log.Fatal(err)
	}
	said, err := io.ReadAll(c)
	fmt.Printf("%s %v\n", said, err)
}

func host(l link.Link, address string) *gonet.Stack {
	s, err := gonet.New(gonet.Config{Link: l, Addresses: []netip.Prefix{
		netip.MustParsePrefix(address)}})
	if err != nil {
		log.Fatal(err)
	}
	return s
}
`
