package verdict

import (
	"math"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// A Series is the cells that would make an interval narrower.
type Series struct {
	Point     string
	Condition manifest.Condition
	Model     string
}

// TooWide names the cells on which an interval rests that is wider than a quarter of its claim's
// margin to each side. It looks at widths alone, never at where an interval lies: rounds may not be
// added because of how a verdict looks.
func TooWide(e *manifest.Experiment, cells []record.Cell, lines func(service, model string) int) map[Series]bool {
	j := judge{index: newIndex(e, cells), lines: lines}
	out := map[Series]bool{}
	for _, c := range e.Claims {
		v := j.claim(c)
		if c.Metric == manifest.Lines || len(v.Parts) == 0 {
			continue
		}
		points := j.points(c, v.Condition)
		whole := len(points) != len(v.Parts) // a shape or a mean: its width is all points'
		for i, p := range v.Parts {
			if narrow(p, c) {
				continue
			}
			at := points
			if !whole {
				at = points[i : i+1]
			}
			for _, point := range at {
				for _, t := range terms(c) {
					place := j.at(t, point, v.Condition)
					out[Series{place.point, place.condition, place.model}] = true
				}
				out[Series{point.Name, v.Condition, e.Baseline}] = true
			}
		}
	}
	return out
}

// narrow says whether a part's 95 % interval is as narrow as the margin asks for. A part without
// any usable round would not become narrower by more of them.
func narrow(p Part, c manifest.Claim) bool {
	iv := p.Finding.Interval95
	if len(p.Values) == 0 {
		return true
	}
	margin := c.Margin
	if margin <= 1 {
		margin = stats.DefaultMargin
	}
	half := iv.HalfWidth()
	if p.Unit != "slope" {
		if iv.Lower <= 0 {
			return false
		}
		half = (math.Log(iv.Upper) - math.Log(iv.Lower)) / 2
	}
	return half <= stats.MarginPrecision(margin)
}
