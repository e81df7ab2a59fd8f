package build_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/eve/build"
	"interleave/eve/compile"
	"interleave/eve/emit"
	"interleave/eve/ir"
	"interleave/eve/source"
)

// The programs of the tour print what stands below them, natively too.
func TestTour(t *testing.T) {
	needCompiler(t)
	text, err := os.ReadFile("../../docs/eve/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```")
	n := 0
	for i, b := range blocks {
		body, isProgram := strings.CutPrefix(b, "eve\n")
		if !isProgram || i+2 >= len(blocks) {
			continue
		}
		want, isOutput := strings.CutPrefix(blocks[i+2], "output\n")
		if !isOutput {
			continue
		}
		n++
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			exe := made(t, program(t, "tour.eve", body), emit.Options{Checked: true, Debug: true}, build.Options{})
			expect(t, exe, want, false)
		})
	}
	if n == 0 {
		t.Error("the tour has no programs")
	}
}

// A program that the checker accepts and ThreadSanitizer does not is the best witness against the checker.
var sanitize = flag.String("sanitize", "", "build the programs with this sanitizer: address or thread")

// programTimeout is how long a program of testdata/run may take: they all end within a second on an idle machine.
const programTimeout = 30 * time.Second

// Every program of testdata/run prints what stands beside it: as `eve run` makes it and as `eve build` does,
// on one worker and on two.
func TestRun(t *testing.T) {
	needCompiler(t)
	files, err := filepath.Glob("../testdata/run/*.eve")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".eve"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".eve") + ".out")
			if err != nil {
				t.Fatal(err)
			}
			anyOrder := strings.HasPrefix(string(text), "# output: any order")
			p := program(t, file, string(text))
			quick := made(t, p, emit.Options{Checked: true, Debug: true}, build.Options{Sanitize: *sanitize})
			expect(t, quick, lines(string(want), anyOrder), anyOrder)
			if strings.Contains(string(text), "finish") { // then -O2 writes other code, not only faster
				fast := made(t, p, emit.Options{}, build.Options{Optimise: true, Sanitize: *sanitize})
				expect(t, fast, lines(string(want), anyOrder), anyOrder)
			}
		})
	}
}

// ready is nil when programs can be built: the runtime compiles. It is asked once, for all tests.
var ready = sync.OnceValue(func() error {
	units := []emit.Unit{{Module: "m", Name: "m.cpp", Text: empty}}
	_, err := build.Build(context.Background(), units, build.Options{})
	return err
})

func needCompiler(t *testing.T) {
	t.Helper()
	if !build.Available() {
		t.Skip("no C++ compiler: apt-get install g++")
	}
	if err := ready(); err != nil {
		t.Fatal(err)
	}
}

func program(t *testing.T, name, text string) *ir.Program {
	t.Helper()
	p, diags := compile.Check(source.NewFile(filepath.Base(name), text), nil)
	for _, d := range diags {
		if d.Code.IsError() {
			t.Fatalf("%s:%d: %s: %s", name, d.Span.Line(), d.Code, d.Message)
		}
	}
	return p
}

func made(t *testing.T, p *ir.Program, e emit.Options, o build.Options) string {
	t.Helper()
	units, err := emit.Program(p, e)
	if err != nil {
		t.Fatal(err)
	}
	o.Jobs = 1 // the tests run side by side already
	exe, err := build.Build(context.Background(), units, o)
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func expect(t *testing.T, exe, want string, anyOrder bool) {
	t.Helper()
	for _, workers := range []string{"1", "2"} {
		ctx, cancel := context.WithTimeout(context.Background(), programTimeout)
		cmd := exec.CommandContext(ctx, exe)
		cmd.Env = append(os.Environ(), "EVE_WORKERS="+workers)
		var said bytes.Buffer
		cmd.Stderr = &said
		got, err := cmd.Output()
		cancel()
		if err != nil {
			t.Errorf("%s workers: %v\n%s%s", workers, err, got, said.String())
		}
		if lines(string(got), anyOrder) != want {
			t.Errorf("%s workers: got\n%s\nwant\n%s", workers, got, want)
		}
	}
}

func lines(text string, anyOrder bool) string {
	if !anyOrder {
		return text
	}
	all := strings.Split(text, "\n")
	slices.Sort(all)
	return strings.Join(all, "\n")
}
