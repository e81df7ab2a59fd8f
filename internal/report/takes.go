package report

// The price of a decision: what it would take to answer a claim that this run leaves open.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// noisy are the gates that a machine does not pass while other work runs on it.
var noisy = []string{"steal", "foreign-cpu", "late"}

// takes says what would decide a claim that is open. h is the run's.
func takes(h *record.Header, e *experiment, v verdict.Verdict) string {
	f := v.Finding
	switch {
	case v.Word == stats.NotComparable:
		if _, needs, found := strings.Cut(v.Reason, " cannot be measured here: "); found {
			return needs
		}
		return v.Reason
	case v.Word == stats.NotMeasured && f.Voided == 0:
		return wider(h, v) + ": " + v.Reason
	case strings.Contains(v.Reason, "on a quieter machine"):
		return "a quieter machine: " + v.Reason
	case f.Rounds+f.Voided > 0 && 4*f.Voided > f.Rounds+f.Voided:
		return lost(e, v)
	case f.NeedRounds > 0 && !v.Edge:
		return more(f, costOfRound(e, v))
	case f.Rounds >= stats.MinRounds && strings.HasPrefix(v.Reason, "the load's core was full"):
		return "more cores for the load: " + v.Reason
	case v.Edge, f.Rounds >= stats.MinRounds, v.Claim.Metric == manifest.Lines:
		return "at the edge: " + v.Reason
	}
	return v.Reason
}

// wider is the run that would measure what this one left out.
func wider(h *record.Header, v verdict.Verdict) string {
	c := v.Claim
	terms := append([]manifest.Term{c.Of, c.Against}, c.Order...)
	switch {
	case len(h.Models) > 0 && slices.ContainsFunc(terms, func(t manifest.Term) bool {
		return t.Model != "" && !slices.Contains(h.Models, t.Model)
	}):
		return "a run without --models"
	case h.Condition != "" && c.Condition != "" && c.Condition != h.Condition:
		return "a run without --condition"
	}
	return "a run with more time"
}

// more is the time that further rounds take.
func more(f stats.Finding, cost time.Duration) string {
	rounds := quantity.Many(f.NeedRounds, "more round")
	text := "about " + rounds
	if cost > 0 {
		text = fmt.Sprintf("about %s more (%s)", minutes(cost*time.Duration(f.NeedRounds)), rounds)
	}
	if f.Rounds+f.NeedRounds > stats.LastLook {
		return "a quieter machine, or " + text
	}
	return text
}

// minutes is a time as people promise it.
func minutes(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "1 min"
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", (d+time.Minute/2)/time.Minute)
	}
	return fmt.Sprintf("%d h", (d+time.Hour/2)/time.Hour)
}

// lost says why too many rounds of a claim do not count.
func lost(e *experiment, v verdict.Verdict) string {
	gates := map[string]int{}
	example := map[string]string{}
	for _, c := range e.cells {
		if !concerns(e, v, c) {
			continue
		}
		if c.Counts(v.Claim.Metric) {
			if c.Spoilt(v.Claim.Metric) {
				gates["foreign-cpu"]++
			}
			continue
		}
		for _, r := range c.Reasons {
			gates[r.Gate]++
			example[r.Gate] = cmp.Or(example[r.Gate], cmp.Or(r.Text, r.Gate))
		}
	}
	f := v.Finding
	rounds := fmt.Sprintf("%d of %d rounds do not count", f.Voided, f.Rounds+f.Voided)
	if len(gates) == 0 {
		return rounds
	}
	worst := slices.MinFunc(sortedKeys(gates), func(a, b string) int {
		return cmp.Compare(gates[b], gates[a])
	})
	if slices.Contains(noisy, worst) {
		return fmt.Sprintf("a quieter machine: %s (%s)", rounds, worst)
	}
	return fmt.Sprintf("%s: %s", rounds, example[worst])
}

// concerns says whether a verdict rests on a cell.
func concerns(e *experiment, v verdict.Verdict, c record.Cell) bool {
	if v.Condition != "" && c.Condition != v.Condition {
		return false
	}
	claim, others := v.Claim, slices.Contains(v.Claim.Best, manifest.Others)
	about := func(p manifest.Point) bool { return p.Name == c.Point }
	here := slices.ContainsFunc(e.ClaimPoints(claim), about)
	for _, t := range append([]manifest.Term{claim.Of, claim.Against}, claim.Order...) {
		if t.Model == c.Model && (t.Point == c.Point || t.Point == "" && here) {
			return true
		}
	}
	return here && (others || slices.Contains(claim.Best, c.Model))
}

// costOfRound is the median time that the cells of a claim take in a round. Cells that lie side by
// side in time are counted once.
func costOfRound(e *experiment, v verdict.Verdict) time.Duration {
	rounds := map[int][]record.Cell{}
	for _, c := range e.cells {
		if concerns(e, v, c) {
			rounds[c.Round] = append(rounds[c.Round], c)
		}
	}
	var costs []time.Duration
	for _, cells := range rounds {
		costs = append(costs, busy(cells))
	}
	if len(costs) == 0 {
		return 0
	}
	slices.Sort(costs)
	return costs[len(costs)/2]
}

// busy is the time in which at least one of the cells was under way.
func busy(cells []record.Cell) (total time.Duration) {
	slices.SortFunc(cells, func(a, b record.Cell) int { return a.Started.Compare(b.Started) })
	var until time.Time
	for _, c := range cells {
		from, to := c.Started, c.Started.Add(c.Took)
		if from.Before(until) {
			from = until
		}
		if to.After(from) {
			total += to.Sub(from)
			until = to
		}
	}
	return total
}
