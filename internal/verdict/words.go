package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/stats"
)

// claimant is the author of a claim.
func claimant(c manifest.Claim) string {
	if c.Ours {
		return "Our hypothesis"
	}
	return "The paper"
}

// words tell the finding of a verdict.
func (j *judge) words(v *Verdict, points []manifest.Point) stats.Words {
	c := v.Claim
	info := manifest.Metrics[c.Metric]
	w := stats.Words{A: c.Of.String(), B: c.Against.String(), Phrase: info.Ratio,
		Source: claimant(c)}
	note := ""
	if len(c.Best) > 0 {
		w.B, note = j.rival(v)
	}
	metric := info.Name
	switch {
	case c.Kind == string(stats.KindCrossover):
		w.Phrase = fmt.Sprintf("swapped places with {b} in %s at {ratio} %s", metric, j.axis())
		return w
	case c.Kind == string(stats.KindBound):
		amount(&w, info)
	case c.Kind == string(stats.KindAbsolute):
		w.Says = strings.TrimSpace(fmt.Sprintf("says %g %s", c.Published, info.Unit))
		if amount(&w, info); w.Amount != nil {
			w.Says = "says " + w.Amount(c.Published)
		}
		w.Says += fmt.Sprintf("; margin %.2f", c.Margin)
	case c.Shape == "order" && len(c.Order) == 2:
		w.A, w.B = c.Order[1].String(), c.Order[0].String()
	case c.Shape == "order":
		w.A, w.Phrase = "the ratio of "+metric, "was {ratio}x"
	case c.Kind == string(stats.KindShape):
		j.sweepWords(&w, c, metric)
		return w
	}
	switch {
	case averaged(c) && len(points) > 1:
		w.Phrase += fmt.Sprintf(" on average over %d points", len(points))
	case len(points) == 1 && !math.IsNaN(points[0].X) &&
		slices.ContainsFunc(j.terms(c), func(t manifest.Term) bool { return t.Point == "" }):
		w.Phrase += " at " + points[0].Name
	}
	w.Phrase += note
	return w
}

// amount words a figure of one model. Bytes are written with a prefix.
func amount(w *stats.Words, info manifest.MetricInfo) {
	w.Phrase = info.Amount
	if info.Unit != "bytes" {
		return
	}
	w.Phrase = strings.Replace(w.Phrase, "{ratio} bytes", "{ratio}", 1)
	w.Amount = func(v float64) string {
		return strings.ReplaceAll(quantity.Of(v, info.Unit), quantity.Thin, " ")
	}
}

// rival names what a claim about the best of several compares with: for a size at one place the
// rival that was the best here, for a direction the rival of the comparison that decides.
func (j *judge) rival(v *Verdict) (name, note string) {
	switch {
	case len(v.Parts) == 1:
		return v.Parts[0].Name, ""
	case v.Claim.Kind != string(stats.KindMagnitude):
		return "the other", ""
	case len(v.Parts) > len(j.terms(v.Claim))-1:
		return "the best other", "" // which one it is depends on the point
	}
	// A's ratio to the best is the smallest where more of the metric is better, else the largest
	most := manifest.Metrics[v.Claim.Metric].MoreIsBetter
	best := slices.MinFunc(v.Parts, func(a, b Part) int {
		if most {
			return cmp.Compare(a.Finding.Estimate, b.Finding.Estimate)
		}
		return cmp.Compare(b.Finding.Estimate, a.Finding.Estimate)
	})
	return best.Name, ", {b} being the best of the others"
}

// sweepWords tell how one model's metric runs over the sweep.
func (j *judge) sweepWords(w *stats.Words, c manifest.Claim, metric string) {
	switch c.Shape {
	case "linear":
		w.Phrase = fmt.Sprintf("showed a %s that grew with the power {ratio} of %s", metric,
			j.axis())
		w.Says = fmt.Sprintf("says the power %g, which is linear growth; margin %.2f", power(c),
			c.Margin)
		if power(c) != 1 {
			w.Says = fmt.Sprintf("says the power %g; margin %.2f", power(c), c.Margin)
		}
	case "straight", "steepens":
		w.Phrase = "showed {ratio}x in " + metric
		w.Says = fmt.Sprintf("says that it grows in a straight line over %s; margin %.2f", j.axis(),
			c.Margin)
		if c.Shape == "steepens" {
			w.Says = fmt.Sprintf("says that it grows, and faster after %g; %.3gx or more counts",
				c.After, c.Margin)
		}
	case "widens":
		w.Phrase = fmt.Sprintf("showed a ratio to {b} in %s that became {ratio}x itself over %s",
			metric, j.axis())
		lead, side := "ratio", "grows"
		if c.By == manifest.Difference {
			lead = "difference"
			w.Phrase = fmt.Sprintf("showed a difference to {b} in %s that grew by {ratio} of the "+
				"mean of both over %s", metric, j.axis())
		}
		if c.Sense == string(stats.Less) {
			side = "falls"
		}
		w.Says = fmt.Sprintf("says that the %s %s; differences from %.3g %% on count", lead, side,
			100*(c.Margin-1))
	case "flattens":
		w.Phrase = fmt.Sprintf("showed a %s whose growth after %g was {ratio}x its growth before",
			metric, c.After)
		w.Says = fmt.Sprintf("says that growth drops there; %.3gx or less counts", 1/c.Margin)
	case "flat":
		w.Phrase = fmt.Sprintf("showed {ratio}x the %s", metric)
		w.Says = fmt.Sprintf("says that it hardly depends on %s; margin %.2f", j.axis(), c.Margin)
	}
}

// axis is what the sweep's axis is called.
func (j *judge) axis() string { return cmp.Or(j.experiment.Axis.Label, "the axis") }

// sentence is a word and its reason as the end of a paragraph.
func sentence(word stats.Word, reason string) string {
	s := strings.ToUpper(string(word[:1])) + string(word[1:])
	if reason != "" {
		s += ": " + reason
	}
	return s + "."
}
