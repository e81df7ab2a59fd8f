package run

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/verdict"
)

// less is the claim that b answers fewer requests a second than a, at some points or all.
func less(id string, at ...string) manifest.Claim {
	return manifest.Claim{ID: id, Kind: "direction", Metric: manifest.Throughput, Sense: "less",
		Margin: 1.05, Of: manifest.Term{Model: "b"}, Against: manifest.Term{Model: "a"}, At: at}
}

// aWorld is a laboratory whose servers have known rates, with some noise in each cell.
type aWorld struct {
	rates map[string]float64 // by model; 1000 unless told
	noise float64            // of the logarithm
	spoil func(s *Spec, c *record.Cell)
}

// bench measures in a world. What a cell shows depends on the cell alone, so that a run that is
// interrupted sees the same.
func (w aWorld) bench(answer func(s *Spec, nth int)) *fakeBench {
	tries := map[string]uint64{}
	return answering(func(s *Spec, c *record.Cell, nth int) error {
		name := spelt(s) + string(s.Condition)
		tries[name]++
		rate, ok := w.rates[s.Model.Name]
		if !ok {
			rate = 1000
		}
		rng := rand.New(rand.NewPCG(hashOf(name), tries[name]))
		answered(c, rate*math.Exp(w.noise*rng.NormFloat64()))
		if w.spoil != nil {
			w.spoil(s, c)
		}
		if answer != nil {
			answer(s, nth)
		}
		return nil
	})
}

func hashOf(s string) (h uint64) {
	for _, b := range []byte(s) {
		h = h*31 + uint64(b)
	}
	return h
}

// aBudget is a runner of a budget, of a new record or of one to go on with; 0 goes on with what is
// left.
func aBudget(t *testing.T, tree *manifest.Tree, dir string, b *fakeBench,
	budget time.Duration, claims ...string) (*Runner, *watched) {
	t.Helper()
	choice := Choice{Depth: "normal", Budget: true, Claims: claims}
	plan, err := Lay(tree, tree.Experiments, choice)
	if err != nil {
		t.Fatal(err)
	}
	r, events := aRunner(t, tree, dir, b)
	r.Plan = plan
	s := &Session{For: budget}
	err = r.Record.Update(func(h *record.Header) { s.grant(h, r.Cells) })
	if err != nil {
		t.Fatal(err)
	}
	r.Planner = NewPlanner(plan, tree.Experiments, choice, 42, verdict.ModelsOf(tree, nil))
	return r, events
}

// spending runs a budget to its end.
func spending(t *testing.T, tree *manifest.Tree, w aWorld, budget time.Duration) *Runner {
	t.Helper()
	r, _ := aBudget(t, tree, "", w.bench(nil), budget)
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.Record.Close()
	return r
}

// words are the claims of a run and how they stand: "D1 reproduced".
func words(r *Runner) (out []string) {
	for _, v := range r.verdicts() {
		out = append(out, v.Claim.ID+" "+string(v.Word))
	}
	return out
}

// rounds counts the rounds of a model at a point of an experiment.
func rounds(r *Runner, experiment, point, model string) int {
	n := 0
	for _, c := range r.Cells {
		if c.Experiment == experiment && strings.HasSuffix(c.Point, point) && c.Model == model &&
			!c.Twin {
			n++
		}
	}
	return n
}

// TestABudgetDecidesClaims gives time for all claims and no figure: each is decided at its first
// look, and what no claim needs is not measured.
func TestABudgetDecidesClaims(t *testing.T) {
	tree := madeTree()
	tree.Experiments[0].Claims = []manifest.Claim{less("D1", "connections = 1"), less("D2")}
	tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
	// a cell takes 2.1 s
	r := spending(t, tree, aWorld{rates: map[string]float64{"b": 500}, noise: .02}, 90*time.Second)
	want := []string{"D1 reproduced", "D2 reproduced", "D3 reproduced"}
	if got := words(r); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, at := range [][2]string{{"first", "= 1"}, {"first", "= 8"}, {"second", "= 4"}} {
		for model, want := range map[string]int{"a": 6, "b": 6, "c": 0} {
			if got := rounds(r, at[0], at[1], model); got != want {
				t.Errorf("%s, %s: %d rounds of %s, want %d", at[0], at[1], got, model, want)
			}
		}
	}
	if u := r.Record.Header().Undecided; len(u) > 0 {
		t.Errorf("undecided: %v", u)
	}
}

// TestTimeThatIsLeftGoesToFigures goes on with points until each has twelve rounds, and then ends.
func TestTimeThatIsLeftGoesToFigures(t *testing.T) {
	tree := madeTree()
	tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
	r := spending(t, tree, aWorld{rates: map[string]float64{"b": 500}, noise: .02}, time.Hour)
	for _, at := range [][2]string{{"first", "= 1"}, {"first", "= 8"}, {"second", "= 4"}} {
		if got := rounds(r, at[0], at[1], "c"); got != figureRounds {
			t.Errorf("%s, %s: %d rounds of c, want %d", at[0], at[1], got, figureRounds)
		}
	}
	if got := rounds(r, "second", "= 4", "b"); got != 6+figureRounds {
		t.Errorf("%d rounds of b for the claim and the figures, want %d", got, 6+figureRounds)
	}
}

// TestTheHeadlineIsFirst gives time for one claim alone: it is the headline, though another costs
// less.
func TestTheHeadlineIsFirst(t *testing.T) {
	tree := madeTree()
	head := less("D2")
	head.Headline = true
	tree.Experiments[0].Claims = []manifest.Claim{head}
	tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
	r := spending(t, tree, aWorld{rates: map[string]float64{"b": 500}, noise: .02}, 60*time.Second)
	got := words(r)
	if want := []string{"D2 reproduced", "D3 not measured"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	left := r.Record.Header().Undecided
	if len(left) != 1 || left[0].Claim != "D3" || left[0].Reason != leftOut ||
		left[0].Takes < 20*time.Second || left[0].Takes > 40*time.Second {
		t.Errorf("left out: %+v, want D3, which takes 7 rounds of 4.2 s", left)
	}
}

// TestNoiseDoesNotEatTheBudget: where none of its rounds counts a claim gives way, a headline too.
func TestNoiseDoesNotEatTheBudget(t *testing.T) {
	for _, gate := range []string{"", "steal"} {
		tree := madeTree()
		head := less("D2")
		head.Headline = true
		tree.Experiments[0].Claims = []manifest.Claim{head}
		tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
		w := aWorld{rates: map[string]float64{"b": 500}, noise: .02,
			spoil: func(s *Spec, c *record.Cell) {
				if s.Experiment.Name != "first" {
					return
				}
				c.Labels = []string{record.Disturbed}
				if gate != "" {
					c.Status, c.Reasons = record.Void, []record.Reason{{Gate: gate, Text: gate}}
				}
			}}
		r := spending(t, tree, w, 90*time.Second)
		if got := words(r); got[0] != "D2 inconclusive" || got[1] != "D3 reproduced" {
			t.Errorf("gate %q: got %q, want the second decided", gate, got)
		}
	}
}

// TestLost: rounds that do not count are paid for, too.
func TestLost(t *testing.T) {
	for _, tt := range []struct{ more, tried, counted, want int }{
		{7, 0, 0, 7}, {5, 2, 2, 5}, {7, 1, 0, 11}, {7, 3, 0, 18}, {4, 4, 3, 5}, {1, 5, 5, 1},
	} {
		if got := lost(tt.more, tt.tried, tt.counted); got != tt.want {
			t.Errorf("%d more after %d of %d: got %d, want %d", tt.more, tt.counted, tt.tried, got,
				tt.want)
		}
	}
}

// TestNoClaimIsJudgedAtAPart gives time for one point of two: the claim about both has no cell.
func TestNoClaimIsJudgedAtAPart(t *testing.T) {
	tree := madeTree()
	tree.Experiments = tree.Experiments[:1]
	tree.Experiments[0].Claims = []manifest.Claim{less("D2")}
	r := spending(t, tree, aWorld{rates: map[string]float64{"b": 500}, noise: .02}, 40*time.Second)
	if len(r.Cells) != 0 || !slices.Equal(words(r), []string{"D2 not measured"}) {
		t.Errorf("%d cells, %q; want none, for the claim needs 58.8 s", len(r.Cells), words(r))
	}
}

// TestAClaimAtTheEdgeDoesNotEatTheBudget has one claim whose truth is its margin, and cheap ones
// beside it.
func TestAClaimAtTheEdgeDoesNotEatTheBudget(t *testing.T) {
	tree := madeTree()
	tree.Experiments[0].Claims = []manifest.Claim{less("D1", "connections = 1")}
	tree.Experiments[1].Claims = []manifest.Claim{{ID: "D4", Kind: "magnitude",
		Metric: manifest.Throughput, Published: .5, Margin: 1.25, Of: manifest.Term{Model: "c"},
		Against: manifest.Term{Model: "a"}}}
	w := aWorld{rates: map[string]float64{"b": 500, "c": 625}, noise: .03}
	r := spending(t, tree, w, 3*time.Minute)
	if got := words(r)[0]; got != "D1 reproduced" {
		t.Errorf("got %q beside a claim at its edge", got)
	}
	sixth := slices.IndexFunc(r.Cells, func(c record.Cell) bool {
		return c.Experiment == "first" && c.Round == 6
	})
	if sixth > 26 { // six rounds of both claims are 24 cells
		t.Errorf("the claim that is decided early has its sixth round after %d cells", sixth)
	}
	if got := r.Record.Header().Undecided; len(got) != 1 || got[0].Claim != "D4" ||
		got[0].Reason == "" {
		t.Errorf("undecided: %+v, want D4 with a reason", got)
	}
}

// TestABudgetIsKept measures for every budget at most a block longer.
func TestABudgetIsKept(t *testing.T) {
	for seconds := 40; seconds < 400; seconds += 53 {
		tree := madeTree()
		tree.Experiments[0].Claims = []manifest.Claim{less("D1", "connections = 1"), less("D2")}
		tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
		budget := time.Duration(seconds) * time.Second
		// noise that decides nothing, and cells that are measured twice
		w := aWorld{noise: .5, spoil: func(s *Spec, c *record.Cell) {
			if s.Model.Name == "b" {
				spoil(c, "steal")
			}
		}}
		r := spending(t, tree, w, budget)
		block := 5 * 2100 * time.Millisecond // of four cells, one of them twice
		if r.used > budget+block {
			t.Errorf("%v: %v were measured", budget, r.used)
		}
	}
}

// TestTheEndOfABudgetGoesToWhatWasBegun: a claim that takes more than what is left may be decided
// all the same, and comes before figures.
func TestTheEndOfABudgetGoesToWhatWasBegun(t *testing.T) {
	tree := madeTree()
	tree.Experiments = tree.Experiments[1:]
	tree.Experiments[0].Claims = []manifest.Claim{{ID: "D4", Kind: "magnitude",
		Metric: manifest.Throughput, Published: .5, Margin: 1.25, Of: manifest.Term{Model: "b"},
		Against: manifest.Term{Model: "a"}}}
	w := aWorld{rates: map[string]float64{"b": 560}, noise: .3}
	r := spending(t, tree, w, time.Minute)
	if got := len(r.Cells); got < 26 || rounds(r, "second", "= 4", "c") > 0 {
		t.Errorf("%d cells, %d of them of a model that no claim needs; want that all of a minute "+
			"is spent on the claim: 2 cells a turn of 4.2 s", got, rounds(r, "second", "= 4", "c"))
	}
}

// TestASettledPointIsNotMeasuredAgain has a claim about two points, one of them noisy: after the
// first look the other one has no more rounds.
func TestASettledPointIsNotMeasuredAgain(t *testing.T) {
	tree := madeTree()
	tree.Experiments = tree.Experiments[:1]
	tree.Experiments[0].Claims = []manifest.Claim{less("D2")}
	odd := 0
	w := aWorld{rates: map[string]float64{"b": 500}, noise: .01, spoil: func(s *Spec,
		c *record.Cell) {
		if s.Point.X == 8 && s.Model.Name == "b" {
			odd++
			answered(c, 1000*math.Exp(-.16+.12*float64(odd%2)))
		}
	}}
	r := spending(t, tree, w, 2*time.Minute)
	settled, noisy := 0, 0
	for _, c := range r.Cells {
		switch {
		case c.Model != "b":
		case strings.HasSuffix(c.Point, "= 8"):
			noisy++
		case noisy <= 6: // afterwards the claim is decided, and time is left for figures
			settled++
		}
	}
	if settled != 6 || noisy < 8 {
		t.Errorf("%d rounds of the settled point and %d of the noisy one, %q, %+v", settled, noisy,
			words(r), r.Record.Header().Undecided)
	}
}

// TestAServerThatFailsIsGivenUp: three rounds are enough to see that a model does not work.
func TestAServerThatFailsIsGivenUp(t *testing.T) {
	tree := madeTree()
	tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
	tree.Experiments = tree.Experiments[1:]
	w := aWorld{spoil: func(s *Spec, c *record.Cell) {
		if s.Model.Name == "b" {
			*c = record.Cell{Status: record.Broken,
				Reasons: []record.Reason{{Gate: "died", Text: "died"}}}
		}
	}}
	r := spending(t, tree, w, 40*time.Second)
	u := r.Record.Header().Undecided
	if got := rounds(r, "second", "= 4", "b"); got != maxBroken {
		t.Errorf("%d rounds of a server that dies, want %d", got, maxBroken)
	}
	if len(u) != 1 || u[0].Takes != 0 || !strings.Contains(u[0].Reason, "failed in each of 3") {
		t.Errorf("undecided: %+v", u)
	}
}

// TestABudgetGoesOnAlike stops a budget in every cell and goes on: the record must be that of a run
// that was never stopped.
func TestABudgetGoesOnAlike(t *testing.T) {
	lab := func() *manifest.Tree {
		tree := madeTree()
		head := less("D3")
		head.Headline = true
		tree.Experiments[0].Claims = []manifest.Claim{less("D1", "connections = 1"), less("D2")}
		tree.Experiments[1].Claims = []manifest.Claim{head}
		return tree
	}
	w := aWorld{rates: map[string]float64{"b": 900}, noise: .02}
	const budget = 3 * time.Minute
	whole := spending(t, lab(), w, budget)
	want, _ := recorded(t, whole.Record.Dir)
	for stop := 1; stop <= len(want); stop += 19 {
		ctx, cancel := context.WithCancel(context.Background())
		r, _ := aBudget(t, lab(), "", w.bench(func(_ *Spec, nth int) {
			if nth == stop {
				cancel()
			}
		}), budget)
		if err := r.Run(ctx); !errors.Is(err, ErrStopped) {
			t.Fatalf("stopped in cell %d: got %v, want ErrStopped", stop, err)
		}
		r.Record.Close()
		tear(t, r.Record.Dir)
		if got, finished := recorded(t, r.Record.Dir); len(got) != stop-1 || finished {
			t.Fatalf("stopped in cell %d: %d are recorded, finished %v", stop, len(got), finished)
		}
		b := w.bench(nil)
		for i := range r.Cells { // what a cell shows depends on how often it was measured
			skip := &Spec{Experiment: &manifest.Experiment{Name: r.Cells[i].Experiment},
				Point: manifest.Point{Name: r.Cells[i].Point},
				Model: &manifest.Model{Name: r.Cells[i].Model}, Twin: r.Cells[i].Twin,
				Condition: r.Cells[i].Condition}
			if err := b.answer(skip, sound(), 0); err != nil {
				t.Fatal(err)
			}
		}
		r, _ = aBudget(t, lab(), r.Record.Dir, b, 0)
		if err := r.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.Record.Close()
		if got, _ := recorded(t, r.Record.Dir); !slices.Equal(got, want) {
			t.Fatalf("stopped in cell %d and resumed, the record differs:\n%s\nwant\n%s", stop,
				strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		cancel()
	}
}

// TestMoreTime gives a finished run more time: what is decided is not measured again.
func TestMoreTime(t *testing.T) {
	tree := madeTree()
	head := less("D2")
	head.Headline = true
	tree.Experiments[0].Claims = []manifest.Claim{head}
	tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
	w := aWorld{rates: map[string]float64{"b": 500}, noise: .02}
	r := spending(t, tree, w, 60*time.Second)
	dir, before := r.Record.Dir, len(r.Cells)
	r, _ = aBudget(t, tree, dir, w.bench(nil), 35*time.Second)
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, want := words(r), []string{"D2 reproduced", "D3 reproduced"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := len(r.Cells) - before; got != 12 {
		t.Errorf("%d cells more, want the 12 of D3", got)
	}
	h := r.Record.Header()
	if len(h.Budgets) != 2 || h.Budgets[1].After != 50400*time.Millisecond || h.Finished == nil ||
		len(h.Undecided) > 0 {
		t.Errorf("the header has the budgets %+v, finished %v, undecided %v", h.Budgets, h.Finished,
			h.Undecided)
	}
}

// TestAClaimWithoutItsModel is told with the reason, and costs nothing.
func TestAClaimWithoutItsModel(t *testing.T) {
	tree := madeTree()
	c := less("D3")
	c.Against.Model = "gone"
	tree.Experiments[1].Models = append(tree.Experiments[1].Models, "gone")
	tree.Experiments[1].Claims = []manifest.Claim{c}
	tree.Experiments = tree.Experiments[1:]
	plan, err := Lay(tree, tree.Experiments, Choice{Depth: "normal", Budget: true})
	if err != nil {
		t.Fatal(err)
	}
	skipped := []record.Skip{{Service: "echo", Model: "gone", Reason: "needs erl"}}
	p := NewPlanner(plan, tree.Experiments, Choice{Depth: "normal", Budget: true}, 1,
		verdict.ModelsOf(tree, skipped))
	all := p.Standings(nil)
	if len(all) != 1 || all[0].State != Never || !strings.Contains(all[0].Reason, "needs erl") {
		t.Errorf("got %+v", all)
	}
}

// TestRoundsOfAClaimAreApart: with several claims open, no claim has two rounds one after the
// other.
func TestRoundsOfAClaimAreApart(t *testing.T) {
	tree := madeTree()
	tree.Experiments[0].Claims = []manifest.Claim{less("D1", "connections = 1")}
	tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
	r := spending(t, tree, aWorld{rates: map[string]float64{"b": 500}, noise: .02}, 60*time.Second)
	last := ""
	for i := 0; i < len(r.Cells); i += 2 {
		if r.Cells[i].Experiment == last {
			t.Errorf("cell %d: %s is measured twice without the other in between", i, last)
		}
		last = r.Cells[i].Experiment
	}
}

// TestTenMinutesDecideMuch holds this checkout against what `make run` promises: with the usual
// seven rounds for a claim and every model here, ten minutes decide more than half of all claims,
// an hour all but a few, and the headline of each source is among the first.
func TestTenMinutesDecideMuch(t *testing.T) {
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	set := slices.DeleteFunc(slices.Clone(tree.Experiments),
		func(e *manifest.Experiment) bool { return e.Asked })
	choice := Choice{Depth: "quick", Budget: true}
	plan, err := Lay(tree, set, choice)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPlanner(plan, set, choice, 1, verdict.ModelsOf(tree, nil))
	measurable := 0
	for _, s := range p.Standings(nil) {
		if s.State == Open {
			measurable++
		}
	}
	for _, tt := range []struct {
		budget time.Duration
		least  float64 // share of the claims that can be measured at all
	}{{10 * time.Minute, .6}, {time.Hour, .95}} {
		var f Forecast
		p.forecast(&f, nil, tt.budget)
		var spent time.Duration
		var first []string
		claims := 0
		for i, s := range f.Sets {
			spent += s.Takes
			claims += len(s.Claims)
			if i < 5 {
				first = append(first, s.Claims...)
			}
		}
		if spent > tt.budget || float64(claims) < tt.least*float64(measurable) {
			t.Errorf("%v: %d of %d claims in %v, want at least %.0f %%", tt.budget, claims,
				measurable, spent, 100*tt.least)
		}
		for _, e := range set {
			for _, c := range e.Claims {
				if c.Headline && !slices.Contains(first, c.ID) {
					t.Errorf("%v: the headline %s is not among the first, which are %q", tt.budget,
						c.ID, first)
				}
			}
		}
	}
}

// TestEveryPointOfABudgetEnds: each point has a window or a number of requests, at both of the
// depths whose windows a budget can have, and shows all responses that claims are about.
func TestEveryPointOfABudgetEnds(t *testing.T) {
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, depth := range []string{"quick", "normal"} {
		plan, err := Lay(tree, tree.Experiments, Choice{Depth: depth, Budget: true})
		if err != nil {
			t.Fatal(err)
		}
		points := map[string]bool{}
		for _, b := range plan.Blocks {
			points[b.Experiment.Name+"/"+b.Point.Name] = true
			for _, s := range b.Specs {
				if s.Window == 0 && s.Point.Load.Requests == 0 {
					t.Errorf("%s: %s never ends", depth, spelt(s))
				}
				if s.Point.Load.Shape == manifest.Cold &&
					s.Point.Load.Requests != b.Point.Load.Requests {
					t.Errorf("%s: %s has %d responses of %d", depth, spelt(s),
						s.Point.Load.Requests, b.Point.Load.Requests)
				}
				if s.Model.WarmUp > manifest.UsualWarmUp && s.WarmUp < s.Model.WarmUp &&
					s.Point.Load.Shape != manifest.Cold {
					t.Errorf("%s: %s warms up for %v, and asks for %v", depth, spelt(s), s.WarmUp,
						s.Model.WarmUp)
				}
			}
		}
		for _, e := range tree.Experiments {
			for _, p := range e.Points {
				if !points[e.Name+"/"+p.Name] {
					t.Errorf("%s: no cell of %s/%s", depth, e.Name, p.Name)
				}
			}
		}
	}
}

// TestADepthThatCannotEndAPointIsPassedOver takes the next one.
func TestADepthThatCannotEndAPointIsPassedOver(t *testing.T) {
	cold := manifest.Load{Shape: manifest.Cold, Requests: 1000}
	counted := manifest.Load{Shape: manifest.Closed, Requests: 10}
	timed := manifest.Load{Shape: manifest.Closed}
	for _, tt := range []struct {
		name   string
		quick  manifest.Depth
		load   manifest.Load
		passed bool
	}{
		{"a window", manifest.Depth{Window: time.Second}, timed, false},
		{"no window", manifest.Depth{Requests: 100}, timed, true},
		{"a number of requests", manifest.Depth{}, counted, false},
		{"a window in their place", manifest.Depth{Requests: manifest.AllInWindow,
			Window: time.Second}, counted, false},
		{"no window in their place", manifest.Depth{Requests: manifest.AllInWindow}, counted, true},
		{"fewer cold responses", manifest.Depth{Requests: 100}, cold, true},
		{"all cold responses", manifest.Depth{}, cold, false},
	} {
		e := &manifest.Experiment{Quick: tt.quick,
			Normal: manifest.Depth{Rounds: 99, Window: time.Second}}
		d, ok := paceAt(e, "quick", manifest.Point{Load: tt.load})
		if !ok || (d.Rounds == 99) != tt.passed {
			t.Errorf("%s: got %+v, %v; passed over is %v", tt.name, d, ok, tt.passed)
		}
	}
	if d, ok := paceAt(&manifest.Experiment{}, "quick", manifest.Point{Load: timed}); ok {
		t.Errorf("without any window: got %+v", d)
	}
}
