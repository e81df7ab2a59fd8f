package run

// What the planner asks of package verdict: what a claim needs, and what its verdict still lacks.

import (
	"fmt"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// claimNeeds are the models that a claim compares, at each of its points, under the condition that
// the planner has chosen. Of "all others" they are those that this machine can measure.
func claimNeeds(e *manifest.Experiment, c manifest.Claim, models verdict.Models) []verdict.Series {
	out := verdict.Needs(e, c, models)
	for i := range out {
		out[i].Condition = ""
	}
	return out
}

// further is how many more rounds a claim needs that was tried in so many, or why no number of
// rounds would decide it.
func further(v *verdict.Verdict, tried int) (rounds int, why string) {
	counted := v.Finding.Rounds
	switch {
	case counted == 0 && tried < maxVoid:
		return stats.MinRounds, ""
	case tried >= maxVoid && 2*counted < tried:
		return 0, fmt.Sprintf("%d of %d rounds are void: it needs a quieter machine",
			tried-counted, tried)
	case v.Edge || v.Finding.NeedRounds == 0:
		return 0, v.Reason
	}
	return (v.Finding.NeedRounds*tried + counted - 1) / max(1, counted), ""
}

// unsettled are the series of a claim that further rounds have to measure: those of the comparisons
// that do not hold yet, or all if the verdict names none.
func unsettled(v *verdict.Verdict, needs []*series) []*series {
	open := v.Open()
	out := slices.DeleteFunc(slices.Clone(needs), func(s *series) bool {
		return !slices.Contains(open, verdict.Series{Point: s.spec.Point.Name,
			Condition: s.spec.Condition, Model: s.spec.Model.Name})
	})
	if len(out) == 0 {
		return needs
	}
	return out
}

// decidedAfter is how many rounds a verdict took.
func decidedAfter(v *verdict.Verdict) int { return v.Looked }
