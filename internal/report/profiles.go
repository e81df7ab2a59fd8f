package report

// Flame graphs of the servers' profiles, which were taken apart from the measured cells.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/profile"
	"interleave/internal/quantity"
	"interleave/internal/report/figure"
)

// ofProfiles draws the profiles of an experiment under a condition.
func (s *study) ofProfiles(e *experiment, c manifest.Condition,
	styles map[string]figure.Style) []drawn {
	var out []drawn
	for _, p := range s.Header.Profiles {
		if p.Experiment != e.Name || p.Condition != c || p.Samples == nil {
			continue
		}
		id := anchor("fig", e.Name, p.Point, p.Model, "profile", string(c))
		f := figure.Flame{Style: styles[p.Model], Roots: calls(p.Samples, p.Samples.N)}
		t := selves(p.Samples)
		f.Frame = figure.Frame{ID: id, Title: fmt.Sprintf("What the CPU of %s was busy with, at %s",
			p.Model, p.Point), Desc: "Most at work: " + most(t) + "."}
		caption := fmt.Sprintf("What the CPU of %s was busy with from its start to its end, at "+
			"“%s”: %s in a run that was not measured. Each function stands below "+
			"the one that called it, as wide as its share; those that only called one other are "+
			"left out (%s).", p.Model, p.Point, quantity.Many(int(p.Samples.N), "sample"), p.By)
		out = append(out, draw(id, caption, f, t))
	}
	return out
}

func calls(n *profile.Node, total int64) []figure.Call {
	var out []figure.Call
	for _, c := range n.Calls {
		for len(c.Calls) == 1 && c.Calls[0].N == c.N {
			c = c.Calls[0] // a function that only calls another is not drawn: frameworks stand deep
		}
		out = append(out, figure.Call{Name: c.Name, Share: float64(c.N) / float64(total),
			Calls: calls(c, total)})
	}
	slices.SortStableFunc(out, func(a, b figure.Call) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// selves are the functions that were most at work themselves.
func selves(n *profile.Node) table {
	const shown = 10
	t := table{Caption: "The functions that were at work themselves in most samples.",
		Head: []string{"function", "share"}}
	self := n.Selves()
	names := sortedKeys(self)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(self[b], self[a]) })
	for _, name := range names {
		if name != "" && len(t.Rows) < shown {
			t.Rows = append(t.Rows, []string{name,
				quantity.Trim(100*float64(self[name])/float64(n.N), 3) + " %"})
		}
	}
	return t
}

// most tells the first rows of a table.
func most(t table) string {
	var first []string
	for _, r := range t.Rows[:min(3, len(t.Rows))] {
		first = append(first, r[0]+" "+r[1])
	}
	return strings.Join(first, ", ")
}
