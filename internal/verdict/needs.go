package verdict

import (
	"slices"

	"interleave/internal/manifest"
)

// A Series is the cells of a model at a point under a condition, one for each round.
type Series struct {
	Point     string
	Condition manifest.Condition
	Model     string
}

// Needs are the series that decide a claim: every model that it compares, at every point that it
// speaks of. They follow from the experiment alone, before any cell is there. A claim about lines
// of code or builds needs none, nor does one that no machine can compare. Models that are missing
// here are among them, but for those of "all others". A claim that names no condition is judged on
// cores of the server's own, unless the experiment never measures so.
func Needs(e *manifest.Experiment, c manifest.Claim, models Models) []Series {
	j := judge{index: newIndex(e, nil), models: models}
	if c.Comparable != "" || c.Metric == manifest.Lines || c.Kind == manifest.KindBuilds {
		return nil
	}
	condition := c.Condition
	if condition == "" {
		condition = usual(e)
	}
	var out []Series
	for _, p := range j.claimed(c) {
		for _, t := range j.terms(c) {
			at := j.at(t, p, condition)
			if s := (Series{at.point, at.condition, at.model}); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// usual is the condition under which an experiment judges claims that name none.
func usual(e *manifest.Experiment) manifest.Condition {
	var all []manifest.Condition
	for _, d := range []manifest.Depth{e.Quick, e.Normal, e.Full} {
		all = append(all, d.Conditions...)
	}
	if len(all) == 0 || slices.Contains(all, manifest.Own) {
		return manifest.Own
	}
	return all[0]
}

// claimed are the points that a claim is about: those at which the experiment has all that it
// compares. A power of growth and a crossing are looked for on logarithmic axes, which have no
// place for 0.
func (j *judge) claimed(c manifest.Claim) []manifest.Point {
	terms := j.terms(c)
	var out []manifest.Point
	for _, p := range j.experiment.ClaimPoints(c) {
		if !(p.X > 0) && (c.Shape == "linear" || c.Shape == "widens" || c.Kind == "crossover") {
			continue
		}
		if !slices.ContainsFunc(terms, func(t manifest.Term) bool { return !j.planned(t, p) }) {
			out = append(out, p)
		}
	}
	return out
}

// planned says whether the experiment measures a term when a claim is looked at in a point.
func (j *judge) planned(t manifest.Term, p manifest.Point) bool {
	name := j.at(t, p, "").point
	return slices.ContainsFunc(j.experiment.Points, func(p manifest.Point) bool {
		return p.Name == name && slices.Contains(j.experiment.ModelsAt(p), t.Model)
	})
}
