package stats

// One metric of one model over an axis, and what each round says of its shape. A round counts only
// if it has all points: a slope through other points is another slope.

import (
	"math"
	"sort"
)

// Sweep holds Y[i][r], the metric at X[i] in round r; NaN, or a row that ends early, where a cell
// does not count. X rises.
type Sweep struct {
	X      []float64
	Y      [][]float64
	Rounds []int // as in a Sample
}

// rounds is the number of rounds that any point has seen.
func (s Sweep) rounds() int {
	most := 0
	for _, y := range s.Y {
		most = max(most, len(y))
	}
	return most
}

// round gives the metric at all points in round r, or false if a point is missing or no number.
func (s Sweep) round(r int) ([]float64, bool) {
	y := make([]float64, len(s.X))
	for i := range y {
		if i >= len(s.Y) || r >= len(s.Y[i]) || math.IsNaN(s.Y[i][r]) || math.IsInf(s.Y[i][r], 0) {
			return nil, false
		}
		y[i] = s.Y[i][r]
	}
	return y, true
}

// sample applies f to each complete round. A round that lacks a point, or that f cannot tell, has
// NaN, so that the rounds stay in their places.
func (s Sweep) sample(f func(y []float64) float64) Sample {
	out := Sample{Rounds: s.Rounds}
	for r := range s.rounds() {
		v := math.NaN()
		if y, ok := s.round(r); ok {
			v = f(y)
		}
		out.Values = append(out.Values, v)
	}
	return out
}

// Exponents is the sample of the power with which the metric grows, for Growth.
func (s Sweep) Exponents() Sample {
	return s.sample(func(y []float64) float64 { return LogLogSlope(s.X, y) })
}

// Widening is the sample of the logarithm by which the ratio a/b changes from the first point to
// the last, on the straight line through ln a/b over ln x: all points count, and not the ends
// alone.
func Widening(a, b Sweep) Sample {
	out := Sample{Rounds: a.Rounds}
	for r := range max(a.rounds(), b.rounds()) {
		v := math.NaN()
		if ya, ok := a.round(r); ok {
			if yb, ok := b.round(r); ok {
				ratios := make([]float64, len(ya))
				for i := range ya {
					ratios[i] = ya[i] / yb[i]
				}
				v = LogLogSlope(a.X, ratios) * math.Log(a.X[len(a.X)-1]/a.X[0])
			}
		}
		out.Values = append(out.Values, v)
	}
	return out
}

// Leads is the sample of what the difference a-b gains from the first point to the last, on the
// straight line through it over x, by the mean of all figures of both: a number without a unit, as
// a difference itself grows with the speed of a machine.
func Leads(a, b Sweep) Sample {
	out := Sample{Rounds: a.Rounds}
	for r := range max(a.rounds(), b.rounds()) {
		v := math.NaN()
		ya, okA := a.round(r)
		yb, okB := b.round(r)
		if okA && okB {
			leads := make([]float64, len(ya))
			for i := range ya {
				leads[i] = ya[i] - yb[i]
			}
			slope, _ := Slope(a.X, leads)
			v = slope * (a.X[len(a.X)-1] - a.X[0]) / ((mean(ya) + mean(yb)) / 2)
		}
		out.Values = append(out.Values, v)
	}
	return out
}

// GrowthRatios is the sample of growth after x over growth before it, for Flattens: slopes in the
// metric's unit for each unit of x, of the points from x on and up to x. Slopes and not
// exponents, for a fixed cost at x = 0 bends an exponent but no slope. A round without growth
// before x tells nothing.
func (s Sweep) GrowthRatios(x float64) Sample {
	// the first point at or after x
	first := sort.SearchFloat64s(s.X, x)
	// one after the last point up to x
	last := sort.Search(len(s.X), func(i int) bool { return s.X[i] > x })
	return s.sample(func(y []float64) float64 {
		before, _ := Slope(s.X[:last], y[:last])
		after, _ := Slope(s.X[first:], y[first:])
		if !(before > 0) {
			return math.NaN()
		}
		return after / before
	})
}
