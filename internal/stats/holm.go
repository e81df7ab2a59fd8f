package stats

// Several claims of one paper are several chances to be right by luck.

import (
	"math"
	"slices"
)

// Holm corrects the p-values of claims that are looked at together: any that stay at or below .05
// hold together with an error of at most .05, however the claims depend on each other. The order is
// kept; a NaN stays NaN and does not count.
func Holm(p []float64) []float64 {
	order := make([]int, 0, len(p))
	adjusted := slices.Clone(p)
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if p[a] < p[b] {
			return -1
		}
		if p[a] > p[b] {
			return 1
		}
		return 0
	})
	least := 0.0
	for at, i := range order {
		least = max(least, min(1, p[i]*float64(len(order)-at)))
		adjusted[i] = least
	}
	return adjusted
}
