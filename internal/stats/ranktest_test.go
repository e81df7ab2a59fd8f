package stats

import (
	"math"
	"slices"
)

// RankTest is the result of a rank test. Its p-values are for the alternatives that its
// function names.
type RankTest struct {
	N         int     // values that took part
	Statistic float64 // sum of the positive ranks, or U
	Less      float64 // one-sided p-value: as small a statistic or smaller
	Greater   float64 // one-sided p-value: as large a statistic or larger
	TwoSided  float64 // twice the smaller one, at most 1
	Exact     bool    // from the exact null distribution
}

// doubledRanks gives twice the mid-rank of every value, in the order of the values, and the sum of
// t^3-t over the groups of t equal values.
func doubledRanks(values []float64) (ranks []int, ties float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	ranks = make([]int, len(values))
	for start := 0; start < len(order); {
		end := start + 1
		for end < len(order) && values[order[end]] == values[order[start]] {
			end++
		}
		for _, i := range order[start:end] {
			ranks[i] = start + 1 + end // twice the mean of start+1 .. end
		}
		t := float64(end - start)
		ties += t*t*t - t
		start = end
	}
	return ranks, ties
}

// tails gives the one-sided p-values of sum in an exact distribution.
func tails(p []float64, sum int) (less, greater float64) {
	for s, q := range p {
		if s <= sum {
			less += q
		}
		if s >= sum {
			greater += q
		}
	}
	return min(less, 1), min(greater, 1)
}

// normalTails approximates them, with the continuity correction of half a rank.
func normalTails(statistic, mean, variance float64) (less, greater float64) {
	if variance == 0 {
		return 1, 1 // every value ties with every other: the ranks say nothing
	}
	sd := math.Sqrt(variance)
	return normalCDF((statistic + .5 - mean) / sd), normalCDF((mean + .5 - statistic) / sd)
}

// SignedRank tests whether the centre of x is theta: Greater is the p-value for a centre above
// theta, Less for one below. Values equal to theta are left out (Wilcoxon's own rule), equal
// distances share their mean rank, and the null distribution is that of the ranks as they are, so
// it stays exact with ties up to 60 values. Without any value that differs from theta, or with a
// NaN among them, all p-values are 1.
func SignedRank(x []float64, theta float64) RankTest {
	none := RankTest{Less: 1, Greater: 1, TwoSided: 1, Exact: true}
	distances := make([]float64, 0, len(x))
	positive := make([]bool, 0, len(x))
	for _, v := range x {
		d := v - theta
		if math.IsNaN(d) {
			return none
		}
		if d != 0 {
			distances = append(distances, math.Abs(d))
			positive = append(positive, d > 0)
		}
	}
	if len(distances) == 0 {
		return none
	}
	ranks, ties := doubledRanks(distances)
	sum := 0
	for i, r := range ranks {
		if positive[i] {
			sum += r
		}
	}
	t := RankTest{N: len(ranks), Statistic: float64(sum) / 2, Exact: len(ranks) <= exactLimit}
	switch {
	case t.Exact && ties == 0:
		t.Less, t.Greater = tails(signedRankNull(t.N), sum/2) // ranks are doubled
	case t.Exact:
		t.Less, t.Greater = tails(signedSums(ranks), sum)
	default:
		mean, variance := signedRankMoments(t.N)
		t.Less, t.Greater = normalTails(t.Statistic, mean, variance-ties/48)
	}
	t.TwoSided = min(1, 2*min(t.Less, t.Greater))
	return t
}
