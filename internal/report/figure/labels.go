package figure

import (
	"math"
	"slices"
)

// A label wants to stand at a height and may be moved up or down.
type label struct {
	text string
	want float64
	at   float64
}

// spread moves labels apart until they are gap pixels from each other and within top and bottom,
// each as near to where it wants to be as the others let it: neighbours that touch are joined to
// a block, which stands at the mean of its wishes.
func spread(labels []label, gap, top, bottom float64) {
	if len(labels) == 0 {
		return
	}
	if need := gap * float64(len(labels)-1); need > bottom-top {
		gap = (bottom - top) / max(1, float64(len(labels)-1))
	}
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case labels[a].want < labels[b].want:
			return -1
		case labels[a].want > labels[b].want:
			return 1
		}
		return 0
	})
	type block struct {
		first, n int
		sum      float64 // of the wishes for the block's first label
	}
	place := func(b block) float64 {
		low, high := top, bottom-gap*float64(b.n-1)
		return math.Min(math.Max(b.sum/float64(b.n), low), math.Max(low, high))
	}
	var blocks []block
	for i, l := range order {
		b := block{i, 1, labels[l].want}
		for len(blocks) > 0 {
			above := blocks[len(blocks)-1]
			if place(above)+gap*float64(above.n) <= place(b) {
				break
			}
			b = block{above.first, above.n + b.n,
				above.sum + b.sum - gap*float64(above.n)*float64(b.n)}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		at := place(b)
		for i := range b.n {
			labels[order[b.first+i]].at = at + gap*float64(i)
		}
	}
}

// swarm gives each value an offset across the axis, so that dots at nearly the same place stand
// beside each other: 0, then steps to both sides, at most limit away.
func swarm(at []float64, radius, limit float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case at[a] < at[b]:
			return -1
		case at[a] > at[b]:
			return 1
		}
		return 0
	})
	offsets := make([]float64, len(at))
	step := radius * .7
	for n, i := range order {
		for k := 0; ; k++ {
			offset := step * float64((k+1)/2)
			if k%2 == 1 {
				offset = -offset
			}
			if math.Abs(offset) > limit {
				offsets[i] = 0 // full: dots cover each other
				break
			}
			offsets[i] = offset
			free := true
			for m := n - 1; m >= 0 && at[i]-at[order[m]] < 2*radius; m-- {
				j := order[m]
				if math.Hypot(at[i]-at[j], offset-offsets[j]) < 2*radius {
					free = false
					break
				}
			}
			if free {
				break
			}
		}
	}
	return offsets
}
