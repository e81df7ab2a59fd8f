package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
)

// told are a plan's blocks: "experiment point condition: models".
func told(p *Plan) string {
	var lines []string
	for _, b := range p.Blocks {
		var models []string
		for _, s := range b.Specs {
			name := s.Model.Name
			if s.Twin {
				name += "'"
			}
			models = append(models, name)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", b.Experiment.Name,
			strings.TrimPrefix(b.Point.Name, "connections = "), b.Condition,
			strings.Join(models, " ")))
	}
	return strings.Join(lines, "\n")
}

func TestLay(t *testing.T) {
	both := []manifest.Condition{manifest.Own, manifest.Shared}
	tests := []struct {
		name   string
		set    func(e *manifest.Experiment)
		choice Choice
		want   string
	}{
		{"all", nil, Choice{}, "first 1 own: a a' b c\nfirst 8 own: a a' b c"},
		{"two conditions", func(e *manifest.Experiment) {
			e.Normal.Conditions = both
			e.Normal.Values = []float64{1}
		}, Choice{},
			"first 1 own: a a' b c\nfirst 1 shared: a a' b c"},
		{"one of two conditions", func(e *manifest.Experiment) { e.Normal.Conditions = both },
			Choice{Condition: manifest.Shared},
			"first 1 shared: a a' b c\nfirst 8 shared: a a' b c"},
		{"a part of the models", func(e *manifest.Experiment) {
			e.Normal.Models = []string{"a", "c"}
		}, Choice{}, "first 1 own: a a' c\nfirst 8 own: a a' c"},
		{"a part of the values", func(e *manifest.Experiment) { e.Normal.Values = []float64{8} },
			Choice{}, "first 8 own: a a' b c"},
		{"the user's models, and the baseline", nil, Choice{Models: []string{"c"}},
			"first 1 own: a a' c\nfirst 8 own: a a' c"},
		{"the user's before the depth's", func(e *manifest.Experiment) {
			e.Normal.Models = []string{"a", "c"}
		}, Choice{Models: []string{"b"}},
			"first 1 own: a a' b\nfirst 8 own: a a' b"},
		{"the baseline alone, if asked for", nil, Choice{Models: []string{"a"}},
			"first 1 own: a a'\nfirst 8 own: a a'"},
		{"the user's points", nil, Choice{Points: []string{"connections = 8"}},
			"first 8 own: a a' b c"},
		{"a point of its own models", func(e *manifest.Experiment) {
			e.Points[1].Models = []string{"a", "b"}
		}, Choice{}, "first 1 own: a a' b c\nfirst 8 own: a a' b"},
		{"no point for the baseline alone", func(e *manifest.Experiment) {
			e.Points[1].Models = []string{"a", "b"}
		}, Choice{Models: []string{"c"}}, "first 1 own: a a' c"},
		{"a model that cannot be measured", nil, Choice{Skip: func(m *manifest.Model) bool {
			return m.Name == "b"
		}}, "first 1 own: a a' c\nfirst 8 own: a a' c"},
		{"a model to come", func(e *manifest.Experiment) { e.Models = append(e.Models, "d") },
			Choice{}, "first 1 own: a a' b c\nfirst 8 own: a a' b c"},
	}
	for _, tt := range tests {
		tree := madeTree()
		tree.Experiments = tree.Experiments[:1]
		if tt.set != nil {
			tt.set(tree.Experiments[0])
		}
		tt.choice.Depth = "normal"
		p, err := Lay(tree, tree.Experiments, tt.choice)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := told(p); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if missing := slices.Contains(tree.Experiments[0].Models,
			"d"); missing != (len(p.Missing) == 1) {
			t.Errorf("%s: missing models %v", tt.name, p.Missing)
		}
	}
}

func TestWhatACellTakes(t *testing.T) {
	tests := []struct {
		name           string
		depth          string
		set            func(d *manifest.Depth, l *manifest.Load)
		warm, window   time.Duration
		requests, most int64
	}{
		{"a window", "normal", func(*manifest.Depth, *manifest.Load) {}, time.Second, time.Second,
			0, 6},
		{"a longer warm-up", "normal", func(d *manifest.Depth, _ *manifest.Load) {
			d.WarmUp = 2 * time.Second
		}, 2 * time.Second, time.Second, 0, 6},
		{"quick does not wait", "quick", func(d *manifest.Depth, _ *manifest.Load) {
			d.WarmUp = 200 * time.Millisecond
		}, 200 * time.Millisecond, time.Second, 0, 6},
		{"all requests", "full", func(_ *manifest.Depth, l *manifest.Load) { l.Requests = 500 },
			time.Second, 0, 500, 6},
		{"fewer requests", "normal", func(d *manifest.Depth, l *manifest.Load) {
			l.Requests, d.Requests = 500, 50
		}, time.Second, 0, 50, 6},
		{"a window in place of requests", "normal", func(d *manifest.Depth, l *manifest.Load) {
			l.Requests, d.Requests = 500, manifest.AllInWindow
		}, time.Second, time.Second, 0, 6},
		{"more rounds", "normal", func(d *manifest.Depth, _ *manifest.Load) { d.MaxRounds = 30 },
			time.Second, time.Second, 0, 30},
	}
	for _, tt := range tests {
		tree := madeTree()
		e := tree.Experiments[1]
		for _, d := range []*manifest.Depth{&e.Quick, &e.Normal, &e.Full} {
			tt.set(d, &manifest.Load{})
		}
		tt.set(&manifest.Depth{}, &e.Points[0].Load)
		p, err := Lay(tree, []*manifest.Experiment{e}, Choice{Depth: tt.depth})
		if err != nil {
			t.Fatal(err)
		}
		s := p.Blocks[0].Specs[0]
		if s.WarmUp != tt.warm || s.Window != tt.window || s.Point.Load.Requests != tt.requests {
			t.Errorf("%s: warm-up %v, window %v, %d requests; want %v, %v, %d", tt.name, s.WarmUp,
				s.Window, s.Point.Load.Requests, tt.warm, tt.window, tt.requests)
		}
		if got := int64(p.MaxRounds[e.Name]); got != tt.most {
			t.Errorf("%s: at most %d rounds, want %d", tt.name, got, tt.most)
		}
	}
}

func TestTheUsersRoundsAreNoFewerAndNoMore(t *testing.T) {
	tree := madeTree()
	tree.Experiments[0].Normal.MaxRounds = 30
	p, err := Lay(tree, tree.Experiments, Choice{Depth: "normal", Rounds: 8})
	if err != nil {
		t.Fatal(err)
	}
	for name := range p.Rounds {
		if p.Rounds[name] != 8 || p.MaxRounds[name] != 8 {
			t.Errorf("%s: %d rounds, at most %d; want 8", name, p.Rounds[name], p.MaxRounds[name])
		}
	}
	if got, want := p.Cells(), 8*3*4; got != want {
		t.Errorf("%d cells, want %d", got, want)
	}
}

// spelled is the order of a round.
func spelled(blocks []*Block) (out []string) {
	for _, b := range blocks {
		for _, s := range b.Specs {
			out = append(out, spelt(s))
		}
	}
	return out
}

func TestTheOrderIsTheSeedsAndTheRounds(t *testing.T) {
	plan := func() *Plan {
		tree := madeTree()
		p, err := Lay(tree, tree.Experiments, Choice{Depth: "normal"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := plan()
	before := spelled(first.Blocks)
	third := spelled(first.Shuffled(7, 3))
	if !slices.Equal(third, spelled(first.Shuffled(7, 3))) ||
		!slices.Equal(third, spelled(plan().Shuffled(7, 3))) {
		t.Error("the order of a round is not that of its seed and number")
	}
	for what, other := range map[string][]string{"another round": spelled(first.Shuffled(7, 4)),
		"another seed": spelled(first.Shuffled(8, 3))} {
		if slices.Equal(third, other) {
			t.Errorf("%s has the same order", what)
		}
		slices.Sort(other)
		sorted := slices.Sorted(slices.Values(third))
		if !slices.Equal(sorted, other) {
			t.Errorf("%s has other cells", what)
		}
	}
	if !slices.Equal(before, spelled(first.Blocks)) {
		t.Error("shuffling changed the plan")
	}
}

func TestEveryModelGetsTheSameSchedule(t *testing.T) {
	k := Key{Experiment: "e", Point: "p", Model: "a", Round: 1}
	seed := seedOf(1, k)
	same, other := k, k
	same.Model, same.Twin, same.Condition = "b", true, manifest.Shared
	other.Round = 2
	if seedOf(1, same) != seed {
		t.Error("two models of a round get different schedules")
	}
	if seedOf(1, other) == seed || seedOf(2, k) == seed {
		t.Error("two rounds, or two seeds, get the same schedule")
	}
}

// TestQuickIsQuick loads this checkout: the default set must not take longer than is
// promised: ten minutes, with building's leftovers, calibration and second attempts.
func TestQuickIsQuick(t *testing.T) {
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	set := slices.DeleteFunc(slices.Clone(tree.Experiments),
		func(e *manifest.Experiment) bool { return e.Asked })
	p, err := Lay(tree, set, Choice{Depth: "quick"})
	if err != nil {
		t.Fatal(err)
	}
	if got, most := p.Estimate(), 560*time.Second; got > most || got < most/4 {
		t.Errorf("`run --quick` is estimated at %v for %d cells, want at most %v", got, p.Cells(),
			most)
	}
	for _, d := range []string{"normal", "full"} {
		if _, err := Lay(tree, tree.Experiments, Choice{Depth: d}); err != nil {
			t.Errorf("depth %s: %v", d, err)
		}
	}
}

func TestAnEstimateHasWhatTheModelTakesToStart(t *testing.T) {
	s := Spec{Model: &manifest.Model{Language: "java"}, WarmUp: time.Second, Window: time.Second}
	usual := s.Estimate()
	s.Model.StartUp = 5 * time.Second
	if got, least, most := s.Estimate(), 7*time.Second, 7500*time.Millisecond; got < least ||
		got > most || usual >= 3*time.Second {
		t.Errorf("a server that starts in 5 s, warm-up and window of 1 s: got %v, want %v to "+
			"%v; any other JVM: %v, want less than 3 s", got, least, most, usual)
	}
}
