package stats

// Two samples that are not paired, such as one model in two runs: the Mann-Whitney test and the Hodges-Lehmann shift.
// Within a run rounds are pairs, and throwing that away costs precision: use LogRatios and HodgesLehmann there.

import (
	"math"
	"slices"
)

// MannWhitney tests whether a and b come from one distribution: Greater is the p-value for a lying above b, Less for a
// below b; the statistic is the number of pairs in which a is the larger, ties counted half. It is exact, with ties
// too, up to 60 values together. If one side is empty or holds a NaN, all p-values are 1.
func MannWhitney(a, b []float64) RankTest {
	none := RankTest{Less: 1, Greater: 1, TwoSided: 1, Exact: true}
	both := slices.Concat(a, b)
	if len(a) == 0 || len(b) == 0 || slices.ContainsFunc(both, math.IsNaN) {
		return none
	}
	ranks, ties := doubledRanks(both)
	sum := 0
	for _, r := range ranks[:len(a)] {
		sum += r
	}
	n, m, all := float64(len(a)), float64(len(b)), float64(len(both))
	t := RankTest{N: len(both), Statistic: float64(sum)/2 - n*(n+1)/2, Exact: len(both) <= exactLimit}
	if t.Exact {
		t.Less, t.Greater = tails(chosenSums(ranks, len(a)), sum)
	} else {
		t.Less, t.Greater = normalTails(t.Statistic, n*m/2, n*m/12*(all+1-ties/(all*(all-1))))
	}
	t.TwoSided = min(1, 2*min(t.Less, t.Greater))
	return t
}

// Shift estimates by how much a lies above b: the median of all differences, with the interval that inverts the
// Mann-Whitney test. On logarithms it is a ratio. If one side is empty or holds a NaN, the estimate is NaN and the
// interval the whole line.
func Shift(a, b []float64, level float64) Interval {
	differences := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			differences = append(differences, x-y)
		}
	}
	if len(differences) == 0 || slices.ContainsFunc(differences, math.IsNaN) {
		return wholeLine(level)
	}
	slices.Sort(differences)
	k, tail := mannWhitneyCritical(len(a), len(b), (1-level)/2)
	if k < 0 {
		k, tail = 0, 1/choose(len(a)+len(b), len(a)) // the widest: P(statistic = 0)
	}
	last := len(differences) - 1
	return Interval{medianSorted(differences), differences[k], differences[last-k], level, 1 - 2*tail}
}

func mannWhitneyCritical(n, m int, tail float64) (k int, attained float64) {
	if n+m > exactLimit {
		f, g := float64(n), float64(m)
		return normalCriticalRank(f*g/2, f*g*(f+g+1)/12, tail)
	}
	ranks := make([]int, n+m)
	for i := range ranks {
		ranks[i] = i + 1
	}
	smallest := n * (n + 1) / 2 // U is the rank sum less this
	return criticalRank(chosenSums(ranks, n)[smallest:], tail)
}

// choose is the number of ways to take k of n.
func choose(n, k int) float64 {
	ways := 1.0
	for i := range k {
		ways = ways * float64(n-i) / float64(i+1)
	}
	return ways
}
