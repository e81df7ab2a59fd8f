package stats

import (
	"math"
	"slices"
	"testing"
)

// mannWhitney is the test that Shift inverts. It tells whether a and b come from one distribution:
// Greater is the p-value for a lying above b, Less for a below b; the statistic is the number of
// pairs in which a is the larger, ties counted half. It is exact, with ties too, up to 60 values
// together. If one side is empty or holds a NaN, all p-values are 1.
func mannWhitney(a, b []float64) RankTest {
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
	t := RankTest{N: len(both), Statistic: float64(sum)/2 - n*(n+1)/2,
		Exact: len(both) <= exactLimit}
	if t.Exact {
		t.Less, t.Greater = tails(chosenSums(ranks, len(a)), sum)
	} else {
		t.Less, t.Greater = normalTails(t.Statistic, n*m/2, n*m/12*(all+1-ties/(all*(all-1))))
	}
	t.TwoSided = min(1, 2*min(t.Less, t.Greater))
	return t
}

func TestMannWhitneyAgainstScipy(t *testing.T) {
	for _, f := range readFixtures(t).MannWhitney {
		checkRankTest(t, f, mannWhitney(f.A, f.B))
	}
}
