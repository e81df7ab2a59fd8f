package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tagged makes a repository of four small modules below one path, with tags.sh in it. Its modules
// replace each other by folders, and one more has a path of its own.
func tagged(t *testing.T, path string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	script, err := os.ReadFile(filepath.Join(root, "tags.sh"))
	if err != nil {
		t.Fatal(err)
	}
	requires := func(folder string) string {
		return "\n\ngo 1.26\n\nrequire PATH/gonet v0.0.0\n\nreplace PATH/gonet => " + folder + "\n"
	}
	const program = "package main\n\nimport \"PATH/gonet\"\n\nfunc main() { println(gonet.Name) }\n"
	for name, text := range map[string]string{
		"tags.sh":                           string(script),
		"go.mod":                            "module PATH" + requires("./gonet"),
		"cmd/lab/main.go":                   program,
		"gonet/go.mod":                      "module PATH/gonet\n\ngo 1.26\n",
		"gonet/gonet.go":                    "package gonet\n\nconst Name = \"gonet\"\n",
		"gonet/wireguard/go.mod":            "module PATH/gonet/wireguard" + requires(".."),
		"gonet/wireguard/cmd/a-tun/main.go": program,
		"services/other/go.mod":             "module other\n\ngo 1.26\n",
	} {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "PATH", path)
		if err := os.WriteFile(to, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "-q")
	git(t, dir, "config", "user.name", "t")
	git(t, dir, "config", "user.email", "t@localhost")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

// TestTags makes the tags of a release, and has go fetch the modules by them: a library, and
// programs of modules which require it.
func TestTags(t *testing.T) {
	t.Parallel()
	const path = "git.example.org/lab/small.git" // go asks git itself for a path with .git
	dir := tagged(t, path)
	tags := func(version string) (string, error) {
		c := exec.Command("./tags.sh", version)
		c.Dir = dir
		said, err := c.CombinedOutput()
		return string(said), err
	}
	said, err := tags("v0.3.0")
	if want := "git push origin v0.3.0 gonet/v0.3.0 gonet/wireguard/v0.3.0\n"; err != nil ||
		!strings.HasSuffix(said, want) {
		t.Fatalf("got %v, %q, want ...%q", err, said, want)
	}
	if left := git(t, dir, "status", "--porcelain") + git(t, dir, "log", "--format=%s"); left !=
		"first\n" {
		t.Errorf("the checkout is not as it was: %q", left)
	}
	if list := git(t, dir, "worktree", "list"); strings.Count(list, "\n") != 1 {
		t.Errorf("worktrees are left:\n%s", list)
	}
	for tag, file := range map[string]string{"v0.3.0": "go.mod",
		"gonet/wireguard/v0.3.0": "gonet/wireguard/go.mod"} {
		text := git(t, dir, "show", tag+":"+file)
		if strings.Contains(text, "replace") || !strings.Contains(text, path+"/gonet v0.3.0\n") {
			t.Errorf("%s of %s:\n%s", file, tag, text)
		}
	}
	if said, err := tags("v0.3.0"); err == nil || !strings.Contains(said, "there is a tag v0.3.0") {
		t.Errorf("the same tags again: %v, %q", err, said)
	}

	// An outsider's machine, on which the path leads to the repository.
	bin, away := t.TempDir(), t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = away
		c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GOPROXY=direct",
			"GOPRIVATE=git.example.org", "GOMODCACHE="+filepath.Join(away, "mod"), "GOBIN="+bin,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+dir+".insteadOf",
			"GIT_CONFIG_VALUE_0=https://git.example.org/lab/small")
		said, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, said)
		}
		return string(said)
	}
	for program, of := range map[string]string{"lab": path + "/cmd/lab",
		"a-tun": path + "/gonet/wireguard/cmd/a-tun"} {
		run("go", "install", of+"@latest")
		if got := run(filepath.Join(bin, program)); got != "gonet\n" {
			t.Errorf("%s says %q", program, got)
		}
		if got := run("go", "version", "-m", filepath.Join(bin, program)); !strings.Contains(got,
			"\tdep\t"+path+"/gonet\tv0.3.0\t") {
			t.Errorf("%s was built from:\n%s", program, got)
		}
	}
}

// TestTagsSayWhatIsWrong asks for tags that nobody could use.
func TestTagsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, version, want string }{
		{"example.org/small", "", "usage"},
		{"example.org/small", "0.1.0", "usage"},
		{"example.org/small", "v2.0.0", "from v2 on"},
		{"small", "v0.1.0", "nobody can fetch small"},
	} {
		dir := tagged(t, test.path)
		c := exec.Command("./tags.sh", test.version)
		c.Dir = dir
		said, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(said), test.want) {
			t.Errorf("%s %q: got %v, %q, want %q", test.path, test.version, err, said, test.want)
		}
		if got := git(t, dir, "tag"); got != "" {
			t.Errorf("%s %q: made the tags %q", test.path, test.version, got)
		}
	}
}
