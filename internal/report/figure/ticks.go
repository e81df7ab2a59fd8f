package figure

// The labels of ticks: apart from each other and within the drawing.

import "interleave/internal/quantity"

const (
	leastLeft = 44. // pixels beside an axis: figures with short labels stand alike below each other
	tickGap   = 7.  // pixels between two labels, at least
)

// tickWidth is that of a label, which is smaller than other text.
func tickWidth(v float64, unit string) float64 { return .94 * textWidth(quantity.Tick(v, unit)) }

// besideTicks is where a plot begins, so that the labels of its y axis are whole.
func besideTicks(ticks []float64, unit string) float64 {
	left := leastLeft
	for _, t := range ticks {
		left = max(left, tickWidth(t, unit)+8)
	}
	return left
}

// fittingTicks are about n round values whose labels do not touch, fewer where there is no room.
func (s scale) fittingTicks(n int, unit string) []float64 {
	for ; n > 1; n-- {
		if ticks := s.ticks(n, unit); s.apart(ticks, unit) {
			return ticks
		}
	}
	return s.ticks(1, unit)
}

// apart says whether the labels of ticks leave a gap.
func (s scale) apart(ticks []float64, unit string) bool {
	for i := 1; i < len(ticks); i++ {
		if s.at(ticks[i])-s.at(ticks[i-1]) < (tickWidth(ticks[i-1], unit)+tickWidth(ticks[i],
			unit))/2+tickGap {
			return false
		}
	}
	return true
}

// tickLabels writes below an x axis: each label within the drawing, and none that would touch
// the one before.
func (c *canvas) tickLabels(x scale, ticks []float64, unit string, y float64) {
	end := -tickGap
	for _, t := range ticks {
		half := tickWidth(t, unit) / 2
		at := min(max(x.at(t), half), c.width-half)
		if at-half < end+tickGap {
			continue
		}
		c.text("tick", "middle", at, y, quantity.Tick(t, unit))
		end = at + half
	}
}
