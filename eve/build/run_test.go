package build_test

import (
	"flag"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

// A program that the checker accepts and ThreadSanitizer rejects shows a bug of the checker.
var sanitize = flag.String("sanitize", "",
	"build the programs with this sanitizer: address or thread")

// The programs of the tour print the output below them, as compiled programs too.
func TestTour(t *testing.T) { expectAll(t, trial.Tour(t)) }

// So do those of the cookbook, and of the page that builds a service.
func TestCookbook(t *testing.T) { expectAll(t, trial.Cookbook(t)) }

func expectAll(t *testing.T, all []trial.Example) {
	t.Helper()
	trial.NeedCompiler(t)
	for _, e := range all {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			expect(t, e, emit.Options{Checked: true, Debug: true}, build.Options{})
		})
	}
}

// Every program of testdata/run prints the output beside it: as `eve run` builds it and as `eve
// build` does, on one worker and on two.
func TestRun(t *testing.T) {
	trial.NeedCompiler(t)
	for _, e := range trial.Examples(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			expect(t, e, emit.Options{Checked: true, Debug: true},
				build.Options{Sanitize: *sanitize})
			// then -O2 generates different code, not only faster code
			if strings.Contains(e.Text, "finish") || strings.Contains(e.Text, "# also: optimised") {
				expect(t, e, emit.Options{}, build.Options{Optimise: true, Sanitize: *sanitize})
			}
		})
	}
}

// expect builds and runs an example.
func expect(t *testing.T, e trial.Example, how emit.Options, o build.Options) {
	t.Helper()
	exe := trial.Build(t, trial.Check(t, e.File, e.Text), how, o)
	for _, workers := range []int{1, 2} {
		if d := trial.Difference(e.Text, e.Want, trial.Output(t, exe, workers)); d != "" {
			t.Errorf("%d workers:\n%s", workers, d)
		}
	}
}
