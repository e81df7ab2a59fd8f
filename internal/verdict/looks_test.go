package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// upTo are the cells of the first rounds.
func upTo(cells []record.Cell, round int) []record.Cell {
	return slices.DeleteFunc(slices.Clone(cells),
		func(c record.Cell) bool { return c.Round > round })
}

// kinds are claims of every kind, whose truth lies near an edge in the worlds of these tests.
func kinds() []manifest.Claim {
	return []manifest.Claim{
		direction("b", "a", "less", "alone"), direction("b", "a", "less"),
		direction("b", "a", "less", "mean"), magnitude("b", "a", .8, "alone"),
		{Kind: "equality", Metric: manifest.Throughput, Of: term("b"), Against: term("a"),
			At: []string{"alone"}, Margin: 1.1},
		{Kind: "non-inferiority", Metric: manifest.Throughput, Of: term("b"), Against: term("a"),
			At: []string{"alone"}, Margin: 1.1},
		{Kind: "absolute", Metric: manifest.Throughput, Of: term("b"), Published: 1000,
			Portable: true, At: []string{"alone"}, Margin: 1.1},
		{Kind: "bound", Metric: manifest.Throughput, Of: term("b"), Sense: "less",
			Published: 980, At: []string{"alone"}, Margin: 1.05},
		order("alone", "b", "c", "a"), with(shape("linear"), throughput),
		with(shape("flat"), throughput), with(shape("straight"), throughput),
		with(shape("flattens"), throughput, func(c *manifest.Claim) { c.After = 4 }),
		with(shape("steepens"), throughput, func(c *manifest.Claim) { c.After = 4 }),
		with(shape("widens"), throughput, func(c *manifest.Claim) {
			c.Against, c.Sense, c.Margin = term("b"), "greater", 1.05
		}),
		{Kind: "crossover", Metric: manifest.Throughput, Of: term("a"), Against: term("b"),
			Sense: "greater", Published: 4, Margin: 1.25},
		best(direction("a", "", "greater", "alone"), "b", "c"),
		best(magnitude("a", "", 1.25, "alone"), "others"),
	}
}

func throughput(c *manifest.Claim) { c.Metric = manifest.Throughput }

// TestAWordStands judges every kind after each round of a run with void rounds: a word that is
// given stays, and says at which round it was. The cells after it change no word.
func TestAWordStands(t *testing.T) {
	decided := map[string]int{}
	for seed := range uint64(6) {
		e := sweep(1, 4, 16, 64)
		e.Claims = kinds()
		of := func(m string, p manifest.Point, round int) float64 {
			x := p.X
			if math.IsNaN(x) {
				x = 1
			}
			if m == "b" && (round+int(seed))%9 == 0 {
				return math.NaN()
			}
			b := 1 - .05*float64(seed%3)
			return 1000 * map[string]float64{"a": 1, "b": b, "c": .97}[m] *
				math.Pow(x, .1*float64(seed)/2)
		}
		x := experimenter{experiment: e, rounds: 20, noise: .03, seed: seed}
		cells := x.cells(of)
		var before []Verdict
		for round := 1; round <= x.rounds; round++ {
			now := Judge(e, upTo(cells, round), noModels)
			for i, v := range now {
				name := fmt.Sprintf("seed %d, claim %d, %s %s", seed, i, v.Claim.Kind,
					v.Claim.Shape)
				if v.Decided() != (v.Looked > 0) || v.Looked > round {
					t.Errorf("%s: %s after round %d, decided at %d", name, v.Word, round, v.Looked)
				}
				if before != nil && before[i].Decided() && (v.Word != before[i].Word ||
					v.Looked != before[i].Looked) {
					t.Errorf("%s: %s at round %d became %s at %d", name, before[i].Word,
						before[i].Looked, v.Word, v.Looked)
				}
				if open := !v.Decided() && !v.Edge; open != (len(v.Open()) > 0) {
					t.Errorf("%s: %s (%s), and asks for %v", name, v.Word, v.Reason, v.Open())
				}
				if v.Decided() && (v.Edge || v.Finding.NeedRounds != 0 || v.Open() != nil) {
					t.Errorf("%s: %s, and yet there is more to measure", name, v.Word)
				}
				if round == x.rounds && v.Decided() {
					decided[v.Claim.Kind+v.Claim.Shape]++
				}
			}
			before = now
		}
	}
	if len(decided) < 12 {
		t.Errorf("only these kinds were ever decided: %v", decided)
	}
}

// TestAFullLoadStands holds that a size which a full load keeps open is not refuted by later cells
// with room, nor the other way round.
func TestAFullLoadStands(t *testing.T) {
	for _, tt := range []struct {
		full func(round int) bool
		word stats.Word
	}{
		{func(round int) bool { return round <= 6 }, stats.Inconclusive},
		{func(round int) bool { return round > 6 }, stats.NotReproduced},
	} {
		e := sweep(1)
		e.Claims = []manifest.Claim{magnitude("b", "a", 3.88, "alone")}
		cells := experimenter{experiment: e, rounds: 24, noise: .01}.cells(byModel(1000, 1500, 1))
		for i := range cells {
			if tt.full(cells[i].Round) {
				cells[i].Labels = []string{record.GeneratorBound}
			}
		}
		for _, round := range []int{6, 12, 24} {
			v := Judge(e, upTo(cells, round), noModels)[0]
			if v.Word != tt.word || v.Edge == v.Decided() {
				t.Errorf("after %d rounds: %s (%s), given up: %t; want %s", round, v.Word,
					v.Reason, v.Edge, tt.word)
			}
		}
	}
}

// TestOpen holds that a claim asks only for what it still lacks.
func TestOpen(t *testing.T) {
	e := sweep(1, 4, 16)
	e.Claims = []manifest.Claim{direction("b", "a", "less")}
	noisy := func(m string, p manifest.Point, round int) float64 {
		if m == "b" && p.X == 4 {
			return 800 * math.Exp(.5*float64(round%3-1))
		}
		return map[string]float64{"a": 1000, "b": 800, "c": 1}[m]
	}
	v := Judge(e, experimenter{experiment: e, rounds: 8, noise: .01}.cells(noisy), noModels)[0]
	want := []Series{{"connections = 4", manifest.Own, "b"}, {"connections = 4", manifest.Own, "a"}}
	if got := v.Open(); !slices.Equal(got, want) {
		t.Errorf("%s asks for %v, want %v", v.Word, got, want)
	}
	if v.Finding.NeedRounds == 0 {
		t.Errorf("%s needs no more rounds: %s", v.Word, v.Reason)
	}
}

func TestNeeds(t *testing.T) {
	lost := Models{func(string, string) int { return 7 },
		Missing([]record.Skip{{Service: "echo", Model: "c", Reason: "no compiler"}})}
	shared := func(c *manifest.Claim) { c.Condition = manifest.Shared }
	tests := []struct {
		name   string
		claim  manifest.Claim
		models Models
		want   string
	}{
		{"a direction", direction("b", "a", "less"), noModels, "b@1 a@1 b@4 a@4 b@16 a@16"},
		{"from on", with(direction("b", "a", "less"), func(c *manifest.Claim) { c.From = 16 }),
			noModels, "b@16 a@16"},
		{"another point", magnitude("b@alone", "b", .5, "connections = 4"), noModels,
			"b@alone b@4"},
		{"an order", order("alone", "c", "b", "a"), noModels, "c@alone b@alone a@alone"},
		{"all others", best(direction("a", "", "greater", "alone"), "others"), noModels,
			"a@alone b@alone c@alone"},
		{"all others that are here", best(direction("a", "", "greater", "alone"), "others"), lost,
			"a@alone b@alone"},
		{"a model that is not here", direction("c", "a", "less", "alone"), lost, "c@alone a@alone"},
		{"another condition", with(direction("b", "a", "less", "alone"), shared), noModels,
			"b@alone/shared a@alone/shared"},
		{"a crossing", manifest.Claim{Kind: "crossover", Metric: manifest.Throughput,
			Of: term("a"), Against: term("b"), Sense: "less", Published: 8}, noModels,
			"a@1 b@1 a@4 b@4 a@16 b@16"},
		{"lines", with(direction("b", "a", "less"),
			func(c *manifest.Claim) { c.Metric = manifest.Lines }), noModels, ""},
		{"not comparable", with(direction("b", "a", "less"),
			func(c *manifest.Claim) { c.Comparable = "two hosts" }), noModels, ""},
	}
	for _, tt := range tests {
		e := sweep(0, 1, 4, 16)
		e.Points = e.Points[1:]
		if tt.claim.Kind == "crossover" {
			e = sweep(0, 1, 4, 16) // 0 has no logarithm
		}
		var got []string
		for _, s := range Needs(e, tt.claim, tt.models) {
			name := s.Model + "@" + strings.TrimPrefix(s.Point, "connections = ")
			if s.Condition != manifest.Own {
				name += "/" + string(s.Condition)
			}
			got = append(got, name)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, text, tt.want)
		}
	}
}

// TestNeedsDecide measures nothing but what the claims of this tree need, and has each of them
// judged.
func TestNeedsDecide(t *testing.T) {
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, e := range tree.Experiments {
		for _, c := range e.Claims {
			if c.Comparable != "" || c.Metric == manifest.Lines || c.Kind == manifest.KindBuilds {
				continue
			}
			var cells []record.Cell
			for _, s := range Needs(e, c, noModels) {
				for round := range 6 {
					cells = append(cells, record.Cell{Experiment: e.Name, Point: s.Point,
						Model: s.Model, Condition: s.Condition, Round: round + 1,
						Status: record.Measured})
				}
			}
			one := *e
			one.Claims = []manifest.Claim{c}
			j := judge{index: newIndex(&one, cells), models: noModels}
			j.figure = func(c *record.Cell, _ manifest.Metric) (float64, bool) {
				return float64(100 + c.Round), true
			}
			if v := j.claim(c); v.Silent() {
				t.Errorf("%s: %s: %s (%s)", e.Name, c.ID, v.Word, v.Reason)
			}
			judged++
		}
	}
	if judged < 50 {
		t.Errorf("%d claims were judged, of a tree that has more", judged)
	}
}

// TestDisturbed holds that rounds of a machine that was not quiet count for ratios, and not for the
// figures of one server, nor for cells that were measured alone.
func TestDisturbed(t *testing.T) {
	number := manifest.Claim{Kind: "absolute", Metric: manifest.Throughput, Of: term("a"),
		Published: 1000, At: []string{"alone"}, Margin: 1.25}
	for _, tt := range []struct {
		name    string
		claim   manifest.Claim
		every   int  // so many rounds are disturbed: one of these
		cells   bool // that were measured alone
		word    stats.Word
		reason  string
		caution string
	}{
		{"a ratio", direction("b", "a", "less", "alone"), 1, false, stats.Reproduced, "", ""},
		{"a ratio of cells", direction("b", "a", "less", "alone"), 1, true, stats.Inconclusive,
			"12 of 12 rounds do not count, more than a quarter; the machine was not quiet in 24 " +
				"of 24 cells, which were not measured side by side", ""},
		{"a ratio of cells, at times", direction("b", "a", "less", "alone"), 6, true,
			stats.Reproduced, "", "not quiet in 4 of 24 cells, which do not count here"},
		{"a ratio of two points", magnitude("b@connections = 1", "a", .8, "alone"), 1, false,
			stats.Inconclusive, "not quiet in 24 of 24 cells, and this claim compares points", ""},
		{"a ratio of two points, at times", magnitude("b@connections = 1", "a", .8, "alone"), 6,
			false, stats.Reproduced, "", "not measured side by side"},
		{"a number", number, 1, false, stats.Inconclusive,
			"12 of 12 rounds do not count, more than a quarter; the machine was not quiet in 12 " +
				"of 12 cells, and a figure of one server needs that", ""},
		{"a number, at times", number, 6, false, stats.Reproduced, "",
			"the machine was not quiet in 2 of 12 cells, which do not count here"},
		{"a bound", with(bound("less"), throughput), 1, false, stats.Inconclusive,
			"was not quiet", ""},
	} {
		e := sweep(1)
		e.Claims = []manifest.Claim{tt.claim}
		cells := experimenter{experiment: e, rounds: 12, noise: .01}.cells(byModel(1000, 800, 1))
		for i := range cells {
			cells[i].Duet = !tt.cells
			if cells[i].Round%tt.every == 0 {
				cells[i].Labels = []string{record.Disturbed}
			}
		}
		v := Judge(e, cells, noModels)[0]
		if v.Word != tt.word || !strings.Contains(v.Reason, tt.reason) {
			t.Errorf("%s: got %s (%s), want %s (%s)", tt.name, v.Word, v.Reason, tt.word, tt.reason)
		}
		if text := strings.Join(v.Cautions, "; "); !strings.Contains(text, tt.caution) ||
			tt.caution == "" && text != "" {
			t.Errorf("%s: cautions %q, want %q", tt.name, text, tt.caution)
		}
	}
}

// BenchmarkJudge judges a hundred claims after 30 rounds, as a run does after each.
func BenchmarkJudge(b *testing.B) {
	e := sweep(1, 2, 4, 8, 16, 32, 64)
	for len(e.Claims) < 100 {
		e.Claims = append(e.Claims, kinds()...)
	}
	cells := experimenter{experiment: e, rounds: 30, noise: .05}.cells(byModel(1000, 960, 940))
	for b.Loop() {
		Judge(e, cells, noModels)
	}
}
