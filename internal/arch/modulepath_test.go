package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// oldPath is an import of one of our packages, in the words of a source that has no such string.
var oldPath = regexp.MustCompile(`"inter` + `leave/(internal|gonet|papaya|eve)`)

// TestModulePath gives a copy of the tree another module path, and then a third. Under the second,
// each module of the workspace is loaded without it: its go.mod and go.sum have all that its
// packages and their tests need.
func TestModulePath(t *testing.T) {
	copied := t.TempDir()
	var files []string
	for _, f := range tracked(t) {
		data, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(copied, f)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o755); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	runIn := func(folder string, env []string, name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = filepath.Join(copied, folder)
		c.Env = append(os.Environ(), env...)
		said, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %s %v: %v\n%s", folder, name, args, err, said)
		}
		return string(said)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		return runIn(".", nil, name, args...)
	}
	const path = "git.example.org/lab/interleave.v1"
	run("./module-path.sh", path)
	alone := []string{"GOWORK=off", "GOFLAGS=-mod=readonly"}
	const faults = "{{if .Error}}{{.ImportPath}}: {{.Error}}{{end}}"
	for _, folder := range workspace {
		said := runIn(folder, alone, "go", "list", "-test", "-deps", "-f", faults, "./...")
		if said = strings.TrimSpace(said); said != "" {
			t.Fatalf("%s under another path: %.2000s", folder, said)
		}
	}
	if got := strings.Fields(run("go", "list", "./internal/hist", "./gonet/link")); len(got) != 2 ||
		got[0] != path+"/internal/hist" || got[1] != path+"/gonet/link" {
		t.Errorf("got the packages %s, want those of %s", got, path)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(copied, f))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{".go", ".md"}, filepath.Ext(f)) && oldPath.Match(data) {
			t.Errorf("%s: the old path is left", f)
		}
	}
	// The modules within follow: their own paths, and the ones that they require.
	for folder, replaced := range map[string]string{".": "./gonet", "gonet/cmd/gonet": "../..",
		"gonet/wireguard": "..", "gonet/wintun": ".."} {
		text, err := os.ReadFile(filepath.Join(copied, folder, "go.mod"))
		own := path + strings.TrimPrefix("/"+folder, "/.")
		for _, want := range []string{"module " + own + "\n",
			"\t" + path + "/gonet v0.0.0\n", "replace " + path + "/gonet => " + replaced + "\n"} {
			if err != nil || !bytes.Contains(text, []byte(want)) {
				t.Errorf("%v, no %q in %s/go.mod:\n%s", err, want, folder, text)
			}
		}
	}
	// Go could not fetch a module whose path has no dot.
	if err := exec.Command(filepath.Join(copied, "module-path.sh"),
		"interleave").Run(); err == nil {
		t.Error("a path that nobody can fetch was taken")
	}
	run("./module-path.sh", "x.y/z")
	if text, err := os.ReadFile(filepath.Join(copied, "go.mod")); err != nil ||
		!bytes.HasPrefix(text, []byte("module x.y/z\n")) {
		t.Errorf("a second path was not taken: %v, %.40s", err, text)
	}
	run("go", "list", "./cmd/...", "./gonet/...")
}
