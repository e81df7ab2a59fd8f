package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// Models is what a run knows of the models besides their cells.
type Models struct {
	// Lines is a model's lines of code; 0 if it is not there.
	Lines func(service, model string) int
	// Missing says why this machine cannot measure a model; empty if it can, or was not asked to.
	Missing func(service, model string) string
}

// ModelsOf are those of a tree, of which some were skipped.
func ModelsOf(tree *manifest.Tree, skipped []record.Skip) Models {
	return Models{LinesOf(tree), Missing(skipped)}
}

// Missing finds the reason for which a model was skipped.
func Missing(skipped []record.Skip) func(service, model string) string {
	return func(service, model string) string {
		for _, s := range skipped {
			if s.Service == service && s.Model == model {
				return s.Reason
			}
		}
		return ""
	}
}

// Judge holds every claim of an experiment against the cells of a run.
func Judge(e *manifest.Experiment, cells []record.Cell, models Models) []Verdict {
	j := judge{index: newIndex(e, cells), models: models}
	var out []Verdict
	for _, c := range e.Claims {
		out = append(out, j.claim(c))
	}
	return out
}

type judge struct {
	*index
	models Models
}

func (j *judge) claim(c manifest.Claim) Verdict {
	v := Verdict{Experiment: j.experiment.Name, Claim: c, Differences: j.experiment.Setup}
	if c.Transfer != "" {
		v.Differences = append([]string{c.Transfer}, v.Differences...)
	}
	switch missing, absent := j.notHere(c); {
	case c.Comparable != "":
		return v.ends(stats.NotComparable, c.Comparable)
	case missing != "":
		return v.ends(stats.NotComparable, missing)
	case len(j.cells) == 0 && c.Metric != manifest.Lines:
		return v.ends(stats.NotMeasured, notMeasured(""))
	case absent != "":
		return v.ends(stats.NotMeasured, absent)
	case c.Metric == manifest.Lines:
		return j.compareLines(v)
	}
	var measured bool
	if v.Condition, measured = j.condition(c); !measured {
		return v.ends(stats.NotMeasured, notMeasured(c.Condition))
	}
	points := j.points(c, v.Condition)
	if why := tooFew(c, points, len(j.claimed(c))); why != "" {
		return v.ends(stats.NotMeasured, why)
	}
	j.decide(&v, points)
	j.disturbed(&v, points)
	if v.Finding.Rounds == 0 {
		if why := j.noMetric(c, v.Condition, points); why != "" {
			v.Edge = true
			return v.ends(stats.Inconclusive, why)
		}
	}
	j.capped(&v, points)
	v.Word, v.Reason = v.Finding.Word, v.Finding.Reason
	v.Looked, v.Edge = v.Finding.Looked, v.Finding.Edge
	v.Cautions = slices.Concat(v.Finding.Cautions, j.bound(c, v.Condition, points),
		j.incomplete(c))
	v.Sentence = v.Finding.Sentence(j.words(&v, points))
	return v
}

// ends is a verdict without a finding.
func (v Verdict) ends(word stats.Word, reason string) Verdict {
	v.Word, v.Reason = word, reason
	v.Sentence = sentence(word, reason)
	if word == stats.NotMeasured {
		v.Finding.NeedRounds = stats.MinRounds
	}
	return v
}

func notMeasured(c manifest.Condition) string {
	if c == "" {
		return "nothing was measured"
	}
	return fmt.Sprintf("it is judged on %s cores, and this run did not measure that", c)
}

// terms are all that a claim compares. Of all other models they are those that this machine can
// measure.
func (j *judge) terms(c manifest.Claim) []manifest.Term {
	var out []manifest.Term
	for _, t := range append([]manifest.Term{c.Of, c.Against}, c.Order...) {
		if t.Model != "" {
			out = append(out, t)
		}
	}
	for _, p := range j.experiment.ClaimPoints(c) {
		for _, m := range j.experiment.Rivals(c, p) {
			if t := (manifest.Term{Model: m}); !slices.Contains(out, t) && !j.leftOut(c, m) {
				out = append(out, t)
			}
		}
	}
	return out
}

// leftOut says whether a model is missing from "all others": this machine cannot measure it.
func (j *judge) leftOut(c manifest.Claim, model string) bool {
	return slices.Contains(c.Best, manifest.Others) &&
		j.models.Missing(j.experiment.Service, model) != ""
}

// incomplete warns that "all others" are not all.
func (j *judge) incomplete(c manifest.Claim) []string {
	var names []string
	for _, p := range j.experiment.ClaimPoints(c) {
		for _, m := range j.experiment.Rivals(c, p) {
			if j.leftOut(c, m) && !slices.Contains(names, m) {
				names = append(names, m)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"the others are without " + strings.Join(names, ", ") +
		", which could not be measured here"}
}

// notHere names the models of a claim that have no cell in the whole run: the first that this
// machine cannot measure, with the reason, and those that the run left out.
func (j *judge) notHere(c manifest.Claim) (missing, absent string) {
	var names []string
	for _, t := range j.terms(c) {
		if j.here(t.Model, c.Metric) || slices.Contains(names, t.Model) {
			continue
		}
		names = append(names, t.Model)
		if why := j.models.Missing(j.experiment.Service, t.Model); why != "" && missing == "" {
			missing = fmt.Sprintf("%s cannot be measured here: %s", t.Model, why)
		}
	}
	switch len(names) {
	case 0:
		return missing, ""
	case 1:
		return missing, names[0] + " was not measured in this run"
	}
	return missing, strings.Join(names, ", ") + " were not measured in this run"
}

// here says whether a model has a cell; where lines are counted, whether it has a source.
func (j *judge) here(model string, m manifest.Metric) bool {
	if m == manifest.Lines {
		return j.models.Lines(j.experiment.Service, model) > 0
	}
	for p := range j.cells {
		if p.model == model {
			return true
		}
	}
	return false
}

// condition is the one that the claim names, or the first that was measured.
func (j *judge) condition(c manifest.Claim) (manifest.Condition, bool) {
	for _, want := range []manifest.Condition{manifest.Own, manifest.Shared} {
		if c.Condition != "" && c.Condition != want {
			continue
		}
		for p := range j.cells {
			if p.condition == want {
				return want, true
			}
		}
	}
	return c.Condition, false
}

// points are those of the claim at which all its terms were tried.
func (j *judge) points(c manifest.Claim, condition manifest.Condition) []manifest.Point {
	terms := j.terms(c)
	return slices.DeleteFunc(j.claimed(c), func(p manifest.Point) bool {
		return slices.ContainsFunc(terms,
			func(t manifest.Term) bool { return !j.tried(j.at(t, p, condition)) })
	})
}

// at is the place of a term when the claim is looked at in a point.
func (j *judge) at(t manifest.Term, p manifest.Point, c manifest.Condition) place {
	point := p.Name
	if t.Point != "" {
		point = t.Point
	}
	return place{point, c, t.Model, false}
}

// shared are the rounds in which all places were tried: only these can be paired.
func (j *judge) shared(places ...place) []int {
	rounds := j.rounds(places[0])
	return slices.DeleteFunc(rounds, func(r int) bool {
		return slices.ContainsFunc(places[1:], func(p place) bool { return j.cells[p][r] == nil })
	})
}

// values are the metric of a place in these rounds, NaN where a cell does not count.
func (j *judge) values(p place, rounds []int, m manifest.Metric) []float64 {
	out := make([]float64, len(rounds))
	for i, r := range rounds {
		out[i] = j.value(p, r, m)
	}
	return out
}

// tooFew says why the points that were measured, of all that it is about, cannot carry a claim, or
// nothing. A claim is judged at all its points or not at all: at two of seven it is another claim.
func tooFew(c manifest.Claim, points []manifest.Point, all int) string {
	least := 1
	switch {
	case c.Shape == "linear", c.Shape == "straight":
		least = 3 // through two points every line fits
	case c.Shape == "flat", c.Shape == "widens", c.Kind == "crossover":
		least = 2
	}
	switch n := len(points); {
	case n == 0:
		return "none of its points was measured in this run"
	case n < all:
		return fmt.Sprintf("this run measured %d of its %d points", n, all)
	case n < least:
		return fmt.Sprintf("it is about %d points, %d are the least", n, least)
	}
	if c.Shape != "flattens" && c.Shape != "steepens" {
		return ""
	}
	before, after := 0, 0
	for _, p := range points {
		if p.X <= c.After {
			before++
		}
		if p.X >= c.After {
			after++
		}
	}
	if before < 2 || after < 2 {
		return fmt.Sprintf("growth needs two points up to %g and two from there on; there are "+
			"%d and %d", c.After, before, after)
	}
	return ""
}

// noMetric says why measured cells lack the metric, or nothing.
func (j *judge) noMetric(c manifest.Claim, condition manifest.Condition,
	points []manifest.Point) string {
	for _, p := range points {
		for _, t := range j.terms(c) {
			at := j.at(t, p, condition)
			for _, cell := range j.cells[at] {
				if cell.Status == record.Measured && !j.has(at, c.Metric) &&
					!slices.Contains(cell.Labels, record.Disturbed) {
					if c.Metric == manifest.CPUVariation {
						return "the windows of this run were too short for a coefficient of " +
							"variation over half seconds: eight of them are the least"
					}
					return fmt.Sprintf("%s at %s shows no %s", t.Model, p.Name,
						manifest.Metrics[c.Metric].Name)
				}
			}
		}
	}
	return ""
}

// bound warns of ratios that the load engine's own limit pulls towards 1.
func (j *judge) bound(c manifest.Claim, condition manifest.Condition,
	points []manifest.Point) []string {
	if !c.Metric.Rate() {
		return nil
	}
	bound, all := j.labelled(record.GeneratorBound, j.terms(c), condition, points, math.MaxInt)
	if bound == 0 {
		return nil
	}
	return []string{fmt.Sprintf("in %d of %d cells the load's core was full, so the servers may "+
		"differ by more than their throughput shows: see the CPU for each request", bound, all)}
}

// labelled counts the measured cells of these terms up to a round, and those that bear a label.
func (j *judge) labelled(label string, terms []manifest.Term, condition manifest.Condition,
	points []manifest.Point, last int) (labelled, all int) {
	bears := func(c *record.Cell) bool { return slices.Contains(c.Labels, label) }
	return j.count(bears, terms, condition, points, last)
}

// count is labelled for the cells of a kind.
func (j *judge) count(kind func(*record.Cell) bool, terms []manifest.Term,
	condition manifest.Condition, points []manifest.Point, last int) (counted, all int) {
	for _, p := range points {
		for _, t := range terms {
			for _, cell := range j.cells[j.at(t, p, condition)] {
				if cell.Status != record.Measured || cell.Round > last {
					continue
				}
				all++
				if kind(cell) {
					counted++
				}
			}
		}
	}
	return counted, all
}

// capped takes "not reproduced" back from a size of throughput that the load may have kept from
// being reached: where its core was full, a server's rate is a lower bound and the published ratio
// is not excluded. The cells up to the look that decided tell it, so that later ones change
// nothing.
func (j *judge) capped(v *Verdict, points []manifest.Point) {
	c, f := v.Claim, &v.Finding
	if !c.Metric.Rate() || f.Kind != stats.KindMagnitude || f.Word != stats.NotReproduced {
		return
	}
	lows := []manifest.Term{c.Of} // whose true rate would bring the ratio back
	if f.Estimate > f.Accept[1] {
		lows = j.terms(c)[1:]
	}
	for _, low := range lows {
		bound, all := j.labelled(record.GeneratorBound, []manifest.Term{low}, v.Condition, points,
			f.Looked)
		if all == 0 || 2*bound < all {
			continue
		}
		f.Word, f.Edge, f.Looked, f.AtLook = stats.Inconclusive, true, 0, nil
		f.Reason = fmt.Sprintf("the load's core was full in %d of %d cells of %s, whose rate is "+
			"only a lower bound there", bound, all, low)
		return
	}
}

func orNaN(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}
