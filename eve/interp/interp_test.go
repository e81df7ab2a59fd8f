package interp_test

import (
	"strings"
	"testing"

	"interleave/eve/interp"
	"interleave/eve/ir"
	"interleave/eve/trial"
)

// seeds is the number of schedules for each program.
const seeds = 4

// Every program of testdata/run prints the same under every schedule.
func TestRun(t *testing.T) {
	for _, e := range trial.Examples(t) {
		t.Run(e.Name, func(t *testing.T) { expect(t, e) })
	}
}

// The tour's programs print the output below them.
func TestTour(t *testing.T) {
	for _, e := range trial.Tour(t) {
		t.Run(e.Name, func(t *testing.T) { expect(t, e) })
	}
}

// So do those of the cookbook, and of the page that builds a service. One that needs a C library
// fails, and says why.
func TestCookbook(t *testing.T) {
	for _, e := range trial.Cookbook(t) {
		t.Run(e.Name, func(t *testing.T) {
			for module, want := range map[string]string{
				"io.fetch2":  "'client', which needs nghttp2",
				"io.tls":     "'make_self_signed', which needs OpenSSL",
				"db.sqlite":  "'open_memory', which needs SQLite",
				"util.image": "'decode', which needs libjpeg",
			} {
				if !strings.Contains(e.Text, "import "+module) {
					continue
				}
				want = "the interpreter cannot call " + want
				if got := run(trial.Check(t, e.File, e.Text), 0); !strings.Contains(got, want) {
					t.Errorf("got %q, want %q in it", got, want)
				}
				return
			}
			expect(t, e)
		})
	}
}

func expect(t *testing.T, e trial.Example) {
	t.Helper()
	p := trial.Check(t, e.File, e.Text)
	for seed := range uint64(seeds) {
		if d := trial.Difference(e.Text, e.Want, run(p, seed)); d != "" {
			t.Fatalf("seed %d:\n%s", seed, d)
		}
	}
}

// run runs a program under one schedule, and returns its output.
func run(p *ir.Program, seed uint64) string {
	var out strings.Builder
	if end := interp.Run(p, interp.Options{Seed: seed, Stdout: &out}); end.Status != 0 {
		return out.String() + "status " + end.Trace
	}
	return out.String()
}
