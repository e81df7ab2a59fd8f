package verdict

import (
	"math"
	"slices"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// A pattern is a world in which a claim may be wrong: the figure of a model at the i-th point.
type pattern func(c manifest.Claim, model string, i int, x float64) float64

// subject says whether a model is the one that a claim is about.
func subject(c manifest.Claim, model string) bool {
	return model == c.Of.Model || len(c.Order) > 0 && c.Order[0].Model == model
}

// along the axis, or along the list of points where there is none.
func position(i int, x float64) float64 {
	if math.IsNaN(x) {
		return float64(i + 1)
	}
	return x + 1
}

var patterns = map[string]pattern{
	"much more": func(c manifest.Claim, model string, _ int, _ float64) float64 {
		if subject(c, model) {
			return 1e6
		}
		return 1
	},
	"much less": func(c manifest.Claim, model string, _ int, _ float64) float64 {
		if subject(c, model) {
			return 1
		}
		return 1e6
	},
	"tiny": func(manifest.Claim, string, int, float64) float64 { return 1e-6 },
	"rising": func(c manifest.Claim, model string, i int, x float64) float64 {
		if subject(c, model) {
			return math.Pow(position(i, x), 3)
		}
		return 100
	},
	"falling": func(c manifest.Claim, model string, i int, x float64) float64 {
		if subject(c, model) {
			return math.Pow(position(i, x), -3)
		}
		return 100
	},
}

// TestEveryClaimCanFail holds each claim of this tree against worlds of every kind. A claim that
// none of them contradicts would be believed whatever is measured.
func TestEveryClaimCanFail(t *testing.T) {
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, e := range tree.Experiments {
		for _, c := range e.Claims {
			if c.Comparable != "" || c.Metric == manifest.Lines || len(c.Targets) > 0 {
				continue
			}
			judged++
			if words := outcomes(e, c); !slices.Contains(words, stats.NotReproduced) {
				t.Errorf("%s: %s (%s): nothing contradicts it; the worlds say %q", e.File, c.ID,
					c.Kind, words)
			}
		}
	}
	if judged < 50 {
		t.Errorf("%d claims were judged, of a tree that has more", judged)
	}
}

// concerns says whether a claim speaks of a model.
func concerns(e *manifest.Experiment, c manifest.Claim, p manifest.Point, model string) bool {
	in := func(t manifest.Term) bool { return t.Model == model }
	return in(c.Of) || in(c.Against) || slices.ContainsFunc(c.Order, in) ||
		slices.Contains(e.Rivals(c, p), model)
}

// outcomes are the words that a claim gets in the worlds.
func outcomes(e *manifest.Experiment, c manifest.Claim) (words []stats.Word) {
	one := *e
	one.Claims = []manifest.Claim{c}
	for _, of := range patterns {
		var cells []record.Cell
		figures := map[*record.Cell]float64{}
		for i, p := range e.Points {
			for _, m := range e.ModelsAt(p) {
				if !concerns(e, c, p, m) {
					continue
				}
				for _, condition := range []manifest.Condition{manifest.Own, manifest.Shared} {
					for round := range 12 {
						cells = append(cells, record.Cell{Experiment: e.Name, Point: p.Name,
							Service: p.Service, Model: m, Condition: condition, Round: round + 1,
							Order: i, Status: record.Measured, Load: p.Load})
					}
				}
			}
		}
		for k := range cells {
			cell := &cells[k]
			p := e.Points[cell.Order]
			noise := 1 + float64(cell.Round%5)/1000
			figures[cell] = noise * of(c, cell.Model, cell.Order, p.X)
		}
		j := judge{index: newIndex(&one, cells), models: noModels}
		j.figure = func(cell *record.Cell, _ manifest.Metric) (float64, bool) {
			v, ok := figures[cell]
			return v, ok
		}
		words = append(words, j.claim(c).Word)
	}
	return words
}
