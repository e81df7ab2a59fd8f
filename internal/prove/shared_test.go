package prove

import (
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// linked is the folder of the test programs that the checkouts of these tests share.
var linked string

// TestMain has checkouts with the same tests link their program once. Without -trimpath, each would
// link one of its own, with the name of its folder in it.
func TestMain(m *testing.M) {
	var err error
	if linked, err = os.MkdirTemp("", "prove"); err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(linked)
	os.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -trimpath")
	m.Run()
}

// A checkout takes the programs that another one has linked, and links those that are different.
// The mark at the end of a shared program shows where it goes: no linked program has one.
func TestShared(t *testing.T) {
	const mark = "taken"
	dir := t.TempDir()
	shared := filepath.Join(dir, "plain", "small", "two.test")
	build := func(files map[string]string) (program string) {
		t.Helper()
		c := newCheckout(t, files)
		c.o.Shared = dir
		if err := Build(t.Context(), c.o); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(Out(c.root), "plain", "0", "two.test")
	}
	marked := func(name string) bool {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.HasSuffix(string(text), mark)
	}

	build(nil)
	program, err := os.ReadFile(shared)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-sharedFor / 2)
	old := filepath.Join(dir, "plain", "small", "gone.test")
	for name, at := range map[string]time.Time{shared: long, old: time.Now().Add(-2 * sharedFor)} {
		if err := os.WriteFile(name, append(program, mark...), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if taken := build(nil); !marked(taken) {
		t.Error("the second checkout has linked the program again")
	}
	if info, err := os.Stat(shared); err != nil || !info.ModTime().After(long) {
		t.Errorf("the shared program has not been used: %v, %v", info, err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a program that nobody has built for long is still there")
	}
	other := build(map[string]string{"one/one.go": "package one\n\nfunc One() int { return 2 }\n"})
	if marked(other) || marked(shared) || !sameBuild(other, shared) {
		t.Error("a changed checkout has the program of another, or does not share its own")
	}

	// What nobody can read is linked as ever.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if alone := build(nil); marked(alone) {
		t.Error("the program is marked, and nothing was shared")
	}
}

// A checkout that has not run a job takes its time from the others', and then from its own runs. A
// time that cannot be shared fails nothing.
func TestSharedTimes(t *testing.T) {
	dir := t.TempDir()
	expected := func(c *checkout) time.Duration {
		t.Helper()
		table, err := LoadRings(filepath.Join(c.root, RingsFile))
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := plan(t.Context(), c.o, table)
		if err != nil || len(jobs) != 1 {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		return jobs[0].expected
	}
	first := newCheckout(t, nil)
	first.o.Shared = dir
	if got := expected(first); got != 0 {
		t.Errorf("before any run: got %v", got)
	}
	report, err := first.run()
	if err != nil {
		t.Fatal(err)
	}
	took := report.Results[0].Wall
	second := newCheckout(t, nil)
	second.o.Shared = dir
	if got := expected(second); got != took {
		t.Errorf("in a new checkout: got %v, want the %v of the other", got, took)
	}
	own := *report
	own.Results[0].Wall = 2 * took
	if err := own.save(Out(second.root)); err != nil {
		t.Fatal(err)
	}
	if got := expected(second); got != 2*took {
		t.Errorf("in a checkout with a time of its own: got %v, want %v", got, 2*took)
	}

	second.o.Shared = filepath.Join(second.root, "go.mod") // no folder
	if _, err := second.run(); err != nil {
		t.Error(err)
	}
}
