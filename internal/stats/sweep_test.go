package stats

import (
	"math"
	"testing"
)

// columns makes a sweep of one round for each given curve.
func columns(x []float64, rounds ...[]float64) Sweep {
	s := Sweep{X: x, Y: make([][]float64, len(x))}
	for _, y := range rounds {
		for i, v := range y {
			s.Y[i] = append(s.Y[i], v)
		}
	}
	return s
}

// repeated is n equal rounds.
func repeated(n int, x, y []float64) Sweep {
	rounds := make([][]float64, n)
	for i := range rounds {
		rounds[i] = y
	}
	return columns(x, rounds...)
}

func TestSweepSamples(t *testing.T) {
	x := []float64{1, 2, 4, 8}
	s := columns(x, []float64{3, 6, 12, 24}, []float64{5, nan, 5, 5}, []float64{5, 5, 5, 5},
		[]float64{1, 2, 3, 4})
	tests := []struct {
		name   string
		got    Sample
		values []float64
	}{
		// log2(1, 2, 3, 4) against 0 .. 3
		{"exponents", s.Exponents(), []float64{1, nan, 0, .6584962500721156}},
		// no growth in the third
		{"growth after 4 over before", s.GrowthRatios(4), []float64{1, nan, nan, .25 / (9. / 14)}},
	}
	for _, tt := range tests {
		if len(tt.got.Values) != len(tt.values) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got.Values, tt.values)
			continue
		}
		for i, want := range tt.values {
			if got := tt.got.Values[i]; !same(got, want) && !(math.Abs(got-want) < 1e-12) {
				t.Errorf("%s: round %d gives %g, want %g", tt.name, i, tt.got.Values[i], want)
			}
		}
	}
}

// TestLeads: what a difference gains, by the mean of both. A ratio that stays the same is a
// difference that grows with both.
func TestLeads(t *testing.T) {
	x := []float64{1, 2, 3}
	level := []float64{4, 4, 4}
	a := columns(x, level, []float64{2, 4, 6}, []float64{4, 3, 2}, []float64{5, nan, 5})
	b := columns(x, level, []float64{1, 2, 3}, level, level)
	want := []float64{0, 2 / 3., -4 / 7., nan}
	for i, got := range Leads(a, b).Values {
		if !same(got, want[i]) && !(math.Abs(got-want[i]) < 1e-12) {
			t.Errorf("round %d gives %g, want %g", i, got, want[i])
		}
	}
	if got := Leads(Sweep{}, Sweep{}); len(got.Values) != 0 {
		t.Errorf("nothing gives %v", got.Values)
	}
}

func TestSweepEdges(t *testing.T) {
	for name, got := range map[string]Sample{
		"fewer rows than points":  Sweep{X: []float64{1, 2}, Y: [][]float64{{1, 2}}}.Exponents(),
		"x of 0 has no power":     repeated(2, []float64{0, 1}, []float64{1, 2}).Exponents(),
		"nothing before the bend": repeated(2, []float64{1, 2}, []float64{1, 2}).GrowthRatios(1),
		"nothing after the bend":  repeated(2, []float64{1, 2}, []float64{1, 2}).GrowthRatios(3),
	} {
		if values, _ := got.Usable(); len(values) != 0 {
			t.Errorf("%s: got %v, want no values", name, got.Values)
		}
	}
}
