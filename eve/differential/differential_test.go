package differential

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/generate"
	"interleave/eve/interp"
	"interleave/eve/ir"
	"interleave/eve/trial"
)

var (
	seed  = flag.Uint64("seed", 1, "of the first generated module")
	parts = flag.Int("programs", 60, "how many generated programs are compared")
	clean = flag.Int("sanitized", 10,
		"how many of them run under each sanitizer, which takes g++ ten times as long")
)

const (
	// generated programs in one module: starting g++ takes longer than compiling one
	perModule = 50
	schedules = 4 // of the interpreter
)

var workers = []int{1, 2, 8}

func TestRunPrograms(t *testing.T) {
	trial.NeedCompiler(t)
	for _, e := range trial.Examples(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			// With the options of TestRun of package build: the second of the two takes the
			// programs from the cache. One schedule will do, as package interp holds these
			// programs to their output under the others, too.
			compareTo(t, e.File, e.Text, 1, emit.Options{Checked: true, Debug: true},
				build.Options{})
		})
	}
}

func TestGenerated(t *testing.T) {
	trial.NeedCompiler(t)
	for n, size := range modules(*parts) {
		first := *seed + uint64(n)
		t.Run(fmt.Sprint("seed=", first), func(t *testing.T) {
			t.Parallel()
			// optimised code differs; a few programs are enough, as g++ takes longer for them
			if n == 0 {
				compare(t, "generated.eve", generate.Program(first, perModule/5), asserted,
					build.Options{Optimise: true})
			}
			compare(t, "generated.eve", generate.Program(first, size), asserted,
				build.Options{Debug: true})
		})
	}
}

// Accepted programs have no race: the thread sanitizer tests what the checker claims.
func TestGeneratedUnderThreadSanitizer(t *testing.T) { sanitized(t, "thread") }

func TestGeneratedUnderAddressSanitizer(t *testing.T) { sanitized(t, "address") }

// sanitized compares generated programs. They are not optimised: then the sanitizer sees every
// access, and g++ takes half the time. TestGenerated has the optimised code.
func sanitized(t *testing.T, kind string) {
	trial.NeedCompiler(t)
	if *clean == 0 {
		t.Skip("no programs: see -sanitized")
	}
	for n, size := range modules(*clean) {
		first := *seed + uint64(n)
		t.Run(fmt.Sprint("seed=", first), func(t *testing.T) {
			t.Parallel()
			compare(t, "generated.eve", generate.Program(first, size), asserted,
				build.Options{Sanitize: kind})
		})
	}
}

// modules returns the sizes of as few modules as have room for so many programs.
func modules(programs int) (sizes []int) {
	count := (programs + perModule - 1) / perModule
	for n := range count {
		sizes = append(sizes, (programs+n)/count)
	}
	return sizes
}

func TestModules(t *testing.T) {
	for programs, want := range map[int][]int{0: nil, 1: {1}, 50: {50}, 51: {25, 26}, 60: {30, 30},
		101: {33, 34, 34}} {
		if got := modules(programs); !slices.Equal(got, want) {
			t.Errorf("%d programs: got modules of %v, want %v", programs, got, want)
		}
	}
}

// asserted is how generated programs are emitted.
var asserted = emit.Options{Checked: true}

// compare runs a program both ways.
func compare(t *testing.T, name, text string, how emit.Options, o build.Options) {
	t.Helper()
	compareTo(t, name, text, schedules, how, o)
}

// compareTo is compare with so many schedules of the interpreter.
func compareTo(t *testing.T, name, text string, schedules uint64, how emit.Options,
	o build.Options) {
	t.Helper()
	p := trial.Check(t, name, text)
	want := interpreted(t, p, text, schedules)
	exe := trial.Build(t, p, how, o)
	for _, n := range workers {
		if d := trial.Difference(text, want, trial.Output(t, exe, n)); d != "" {
			t.Fatalf("%d workers against the interpreter:\n%s", n, d)
		}
	}
}

// interpreted is the output of the interpreter, which must be the same under every schedule.
func interpreted(t *testing.T, p *ir.Program, text string, schedules uint64) string {
	t.Helper()
	var want string
	for schedule := range schedules {
		var out strings.Builder
		if end := interp.Run(p, interp.Options{Seed: schedule, Stdout: &out}); end.Status != 0 {
			t.Fatalf("interpreter, schedule %d: %s", schedule, end.Trace)
		}
		if schedule == 0 {
			want = out.String()
		}
		if d := trial.Difference(text, want, out.String()); d != "" {
			t.Fatalf("the interpreter's schedules 0 and %d differ:\n%s", schedule, d)
		}
	}
	return want
}
