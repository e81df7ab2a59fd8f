package generate_test

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/generate"
	"interleave/eve/interp"
	"interleave/eve/trial"
)

// Every generated program is accepted, and prints the same under every schedule.
func TestGenerated(t *testing.T) {
	for seed := range uint64(20) {
		text := generate.Program(seed, 25)
		p := trial.Check(t, fmt.Sprintf("generated_%d.eve", seed), text)
		var first string
		for schedule := range uint64(4) {
			var out strings.Builder
			end := interp.Run(p, interp.Options{Seed: schedule, Stdout: &out, Late: schedule == 3})
			if end.Status != 0 {
				t.Fatalf("seed %d, schedule %d: %s", seed, schedule, end.Trace)
			}
			if schedule == 0 {
				first = out.String()
			}
			if d := trial.Difference(text, first, out.String()); d != "" {
				t.Fatalf("seed %d: schedules 0 and %d differ:\n%s", seed, schedule, d)
			}
		}
	}
}

// A seed always gives the same program.
func TestRepeatable(t *testing.T) {
	for seed := range uint64(4) {
		if first, second := generate.Program(seed, 10), generate.Program(seed,
			10); first != second {
			t.Errorf("seed %d gives two programs", seed)
		}
	}
}

// The programs contain the features that they are meant to cover.
func TestCovers(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(20) {
		all.WriteString(strings.SplitAfter(generate.Program(seed, 25), "halves: ")[1])
	}
	for _, what := range []string{"trio(", "both(", "@ for (p: int@ in", "@ for (e", "set<int>",
		"vector<vector<int>>@", "doubled(",
		"shape.circle(", "applied(", "par.each(", "par.sort(", "larger(", "length(", "checked(",
		"bool:", "item [-", "sleep(", "within 0s",
		"timer.every", "guarded(", "on failing", "finish:", "[&"} {
		if !strings.Contains(all.String(), what) {
			t.Errorf("no program has %q", what)
		}
	}
}
