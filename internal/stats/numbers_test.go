package stats

// The numbers at their edges: no data, too few, ties, infinities, rounds that are missing.

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

func TestHodgesLehmannEdges(t *testing.T) {
	tests := []struct {
		name                   string
		x                      []float64
		estimate, lower, upper float64
		attained               float64
	}{
		{"nothing", nil, nan, -inf, inf, 0},
		{"not a number", []float64{1, nan, 2}, nan, -inf, inf, 0},
		{"one", []float64{3}, 3, 3, 3, 0},
		{"five are too few: the widest", []float64{5, 1, 4, 2, 3}, 3, 1, 5, .9375},
		{"six suffice", []float64{6, 5, 1, 4, 2, 3}, 3.5, 1, 6, .96875},
		{"all equal", []float64{2, 2, 2, 2, 2, 2}, 2, 2, 2, .96875},
		{"one beyond all", []float64{1, 2, 3, 4, 5, 6, inf}, 4, 2, inf, 1 - 2*3./128},
		{"opposite infinities say nothing", []float64{inf, -inf, 1}, nan, -inf, inf, 0},
	}
	for _, tt := range tests {
		iv := HodgesLehmann(tt.x, .95)
		if !same(iv.Estimate, tt.estimate) || iv.Lower != tt.lower || iv.Upper != tt.upper ||
			iv.Attained != tt.attained {
			t.Errorf("%s: got %+v; want %g, %g to %g at %g", tt.name, iv, tt.estimate, tt.lower,
				tt.upper, tt.attained)
		}
	}
}

// same is equality in which NaN equals NaN.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// closeTo allows for the last digit.
func closeTo(a, b float64) bool { return same(a, b) || math.Abs(a-b) < 1e-15 }

// The interval and the test are two readings of one distribution: a centre lies outside exactly if
// the test rejects it.
func TestIntervalInvertsTest(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		x := make([]float64, 6+r.IntN(20))
		for i := range x {
			x[i] = r.NormFloat64()
		}
		iv := HodgesLehmann(x, .95)
		theta := 2 * r.NormFloat64() / math.Sqrt(float64(len(x)))
		if p := SignedRank(x, theta).TwoSided; (p > .05) != iv.Contains(theta) {
			t.Errorf("n=%d: centre %g has p = %g, but the interval is %g to %g", len(x), theta, p,
				iv.Lower, iv.Upper)
		}
	}
}

func TestRankTestEdges(t *testing.T) {
	unknown := RankTest{Less: 1, Greater: 1, TwoSided: 1, Exact: true}
	for name, got := range map[string]RankTest{
		"no values":         SignedRank(nil, 0),
		"all at the centre": SignedRank([]float64{2, 2}, 2),
		"not a number":      SignedRank([]float64{1, nan}, 0),
		"one side empty":    mannWhitney([]float64{1}, nil),
		"not a number in b": mannWhitney([]float64{1}, []float64{nan}),
	} {
		if got != unknown {
			t.Errorf("%s: got %+v, want all p-values 1", name, got)
		}
	}
}

// The normal approximation has to meet the exact distribution where the one hands over
// to the other.
func TestApproximationMeetsExact(t *testing.T) {
	exact, attainedExact := criticalRank(signedRankNull(exactLimit), .025)
	mean, variance := signedRankMoments(exactLimit)
	approximate, attained := normalCriticalRank(mean, variance, .025)
	if exact-approximate > 2 || approximate > exact || math.Abs(attained-attainedExact) > 1e-3 {
		t.Errorf("exact rank %d at %g, approximate %d at %g", exact, attainedExact, approximate,
			attained)
	}
}

func TestShift(t *testing.T) {
	a, b := []float64{11, 12, 13, 14, 15, 16}, []float64{1, 2, 3, 4, 5, 6}
	iv := Shift(a, b, .95)
	// Table of the U distribution: P(U <= 5) = .0206 for 6 and 6; the sixth smallest
	// difference is 7.
	if iv.Estimate != 10 || iv.Lower != 7 || iv.Upper != 13 ||
		math.Abs(iv.Attained-(1-2*.0206)) > 1e-3 {
		t.Errorf("got %+v; want 10, 7 to 13 at .9589", iv)
	}
	if iv := Shift(a[:3], b[:3], .95); !iv.Short() || iv.Lower != 8 || iv.Upper != 12 ||
		iv.Attained != .9 {
		t.Errorf("3 and 3: got %+v, want the widest, 8 to 12 at .9", iv)
	}
	if iv := Shift(nil, b, .95); !math.IsNaN(iv.Estimate) || !math.IsInf(iv.Upper, 1) {
		t.Errorf("nothing: got %+v", iv)
	}
}

func TestLogRatios(t *testing.T) {
	tests := []struct {
		name    string
		a, b    []float64
		want    []float64
		missing int
	}{
		{"pairs", []float64{2, 8}, []float64{1, 2}, []float64{math.Ln2, 2 * math.Ln2}, 0},
		{"voided on one side", []float64{2, nan, 2}, []float64{1, 1, nan}, []float64{math.Ln2}, 2},
		{"no measure", []float64{0, -1, inf, 2}, []float64{1, 1, 1, 1}, []float64{math.Ln2}, 3},
		{"one ends early", []float64{2, 4, 4}, []float64{1}, []float64{math.Ln2}, 2},
		{"nothing", nil, nil, nil, 0},
	}
	for _, tt := range tests {
		got, missing := LogRatios(tt.a, tt.b)
		if !slices.EqualFunc(got, tt.want, closeTo) || missing != tt.missing {
			t.Errorf("%s: got %v and %d missing, want %v and %d", tt.name, got, missing, tt.want,
				tt.missing)
		}
	}
}

func TestLag1(t *testing.T) {
	tests := []struct {
		name string
		x    []float64
		want float64
	}{
		{"rising", []float64{1, 2, 3, 4, 5}, .4}, // (-2*-1 + 1*2) / 10
		{"alternating", []float64{1, -1, 1, -1}, -.75},
		{"constant", []float64{2, 2, 2}, 0},
		{"too few", []float64{1, 2}, 0},
	}
	for _, tt := range tests {
		if got := Lag1(tt.x); math.Abs(got-tt.want) > 1e-15 {
			t.Errorf("%s: got %g, want %g", tt.name, got, tt.want)
		}
	}
}

func TestHolm(t *testing.T) {
	tests := []struct{ p, want []float64 }{
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{[]float64{.5, .9}, []float64{1, 1}},
		{[]float64{.02, nan, .02}, []float64{.04, nan, .04}},
		{nil, nil},
	}
	for _, tt := range tests {
		if got := Holm(tt.p); !slices.EqualFunc(got, tt.want, closeTo) {
			t.Errorf("Holm(%v) = %v, want %v", tt.p, got, tt.want)
		}
	}
}

func TestUndefinedNumbers(t *testing.T) {
	slope, _ := Slope([]float64{1, 1}, []float64{1, 2})
	for name, got := range map[string]float64{
		"slope at one x":       slope,
		"power law through 0":  LogLogSlope([]float64{1, 2}, []float64{0, 1}),
		"median of nothing":    Median(nil),
		"median with a hole":   Median([]float64{1, nan}),
		"slope of two lengths": LogLogSlope([]float64{1, 2, 3}, []float64{1, 2}),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s: got %g, want NaN", name, got)
		}
	}
	if got := Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of 1 to 4 is %g", got)
	}
}

func TestIntervalJSON(t *testing.T) {
	got, err := json.Marshal(Interval{nan, -1.5, inf, .95, .96})
	if want := `{"estimate":null,"lower":-1.5,"upper":null,"level":0.95,"attained":0.96}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func BenchmarkSignedRank60(b *testing.B) {
	x := make([]float64, 60)
	for i := range x {
		x[i] = float64(i%7) - 2.5
	}
	for range b.N {
		SignedRank(x, 0)
	}
}
