package verdict

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
)

// named are the cells that TooWide asks for, as "model@x", sorted.
func named(e *manifest.Experiment, wide map[Series]bool) string {
	var out []string
	for s := range maps.Keys(wide) {
		for _, p := range e.Points {
			if p.Name == s.Point {
				out = append(out, s.Model+"@"+strings.TrimPrefix(p.Name, "connections = "))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestTooWide(t *testing.T) {
	noisyAt := func(x float64) truth { // b is noisy at one point only
		return func(m string, p manifest.Point, round int) float64 {
			if m == "b" && p.X == x {
				return 800 * math.Exp(.5*float64(round%3-1))
			}
			return 800
		}
	}
	noisyAlone := func(m string, p manifest.Point, round int) float64 {
		if m == "b" && math.IsNaN(p.X) {
			return 800 * math.Exp(.5*float64(round%3-1))
		}
		return 800
	}
	tests := []struct {
		name  string
		claim manifest.Claim
		of    truth
		want  string
	}{
		{"narrow", direction("b", "a", "less"), noisyAt(0), ""},
		{"one point of a direction", direction("b", "a", "less"), noisyAt(4), "a@4 b@4"},
		{"the baseline comes along", direction("b", "c", "less"), noisyAt(4), "a@4 b@4 c@4"},
		{"a mean rests on all points", direction("b", "a", "less", "mean"), noisyAt(4),
			"a@1 a@16 a@4 b@1 b@16 b@4"},
		{"another point", magnitude("b@alone", "b", .5, "connections = 4"), noisyAlone,
			"a@4 a@alone b@4 b@alone"},
		{"one neighbour of an order", order("connections = 4", "a", "c", "b"), noisyAt(4),
			"a@4 b@4 c@4"},
		{"a slope rests on all points", with(shape("linear"), func(c *manifest.Claim) {
			c.Of = term("b")
		}), noisyAt(16), "a@1 a@16 a@4 b@1 b@16 b@4"},
		{"flat, one point of three", with(shape("flat"),
			func(c *manifest.Claim) { c.Of = term("b") }), noisyAt(16), "a@1 a@16 b@1 b@16"},
		{"lines need no rounds", with(direction("b", "a", "less"),
			func(c *manifest.Claim) { c.Metric = manifest.Lines }), noisyAt(4), ""},
		{"nothing to measure", with(direction("b", "a", "less"),
			func(c *manifest.Claim) { c.Comparable = "two hosts" }), noisyAt(4), ""},
		{"no usable round", direction("b", "a", "less", "alone"), byModel(800, math.NaN(), 800),
			""},
	}
	for _, tt := range tests {
		e := sweep(1, 4, 16)
		e.Claims = []manifest.Claim{tt.claim}
		cells := experimenter{experiment: e, rounds: 12, noise: .002,
			metric: tt.claim.Metric}.cells(tt.of)
		if got := named(e, TooWide(e, cells, noModels)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestPrecisionIsBlind moves the truth across every verdict: what is asked for must not follow.
func TestPrecisionIsBlind(t *testing.T) {
	for _, noise := range []float64{.005, .05} {
		words := map[string]bool{}
		answers := map[string]bool{}
		for _, ratio := range []float64{.5, .8, .94, .97, 1, 1.03, 1.2, 2, 4} {
			e := sweep(1)
			e.Claims = []manifest.Claim{direction("b", "a", "less", "alone")}
			cells := experimenter{experiment: e, rounds: 12, noise: noise}.cells(byModel(1000,
				1000*ratio, 1))
			words[string(Judge(e, cells, noModels)[0].Word)] = true
			answers[named(e, TooWide(e, cells, noModels))] = true
		}
		if len(answers) != 1 {
			t.Errorf("noise %g: the same widths are asked %q", noise,
				slices.Collect(maps.Keys(answers)))
		}
		if len(words) < 2 {
			t.Errorf("noise %g: only the verdicts %q: the truth was not moved across them", noise,
				slices.Collect(maps.Keys(words)))
		}
	}
}
