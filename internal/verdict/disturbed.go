package verdict

import (
	"fmt"
	"math"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// Cells of rounds in which the machine was not quiet. What runs beside a duet slows down both sides
// of it, so the ratio counts. A figure of one server alone does not.

// alone tells the claims about a figure of one server that noise moves.
func alone(c manifest.Claim) bool {
	return (c.Kind == string(stats.KindAbsolute) || c.Kind == string(stats.KindBound)) &&
		!record.Still(c.Metric)
}

// quiet takes out the values of rounds in which a cell was disturbed.
func (j *judge) quiet(places []place, rounds []int, values []float64) {
	for i, r := range rounds {
		for _, p := range places {
			if c := j.cells[p][r]; c != nil && slices.Contains(c.Labels, record.Disturbed) {
				values[i] = math.NaN()
			}
		}
	}
}

// disturbed says what the rounds were worth in which the machine was not quiet.
func (j *judge) disturbed(v *Verdict, points []manifest.Point) {
	if record.Still(v.Claim.Metric) {
		return
	}
	terms := j.terms(v.Claim)
	disturbed, all := j.labelled(record.Disturbed, terms, v.Condition, points, math.MaxInt)
	if disturbed == 0 {
		return
	}
	f := &v.Finding
	cells := fmt.Sprintf("%d of %s", disturbed, quantity.Many(all, "cell"))
	lost, _ := j.count(func(c *record.Cell) bool { return c.Spoilt(v.Claim.Metric) }, terms,
		v.Condition, points, math.MaxInt)
	single := alone(v.Claim)
	switch {
	case single && f.Word == stats.Inconclusive:
		f.Reason += fmt.Sprintf("; the machine was not quiet in %s, and a figure of one server "+
			"needs that", cells)
	case lost > 0 && f.Word == stats.Inconclusive:
		f.Reason += fmt.Sprintf("; the machine was not quiet in %s, which were not measured side "+
			"by side", cells)
	case single, lost > 0:
		f.Cautions = append(f.Cautions, fmt.Sprintf("the machine was not quiet in %s, which do "+
			"not count here", cells))
	case !j.across(v.Claim, points):
	case 4*disturbed > all && f.Looked > 0:
		f.Word, f.Looked = stats.Inconclusive, 0
		f.Reason = fmt.Sprintf("the machine was not quiet in %s, and this claim compares points, "+
			"which were not measured side by side", cells)
	default:
		f.Cautions = append(f.Cautions, fmt.Sprintf("the machine was not quiet in %s, and this "+
			"claim compares points, which were not measured side by side", cells))
	}
}

// across says whether a claim compares a point with another.
func (j *judge) across(c manifest.Claim, points []manifest.Point) bool {
	if c.Kind == string(stats.KindShape) && c.Shape != "order" {
		return true
	}
	terms := j.terms(c)
	for _, p := range points {
		for _, t := range terms {
			if j.at(t, p, "").point != j.at(terms[0], p, "").point {
				return true
			}
		}
	}
	return false
}
