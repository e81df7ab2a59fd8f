package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

func TestRows(t *testing.T) {
	e := sweep(4, 1)
	slices.SortFunc(e.Points[:2], func(a, b manifest.Point) int { return int(a.X - b.X) })
	of := func(m string, p manifest.Point, round int) float64 {
		switch {
		case m == "c" && p.X == 1:
			return math.NaN() // all void: the row says so
		case m == "c" && p.X == 4:
			return 0 // never tried: no row
		case m == "b" && round == 2:
			return math.NaN()
		case m == "a" && p.X == 4 && round == 3:
			return math.NaN() // no ratio in this round
		}
		return map[string]float64{"a": 1000, "b": 500, "c": 100}[m]
	}
	cells := experimenter{experiment: e, rounds: 6, labels: []string{record.NotSteady}}.cells(of)
	slices.Reverse(cells) // the order of the record is that of the shuffle
	var got []string
	for _, r := range Rows(e, cells, manifest.Own, manifest.Throughput) {
		name := r.Model
		if r.Twin {
			name += "'"
		}
		got = append(got,
			fmt.Sprintf("%s at %s: %.0f of %d rounds %v, %d void, %d ratios of %.2f, not steady "+
				"in %d",
				name, r.Point, r.Centre.Estimate, len(r.Values), r.Rounds, r.Void, len(r.Ratios),
				r.Ratio.Estimate, r.Labels[record.NotSteady]))
	}
	want := []string{
		"a at connections = 1: 1000 of 6 rounds [1 2 3 4 5 6], 0 void, 6 ratios of 1.00, not " +
			"steady in 6",
		"a' at connections = 1: 1000 of 6 rounds [1 2 3 4 5 6], 0 void, 6 ratios of 1.00, not " +
			"steady in 6",
		"b at connections = 1: 500 of 5 rounds [1 3 4 5 6], 1 void, 5 ratios of 0.50, not " +
			"steady in 5",
		"c at connections = 1: NaN of 0 rounds [], 6 void, 0 ratios of NaN, not steady in 0",
		"a at connections = 4: 1000 of 5 rounds [1 2 4 5 6], 1 void, 5 ratios of 1.00, not " +
			"steady in 5",
		"a' at connections = 4: 1000 of 5 rounds [1 2 4 5 6], 1 void, 5 ratios of 1.00, not " +
			"steady in 5",
		"b at connections = 4: 500 of 5 rounds [1 3 4 5 6], 1 void, 4 ratios of 0.50, not " +
			"steady in 5",
		"a at alone: 1000 of 6 rounds [1 2 3 4 5 6], 0 void, 6 ratios of 1.00, not steady in 6",
		"a' at alone: 1000 of 6 rounds [1 2 3 4 5 6], 0 void, 6 ratios of 1.00, not steady in 6",
		"b at alone: 500 of 5 rounds [1 3 4 5 6], 1 void, 5 ratios of 0.50, not steady in 5",
		"c at alone: 100 of 6 rounds [1 2 3 4 5 6], 0 void, 6 ratios of 0.10, not steady in 6",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if rows := Rows(e, cells, manifest.Shared, manifest.Throughput); len(rows) != 0 {
		t.Errorf("%d rows of a condition that was not measured", len(rows))
	}
	if rows := Rows(e, cells, manifest.Own, manifest.LatencyP50); len(rows) != 0 {
		t.Errorf("rows of a metric that a closed loop does not show, be they void: %+v", rows)
	}
}
