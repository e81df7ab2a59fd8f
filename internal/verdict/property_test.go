package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

// noises are what cells of a shared machine show: nearly normal, disturbed in one cell of seven,
// and disturbed to one side only. Each has the centre 0 in a ratio of two cells.
var noises = map[string]func(r *rand.Rand) float64{
	"normal": func(r *rand.Rand) float64 { return r.NormFloat64() },
	"contaminated": func(r *rand.Rand) float64 {
		if r.IntN(7) == 0 {
			return 4 * r.NormFloat64()
		}
		return r.NormFloat64()
	},
	"skewed": func(r *rand.Rand) float64 { return -r.ExpFloat64() },
}

// TestWrongAtMostOnceInTwenty puts the truth on the very edge of what a claim says, where being
// wrong is easiest, and takes the way that a run takes: cells, void ones among them, pairs, rules.
func TestWrongAtMostOnceInTwenty(t *testing.T) {
	const runs = 600
	// A true rate of 5 % shows more than 7 % of 600 in one case of 80; the seeds are fixed.
	const allowed = .07
	tests := []struct {
		name  string
		claim manifest.Claim
		ratio float64 // of b to a, in truth
		wrong stats.Word
	}{
		{"a direction at the bar", direction("b", "a", "less", "alone"), 1 / 1.05,
			stats.Reproduced},
		{"a direction that is none", direction("b", "a", "less", "alone"), 1, stats.NotReproduced},
		{"a magnitude at the margin", magnitude("b", "a", .8, "alone"), 1, stats.Reproduced},
		{"a magnitude at the margin's inside", magnitude("b", "a", .8, "alone"), 1,
			stats.NotReproduced},
		{"a direction at every point", direction("b", "a", "less"), 1 / 1.05, stats.Reproduced},
		{"an order at the bar", order("alone", "b", "a"), 1 / 1.05, stats.Reproduced},
	}
	for name, draw := range noises {
		for _, tt := range tests {
			wrong := 0
			for run := range uint64(runs) {
				e := sweep(1)
				e.Models = []string{"a", "b"}
				e.Claims = []manifest.Claim{tt.claim}
				r := rand.New(rand.NewPCG(run, 1))
				of := func(m string, _ manifest.Point, _ int) float64 {
					switch {
					case r.IntN(20) == 0:
						return math.NaN()
					case m == "b":
						return 1000 * tt.ratio
					}
					return 1000
				}
				x := experimenter{experiment: e, rounds: 12, noise: .05, seed: run, draw: draw}
				if Judge(e, x.cells(of), noModels)[0].Word == tt.wrong {
					wrong++
				}
			}
			if share := float64(wrong) / runs; share > allowed {
				t.Errorf("%s, %s noise: wrongly %q in %.1f %% of runs, at most 5 %% are promised",
					tt.name, name, tt.wrong, 100*share)
			}
		}
	}
}

// TestMeansAreMeans is the truth of a mean claim by hand: the ratio of means, not the
// mean of ratios.
func TestMeansAreMeans(t *testing.T) {
	e := sweep(1, 64)
	e.Claims = []manifest.Claim{magnitude("b", "a", 1, "mean")}
	of := func(m string, p manifest.Point, _ int) float64 {
		switch {
		case m == "a":
			return 100
		case p.X == 1:
			return 300
		}
		return 20
	}
	v := Judge(e, experimenter{experiment: e, rounds: 6}.cells(of), noModels)[0]
	if got, want := v.Finding.Estimate, 1.6; math.Abs(got-want) > 1e-6 {
		t.Errorf("the mean's ratio is %.4f, want (300 + 20) / (100 + 100) = %.4f", got, want)
	}
}
