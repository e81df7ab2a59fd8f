package generate_test

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/generate"
	"interleave/eve/interp"
	"interleave/eve/trial"
)

// Every typed program is accepted, and prints the same under every schedule.
func TestTyped(t *testing.T) {
	for seed := range uint64(20) {
		text := generate.Typed(seed, 5)
		p := trial.Check(t, fmt.Sprintf("typed_%d.eve", seed), text)
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
		if generate.Typed(seed, 5) != text {
			t.Errorf("seed %d gives two programs", seed)
		}
	}
}

// The typed programs contain the features that they are meant to cover.
func TestTypedCovers(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(40) {
		all.WriteString(strings.SplitAfter(generate.Typed(seed, 5), "found: ")[1])
	}
	for _, what := range []string{"match ", "some(", "none:", "ok(", "error(", "else:", "else if",
		"while ", "for (", "break", "continue", "return ", "defer: ",
		"finish:", "@ [+", "@ for (", "split(", "par.sort(", ".sort()", "?.copy()", " else ",
		"set<", "map<", "array<", "bytes", "duration", "char", "uint<64>",
		"int<8>", "float<32>", "<<", ">>", "**", "+%", "-%", "*%", "~", "f\"{", ".copy()", "&&",
		"||", "union ", "type ", "applied(", "count(", "mark(",
		"swapped(", "grown(", "wave(", "cut(", "slice<", "assert ", "%v", ".set(", ".remove(",
		".insert(", "& in ", "[+self]", "\\xe9", "    text: (self) string"} {
		if !strings.Contains(all.String(), what) {
			t.Errorf("no program has %q", what)
		}
	}
}
