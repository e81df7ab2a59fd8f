package generate_test

import (
	"slices"
	"strings"
	"testing"

	"interleave/eve/compile"
	"interleave/eve/generate"
	"interleave/eve/interp"
	"interleave/eve/source"
)

// Every generated program is accepted, and prints the same under every schedule.
func TestGenerated(t *testing.T) {
	for seed := range uint64(20) {
		text := generate.Program(seed, 25)
		p, diags := compile.Check(source.NewFile("generated.eve", text), nil)
		for _, d := range diags {
			if d.Code.IsError() {
				t.Fatalf("seed %d: line %d: %s: %s\n%s", seed, d.Span.Line(), d.Code, d.Message, around(text, d.Span.Line()))
			}
		}
		var first string
		for schedule := range uint64(4) {
			var out strings.Builder
			end := interp.Run(p, interp.Options{Seed: schedule, Stdout: &out, Late: schedule == 3})
			if end.Status != 0 {
				t.Fatalf("seed %d, schedule %d: %s", seed, schedule, end.Trace)
			}
			got := strings.Split(out.String(), "\n")
			if strings.HasPrefix(text, "# output: any order") {
				slices.Sort(got)
			}
			if schedule == 0 {
				first = strings.Join(got, "\n")
			} else if now := strings.Join(got, "\n"); now != first {
				t.Fatalf("seed %d: schedules 0 and %d differ:\n%s", seed, schedule, difference(first, now))
			}
		}
	}
}

// A seed always gives the same program.
func TestRepeatable(t *testing.T) {
	for seed := range uint64(4) {
		if first, second := generate.Program(seed, 10), generate.Program(seed, 10); first != second {
			t.Errorf("seed %d gives two programs", seed)
		}
	}
}

// What the programs are there to cover is in them.
func TestCovers(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(20) {
		all.WriteString(strings.SplitAfter(generate.Program(seed, 25), "halves: ")[1])
	}
	for _, what := range []string{"trio(", "both(", "@ for (p: int@ in", "@ for (e", "set<int>", "vector<vector<int>>@", "doubled(",
		"shape.circle(", "applied(", "par.each(", "par.sort(", "larger(", "length(", "checked(", "bool:", "rung [-", "sleep(", "within 0s",
		"timer.every", "guarded(", "on fuse", "finish:", "[&"} {
		if !strings.Contains(all.String(), what) {
			t.Errorf("no program has %q", what)
		}
	}
}

func around(text string, line int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, line-12):min(len(lines), line+3)], "\n")
}

func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return strings.Join(x[max(0, i-5):i], "\n") + "\n- " + x[i] + "\n+ " + y[i]
		}
	}
	return "one ends before the other"
}
