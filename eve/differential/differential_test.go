package differential

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/eve/build"
	"interleave/eve/compile"
	"interleave/eve/emit"
	"interleave/eve/generate"
	"interleave/eve/interp"
	"interleave/eve/ir"
	"interleave/eve/source"
)

var (
	seed  = flag.Uint64("seed", 1, "of the first generated module")
	parts = flag.Int("programs", 500, "how many generated programs are compared")
	clean = flag.Int("sanitized", 16, "how many of them run under each sanitizer, which takes g++ ten times as long")
)

const (
	perModule = 50 // generated programs in one module: g++ takes longer to start than to compile one
	schedules = 4  // of the interpreter
	limit     = time.Minute
)

var workers = []string{"1", "2", "8"}

func TestRunPrograms(t *testing.T) {
	files, err := filepath.Glob("../testdata/run/*.eve")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	needCompiler(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".eve"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, file, string(text), build.Options{})
		})
	}
}

func TestGenerated(t *testing.T) {
	needCompiler(t)
	for n := range modules() {
		t.Run(fmt.Sprint("seed=", *seed+n), func(t *testing.T) {
			t.Parallel()
			if n == 0 { // optimised code is other code; a few programs are enough, as g++ takes longer over them
				compare(t, "generated.eve", generate.Program(*seed+n, perModule/5), build.Options{Optimise: true})
			}
			compare(t, "generated.eve", generate.Program(*seed+n, perModule), build.Options{Debug: true})
		})
	}
}

// Accepted programs have no race: the thread sanitizer knows better than any proof.
func TestGeneratedUnderThreadSanitizer(t *testing.T) { sanitized(t, "thread") }

func TestGeneratedUnderAddressSanitizer(t *testing.T) { sanitized(t, "address") }

func sanitized(t *testing.T, kind string) {
	needCompiler(t)
	size := min(*clean, perModule)
	if size == 0 {
		t.Skip("no programs: see -sanitized")
	}
	for n := range uint64((*clean + size - 1) / size) {
		t.Run(fmt.Sprint("seed=", *seed+n), func(t *testing.T) {
			t.Parallel()
			compare(t, "generated.eve", generate.Program(*seed+n, size), build.Options{Sanitize: kind})
		})
	}
}

func modules() uint64 { return uint64(*parts+perModule-1) / perModule }

func needCompiler(t *testing.T) {
	t.Helper()
	if !build.Available() {
		t.Skip("needs g++: apt-get install g++")
	}
}

// compare runs a program both ways.
func compare(t *testing.T, name, text string, o build.Options) {
	p, diags := compile.Check(source.NewFile(name, text), nil)
	for _, d := range diags {
		if d.Code.IsError() {
			t.Fatalf("line %d: %s: %s\n%s", d.Span.Line(), d.Code, d.Message, around(text, d.Span.Line()))
		}
	}
	anyOrder := strings.HasPrefix(text, "# output: any order")
	want := interpreted(t, p, anyOrder)
	units, err := emit.Program(p, emit.Options{Checked: true})
	if err != nil {
		t.Fatal(err)
	}
	o.Out = filepath.Join(t.TempDir(), "program")
	exe, err := build.Build(t.Context(), units, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range workers {
		got := compiled(t, exe, n, anyOrder)
		if got != want {
			t.Fatalf("%s workers:\n%s", n, difference(want, got))
		}
	}
}

// interpreted is what the interpreter prints, the same under every schedule.
func interpreted(t *testing.T, p *ir.Program, anyOrder bool) string {
	t.Helper()
	var want string
	for schedule := range uint64(schedules) {
		var out strings.Builder
		if end := interp.Run(p, interp.Options{Seed: schedule, Stdout: &out}); end.Status != 0 {
			t.Fatalf("interpreter, schedule %d: %s", schedule, end.Trace)
		}
		got := sorted(out.String(), anyOrder)
		if schedule > 0 && got != want {
			t.Fatalf("the interpreter's schedules differ:\n%s", difference(want, got))
		}
		want = got
	}
	return want
}

// compiled is what the program prints on so many workers.
func compiled(t *testing.T, exe, workers string, anyOrder bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), "EVE_WORKERS="+workers, "TSAN_OPTIONS=halt_on_error=1", "ASAN_OPTIONS=detect_leaks=1")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("%s workers: still running after %v", workers, limit)
	}
	if err != nil {
		t.Fatalf("%s workers: %v\n%s\n%s", workers, err, tail(out.String()), tail(said.String()))
	}
	return sorted(out.String(), anyOrder)
}

func tail(text string) string { return text[max(0, len(text)-3000):] }

func sorted(text string, anyOrder bool) string {
	if !anyOrder {
		return text
	}
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func around(text string, line int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, line-12):min(len(lines), line+3)], "\n")
}

// difference shows the first line that differs, with those before it.
func difference(want, got string) string {
	x, y := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return strings.Join(x[max(0, i-8):i], "\n") + "\ninterpreted: " + x[i] + "\ncompiled:    " + y[i]
		}
	}
	return fmt.Sprintf("interpreted %d lines, compiled %d; the last: %s", len(x), len(y), tail(got))
}
