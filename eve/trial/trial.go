// Package trial checks, builds and runs programs for the tests of Eve's packages, and reports the
// first difference from the expected output. The programs of testdata/run and of the tour are its
// examples.
package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// Limit is a time limit: programs end within a second on an idle machine, and even a busy machine
// does not take minutes.
const Limit = 5 * time.Minute

// ready is nil when programs can be built, that is, when the runtime compiles. It is evaluated
// once, for all tests of a package.
var ready = sync.OnceValue(func() error {
	units := []emit.Unit{{Module: "m", Name: "m.cpp",
		Text: "#include \"eve.hpp\"\nint main() { return 0; }\n"}}
	_, err := build.Build(context.Background(), units, build.Options{})
	return err
})

// NeedCompiler skips the test if programs cannot be built.
func NeedCompiler(t testing.TB) {
	t.Helper()
	if !build.Available() {
		t.Skip("no C++ compiler: apt-get install g++")
	}
	if err := ready(); err != nil {
		t.Fatal(err)
	}
}

// Check returns the program of a text that must have no errors.
func Check(t testing.TB, name, text string) *ir.Program {
	t.Helper()
	p, diags := compile.Check(source.NewFile(filepath.Base(name), text), nil)
	for _, d := range diags {
		if d.Code.IsError() {
			t.Fatalf("%s:%d: %s: %s\n%s", name, d.Span.Line(), d.Code, d.Message,
				around(text, d.Span.Line()))
		}
	}
	return p
}

// around is line n of a text with the lines beside it.
func around(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, n-12):min(len(lines), n+3)], "\n")
}

// Build builds a program and returns its path. It skips the test if a C library is missing.
func Build(t testing.TB, p *ir.Program, e emit.Options, o build.Options) string {
	t.Helper()
	NeedCompiler(t)
	units, err := emit.Program(p, e)
	if err != nil {
		t.Fatal(err)
	}
	o.Jobs = 1 // tests run in parallel already
	exe, err := build.Build(t.Context(), units, o)
	if m := (*build.Missing)(nil); errors.As(err, &m) {
		t.Skipf("SKIP: %v", m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// An Ending is the outcome of a program.
type Ending struct {
	Status   int // -1: a signal
	Out, Err string
}

// Run runs a program on this many workers until it ends.
func Run(t testing.TB, exe string, workers int, args ...string) Ending {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), fmt.Sprint("EVE_WORKERS=", workers),
		"TSAN_OPTIONS=halt_on_error=1", "ASAN_OPTIONS=detect_leaks=1")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%d workers: still running after %v\n%s", workers, Limit, tail(said.String()))
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return Ending{cmd.ProcessState.ExitCode(), out.String(), said.String()}
}

// Output is the output of a program on this many workers. The program must succeed.
func Output(t testing.TB, exe string, workers int) string {
	t.Helper()
	end := Run(t, exe, workers)
	if end.Status != 0 {
		t.Fatalf("%d workers: status %d\n%s\n%s", workers, end.Status, tail(end.Out), tail(end.Err))
	}
	return end.Out
}

func tail(text string) string { return text[max(0, len(text)-3000):] }

// AnyOrder is the first line of a program whose lines of output may come in any order.
const AnyOrder = "# output: any order"

// Difference shows the first line in which two outputs of a program differ, with the lines before
// it; empty when they are the same.
func Difference(program, want, got string) string {
	x, y := strings.Split(want, "\n"), strings.Split(got, "\n")
	if strings.HasPrefix(program, AnyOrder) {
		slices.Sort(x)
		slices.Sort(y)
	}
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return strings.Join(x[max(0, i-8):i], "\n") + "\nwant: " + x[i] + "\ngot:  " + y[i]
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("want %d lines, got %d; the last: %s", len(x), len(y), tail(got))
	}
	return ""
}
