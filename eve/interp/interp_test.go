package interp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/compile"
	"interleave/eve/interp"
	"interleave/eve/source"
)

// seeds are how many schedules each program is run under.
const seeds = 4

// Every program of testdata/run prints the same under every schedule.
func TestRun(t *testing.T) {
	files, err := filepath.Glob("../testdata/run/*.eve")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".eve"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".eve") + ".out")
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(seeds) {
				got := run(t, file, string(text), seed)
				expected := string(want)
				if strings.HasPrefix(string(text), "# output: any order") {
					got, expected = lines(got), lines(expected)
				}
				if got != expected {
					t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, got, want)
				}
			}
		})
	}
}

// run checks and runs a program, and gives what it printed.
func run(t *testing.T, name, text string, seed uint64) string {
	t.Helper()
	p, diags := compile.Check(source.NewFile(filepath.Base(name), text), nil)
	for _, d := range diags {
		if d.Code.IsError() {
			t.Fatalf("%s:%d: %s: %s", name, d.Span.Line(), d.Code, d.Message)
		}
	}
	var out strings.Builder
	if end := interp.Run(p, interp.Options{Seed: seed, Stdout: &out}); end.Status != 0 {
		return out.String() + "status " + end.Trace
	}
	return out.String()
}

// The tour's programs print what stands below them.
func TestTour(t *testing.T) {
	text, err := os.ReadFile("../../docs/eve/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```")
	n := 0
	for i, b := range blocks {
		program, is := strings.CutPrefix(b, "eve\n")
		if !is || i+2 >= len(blocks) {
			continue
		}
		want, is := strings.CutPrefix(blocks[i+2], "output\n")
		if !is {
			t.Errorf("no output stands below the program\n%s", program)
			continue
		}
		n++
		for seed := range uint64(seeds) {
			if got := run(t, "tour.eve", program, seed); got != want {
				t.Fatalf("seed %d of\n%s\ngot\n%s\nwant\n%s", seed, program, got, want)
			}
		}
	}
	if n < 6 {
		t.Errorf("the tour has %d programs with output", n)
	}
}
