package verdict

import (
	"cmp"
	"math"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// level is of every interval that a table shows.
const level = .95

// place tells series of cells apart: one model at one point under one condition.
type place struct {
	point     string
	condition manifest.Condition
	model     string
	twin      bool
}

// An index finds the cells of one experiment by place and round.
type index struct {
	experiment *manifest.Experiment
	cells      map[place]map[int]*record.Cell
	figure     func(*record.Cell, manifest.Metric) (float64, bool)
}

// newIndex keeps one cell of each place and round: the measured one where a void one was repeated.
// Rounds count from 1; a cell without one has no pair.
func newIndex(e *manifest.Experiment, cells []record.Cell) *index {
	ix := &index{e, map[place]map[int]*record.Cell{}, (*record.Cell).Metric}
	for i := range cells {
		c := &cells[i]
		if c.Experiment != e.Name || c.Round < 1 {
			continue
		}
		p := place{c.Point, c.Condition, c.Model, c.Twin}
		if ix.cells[p] == nil {
			ix.cells[p] = map[int]*record.Cell{}
		}
		if old := ix.cells[p][c.Round]; old == nil || old.Status != record.Measured {
			ix.cells[p][c.Round] = c
		}
	}
	return ix
}

// rounds are those in which the place was tried, void ones too, in order.
func (ix *index) rounds(p place) []int {
	var out []int
	for r := range ix.cells[p] {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// value is the metric of a place in a round, NaN if it has none.
func (ix *index) value(p place, round int, m manifest.Metric) float64 {
	c := ix.cells[p][round]
	if c == nil {
		return math.NaN()
	}
	if v, ok := ix.figure(c, m); ok {
		return v
	}
	return math.NaN()
}

// tried says whether the place has any cell, measured or not.
func (ix *index) tried(p place) bool { return len(ix.cells[p]) > 0 }

// has says whether any cell of the place has the metric.
func (ix *index) has(p place, m manifest.Metric) bool {
	for r := range ix.cells[p] {
		if !math.IsNaN(ix.value(p, r, m)) {
			return true
		}
	}
	return false
}

// Rows returns one row for each model at each point under a condition, in the order of the
// experiment's points and then of the models as they are listed; the twin follows the baseline. A
// model whose cells all lack the metric has no row, but for one whose cells are all void where they
// could have had it.
func Rows(e *manifest.Experiment, cells []record.Cell, condition manifest.Condition,
	m manifest.Metric) []Row {
	ix := newIndex(e, cells)
	var rows []Row
	for _, point := range e.Points {
		for _, p := range ix.places(point.Name, condition) {
			row := ix.row(point, p, m)
			allVoid := row.Void > 0 && row.Void == len(ix.rounds(p))
			if len(row.Values) > 0 || allVoid && point.Load.Shows(m) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// places are those of a point under a condition, in the experiment's order of models.
func (ix *index) places(point string, c manifest.Condition) []place {
	var out []place
	for p := range ix.cells {
		if p.point == point && p.condition == c {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b place) int {
		order := func(p place) int {
			if i := slices.Index(ix.experiment.Models, p.model); i >= 0 {
				return i
			}
			return len(ix.experiment.Models)
		}
		twin := func(p place) int {
			if p.twin {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.model, b.model),
			cmp.Compare(twin(a), twin(b)))
	})
	return out
}

func (ix *index) row(point manifest.Point, p place, m manifest.Metric) Row {
	row := Row{
		Point: point.Name, X: point.X, Condition: p.condition, Service: point.Service,
		Model: p.model, Twin: p.twin,
		Metric: m, Labels: map[string]int{},
	}
	baseline := place{p.point, p.condition, ix.experiment.Baseline, false}
	var ours, base []float64
	for _, r := range ix.rounds(p) {
		c := ix.cells[p][r]
		if !c.Counts(m) {
			row.Void++
			continue
		}
		for _, l := range c.Labels {
			row.Labels[l]++
		}
		v := ix.value(p, r, m)
		if math.IsNaN(v) {
			if c.Spoilt(m) {
				row.Void++
			}
			continue
		}
		row.Values, row.Rounds = append(row.Values, v), append(row.Rounds, r)
		ours, base = append(ours, v), append(base, ix.value(baseline, r, m))
	}
	row.Centre = stats.HodgesLehmann(row.Values, level)
	logs, _ := stats.LogRatios(ours, base)
	row.Ratio = exp(stats.HodgesLehmann(logs, level))
	for _, l := range logs {
		row.Ratios = append(row.Ratios, math.Exp(l))
	}
	return row
}

// exp turns an interval of logarithms into one of ratios.
func exp(iv stats.Interval) stats.Interval {
	iv.Estimate, iv.Lower, iv.Upper = math.Exp(iv.Estimate), math.Exp(iv.Lower), math.Exp(iv.Upper)
	return iv
}
