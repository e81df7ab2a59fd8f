package stats

import (
	"math"
	"testing"
)

func TestCrossover(t *testing.T) {
	x := []float64{1, 10, 100, 1000, 10_000}
	one := []float64{1, 1, 1, 1, 1}
	at := func(crossing float64) []float64 { // b catches up with a there
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = math.Sqrt(v / crossing)
		}
		return y
	}
	mixed := func(n int, rounds []float64, others int, other []float64) Sweep {
		all := make([][]float64, n+others)
		for i := range all {
			if all[i] = rounds; i >= n {
				all[i] = other
			}
		}
		return columns(x, all...)
	}
	never, before := at(1e9), at(1e-9)
	reverse := []float64{2, 1.5, 1.1, .9, .5}
	zigzag := []float64{.5, 2, .5, 2, 2}
	tests := []struct {
		name     string
		b        Sweep
		x        float64
		word     Word
		reason   string
		estimate float64
	}{
		{"there", repeated(12, x, at(550)), 600, Reproduced, "", 550},
		{"elsewhere", repeated(12, x, at(100)), 600, NotReproduced, "outside the margin", 100},
		{"never within the axis", repeated(12, x, never), 600, NotReproduced,
			"no crossing in range, which is 1 to 10000", nan},
		{"before the axis", repeated(12, x, before), 600, NotReproduced, "no crossing in range",
			nan},
		{"the axis ends too soon", repeated(12, x, never), 9000, Inconclusive,
			"and ends within the margin", nan},
		{"the axis starts too late", repeated(12, x, before), 1.1, Inconclusive,
			"and ends within the margin", nan},
		{"one round of twelve without", mixed(11, at(600), 1, never), 600, Reproduced, "", 600},
		{"half without", columns(x, at(600), never, never, at(600), at(600), never, at(600), never,
			never, at(600), never, at(600)), 600, Inconclusive,
			"no crossing in range, which is 1 to 10000", nan},
		{"half the other way", columns(x, reverse, at(600), reverse, at(600), reverse, at(600),
			reverse, at(600), reverse, at(600)), 600, Inconclusive, "too wide", 600},
		{"the other way", repeated(12, x, reverse), 600, NotReproduced, "the other way in 12 of 12",
			nan},
		{"one round the other way", mixed(11, at(600), 1, reverse), 600, Reproduced, "", 600},
		{"three times: the middle one", repeated(12, x, zigzag), 31.6, Reproduced, "",
			math.Sqrt(1000)},
		{"too few rounds", repeated(5, x, at(600)), 600, Inconclusive, "5 rounds cannot", 600},
		{"axes of two lengths", Sweep{X: x[:2], Y: [][]float64{{1}, {1}}}, 600, Inconclusive,
			"do not count", nan},
	}
	for _, tt := range tests {
		got := Crossover(FindCrossings(repeated(tt.b.rounds(), x, one), tt.b, Greater), tt.x, 0)
		checkFinding(t, tt.name, got, tt.word, tt.reason)
		if !same(got.Estimate, tt.estimate) &&
			math.Abs(got.Estimate-tt.estimate) > 1e-9*tt.estimate {
			t.Errorf("%s: crosses at %g, want %g", tt.name, got.Estimate, tt.estimate)
		}
	}
	less := Crossover(FindCrossings(repeated(12, x, at(550)), repeated(12, x, one), Less), 600, 0)
	checkFinding(t, "sense less", less, Reproduced, "")
}
