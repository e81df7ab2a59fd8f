package stats

// Null distributions of rank sums, exact by dynamic programming. Ranks are doubled so that the half
// ranks of ties are whole numbers: one program then serves data with and without ties. Cost grows
// with the cube of the number of values, so from exactLimit on the normal approximation takes over,
// which by then is right to three digits.

import (
	"math"
	"slices"
	"sync"
)

// exactLimit is the largest number of values whose null distribution is computed exactly. At 60
// that takes .3 ms for signed ranks; runs have 6 to 30 rounds.
const exactLimit = 60

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

// signedSums is the probability of every sum when each of the ranks is counted with
// probability one half.
func signedSums(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	p := make([]float64, total+1)
	p[0] = 1
	reached := 0
	for _, r := range ranks {
		reached += r
		for s := reached; s >= 0; s-- {
			without := p[s]
			if s >= r {
				without += p[s-r]
			}
			p[s] = without / 2
		}
	}
	return p
}

// chosenSums is the probability of every sum of m of the ranks, all choices of m being
// equally likely.
func chosenSums(ranks []int, m int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// ways[k][s] is the number of choices of k ranks with sum s; as a float64 it is
	// right to 15 digits.
	ways := make([][]float64, m+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for taken, r := range ranks {
		for k := min(m, taken+1); k >= 1; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	all := 0.0
	for _, w := range ways[m] {
		all += w
	}
	for s := range ways[m] {
		ways[m][s] /= all
	}
	return ways[m]
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

// criticalRank is the largest k with P(statistic <= k) <= tail in a null distribution of whole
// numbers, and that probability; k is -1 if even the smallest statistic is more likely than tail.
func criticalRank(p []float64, tail float64) (k int, attained float64) {
	const roundOff = 1e-12
	for k, q := range p {
		if attained+q > tail+roundOff {
			return k - 1, attained
		}
		attained += q
	}
	return len(p) - 1, attained
}

// normalCriticalRank is criticalRank by the normal approximation.
func normalCriticalRank(mean, variance, tail float64) (k int, attained float64) {
	sd := math.Sqrt(variance)
	k = int(math.Floor(mean - .5 + sd*normalQuantile(tail)))
	return k, normalCDF((float64(k) + .5 - mean) / sd)
}

var signedRankNulls [exactLimit + 1]struct {
	once sync.Once
	p    []float64
}

// signedRankNull is the null distribution of the signed-rank statistic of n values without ties.
func signedRankNull(n int) []float64 {
	null := &signedRankNulls[n]
	null.once.Do(func() {
		ranks := make([]int, n)
		for i := range ranks {
			ranks[i] = i + 1
		}
		null.p = signedSums(ranks)
	})
	return null.p
}
