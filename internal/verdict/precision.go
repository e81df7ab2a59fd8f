package verdict

import (
	"math"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// TooWide names the cells on which an interval rests that is wider than its claim's margin asks
// for. It looks at widths alone, never at where an interval lies: rounds may not be added because
// of how a verdict looks.
func TooWide(e *manifest.Experiment, cells []record.Cell, models Models) map[Series]bool {
	j := judge{index: newIndex(e, cells), models: models}
	out := map[Series]bool{}
	for _, c := range e.Claims {
		for _, p := range j.claim(c).Parts {
			if narrow(p, c) {
				continue
			}
			for _, r := range p.rests {
				out[Series{r.point, r.condition, r.model}] = true
				out[Series{r.point, r.condition, e.Baseline}] = true
			}
		}
	}
	return out
}

// narrow says whether a part's 95 % interval is as narrow as the claim asks for. A part without any
// usable round would not become narrower by more of them.
func narrow(p Part, c manifest.Claim) bool {
	if p.Finding.Rounds == 0 {
		return true
	}
	iv := p.Finding.Interval95
	if p.Unit == "slope" || p.Unit == ofMean {
		return iv.HalfWidth() <= precision(c)
	}
	return (math.Log(iv.Upper)-math.Log(iv.Lower))/2 <= precision(c)
}

// precision is the half-width that a claim asks for, the same at which a finding stops to ask for
// more rounds. For a value that must lie within a margin it is a quarter of the way from the
// margin's centre to its end. For one that must lie beyond a bar it is half of the strip between
// none and the bar, so that the interval cannot reach over both ends of the strip.
func precision(c manifest.Claim) float64 {
	switch {
	case c.Shape == "flattens":
		return (1 - 1/c.Margin) / 2
	case c.Shape == "steepens":
		return (c.Margin - 1) / 2
	case c.Shape == "straight":
		return (c.Margin - 1/c.Margin) / 8
	case c.Shape == "linear":
		return (power(c)*c.Margin - power(c)/c.Margin) / 8
	case c.Kind == string(stats.KindDirection) || c.Kind == string(stats.KindBound) ||
		c.Kind == string(stats.KindNonInferiority) || c.Shape == "order" || c.Shape == "widens":
		return math.Log(c.Margin) / 2
	}
	return stats.MarginPrecision(c.Margin)
}
