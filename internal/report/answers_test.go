package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/report/figure"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

func within(estimate, low, high float64) stats.Interval {
	return stats.Interval{Estimate: estimate, Lower: low, Upper: high, Level: .95, Attained: .96}
}

// judged is a verdict of one part.
func judged(word stats.Word, kind, unit string, f stats.Finding) verdict.Verdict {
	f.Word = word
	return verdict.Verdict{Word: word, Finding: f,
		Claim: manifest.Claim{Kind: kind, Metric: manifest.Throughput, Published: f.Published},
		Parts: []verdict.Part{{Name: "all", Unit: unit, Finding: f, Published: math.NaN(),
			Values: []float64{f.Estimate}}}}
}

func TestPlaced(t *testing.T) {
	open := math.Inf(1)
	tests := []struct {
		name                string
		v                   verdict.Verdict
		estimate, published float64
		accept              [2]float64
		kin                 string
	}{
		{"a ratio stays", judged(stats.Reproduced, "magnitude", "ratio", stats.Finding{Rounds: 8,
			Estimate: 3.5, Published: 3.88, Interval95: within(3.5, 3, 4),
			Accept: [2]float64{3.1, 4.85}}), 3.5, 3.88, [2]float64{3.1, 4.85}, ""},
		{"a crossing is divided", judged(stats.NotReproduced, "crossover", "connections",
			stats.Finding{Rounds: 8, Estimate: 300, Published: 600,
				Interval95: within(300, 280, 320), Accept: [2]float64{480, 750}}),
			.5, 1, [2]float64{.8, 1.25}, "÷ claimed"},
		{"a bound is divided", judged(stats.Reproduced, "bound", "threads", stats.Finding{Rounds: 8,
			Estimate: 8, Published: 2, Interval95: within(8, 8, 8),
			Accept: [2]float64{2.1, open}}), 4, 1, [2]float64{1.05, open}, "÷ claimed"},
		{"growth says so", judged(stats.Reproduced, "shape", "slope", stats.Finding{Rounds: 8,
			Estimate: .5, Interval95: within(.5, .4, .6),
			Accept: [2]float64{math.Inf(-1), .8}}), .5, 0, [2]float64{math.Inf(-1), .8}, "growth"},
		{"lines are counted", judged(stats.Reproduced, "direction", "ratio", stats.Finding{
			Estimate: .5, Accept: [2]float64{0, .95}}), .5, 0, [2]float64{0, .95}, ""},
	}
	for _, tt := range tests {
		row, kin, found := placed(tt.v)
		if !found || row.Estimate != tt.estimate || row.Published != tt.published ||
			row.Accept != tt.accept || kin != tt.kin {
			t.Errorf("%s: got %+v, %q, %v", tt.name, row, kin, found)
		}
	}
	nowhere := judged(stats.NotReproduced, "crossover", "connections", stats.Finding{Rounds: 8,
		Estimate: math.NaN(), Published: 600, Interval95: within(math.NaN(), 1, 2)})
	if _, _, found := placed(nowhere); found {
		t.Error("a crossing that was not seen has a place")
	}
	if _, _, found := placed(verdict.Verdict{Word: stats.Reproduced}); found {
		t.Error("a verdict without figures has a place")
	}
}

func TestOtherComparisonsAreShown(t *testing.T) {
	v := judged(stats.NotReproduced, "direction", "ratio", stats.Finding{Rounds: 8, Estimate: 1.2,
		Weakest: "b", Interval95: within(1.2, 1.1, 1.3)})
	part := func(name string, estimate float64, word stats.Word) verdict.Part {
		return verdict.Part{Name: name, Unit: "ratio",
			Finding: stats.Finding{Word: word, Estimate: estimate, Rounds: 8}}
	}
	v.Parts = []verdict.Part{part("a", .5, stats.Reproduced), part("b", 1.2, stats.NotReproduced),
		part("c", .7, stats.Inconclusive), part("shown only", 9, "")}
	row, _, _ := placed(v)
	if len(row.Others) != 2 || row.Others[0] != .5 || row.Others[1] != .7 {
		t.Errorf("others are %v, want .5 and .7", row.Others)
	}
}

func TestClaimedAndHere(t *testing.T) {
	tests := []struct{ kind, shape, sense, unit, claimed, here string }{
		{"magnitude", "", "", "ratio", "600", "300 (280–320)"},
		{"direction", "", "less", "ratio", "less, 600", "300 (280–320)"},
		{"non-inferiority", "", "", "ratio", "no worse", "300 (280–320)"},
		{"equality", "", "", "ratio", "the same", "300 (280–320)"},
		{"crossover", "", "", "clients", "swap at 600", "300 (280–320) clients"},
		{"bound", "", "less", "", "less than 600", "300 (280–320)"}, // without a unit
		{"bound", "", "greater", "requests/s", "more than 600", "300 (280–320)"},
		{"shape", "order", "", "ratio", "more: all", "300 (280–320)"},
		{"shape", "linear", "", "slope", "power 600", "300 (280–320)"},
		{"shape", "widens", "greater", "ratio", "grows", "300 (280–320)"},
		{"builds", "", "", "ratio", "builds", "300 (280–320)"},
	}
	for _, tt := range tests {
		v := judged(stats.Reproduced, tt.kind, tt.unit, stats.Finding{Rounds: 8, Estimate: 300,
			Published: 600, Interval95: within(300, 280, 320)})
		v.Claim.Shape, v.Claim.Sense = tt.shape, tt.sense
		if got := claimed(v); got != tt.claimed {
			t.Errorf("%s %s: claimed %q, want %q", tt.kind, tt.shape, got, tt.claimed)
		}
		if got := here(v); got != tt.here {
			t.Errorf("%s %s: here %q, want %q", tt.kind, tt.shape, got, tt.here)
		}
	}
}

// cellsOf are cells of one minute each, two models in each round.
func cellsOf(rounds int, void string) []record.Cell {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var out []record.Cell
	for r := range rounds {
		for _, model := range []string{"a", "b", "elsewhere"} {
			c := record.Cell{Point: "p", Model: model, Round: r + 1, Started: at,
				Took: time.Minute, Status: record.Measured}
			if void != "" && model == "a" {
				c.Status = record.Void
				c.Reasons = []record.Reason{{Gate: void, Text: "the text of " + void}}
			}
			at = at.Add(c.Took)
			out = append(out, c)
		}
	}
	return out
}

func TestTakes(t *testing.T) {
	open := func(word stats.Word, reason string, f stats.Finding) verdict.Verdict {
		v := verdict.Verdict{Word: word, Reason: reason, Finding: f}
		v.Claim = manifest.Claim{At: []string{"p"}, Of: manifest.Term{Model: "a"},
			Against: manifest.Term{Model: "b"}, Metric: manifest.Throughput}
		return v
	}
	few := stats.Finding{Rounds: 5, Voided: 3}
	tests := []struct {
		v    verdict.Verdict
		void string
		want string
	}{
		{open(stats.NotComparable, "it needs two hosts", stats.Finding{}), "",
			"it needs two hosts"},
		{open(stats.NotComparable, "x cannot be measured here: needs tapip: build it",
			stats.Finding{}), "", "needs tapip: build it"},
		{open(stats.NotComparable, "x cannot be measured here: does not conform",
			stats.Finding{}), "", "x cannot be measured here: does not conform"},
		{open(stats.NotMeasured, "x was not measured in this run", stats.Finding{}), "",
			"a run with more time: x was not measured in this run"},
		{open(stats.Inconclusive, "the interval is too wide", stats.Finding{Rounds: 8,
			NeedRounds: 5}), "", "about 10 min more (5 more rounds)"},
		{open(stats.Inconclusive, "the interval is too wide", stats.Finding{Rounds: 8,
			NeedRounds: 60}), "", "a quieter machine, or about 2 h more (60 more rounds)"},
		{open(stats.Inconclusive, "3 of 8 do not count", few),
			"foreign-cpu", "a quieter machine: 3 of 8 rounds do not count (foreign-cpu)"},
		{open(stats.Inconclusive, "3 of 8 do not count", few),
			"died", "3 of 8 rounds do not count: the text of died"},
		{open(stats.Inconclusive, "3 of 8 do not count", few),
			"", "3 of 8 rounds do not count"},
		{open(stats.Inconclusive, "the number lies at the edge of the margin",
			stats.Finding{Rounds: 8}), "",
			"at the edge: the number lies at the edge of the margin"},
		{open(stats.Inconclusive, "the load's core was full in 8 of 8 cells",
			stats.Finding{Rounds: 8}), "",
			"more cores for the load: the load's core was full in 8 of 8 cells"},
		{open(stats.Inconclusive, "too wide: measure on a quieter machine",
			stats.Finding{Rounds: 90}), "",
			"a quieter machine: too wide: measure on a quieter machine"},
		{open(stats.Inconclusive, "nothing was built", stats.Finding{}), "", "nothing was built"},
	}
	for _, tt := range tests {
		e := &experiment{Experiment: &manifest.Experiment{Points: []manifest.Point{{Name: "p"}}},
			cells: cellsOf(8, tt.void)}
		if got := takes(&record.Header{}, e, tt.v); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

// TestWider: a claim that the user's choice left out needs no time, but another choice.
func TestWider(t *testing.T) {
	c := manifest.Claim{ID: "P1", Of: manifest.Term{Model: "a"},
		Against: manifest.Term{Model: "b"}, Condition: manifest.Own, At: []string{"p"}}
	for _, tt := range []struct {
		h    record.Header
		want string
	}{
		{record.Header{}, "a run with more time"},
		{record.Header{Models: []string{"b", "a"}}, "a run with more time"},
		{record.Header{Models: []string{"b", "c"}}, "a run without --models"},
		{record.Header{Condition: manifest.Own}, "a run with more time"},
		{record.Header{Claims: []string{"P1"}}, "a run with more time"},
		{record.Header{Claims: []string{"P2"}}, "a run without --claims"},
		{record.Header{Condition: manifest.Shared}, "a run without --condition"},
		{record.Header{Points: []string{"p", "q"}}, "a run with more time"},
		{record.Header{Points: []string{"q"}}, "a run without --point"},
	} {
		if got := wider(&tt.h, verdict.Verdict{Claim: c}); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.h, got, tt.want)
		}
	}
}

// TestTheCostOfARound: a claim about two points costs both of them, though the run has measured one
// of them more often, alone and with other models. The baseline's second cell is not its own.
func TestTheCostOfARound(t *testing.T) {
	at := func(round int, point, model string, took time.Duration) record.Cell {
		return record.Cell{Round: round, Point: point, Model: model, Took: took,
			Status: record.Measured}
	}
	var cells []record.Cell
	for round := 1; round <= 9; round++ {
		cells = append(cells, at(round, "p", "a", 2*time.Second), at(round, "p", "b", time.Second),
			at(round, "p", "c", time.Minute))
		if round <= 3 { // the second cell is measured again, of the same round
			cells = append(cells, at(round, "q", "a", 4*time.Second), at(round, "q", "b",
				3*time.Second), at(round, "q", "b", 3*time.Second))
		}
	}
	twin := at(1, "p", "a", time.Hour)
	twin.Twin = true
	e := &experiment{cells: append(cells, twin), Experiment: &manifest.Experiment{
		Points: []manifest.Point{{Name: "p"}, {Name: "q"}}}}
	v := verdict.Verdict{Claim: manifest.Claim{At: []string{"p", "q"},
		Of: manifest.Term{Model: "a"}, Against: manifest.Term{Model: "b"}}}
	if got := costOfRound(e, v); got != 13*time.Second {
		t.Errorf("got %v, want 2 + 1 + 4 + 6 s", got)
	}
	v.Finding = stats.Finding{Rounds: 6, Voided: 3, NeedRounds: 10}
	if got := costOfRounds(e, v); got != 15*13*time.Second {
		t.Errorf("a third of the rounds does not count: got %v, want 15 rounds", got)
	}
}

// TestWhatTheRunFound: the report tells what a run with a budget has itself found to be lacking.
func TestWhatTheRunFound(t *testing.T) {
	left := verdict.Verdict{Word: stats.NotMeasured, Reason: "x was left out"}
	wide := verdict.Verdict{Word: stats.Inconclusive, Finding: stats.Finding{Rounds: 8,
		NeedRounds: 5}}
	spoilt := verdict.Verdict{Word: stats.Inconclusive, Finding: stats.Finding{Rounds: 5,
		Voided: 3}}
	for _, tt := range []struct {
		v     verdict.Verdict
		found record.Undecided
		want  string
	}{
		{left, record.Undecided{}, "a run with more time: x was left out"},
		{left, record.Undecided{Takes: 23 * time.Minute}, "about 23 min more: x was left out"},
		{left, record.Undecided{Reason: "memory needs windows of 5s"},
			"longer windows: memory needs windows of 5s"},
		{wide, record.Undecided{Takes: 8 * time.Minute}, "about 8 min more (5 more rounds)"},
		{wide, record.Undecided{}, "about 5 more rounds"},
		{spoilt, record.Undecided{Takes: 34 * time.Minute},
			"3 of 8 rounds do not count, or about 34 min more"},
		{spoilt, record.Undecided{}, "3 of 8 rounds do not count"},
	} {
		v, u := tt.v, tt.found
		v.Experiment, v.Claim.ID = "e", "G4"
		u.Experiment, u.Claim = "e", "G4"
		h := record.Header{Undecided: []record.Undecided{
			{Experiment: "other", Claim: "G4", Reason: "windows of another"},
			{Experiment: "e", Claim: "G3", Takes: time.Hour}, u}}
		e := &experiment{Experiment: &manifest.Experiment{}}
		if got := takes(&h, e, v); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.found, got, tt.want)
		}
	}
}

func TestAnswersStandBySource(t *testing.T) {
	s := examine(runs(t)["normal"])
	groups := s.bySource()
	claims := 0
	for _, g := range groups {
		claims += g.All
		n := len(g.Open)
		for _, w := range g.Words {
			n += len(w.Rows)
			for _, a := range w.Rows {
				if !decided(a.Word) {
					t.Errorf("%s: %s is %s, and stands among the answers", g.Source, a.Claim.ID,
						a.Word)
				}
			}
		}
		if n != g.All {
			t.Errorf("%s: %d of %d claims are shown", g.Source, n, g.All)
		}
		for _, a := range g.Open {
			if a.Takes == "" {
				t.Errorf("%s: nothing would decide %s", g.Source, a.Claim.ID)
			}
		}
	}
	if want := len(s.verdicts()); claims != want || claims == 0 {
		t.Errorf("%d claims in groups, %d verdicts", claims, want)
	}
	own := (&manifest.Experiment{Source: "eve.txt, section 4"})
	if a, b := sourceOf(own, manifest.Claim{}), sourceOf(own, manifest.Claim{Ours: true}); a !=
		"eve.txt" || b != ourOwn {
		t.Errorf("sources %q and %q", a, b)
	}
}

func TestChoicesSayWhereOneLiesInside(t *testing.T) {
	tests := []struct {
		iv   stats.Interval
		more bool
		want [2]string // class, spread
	}{
		{within(1.5, 1.4, 1.6), true, [2]string{"better", "±6.7 %"}},
		{within(1.5, 1.4, 1.6), false, [2]string{"worse", "±6.7 %"}},
		{within(.5, .45, .55), false, [2]string{"better", "±10 %"}},
		{within(1.02, .98, 1.06), true, [2]string{"same", "±3.9 %"}},
		{stats.Interval{Estimate: 2, Level: .95, Attained: .9}, true, [2]string{"few", ""}},
		{stats.Interval{Estimate: math.NaN()}, true, [2]string{"none", ""}},
	}
	for _, tt := range tests {
		c := choiceCell{ratio: tt.iv}
		c.tell(false, tt.more)
		if got := [2]string{c.Class, plainSpaces(c.Spread)}; got != tt.want {
			t.Errorf("%v, more is better: %v: got %q, want %q", tt.iv, tt.more, got, tt.want)
		}
		if hollow := c.row().Shape == figure.Hollow; hollow != (c.Class == "same" ||
			c.Class == "few") {
			t.Errorf("%v: hollow is %v in class %s", tt.iv, hollow, c.Class)
		}
	}
}

func TestChoicesOfARun(t *testing.T) {
	all := examine(runs(t)["normal"]).choices()
	var names []string
	for _, c := range all {
		names = append(names, c.Service)
		if len(c.Rows) < 2 {
			t.Errorf("%s has %d models to choose from", c.Service, len(c.Rows))
		}
		for _, r := range c.Rows {
			if r.Base && r.Cells[0].Text != "1" && r.Cells[0].Class != "none" {
				t.Errorf("%s: the baseline's ratio is %s", c.Service, r.Cells[0].Text)
			}
		}
		if c.Service == "echo" {
			if c.Heads[0].Empty || c.Heads[2].Empty || c.Heads[4].Empty {
				t.Errorf("echo lacks throughput, p99 or lines: %+v", c.Heads)
			}
			c.Heads[0].Empty = true
			if shown := c.Shown(); len(shown) != 4 || shown[0].Name != "CPU" {
				t.Errorf("without throughput the columns are %+v", shown)
			}
		}
	}
	if got := strings.Join(names, " "); got != "counter echo sink" {
		t.Errorf("services are %q", got)
	}
}

// TestDisturbedFiguresAreMarked labels all cells of one model: its absolute figures bear a mark and
// its ratios none.
func TestDisturbedFiguresAreMarked(t *testing.T) {
	run := runs(t)["few"]
	s := examine(run)
	for _, e := range s.experiments {
		for _, m := range e.metrics() {
			if note := footnote(e.rows(e.conditions[0], m)); note != "" {
				t.Fatalf("%s of %s has a footnote in a quiet run", m, e.Name)
			}
		}
	}
	for i := range run.Cells {
		if run.Cells[i].Model == "go-goroutine" {
			run.Cells[i].Labels = append(run.Cells[i].Labels, record.Disturbed)
			run.Cells[i].Duet = true
		}
	}
	s = examine(run)
	e := s.experiments[1] // of single points: a table with ratios
	rows := e.rows(e.conditions[0], manifest.CPUPerRequest)
	table := stripTable(rows, manifest.CPUPerRequest, e.Baseline)
	if !strings.Contains(table.Caption, dagger) {
		t.Errorf("no footnote: %q", table.Caption)
	}
	for _, row := range table.Rows {
		if got := strings.Contains(row[1], dagger); got != (row[0] == "go-goroutine") {
			t.Errorf("%s: figure %q", row[0], row[1])
		}
		if strings.Contains(row[2], dagger) {
			t.Errorf("%s: the ratio %q is marked", row[0], row[2])
		}
	}
	for form, write := range map[string]func(*strings.Builder) error{
		"terminal": func(b *strings.Builder) error { return Terminal(b, run, 100, false) },
		"markdown": func(b *strings.Builder) error { return Markdown(b, run) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Count(got, dagger) < 4 ||
			!strings.Contains(got, "Other work ran") {
			t.Errorf("%s: no mark or no footnote", form)
		}
	}
}

func TestLinesAreDrawn(t *testing.T) {
	run := runs(t)["few"]
	s := examine(run)
	e := s.experiments[0]
	got := s.linesFigure(e, s.styles())
	if len(got) != 1 || len(got[0].Table.Rows) != len(e.Models) {
		t.Fatalf("figures %d, want one of %d models", len(got), len(e.Models))
	}
	for _, row := range got[0].Table.Rows {
		if row[1] != "4" || row[2] != "1.00" {
			t.Errorf("%s: %s lines, %s of the baseline's; want 4 and 1.00", row[0], row[1], row[2])
		}
	}
	e.Models = e.Models[:1]
	if got := s.linesFigure(e, s.styles()); got != nil {
		t.Errorf("a figure of one model")
	}
}
