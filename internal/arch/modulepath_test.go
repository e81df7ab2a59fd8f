package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModulePath gives a copy of the tree another module path, and then a third: all packages are
// found under each.
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
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = copied
		said, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, said)
		}
		return string(said)
	}
	const path = "git.example.org/lab/interleave.v1"
	run("./module-path.sh", path)
	packages := strings.Fields(run("go", "list", "-test", "-deps", "-f",
		"{{if .Error}}{{.ImportPath}}: {{.Error}}{{end}}", "./..."))
	if len(packages) > 0 {
		t.Fatalf("under another path: %.2000s", strings.Join(packages, " "))
	}
	if got := strings.TrimSpace(run("go", "list", "./internal/hist")); got != path+
		"/internal/hist" {
		t.Errorf("got the package %s, want %s/internal/hist", got, path)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(copied, f))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(f) == ".go" && bytes.Contains(data, []byte(`"interleave/in`+`ternal`)) {
			t.Errorf("%s: the old path is left", f)
		}
	}
	// The modules within follow: their own paths, and the one that they require.
	for _, folder := range []string{"gonet/wireguard", "gonet/wintun"} {
		text, err := os.ReadFile(filepath.Join(copied, folder, "go.mod"))
		for _, want := range []string{"module " + path + "/" + folder + "\n",
			"\t" + path + " v0.0.0\n", "replace " + path + " => ../..\n"} {
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
	run("go", "list", "./cmd/...")
}
