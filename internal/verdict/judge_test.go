package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// byModel gives each model one figure everywhere.
func byModel(a, b, c float64) truth {
	return func(m string, _ manifest.Point, _ int) float64 {
		return map[string]float64{"a": a, "b": b, "c": c}[m]
	}
}

// along gives model a a curve over x, b half of it and c ten times.
func along(f func(x float64) float64) truth {
	return func(m string, p manifest.Point, _ int) float64 {
		x := p.X
		if math.IsNaN(x) {
			x = 1
		}
		return f(x) * map[string]float64{"a": 1, "b": .5, "c": 10}[m]
	}
}

func term(s string) manifest.Term {
	model, point, _ := strings.Cut(s, "@")
	return manifest.Term{Model: model, Point: point}
}

func direction(of, against, sense string, at ...string) manifest.Claim {
	return manifest.Claim{ID: "D1", Kind: "direction", Metric: manifest.Throughput, Of: term(of),
		Against: term(against), Sense: sense, At: at, Margin: 1.05}
}

func magnitude(of, against string, published float64, at ...string) manifest.Claim {
	return manifest.Claim{ID: "M1", Kind: "magnitude", Metric: manifest.Throughput, Of: term(of),
		Against: term(against), Published: published, At: at, Margin: 1.25}
}

func shape(form string) manifest.Claim {
	return manifest.Claim{ID: "S1", Kind: "shape", Shape: form, Metric: manifest.CPU, Of: term("a"),
		Margin: 1.25}
}

func order(at string, models ...string) manifest.Claim {
	c := manifest.Claim{ID: "O1", Kind: "shape", Shape: "order", Metric: manifest.Throughput,
		Margin: 1.05}
	if at != "" {
		c.At = []string{at}
	}
	for _, m := range models {
		c.Order = append(c.Order, term(m))
	}
	return c
}

func bound(sense string) manifest.Claim {
	return manifest.Claim{ID: "B1", Kind: "bound", Metric: manifest.Threads, Of: term("a"),
		Sense: sense, Published: 2, At: []string{"alone"}, Margin: 1.05}
}

// best has a claim compare with the best of these.
func best(c manifest.Claim, rivals ...string) manifest.Claim {
	c.Against, c.Best = manifest.Term{}, rivals
	return c
}

// with changes a claim.
func with(c manifest.Claim, changes ...func(*manifest.Claim)) manifest.Claim {
	for _, change := range changes {
		change(&c)
	}
	return c
}

func TestJudge(t *testing.T) {
	linear := along(func(x float64) float64 { return 2 * x })
	bent := along(func(x float64) float64 { return min(x, 16) + max(0, x-16)/5 })
	flat := along(func(float64) float64 { return 5 })
	// a leads below 8 connections, b from there on
	swap := func(m string, p manifest.Point, _ int) float64 {
		return map[string]float64{"a": 1000, "b": 1000 * math.Pow(p.X/8, .7), "c": 1}[m]
	}
	after := func(c *manifest.Claim) { c.After = 16 }
	gains := func(c *manifest.Claim) {
		c.Against, c.Sense, c.Margin, c.By = term("b"), "greater", 1.05, manifest.Difference
	}
	tests := []struct {
		name   string
		claim  manifest.Claim
		of     truth
		word   stats.Word
		reason string // a part of it
		parts  int
	}{
		{"less at a point", direction("b", "a", "less", "alone"), byModel(1000, 800, 1),
			"reproduced", "", 1},
		{"less at every point", direction("b", "a", "less"), byModel(1000, 800, 1), "reproduced",
			"", 4},
		{"less at the mean", direction("b", "a", "less", "mean"), byModel(1000, 800, 1),
			"reproduced", "", 1},
		{"the other way round", direction("b", "a", "greater", "alone"), byModel(1000, 800, 1),
			"not reproduced", "the other way round", 1},
		{"below the effect that counts", direction("b", "a", "less", "alone"),
			byModel(1000, 970, 1), "inconclusive", "below the 5 % that count", 1},
		{"a wider effect of its own", with(direction("b", "a", "less",
			"alone"), func(c *manifest.Claim) {
			c.Margin = 1.5
		}), byModel(1000, 800, 1), "inconclusive", "below the 50 % that count", 1},
		{"at least four times", with(direction("a", "b", "greater",
			"alone"), func(c *manifest.Claim) {
			c.Margin, c.Published = 4, 4
		}), byModel(1000, 800, 1), "not reproduced", "direction reproduced, size not", 1},
		{"one point of all fails", direction("b", "a", "less"), func(m string, p manifest.Point,
			_ int) float64 {
			if m == "b" && p.X != 64 {
				return 800
			}
			return 1000
		}, "inconclusive", "connections = 64", 4},
		{"from on", with(direction("b", "a", "less"), func(c *manifest.Claim) { c.From = 16 }),
			func(m string, p manifest.Point, _ int) float64 {
				if m == "b" && p.X >= 16 {
					return 800
				}
				return 1000
			}, "reproduced", "", 2},

		{"as large as published", magnitude("c", "a", 2, "alone"), byModel(1000, 1, 2100),
			"reproduced", "", 1},
		{"smaller than published", magnitude("c", "a", 4, "alone"), byModel(1000, 1, 2100),
			"not reproduced", "direction reproduced, size not", 1},
		{"across points", magnitude("b", "b@alone", .5, "connections = 4"), func(m string,
			p manifest.Point, _ int) float64 {
			if p.X == 4 {
				return 500
			}
			return 1000
		}, "reproduced", "", 1},
		{"the mean by another point", magnitude("b", "b@alone", .55, "mean"), func(m string,
			p manifest.Point, _ int) float64 {
			return map[float64]float64{1: 100, 4: 400, 16: 700,
				64: 1000}[p.X] + map[bool]float64{true: 1000}[math.IsNaN(p.X)]
		}, "reproduced", "", 1},
		{"equal", manifest.Claim{Kind: "equality", Metric: manifest.Throughput, Of: term("a"),
			Against: term("b"), At: []string{"alone"}, Margin: 1.1}, byModel(1000, 990, 1),
			"reproduced", "", 1},
		{"unequal", manifest.Claim{Kind: "equality", Metric: manifest.Throughput, Of: term("a"),
			Against: term("b"), At: []string{"alone"}, Margin: 1.1}, byModel(1000, 700, 1),
			"not reproduced", "outside", 1},

		{"an order of three", order("alone", "c", "b", "a"), byModel(1000, 800, 500), "reproduced",
			"", 2},
		{"an order at the mean", order("mean", "c", "b", "a"), byModel(1000, 800, 500),
			"reproduced", "", 2},
		{"an order at every point", order("", "c", "b", "a"), byModel(1000, 800, 500), "reproduced",
			"", 8},
		{"no such order", order("alone", "b", "c", "a"), byModel(1000, 800, 500), "not reproduced",
			"c over b: it is the other way round", 2},
		{"an order of two", order("alone", "b", "a"), byModel(1000, 800, 500), "reproduced", "", 1},

		{"linear", shape("linear"), linear, "reproduced", "", 1},
		{"square is not linear", shape("linear"),
			along(func(x float64) float64 { return x * x / 100 }), "not reproduced", "outside", 1},
		{"a power of its own", with(shape("linear"), func(c *manifest.Claim) { c.Published = 2 }),
			along(func(x float64) float64 { return x * x / 100 }), "reproduced", "", 1},
		{"flattens", with(shape("flattens"), after), bent, "reproduced", "", 1},
		{"does not flatten", with(shape("flattens"), after), along(func(x float64) float64 {
			return x * x / 100
		}), "not reproduced", "other way round", 1},
		{"flat", shape("flat"), flat, "reproduced", "", 3},
		{"not flat", shape("flat"), linear, "not reproduced", "", 3},

		{"a crossing", manifest.Claim{Kind: "crossover", Metric: manifest.Throughput, Of: term("a"),
			Against: term("b"), Sense: "greater", Published: 8, Margin: 1.25}, swap, "reproduced",
			"", 5},
		{"a crossing elsewhere", manifest.Claim{Kind: "crossover", Metric: manifest.Throughput,
			Of: term("a"), Against: term("b"), Sense: "greater", Published: 30, Margin: 1.25}, swap,
			"not reproduced", "", 5},
		{"a crossing the other way", manifest.Claim{Kind: "crossover", Metric: manifest.Throughput,
			Of: term("a"), Against: term("b"), Sense: "less", Published: 8, Margin: 1.25}, swap,
			"not reproduced", "the other way", 5},

		{"a straight line that does not begin at nothing", shape("straight"),
			along(func(x float64) float64 { return 100 + x }), "reproduced", "", 2},
		{"a bend is not straight", shape("straight"), along(func(x float64) float64 {
			return x * x / 100
		}), "not reproduced", "growth after 16 by growth before", 2},
		{"what falls is not straight", shape("straight"),
			along(func(x float64) float64 { return 100 - x }), "not reproduced", "from 1 to 64", 2},
		{"steepens", with(shape("steepens"), after), along(func(x float64) float64 {
			return 10 + max(x, 8*x-112)
		}), "reproduced", "", 2},
		{"does not steepen", with(shape("steepens"), after), linear, "inconclusive",
			"below the 25 %", 2},
		{"flattens in place of steepening", with(shape("steepens"), after), bent,
			"not reproduced", "other way round", 2},
		{"what falls does not steepen", with(shape("steepens"), after),
			along(func(x float64) float64 { return 100 - x }), "not reproduced", "from 1 to 64", 2},
		{"a lead that grows", with(shape("widens"), func(c *manifest.Claim) {
			c.Against, c.Sense, c.Margin = term("b"), "less", 1.05
		}), swap, "reproduced", "", 5},
		{"a lead that shrinks", with(shape("widens"), func(c *manifest.Claim) {
			c.Against, c.Sense, c.Margin = term("b"), "greater", 1.05
		}), swap, "not reproduced", "other way round", 5},
		{"a lead that stays", with(shape("widens"), func(c *manifest.Claim) {
			c.Against, c.Sense, c.Margin = term("b"), "greater", 1.05
		}), linear, "inconclusive", "below the 5 %", 5},
		{"a difference that grows though the ratio stays", with(shape("widens"), gains), linear,
			"reproduced", "", 5},
		{"a difference that falls", with(shape("widens"), gains),
			along(func(x float64) float64 { return 100 - x }), "not reproduced",
			"other way round", 5},

		{"more than all others", best(direction("a", "", "greater", "alone"), "others"),
			byModel(1000, 800, 500), "reproduced", "", 2},
		{"not more than one of the others", best(direction("a", "", "greater", "alone"), "others"),
			byModel(1000, 800, 1500), "not reproduced", "c: it is the other way round", 2},
		{"a size over the best of the others", best(magnitude("a", "", 1.25, "alone"), "others"),
			byModel(1000, 800, 500), "reproduced", "", 2},
		{"not that size over the best", best(magnitude("a", "", 2, "alone"), "b", "c"),
			byModel(1000, 800, 500), "not reproduced", "size not", 2},
		{"no worse than the better one", best(manifest.Claim{Kind: "non-inferiority",
			Metric: manifest.Throughput, Of: term("a"), At: []string{"alone"}, Margin: 1.1},
			"b", "c"), byModel(980, 1000, 500), "reproduced", "", 2},
		{"more than a figure", bound("greater"), byModel(5, 1, 1), "reproduced", "", 1},
		{"less than a figure", bound("less"), byModel(5, 1, 1), "not reproduced",
			"other way round", 1},
		{"a portable number", manifest.Claim{Kind: "absolute", Metric: manifest.Throughput,
			Of: term("a"), Published: 9000, Portable: true, At: []string{"alone"}, Margin: 1.25},
			byModel(1000, 1, 1), "not reproduced", "outside the margin", 1},
		{"up to", with(direction("b", "a", "less"), func(c *manifest.Claim) { c.To = 4 }),
			func(m string, p manifest.Point, _ int) float64 {
				if m == "b" && p.X <= 4 {
					return 800
				}
				return 1000
			}, "reproduced", "", 2},
		{"a number", manifest.Claim{Kind: "absolute", Metric: manifest.Throughput, Of: term("a"),
			Published: 1000, At: []string{"alone"}, Margin: 1.25}, byModel(1000, 1, 1),
			"reproduced", "", 1},
		{"a number of other hardware", manifest.Claim{Kind: "absolute", Metric: manifest.Throughput,
			Of: term("a"), Published: 9000, At: []string{"alone"}, Margin: 1.25},
			byModel(1000, 1, 1), "not comparable", "other hardware", 1},
		{"a mean number", manifest.Claim{Kind: "absolute", Metric: manifest.CPU, Of: term("a"),
			Published: 42.5, At: []string{"mean"}, Margin: 1.25}, linear, "reproduced", "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := sweep(1, 4, 16, 64)
			e.Claims = []manifest.Claim{tt.claim}
			v := Judge(e, experimenter{experiment: e, rounds: 12, noise: .01,
				metric: tt.claim.Metric}.cells(tt.of), noModels)[0]
			if v.Word != tt.word || !strings.Contains(v.Reason, tt.reason) {
				t.Errorf("got %s (%s), want %s (%s)\n%s", v.Word, v.Reason, tt.word, tt.reason,
					v.Sentence)
			}
			if len(v.Parts) != tt.parts {
				t.Errorf("got %d parts, want %d", len(v.Parts), tt.parts)
			}
			if v.Condition != manifest.Own || !slices.Contains(v.Differences, "another machine") {
				t.Errorf("condition %q, differences %q", v.Condition, v.Differences)
			}
			checkParts(t, v)
		})
	}
}

// checkParts holds what a reader of parts relies on.
func checkParts(t *testing.T, v Verdict) {
	t.Helper()
	for _, p := range v.Parts {
		if len(p.Rounds) != 0 && len(p.Rounds) != len(p.Values) {
			t.Errorf("%s: %d rounds and %d values", p.Name, len(p.Rounds), len(p.Values))
		}
		if len(p.Values) != 0 && len(p.Values) != p.Finding.Rounds {
			t.Errorf("%s: %d values, but the finding rests on %d rounds", p.Name, len(p.Values),
				p.Finding.Rounds)
		}
	}
}

func TestWhatCannotBeJudged(t *testing.T) {
	less := direction("b", "a", "less", "connections = 4")
	cells := func(rounds int, of truth) func(e *manifest.Experiment) []record.Cell {
		return func(e *manifest.Experiment) []record.Cell {
			return experimenter{experiment: e, rounds: rounds, noise: .01}.cells(of)
		}
	}
	plain := byModel(1000, 800, 500)
	everySecond := func(m string, _ manifest.Point, round int) float64 {
		if m == "b" && round%2 == 0 {
			return math.NaN()
		}
		return plain(m, manifest.Point{}, round)
	}
	shared := func(c *manifest.Claim) { c.Condition = manifest.Shared }
	metric := func(m manifest.Metric) func(*manifest.Claim) {
		return func(c *manifest.Claim) { c.Metric = m }
	}
	tests := []struct {
		name   string
		claim  manifest.Claim
		cells  func(e *manifest.Experiment) []record.Cell
		word   stats.Word
		reason string
	}{
		{"an empty record", less, func(*manifest.Experiment) []record.Cell { return nil },
			"not measured", "nothing was measured"},
		{"a model that is not there", direction("z", "a", "less", "alone"), cells(12, plain),
			"not measured", "z was not measured in this run"},
		{"models that are not there", order("alone", "y", "z", "a"), cells(12, plain),
			"not measured", "y, z were not measured in this run"},
		{"a model that this machine lacks", direction("lost", "z", "less", "alone"),
			cells(12, plain), "not comparable", "lost cannot be measured here: needs a compiler"},
		{"no machine can", with(less, func(c *manifest.Claim) {
			c.Comparable = "it needs two hosts"
		}), cells(12, plain), "not comparable", "it needs two hosts"},
		{"a condition that was not measured", with(less, shared), cells(12, plain), "not measured",
			"it is judged on shared cores, and this run did not measure that"},
		{"a point that was not measured", less, cells(12, only(plain, "alone")), "not measured",
			"none of its points"},
		{"one round", less, cells(1, plain), "inconclusive",
			"1 round cannot carry a 95 % interval"},
		{"half of the rounds void", less, cells(12, everySecond), "inconclusive",
			"6 of 12 rounds do not count, more than a quarter"},
		{"all void", less, cells(12, byModel(1000, math.NaN(), 1)), "inconclusive",
			"12 of 12 rounds do not count"},
		{"no latency in a closed loop", with(less, metric(manifest.LatencyP50)), cells(12, plain),
			"inconclusive", "shows no median latency"},
		{"windows too short to vary", with(less, metric(manifest.CPUVariation)), cells(12, plain),
			"inconclusive", "too short for a coefficient of variation"},
		{"no context switch to divide by", with(less, metric(manifest.Switches)), cells(12, plain),
			"inconclusive", "12 of 12 rounds do not count"},
		{"a slope through two points", shape("linear"),
			cells(12, only(plain, "connections = 4", "connections = 16")), "not measured",
			"measured 2 of its 4 points"},
		{"a slope through two points of a claim", with(shape("linear"), func(c *manifest.Claim) {
			c.From = 16
		}), cells(12, plain), "not measured", "it is about 2 points, 3 are the least"},
		{"a single point is flat", shape("flat"), cells(12, only(plain, "connections = 4")),
			"not measured", "measured 1 of its 4 points"},
		{"nothing after the bend", with(shape("flattens"), func(c *manifest.Claim) {
			c.After = 32
		}), cells(12, plain), "not measured", "there are 3 and 1"},
		{"a shape of lines", with(shape("linear"), metric(manifest.Lines)), cells(12, plain),
			"not comparable", "lines of code have no shape"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := sweep(1, 4, 16, 64)
			e.Claims = []manifest.Claim{tt.claim}
			models := Models{func(string, string) int { return 7 }, Missing([]record.Skip{
				{Service: e.Service, Model: "lost", Reason: "needs a compiler"},
				{Service: "another", Model: "z", Reason: "needs a compiler"}})}
			v := Judge(e, tt.cells(e), models)[0]
			if v.Word != tt.word || !strings.Contains(v.Reason, tt.reason) {
				t.Errorf("got %s (%s), want %s (%s)", v.Word, v.Reason, tt.word, tt.reason)
			}
			if !strings.HasSuffix(v.Sentence, ".") || !strings.Contains(v.Sentence, v.Reason) {
				t.Errorf("sentence %q does not end, or lacks the reason %q", v.Sentence, v.Reason)
			}
			checkParts(t, v)
		})
	}
}

// only leaves out all points but these.
func only(of truth, points ...string) truth {
	return func(m string, p manifest.Point, round int) float64 {
		if !slices.Contains(points, p.Name) {
			return 0
		}
		return of(m, p, round)
	}
}

func TestCautions(t *testing.T) {
	e := sweep(1, 4, 16, 64)
	e.Claims = []manifest.Claim{direction("b", "a", "less")}
	full := experimenter{experiment: e, rounds: 6, noise: .01,
		labels: []string{record.GeneratorBound}}
	want := "in 48 of 48 cells the load's core was full, so the servers may differ by more than " +
		"their throughput shows: see the CPU for each request"
	v := Judge(e, full.cells(byModel(1000, 800, 1)), noModels)[0]
	if !slices.Contains(v.Cautions, want) {
		t.Errorf("cautions %q lack %q", v.Cautions, want)
	}
	e.Claims[0].Metric = manifest.CPU
	v = Judge(e, full.cells(byModel(1000, 800, 1)), noModels)[0]
	if slices.ContainsFunc(v.Cautions,
		func(c string) bool { return strings.Contains(c, "load's core") }) {
		t.Errorf("a full load generator spoils no CPU, but: %q", v.Cautions)
	}
}

// TestAFullLoadRefutesNoSize holds that a ratio of throughput which the load's own limit may have
// kept small does not refute a larger published one, while one that is too large all the same does.
func TestAFullLoadRefutesNoSize(t *testing.T) {
	for _, tt := range []struct {
		name      string
		labels    []string
		published float64 // of b over a, which is 1.5 here
		want      stats.Word
	}{
		{"free, too small", nil, 3.88, stats.NotReproduced},
		{"full, too small", []string{record.GeneratorBound}, 3.88, stats.Inconclusive},
		{"free, too large", nil, 1.05, stats.NotReproduced},
		{"full, too large", []string{record.GeneratorBound}, 1.05, stats.Inconclusive},
		{"full, as published", []string{record.GeneratorBound}, 1.5, stats.Reproduced},
	} {
		e := sweep(1)
		one := magnitude("b", "a", tt.published, "alone")
		e.Claims = []manifest.Claim{one, best(one, "a", "c")}
		x := experimenter{experiment: e, rounds: 8, noise: .01, labels: tt.labels}
		for i, v := range Judge(e, x.cells(byModel(1000, 1500, 1)), noModels) {
			if v.Word != tt.want {
				t.Errorf("%s, claim %d: got %s (%s), want %s", tt.name, i, v.Word, v.Reason,
					tt.want)
			}
			if full := len(tt.labels) > 0; full && tt.want == stats.Inconclusive &&
				!strings.Contains(v.Reason, "in 6 of 6 cells of ") {
				t.Errorf("%s, claim %d: the reason %q does not tell of the bound", tt.name, i,
					v.Reason)
			}
		}
	}
}

// TestASecondAttemptTakesTheFirstOnesPlace holds that one cell of a place and round counts: the
// measured one, whichever came first.
func TestASecondAttemptTakesTheFirstOnesPlace(t *testing.T) {
	e := sweep(1)
	e.Claims = []manifest.Claim{direction("b", "a", "less", "alone")}
	x := experimenter{experiment: e, rounds: 6, noise: .01}
	void := x.cells(func(m string, p manifest.Point, _ int) float64 {
		if m == "b" && math.IsNaN(p.X) {
			return math.NaN()
		}
		return 0
	})
	measured := x.cells(byModel(1000, 800, 500))
	for _, cells := range [][]record.Cell{slices.Concat(void, measured),
		slices.Concat(measured, void)} {
		v := Judge(e, cells, noModels)[0]
		if v.Word != stats.Reproduced || v.Finding.Rounds != 6 || v.Finding.Voided != 0 {
			t.Errorf("got %s of %d rounds, %d void; want reproduced of 6, 0 void", v.Word,
				v.Finding.Rounds, v.Finding.Voided)
		}
	}
}

// TestRoundsArePairedByNumber shuffles who has which round: a round counts where both
// models have it.
func TestRoundsArePairedByNumber(t *testing.T) {
	e := sweep(1)
	e.Claims = []manifest.Claim{magnitude("b", "a", .5, "alone")}
	// the machine becomes ten times as fast
	drift := func(m string, _ manifest.Point, round int) float64 {
		switch {
		case m == "a" && round == 3, m == "b" && (round == 4 || round == 7):
			return 0 // not tried
		case m == "a":
			return math.Pow(10, float64(round)/12)
		}
		return .5 * math.Pow(10, float64(round)/12)
	}
	cells := experimenter{experiment: e, rounds: 12, noise: .005}.cells(drift)
	slices.Reverse(cells)
	v := Judge(e, cells, noModels)[0]
	if v.Word != stats.Reproduced || math.Abs(v.Finding.Estimate-.5) > .01 {
		t.Errorf("got %s, ratio %.3f, want reproduced, .5", v.Word, v.Finding.Estimate)
	}
	if got, want := v.Parts[0].Rounds, []int{1, 2, 5, 6, 8, 9, 10, 11, 12}; !slices.Equal(got,
		want) {
		t.Errorf("rounds %v, want %v", got, want)
	}
}

func TestLines(t *testing.T) {
	count := map[string]int{"a": 100, "b": 50, "c": 98, "d": 50}
	lines := func(_, m string) int { return count[m] }
	claim := func(kind, of, against, sense string, published, margin float64) manifest.Claim {
		return manifest.Claim{Kind: kind, Metric: manifest.Lines, Of: term(of),
			Against: term(against), Sense: sense, Published: published, Margin: margin}
	}
	tests := []struct {
		claim manifest.Claim
		want  string // the sentence
	}{
		{claim("direction", "b", "a", "less", 0, 1.05),
			"Here, b has 50 lines of code, 0.50x a's 100. The paper says fewer; differences " +
				"from 5 % on count. Reproduced."},
		{claim("direction", "b", "a", "greater", 0, 1.05),
			"Here, b has 50 lines of code, 0.50x a's 100. The paper says more; differences from " +
				"5 % on count. Not reproduced: it is the other way round."},
		{claim("direction", "c", "a", "less", 0, 1.05),
			"Here, c has 98 lines of code, 0.98x a's 100. The paper says fewer; differences " +
				"from 5 % on count. Inconclusive: the direction agrees, but the effect is below " +
				"the 5 % that count."},
		{claim("direction", "b", "d", "less", 0, 1.05),
			"Here, b has 50 lines of code, 1.00x d's 50. The paper says fewer; differences from " +
				"5 % on count. Not reproduced: both have as many."},
		{claim("magnitude", "b", "a", "", .45, 1.25),
			"Here, b has 50 lines of code, 0.50x a's 100. The paper says 0.45x; margin 1.25. " +
				"Reproduced."},
		{claim("magnitude", "b", "a", "", .1, 1.25),
			"Here, b has 50 lines of code, 0.50x a's 100. The paper says 0.1x; margin 1.25. Not " +
				"reproduced: the number lies outside the margin."},
		{claim("equality", "c", "a", "", 0, 1.1),
			"Here, c has 98 lines of code, 0.98x a's 100. The paper says as many; margin 1.10. " +
				"Reproduced."},
		{claim("absolute", "b", "", "", 52, 1.25),
			"Here, b has 50 lines of code. The paper says 52; margin 1.25. Reproduced."},
		{claim("crossover", "b", "a", "less", 8, 1.25),
			"Not comparable: lines of code have no crossover."},
		{claim("direction", "z", "a", "less", 0, 1.05),
			"Not measured: z was not measured in this run."},
	}
	for _, tt := range tests {
		e := sweep(1)
		e.Claims = []manifest.Claim{tt.claim}
		v := Judge(e, nil, Models{lines, Missing(nil)})[0]
		if v.Sentence != tt.want {
			t.Errorf("got  %s\nwant %s", v.Sentence, tt.want)
		}
		if w := strings.ToLower(v.Sentence); !strings.Contains(w, ". "+string(v.Word)) &&
			!strings.HasPrefix(w, string(v.Word)) {
			t.Errorf("the sentence %q does not say %q", v.Sentence, v.Word)
		}
	}
}
