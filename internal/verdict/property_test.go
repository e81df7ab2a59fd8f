package verdict

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

var (
	wholeRing = flag.Bool("whole", false, "simulate as many rounds as there are looks")
	normal    = func(r *rand.Rand) float64 { return r.NormFloat64() }
)

// noises are what cells of a shared machine show: nearly normal, disturbed in one cell of ten,
// disturbed to one side only, and like that of the round before. Each has the centre 0 in a ratio
// of two cells.
var noises = map[string]struct {
	draw func(r *rand.Rand) float64
	lag  float64
}{
	"normal": {normal, 0},
	"contaminated": {func(r *rand.Rand) float64 {
		if r.IntN(10) == 0 {
			return 4 * r.NormFloat64()
		}
		return r.NormFloat64()
	}, 0},
	"skewed":     {func(r *rand.Rand) float64 { return -r.ExpFloat64() }, 0},
	"correlated": {normal, .2},
}

// TestWrongAtMostOnceInTwenty puts the truth on the very edge of what a claim says, where being
// wrong is easiest, and takes the way that a run takes: cells, void ones among them, pairs, rules.
// The run is judged with all its rounds, but its word is that of the first look that decided: the
// one at which a run that is judged after each round would have stopped. Each run is judged for
// all claims whose edge its truth is.
func TestWrongAtMostOnceInTwenty(t *testing.T) {
	rounds, runs := 24, 200
	if *wholeRing {
		rounds, runs = stats.LastLook, 500
	}
	// A true rate of 5 % shows more than this in one case of a thousand; the seeds are fixed.
	allowed := .05 + 3*math.Sqrt(.05*.95/float64(runs))
	for name, noise := range noises {
		for _, w := range atTheEdge() {
			if name == "skewed" {
				// the centre of a figure is not what it is without noise
				w.cases = slices.DeleteFunc(w.cases,
					func(c edgeCase) bool { return alone(c.claim) })
			}
			t.Run(w.name+", "+name, func(t *testing.T) {
				t.Parallel()
				e := sweep(1, 4)
				for _, c := range w.cases {
					e.Claims = append(e.Claims, c.claim)
				}
				needs := needsOf(e)
				wrong := make([]int, len(w.cases))
				for run := range uint64(runs) {
					r := rand.New(rand.NewPCG(run, 1))
					of := func(m string, p manifest.Point, _ int) float64 {
						switch {
						case !needs[Series{p.Name, manifest.Own, m}]:
							return 0
						case r.IntN(20) == 0:
							return math.NaN()
						}
						return 1000 * w.of(m, p.X)
					}
					x := experimenter{experiment: e, rounds: rounds, noise: .05, seed: run,
						draw: noise.draw, lag: noise.lag}
					for i, v := range Judge(e, x.cells(of), noModels) {
						if v.Word == w.cases[i].wrong {
							wrong[i]++
						}
					}
				}
				for i, c := range w.cases {
					if share := float64(wrong[i]) / float64(runs); share > allowed {
						t.Errorf("%s: wrongly %q in %.1f %% of runs, at most 5 %% are promised",
							c.name, c.wrong, 100*share)
					}
				}
			})
		}
	}
}

// needsOf are the series that decide the claims of an experiment.
func needsOf(e *manifest.Experiment) map[Series]bool {
	needs := map[Series]bool{}
	for _, c := range e.Claims {
		for _, s := range Needs(e, c, noModels) {
			needs[s] = true
		}
	}
	return needs
}

// An edgeWorld has figures at the edge of some claims.
type edgeWorld struct {
	name  string
	of    func(model string, x float64) float64
	cases []edgeCase
}

// An edgeCase is a claim, and the word that would be wrong at its edge.
type edgeCase struct {
	name  string
	claim manifest.Claim
	wrong stats.Word
}

func atTheEdge() []edgeWorld {
	ratio := func(b, c float64) func(string, float64) float64 {
		return func(m string, _ float64) float64 {
			return map[string]float64{"a": 1, "b": b, "c": c}[m]
		}
	}
	number := func(kind string, published, margin float64) manifest.Claim {
		c := manifest.Claim{Kind: kind, Metric: manifest.Throughput, Of: term("b"),
			Published: published, Portable: true, At: []string{"alone"}, Margin: margin}
		if kind == "equality" || kind == "non-inferiority" {
			c.Against = term("a")
		}
		return c
	}
	at4 := func(model string, v float64) func(string, float64) float64 {
		return func(m string, x float64) float64 {
			if x == 4 && (model == "" || m == model) {
				return v
			}
			return 1
		}
	}
	widening := with(shape("widens"), throughput, func(c *manifest.Claim) {
		c.Of, c.Against, c.Sense, c.Margin = term("b"), term("a"), "greater", 1.05
	})
	below := with(number("bound", 1000, 1.05), func(c *manifest.Claim) { c.Sense = "less" })
	least := best(direction("a", "", "greater", "alone"), "b", "c")
	size := best(magnitude("a", "", 1.25, "alone"), "b", "c")
	return []edgeWorld{
		{"all alike", ratio(1, 1), []edgeCase{
			{"a direction that is none", direction("b", "a", "less", "alone"),
				stats.NotReproduced},
			{"a magnitude at the margin", magnitude("b", "a", .8, "alone"), stats.Reproduced},
			{"a magnitude at the margin's inside", magnitude("b", "a", .8, "alone"),
				stats.NotReproduced},
			{"a mean at the margin", magnitude("b", "a", .8, "mean"), stats.Reproduced},
			{"a number at the margin", number("absolute", 800, 1.25), stats.Reproduced},
			{"a number at the margin's inside", number("absolute", 800, 1.25),
				stats.NotReproduced},
			{"a bound that is met", below, stats.NotReproduced},
			{"a direction at no point", direction("b", "a", "less"), stats.NotReproduced},
			{"an order of equals", order("", "b", "c", "a"), stats.NotReproduced},
			{"more than both, equal", least, stats.NotReproduced},
		}},
		{"less by 5 %", ratio(1/1.05, .5), []edgeCase{
			{"a direction at the bar", direction("b", "a", "less", "alone"), stats.Reproduced},
			{"a direction at every point", direction("b", "a", "less"), stats.Reproduced},
			{"a bound at the bar", below, stats.Reproduced},
			{"an order at the bar", order("alone", "b", "a"), stats.Reproduced},
			{"more than both, at the bar", least, stats.Reproduced},
		}},
		{"more by 10 %", ratio(1.1, 1), []edgeCase{
			{"equality at the margin", number("equality", 0, 1.1), stats.Reproduced},
		}},
		{"less by 10 %", ratio(1/1.1, 1), []edgeCase{
			{"worse by the margin", number("non-inferiority", 0, 1.1), stats.Reproduced},
			{"worse by the margin, not more", number("non-inferiority", 0, 1.1),
				stats.NotReproduced},
		}},
		{"two rivals alike", ratio(.64, .64), []edgeCase{
			{"a size over two alike", size, stats.Reproduced},
			{"a size over two alike, inside", size, stats.NotReproduced},
		}},
		{"a lead that begins", at4("b", 1.05), []edgeCase{
			{"a lead at the bar", widening, stats.Reproduced},
		}},
		{"a rise", at4("", 1.25), []edgeCase{
			{"flat at the margin", with(shape("flat"), throughput), stats.NotReproduced},
		}},
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
