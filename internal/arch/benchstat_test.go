package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// benchmarked is a repository with two commits of a module that has one benchmark, whose metric
// "commits" is the commit's number.
func benchmarked(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	script, err := os.ReadFile(filepath.Join(root, "benchstat.sh"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("benchstat.sh", string(script))
	write(".gitignore", "out/\n")
	write("go.mod", "module m\n\ngo 1.26\n\nignore ./out\n")
	write("plain/plain.go", "package plain\n")
	write("out/bin/benchstat", "#!/bin/sh\nfor f; do echo \"== ${f%%=*}\"; cat \"${f#*=}\"; done\n")
	for _, n := range []string{"1", "2"} {
		write("fast/fast_test.go", `package fast

import ("os"; "testing")

func BenchmarkFast(b *testing.B) {
	if text, err := os.ReadFile("testdata/text"); err != nil || len(text) != 2 {
		b.Fatal(err)
	}
	for b.Loop() {
	}
	b.ReportMetric(`+n+`, "commits")
}
func BenchmarkBad(b *testing.B) { b.Fatal("it fails") }
`)
		write("fast/testdata/text", n+"\n")
		if n == "2" { // the base is not of the workspace around it
			write("go.work", "go 1.26\n\nuse .\n")
		}
		git(t, dir, "init", "-q")
		git(t, dir, "add", ".")
		git(t, dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", n)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, said)
	}
	return string(said)
}

// TestBenchstat compares two commits in two rounds.
func TestBenchstat(t *testing.T) {
	t.Parallel()
	dir := benchmarked(t)
	c := exec.Command("./benchstat.sh", "HEAD~1", "./...", "Fast", "2")
	c.Dir = dir
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	steps, table, _ := strings.Cut(string(said), "== HEAD~1\n")
	old, now, _ := strings.Cut(table, "== HEAD\n")
	want := "round 1 of 2, A\nround 1 of 2, B\nround 2 of 2, A\nround 2 of 2, B\n"
	if steps != want {
		t.Errorf("got the steps %q, want %q", steps, want)
	}
	for _, side := range []struct{ name, text, metric string }{
		{"the base", old, "1.000 commits"}, {"HEAD", now, "2.000 commits"},
	} {
		if strings.Count(side.text, "BenchmarkFast") != 2 ||
			strings.Count(side.text, side.metric) != 2 {
			t.Errorf("%s: want two results with %q, got:\n%s", side.name, side.metric, side.text)
		}
	}
	cleared(t, dir)
}

// cleared looks for what a comparison should have removed.
func cleared(t *testing.T, dir string) {
	t.Helper()
	if list := git(t, dir, "worktree", "list"); strings.Count(list, "\n") != 1 {
		t.Errorf("worktrees are left:\n%s", list)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out", "benchstat.*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestBenchstatSaysWhatIsWrong gives it what it cannot use.
func TestBenchstatSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := benchmarked(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no commit to compare with"},
		{[]string{"nowhere"}, "nowhere is not a commit"},
		{[]string{"HEAD~1", "./...", ".", "none"}, "none is not a number of rounds"},
		{[]string{"HEAD~1", "./...", "Slow"}, "no benchmark of A matches Slow"},
		{[]string{"HEAD~1", "./plain"}, "no benchmark of A matches ."},
		{[]string{"HEAD~1", "./absent"}, "/A/absent: directory not found"},
		{[]string{"HEAD~1", "./...", "Bad"}, "it fails"},
	} {
		if said := refused(t, dir, c.args...); !strings.Contains(said, c.want) {
			t.Errorf("%v: got %q, want %q", c.args, said, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if said := refused(t, dir, "HEAD~1"); !strings.Contains(said, "not committed") {
		t.Errorf("a changed checkout: got %q", said)
	}
	cleared(t, dir)
}

// refused returns what the script says when it fails.
func refused(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("./benchstat.sh", args...)
	c.Dir = dir
	said, err := c.CombinedOutput()
	if err == nil {
		t.Errorf("%v was taken:\n%s", args, said)
	}
	return string(said)
}

// TestBenchstatIsInterrupted presses Ctrl-C in the first round.
func TestBenchstatIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := benchmarked(t)
	c := exec.Command("./benchstat.sh", "HEAD~1", "./...", "Fast", "1000")
	c.Dir = dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := progress.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	net := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	defer net.Stop()
	if err := c.Wait(); c.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v, want status 130", err)
	}
	cleared(t, dir)
}
