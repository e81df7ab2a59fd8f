package toolchain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/manifest"
)

// shellModel returns a model whose build is a shell script, which adds a line to {out}/builds.
func shellModel(t *testing.T, script string) *manifest.Model {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "source"), "one")
	return &manifest.Model{
		Name: "sh-none", Service: "echo", Dir: dir, Language: "sh",
		Build: [][]string{{"sh", "-c", "echo built >> {out}/builds; " + script}},
		Run:   []string{"true"},
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func builds(t *testing.T, b *Built) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.Out, "builds"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "built")
}

func TestBuildAgainOnlyWhenSomethingChanged(t *testing.T) {
	model, opts := shellModel(t, "true"), BuildOptions{OutRoot: t.TempDir()}
	used, one := t.TempDir(), filepath.Join(t.TempDir(), "one")
	write(t, one, "")
	for _, path := range []string{used, one} {
		relative, err := filepath.Rel(model.Dir, path)
		if err != nil {
			t.Fatal(err)
		}
		model.Uses = append(model.Uses, relative)
	}
	for _, test := range []struct {
		change func()
		want   int
	}{
		{func() {}, 1},
		{func() {}, 1},
		{func() { write(t, filepath.Join(model.Dir, "source"), "two") }, 2},
		{func() { write(t, filepath.Join(model.Dir, "more"), "") }, 3},
		{func() { model.Env = map[string]string{"A": "b"} }, 4},
		{func() {}, 4},
		{func() { write(t, filepath.Join(used, "used.go"), "") }, 5},
		{func() { write(t, filepath.Join(used, "used_test.go"), "") }, 5},
		{func() { write(t, one, "two") }, 6},
	} {
		test.change()
		b, err := Build(context.Background(), model, opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := builds(t, b); got != test.want {
			t.Errorf("built %d times, want %d", got, test.want)
		}
	}
}

func TestTwoBuildsAtOnceAreOne(t *testing.T) {
	model, opts := shellModel(t, "sleep 0.2"), BuildOptions{OutRoot: t.TempDir()}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			b, err := Build(context.Background(), model, opts)
			if err != nil {
				t.Error(err)
			} else if got := builds(t, b); got != 1 {
				t.Errorf("built %d times, want 1", got)
			}
		})
	}
	wait.Wait()
}

func TestFailedBuildShowsItsOutputAndNeverCounts(t *testing.T) {
	model, opts := shellModel(t, "echo 'echo.c:3: no such thing' >&2; exit 3"),
		BuildOptions{OutRoot: t.TempDir()}
	for range 2 {
		_, err := Build(context.Background(), model, opts)
		var failed *BuildError
		if !errors.As(err, &failed) ||
			!strings.Contains(err.Error(), "exit status 3\n\techo.c:3: no such thing") {
			t.Errorf("got %v, want the command's exit status and output", err)
		}
	}
}

func TestInterruptedBuildEndsItsProcessesAndNeverCounts(t *testing.T) {
	model, opts := shellModel(t, "sleep 1000 & echo $! > {out}/pid; wait"),
		BuildOptions{OutRoot: t.TempDir()}
	ctx, interrupt := context.WithCancel(context.Background())
	pidFile := filepath.Join(opts.OutRoot, "build/echo/sh-none/pid")
	go func() {
		for {
			if text, err := os.ReadFile(pidFile); err == nil && len(text) > 0 {
				interrupt()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := Build(ctx, model, opts); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	pid, _ := os.ReadFile(pidFile)
	eventually(t, "the build's child to end", func() bool {
		_, err := os.Stat("/proc/" + strings.TrimSpace(string(pid)) + "/exe")
		return err != nil
	})
	if _, err := os.Stat(filepath.Join(opts.OutRoot, "build/echo/sh-none/stamp")); err == nil {
		t.Error("an interrupted build left a stamp")
	}
}

func TestMissingToolChainIsNamed(t *testing.T) {
	model := shellModel(t, "true")
	model.Needs = []string{"no-such-tool"}
	_, err := Build(context.Background(), model, BuildOptions{OutRoot: t.TempDir()})
	var missing *Missing
	if !errors.As(err, &missing) || missing.Need != "no-such-tool" {
		t.Errorf("got %v, want a *Missing", err)
	}
}

// TestWhatDoesNotApplyAsksNoTool: most models have nothing for a sanitizer, and asking all of their
// tools takes seconds.
func TestWhatDoesNotApplyAsksNoTool(t *testing.T) {
	model := shellModel(t, "true")
	model.Needs = []string{"no-such-tool"}
	_, err := Build(t.Context(), model, BuildOptions{OutRoot: t.TempDir(), Sanitize: ASan})
	if !errors.Is(err, ErrNotApplicable) {
		t.Errorf("got %v, want ErrNotApplicable", err)
	}
}

func TestBuildKnowsWhereToolsAre(t *testing.T) {
	model, opts := shellModel(t, "echo {tools} {cache} > {out}/told"),
		BuildOptions{OutRoot: t.TempDir()}
	b, err := Build(t.Context(), model, opts)
	if err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(filepath.Join(b.Out, "told"))
	if want := filepath.Join(opts.OutRoot, "tools") + " " + filepath.Join(opts.OutRoot, "cache") +
		"\n"; err != nil || string(told) != want {
		t.Errorf("got %q, %v, want %q", told, err, want)
	}
}

// TestCompilerIsHurried: the JVM of a compiler gets settings, unless the user has some.
func TestCompilerIsHurried(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "")
	os.Unsetenv("JAVA_TOOL_OPTIONS")
	bin := t.TempDir()
	script := []byte("#!/bin/sh\necho \"JAVA_TOOL_OPTIONS=$JAVA_TOOL_OPTIONS\" >\"$1\"\n")
	if err := os.WriteFile(filepath.Join(bin, "javac"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	for own, want := range map[string]string{"": hurriedJVM, "-Xmx1g": "JAVA_TOOL_OPTIONS=-Xmx1g"} {
		model := shellModel(t, "true")
		model.Build = [][]string{{"javac", "{out}/told"}}
		model.Env = map[string]string{"PATH": bin + ":" + os.Getenv("PATH")}
		if own != "" {
			model.Env["JAVA_TOOL_OPTIONS"] = own
		}
		b, err := Build(t.Context(), model, BuildOptions{OutRoot: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		told, err := os.ReadFile(filepath.Join(b.Out, "told"))
		if err != nil || string(told) != want+"\n" {
			t.Errorf("the user has %q: got %q, %v, want %q", own, told, err, want)
		}
	}
}

// patience bounds each wait of these tests. It ends only a test that has failed.
const patience = 5 * time.Minute

// eventually waits until another process has done something.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for ; time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Errorf("waited %v for %s", patience, what)
}
