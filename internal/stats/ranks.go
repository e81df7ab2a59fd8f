package stats

// Null distributions of rank sums, exact by dynamic programming. Ranks are doubled so that the half
// ranks of ties are whole numbers: one program then serves data with and without ties. Cost grows
// with the cube of the number of values, so from exactLimit on the normal approximation takes over,
// which by then is right to three digits.

import (
	"math"
	"sync"
)

// exactLimit is the largest number of values whose null distribution is computed exactly. At 60
// that takes .3 ms for signed ranks; runs have 6 to 30 rounds.
const exactLimit = 60

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
