package figure

import (
	"math"
	"strings"
	"testing"
)

func TestForestHoldsEstimatesAndClipsTheRest(t *testing.T) {
	nan, open := math.NaN(), math.Inf(1)
	rows := []ForestRow{
		{Shape: Round, Estimate: 2, Low: 1.5, High: open, InnerLow: 1.6, InnerHigh: 3, Published: 4,
			Accept: [2]float64{3.2, 5}},
		{Shape: Squared, Estimate: 1000, Low: 900, High: 1100, InnerLow: nan, InnerHigh: nan,
			Published: nan, Accept: [2]float64{0, .95}},
		{Shape: Hollow, Estimate: nan, Low: nan, High: nan, InnerLow: nan, InnerHigh: nan,
			Published: 0, Accept: [2]float64{math.Inf(-1), open}},
	}
	f := NewForest(rows, 64, 8)
	if !f.x.inside(1) || !f.x.inside(2) || !f.x.inside(5) || f.x.inside(1000) {
		t.Errorf("the axis goes from %g to %g", f.x.low, f.x.high)
	}
	tests := []struct {
		row       int
		has, lack []string
	}{
		{0, []string{"#at-round", "#at-published", "accept", `class="ci"`, "#at-more"},
			[]string{"#at-less"}},
		{1, []string{"accept", "#at-more"}, []string{"#at-published", "#at-square", "#at-less"}},
		{2, []string{"#at-grid-g"}, []string{"#at-hollow", "accept", "#at-published", "ci"}},
	}
	for _, tt := range tests {
		got := f.Strip(rows[tt.row], "g")
		for _, want := range tt.has {
			if !strings.Contains(got, want) {
				t.Errorf("row %d lacks %s: %s", tt.row, want, got)
			}
		}
		for _, bad := range append(tt.lack, "NaN", "Inf") {
			if strings.Contains(got, bad) {
				t.Errorf("row %d holds %s: %s", tt.row, bad, got)
			}
		}
	}
	if few := NewForest(rows, 64, 3); len(few.ticks) > 3 || len(f.ticks) > 8 {
		t.Errorf("ticks %v where 3 fit, %v where 8 do", few.ticks, f.ticks)
	}
	if axis := f.Axis(); !strings.Contains(axis, ">1<") {
		t.Errorf("the axis has no label at 1: %s", axis)
	}
	if grid := f.Grid("g"); strings.Count(grid, "<line") != len(f.ticks) {
		t.Errorf("%d ticks, the grid is %s", len(f.ticks), grid)
	}
}

func TestForestOfNothing(t *testing.T) {
	f := NewForest(nil, 64, 8)
	if !f.x.inside(1) || len(f.ticks) == 0 {
		t.Errorf("from %g to %g, ticks %v", f.x.low, f.x.high, f.ticks)
	}
}
