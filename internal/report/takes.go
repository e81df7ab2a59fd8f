package report

// The price of a decision: what it would take to answer a claim that this run leaves open.

import (
	"cmp"
	"fmt"
	"maps"
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
	f, u := v.Finding, undecided(h, v)
	switch {
	case v.Word == stats.NotComparable:
		if _, tools, found := strings.Cut(v.Reason, " cannot be measured here: needs "); found {
			return "needs " + tools
		}
		return v.Reason
	case u.Takes == 0 && strings.Contains(u.Reason, "windows of"):
		return "longer windows: " + u.Reason
	case v.Word == stats.NotMeasured && f.Voided == 0 && u.Takes > 0:
		return "about " + minutes(u.Takes) + " more: " + v.Reason
	case v.Word == stats.NotMeasured && f.Voided == 0:
		return wider(h, v) + ": " + v.Reason
	case strings.Contains(v.Reason, "on a quieter machine"):
		return "a quieter machine: " + v.Reason
	case f.Rounds+f.Voided > 0 && 4*f.Voided > f.Rounds+f.Voided:
		if u.Takes > 0 {
			return lost(e, v) + ", or about " + minutes(u.Takes) + " more"
		}
		return lost(e, v)
	case f.NeedRounds > 0 && !v.Edge:
		return more(f, cmp.Or(u.Takes, costOfRounds(e, v)))
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
	case len(h.Claims) > 0 && !slices.Contains(h.Claims, c.ID):
		return "a run without --claims"
	case len(h.Models) > 0 && slices.ContainsFunc(terms, func(t manifest.Term) bool {
		return t.Model != "" && !slices.Contains(h.Models, t.Model)
	}):
		return "a run without --models"
	case len(h.Points) > 0 && slices.ContainsFunc(c.At, func(point string) bool {
		return !slices.Contains(h.Points, point)
	}):
		return "a run without --point"
	case h.Condition != "" && c.Condition != "" && c.Condition != h.Condition:
		return "a run without --condition"
	}
	return "a run with more time"
}

// undecided is what a run with a budget has itself found at its end of a claim that is open; zero
// of any other run.
func undecided(h *record.Header, v verdict.Verdict) record.Undecided {
	for _, u := range h.Undecided {
		if u.Experiment == v.Experiment && u.Claim == v.Claim.ID {
			return u
		}
	}
	return record.Undecided{}
}

// more is the time that further rounds take.
func more(f stats.Finding, cost time.Duration) string {
	rounds := quantity.Many(f.NeedRounds, "more round")
	text := "about " + rounds
	if cost > 0 {
		text = fmt.Sprintf("about %s more (%s)", minutes(cost), rounds)
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

// costOfRounds is what the rounds cost that a claim needs. Of those that the machine spoils there
// will be as many as before.
func costOfRounds(e *experiment, v verdict.Verdict) time.Duration {
	f := v.Finding
	counted := max(1, f.Rounds)
	tried := (f.NeedRounds*(counted+f.Voided) + counted - 1) / counted
	return costOfRound(e, v) * time.Duration(tried)
}

// costOfRound is what a round of a claim costs: for each series that has still to be measured, the
// median of what its cells took in a round. A run spends its rounds on several claims, so that
// hardly any round has all cells of one.
func costOfRound(e *experiment, v verdict.Verdict) (cost time.Duration) {
	open := v.Open()
	took := map[verdict.Series]map[int]time.Duration{} // by round
	for _, c := range e.cells {
		s := verdict.Series{Point: c.Point, Condition: c.Condition, Model: c.Model}
		if c.Twin || !concerns(e, v, c) || len(open) > 0 && !slices.Contains(open, s) {
			continue
		}
		if took[s] == nil {
			took[s] = map[int]time.Duration{}
		}
		took[s][c.Round] += c.Took // a cell that was measured twice costs twice as much
	}
	for _, rounds := range took {
		costs := slices.Sorted(maps.Values(rounds))
		cost += costs[len(costs)/2]
	}
	return cost
}
