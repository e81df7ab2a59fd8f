package stats

// Two samples that are not paired, such as one model in two runs: the Hodges-Lehmann shift, by the
// Mann-Whitney test. Within a run rounds are pairs, and throwing that away costs precision: use
// LogRatios and HodgesLehmann there.

import (
	"math"
	"slices"
)

// Shift estimates by how much a lies above b: the median of all differences, with the interval that
// inverts the Mann-Whitney test. On logarithms it is a ratio. If one side is empty or holds a NaN,
// the estimate is NaN and the interval the whole line.
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
	return Interval{medianSorted(differences), differences[k], differences[last-k], level,
		1 - 2*tail}
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
