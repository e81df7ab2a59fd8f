package run

// The warm-up and the window of the cells of a budget, and the conditions that it measures.

import (
	"fmt"
	"slices"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// leastSettling is the shortest window in which it can be seen that a server's memory settles: the
// one of 10,000 streams on Go takes 3 s.
const leastSettling = 5 * time.Second

// leastGrowth is the shortest window in which memory that is lost differs from memory that a server
// has just begun to use: pools that fill in the first second look like a leak.
const leastGrowth = 20 * time.Second

// paceAt is the depth whose warm-up and window a budget takes at a point. It is the depth that the
// budget names. If that depth cannot end the point's load, or show what alone is asked of it, it is
// the next deeper one that can.
func paceAt(e *manifest.Experiment, word string, p manifest.Point) (manifest.Depth, bool) {
	for _, name := range manifest.DepthsFrom(word) {
		if d, err := e.Depth(name); err == nil && ends(d, p.Load) && lasts(d, e, p) {
			d.Models = nil
			return d, true
		}
	}
	return manifest.Depth{}, false
}

// ends says whether a load comes to its end at a depth, with all that it measures.
func ends(d manifest.Depth, l manifest.Load) bool {
	switch {
	case l.Shape == manifest.Cold: // each of its responses is a figure
		return d.Requests == 0 || d.Requests >= l.Requests
	case l.Requests == 0 || d.Requests == manifest.AllInWindow:
		return d.Window > 0
	}
	return true
}

// lasts says whether a depth's window shows the variation of CPU, where all claims that are about a
// point ask for that.
func lasts(d manifest.Depth, e *manifest.Experiment, p manifest.Point) bool {
	asked := false
	for _, c := range e.Claims {
		if !slices.ContainsFunc(e.ClaimPoints(c),
			func(o manifest.Point) bool { return o.Name == p.Name }) {
			continue
		}
		if c.Metric != manifest.CPUVariation {
			return true
		}
		asked = true
	}
	return !asked || d.Window >= record.LeastVariation
}

// tooShort says why a window cannot show a metric and which would, or nothing.
func (s *Spec) tooShort(m manifest.Metric) string {
	least, why := leastWindow(m)
	if s.Window == 0 || s.Window >= least {
		return ""
	}
	return fmt.Sprintf("%s, and these have %v%s", why, s.Window, longEnough(s.Experiment, least))
}

// leastWindow is the shortest window that shows a metric, with the reason; 0 if any does.
func leastWindow(m manifest.Metric) (time.Duration, string) {
	switch m {
	case manifest.CPUVariation:
		return record.LeastVariation, fmt.Sprintf("variation of CPU over half seconds shows in "+
			"windows of %v", record.LeastVariation)
	case manifest.Settling:
		return leastSettling, fmt.Sprintf("memory needs windows of %v to settle", leastSettling)
	case manifest.MemoryGrowth:
		return leastGrowth, fmt.Sprintf("memory that is lost shows in windows of %v", leastGrowth)
	}
	return 0, ""
}

// longEnough names the run whose windows are as long as that; nothing if none has them.
func longEnough(e *manifest.Experiment, least time.Duration) string {
	switch {
	case e == nil:
	case e.Normal.Window >= least:
		return "; those of budgets from two hours on are long enough"
	case e.Full.Window >= least:
		return ": see --full"
	}
	return ""
}

// judgedIn is the condition in which a claim is judged: its own, or the depth's first. False, if
// only another condition is measured.
func judgedIn(e *manifest.Experiment, c manifest.Claim, choice Choice) (manifest.Condition, bool) {
	if only := choice.Condition; only != "" {
		return only, c.Condition == "" || c.Condition == only
	}
	if c.Condition != "" {
		return c.Condition, true
	}
	d, err := e.Depth(choice.Depth)
	if err != nil || len(d.Conditions) == 0 {
		return "", false
	}
	return d.Conditions[0], true
}

// budgetConditions are the depth's first condition, for figures, and those that claims are about.
func budgetConditions(e *manifest.Experiment, choice Choice) (out []manifest.Condition) {
	for _, c := range append([]manifest.Claim{{}}, e.Claims...) {
		if condition, ok := judgedIn(e, c, choice); ok && !slices.Contains(out, condition) {
			out = append(out, condition)
		}
	}
	return out
}
