package report

// Tables: what every figure shows, as numbers.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// A table is head and rows of text; the first cell of a row names it.
type table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// figureOf writes an estimate with its interval: "4.31 (4.25–4.40) µs"; with too few rounds for an
// interval, only the estimate.
func figureOf(iv stats.Interval, unit string) string {
	if math.IsNaN(iv.Estimate) {
		return quantity.Missing
	}
	if iv.Short() || math.IsInf(iv.Lower, 0) && math.IsInf(iv.Upper, 0) {
		return quantity.Short(iv.Estimate, unit)
	}
	return quantity.Estimate(iv.Estimate, iv.Lower, iv.Upper, unit)
}

// dagger marks an absolute figure that rests on rounds in which the machine was not quiet.
const dagger = "†"

// disturbed is the mark of a row that rests on such rounds, or nothing.
func disturbed(r verdict.Row) string {
	if r.Labels[record.Disturbed] > 0 && !record.Still(r.Metric) {
		return dagger
	}
	return ""
}

// footnote explains the mark where a table has it.
func footnote(rows []verdict.Row) string {
	if slices.ContainsFunc(rows, func(r verdict.Row) bool { return disturbed(r) != "" }) {
		return " " + dagger + " Other work ran on the machine meanwhile: compare ratios within " +
			"a round, not this figure."
	}
	return ""
}

// absolute writes a row's figure in the metric's unit, marked where that is due.
func absolute(r verdict.Row, m manifest.Metric) string {
	return figureOf(centre(r), manifest.Metrics[m].Unit) + disturbed(r)
}

// rounds tells how many count, and of how many that is if some do not.
func rounds(n, void int) string {
	if void == 0 {
		return quantity.Count(int64(n))
	}
	return fmt.Sprintf("%d of %d", n, n+void)
}

// unit is a metric's for a head or a caption: "mean CPU (% of a core)".
func unit(m manifest.Metric) string {
	info := manifest.Metrics[m]
	name := info.Name
	if name == "" {
		name = string(m)
	}
	if info.Unit == "" || info.Unit == name { // "threads"
		return name
	}
	return name + " (" + info.Unit + ")"
}

// axisName names a metric beside ticks.
func axisName(m manifest.Metric) string {
	if info := manifest.Metrics[m]; info.Name != "" && quantity.TickTells(info.Unit) {
		return info.Name
	}
	return unit(m)
}

// name is a row's model; the baseline's second cell says so.
func name(r verdict.Row) string {
	if r.Twin {
		return r.Model + " again (A/A)"
	}
	return r.Model
}

// sweepTable has a row for each model and a column for each point.
func sweepTable(rows []verdict.Row, m manifest.Metric) table {
	var points, models []string
	cells := map[[2]string]verdict.Row{}
	for _, r := range rows {
		if !slices.Contains(points, r.Point) {
			points = append(points, r.Point)
		}
		if !slices.Contains(models, name(r)) {
			models = append(models, name(r))
		}
		cells[[2]string{name(r), r.Point}] = r
	}
	t := table{Head: append([]string{"model"}, points...)}
	for _, model := range models {
		line := []string{model}
		for _, p := range points {
			r, found := cells[[2]string{model, p}]
			if !found {
				line = append(line, quantity.Missing)
				continue
			}
			line = append(line, absolute(r, m)+", n = "+rounds(len(r.Values), r.Void))
		}
		t.Rows = append(t.Rows, line)
	}
	t.Caption = capital(unit(m)) + ": estimate (95 % interval), n = rounds that count." +
		footnote(rows)
	return t
}

// stripTable has a row for each model, with the ratio against the baseline.
func stripTable(rows []verdict.Row, m manifest.Metric, baseline string) table {
	t := table{
		Caption: "Estimate (95 % interval) over the rounds; ratios within rounds." +
			footnote(rows),
		Head: []string{"model", unit(m), "by " + baseline, "rounds that count", "remarks"},
	}
	for _, r := range rows {
		against := figureOf(ratio(r), "")
		if r.Model == baseline && !r.Twin {
			against = "1"
		}
		t.Rows = append(t.Rows, []string{name(r), absolute(r, m), against,
			rounds(len(r.Values), r.Void), labels(r.Labels)})
	}
	return t
}

// labels tells what rounds bear: "generator-bound in 12".
func labels(of map[string]int) string {
	var parts []string
	for label, n := range of {
		parts = append(parts, fmt.Sprintf("%s in %d", label, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// claimTable has a row for each comparison that a verdict rests on.
func claimTable(v verdict.Verdict) table {
	t := table{
		Caption: "Estimate over all rounds. The 95 % interval, which is valid at every look, " +
			"decides; the 90 % interval is for comparison.",
		Head: []string{"comparison", "estimate", "95 % interval", "90 % interval", "published",
			"reproduces the claim", "rounds that count", "verdict"},
	}
	for _, p := range v.Parts {
		t.Rows = append(t.Rows, []string{
			p.Name, quantity.Significant(p.Finding.Estimate, 3), interval(p.Finding.Interval95),
			interval(p.Finding.Interval90),
			quantity.Significant(p.Published, 3), region(p.Accept),
			rounds(p.Finding.Rounds, p.Finding.Voided), string(p.Finding.Word),
		})
	}
	return t
}

func interval(iv stats.Interval) string {
	if math.IsNaN(iv.Lower) || iv.Level == 0 {
		return quantity.Missing
	}
	text := quantity.Significant(iv.Lower, 3) + " – " + quantity.Significant(iv.Upper, 3)
	if iv.Short() {
		text += fmt.Sprintf(" (only %.3g %%)", 100*iv.Attained)
	}
	return text
}

// region is what reproduces a claim: "below 0.952", "3.10 to 4.85".
func region(accept [2]float64) string {
	low, high := quantity.Significant(accept[0], 3), quantity.Significant(accept[1], 3)
	openLow, openHigh := accept[0] <= 0, math.IsInf(accept[1], 1)
	switch {
	case openLow && openHigh:
		return quantity.Missing
	case openLow:
		return "below " + high
	case openHigh:
		return "above " + low
	}
	return low + " to " + high
}
