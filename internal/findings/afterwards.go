package findings

// Claims that were written after a run. A run has a copy of its experiments, with the claims that
// it was made for. The checkout may have more by now, or the same in another form, because somebody
// has read the source again. They are judged from the same cells, and the page says that they are
// younger than the run: nobody could look at the figures before, but whoever wrote them could.

import (
	"fmt"
	"reflect"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// afterwards is the caution of a claim that is younger than the run.
const afterwards = "the claim was written, or given this form, after the run: what reproduces it " +
	"was not fixed before the figures were known"

// retold is an experiment of a run with what another version of it says of the source: how it
// measured, and its claims.
func retold(e, now *manifest.Experiment) *manifest.Experiment {
	out := *e
	out.Setup, out.Claims = now.Setup, now.Claims
	return &out
}

// judgedAlike says whether two claims get the same verdict from the same cells. They may differ in
// words, in where they stand in the source, and in what a reader must know.
func judgedAlike(a, b manifest.Claim) bool {
	b.Sentence, b.Where, b.Transfer, b.Headline = a.Sentence, a.Where, a.Transfer, a.Headline
	return reflect.DeepEqual(a, b)
}

// younger marks the verdicts on claims that the run's own version of their experiment does not
// have. One that the run did not measure as the checkout does now says so and has no verdict.
func (g *gatherer) younger(verdicts []verdict.Verdict) {
	for i := range verdicts {
		v := &verdicts[i]
		before, now := experiment(g.run.Tree, v.Experiment), experiment(g.checkout, v.Experiment)
		if before == nil || now == nil || slices.ContainsFunc(before.Claims,
			func(c manifest.Claim) bool { return judgedAlike(c, v.Claim) }) {
			continue
		}
		if why := otherwise(before, now, v.Claim); why != "" {
			*v = verdict.Verdict{Experiment: v.Experiment, Claim: v.Claim,
				Word: stats.NotMeasured, Reason: why, Sentence: "Not measured: " + why + "."}
		} else if !v.Silent() {
			v.Cautions = append(v.Cautions, afterwards)
		}
	}
}

func experiment(t *manifest.Tree, name string) *manifest.Experiment {
	if t == nil {
		return nil
	}
	return t.Experiment(name)
}

// otherwise says which point of a claim the run measured in another way than the checkout does, or
// not at all; empty if there is none.
func otherwise(run, now *manifest.Experiment, c manifest.Claim) string {
	points := now.ClaimPoints(c)
	for _, t := range append([]manifest.Term{c.Of, c.Against}, c.Order...) {
		if p, found := now.Point(t.Point); found {
			points = append(points, p)
		}
	}
	for _, p := range points {
		switch old, found := run.Point(p.Name); {
		case !found:
			return fmt.Sprintf("this run did not measure the point %q", p.Name)
		case old.Service != p.Service || old.Hosts != p.Hosts || old.Load != p.Load:
			return fmt.Sprintf("this run measured the point %q under another load", p.Name)
		}
	}
	return ""
}
