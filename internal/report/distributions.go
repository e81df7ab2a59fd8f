package report

// Whole distributions of latency, where the load was an open loop.

import (
	"fmt"
	"maps"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/report/figure"
)

// distributions draws the latencies of each open point: a merged histogram for each model.
func (s *study) distributions(e *experiment, c manifest.Condition,
	styles map[string]figure.Style) []drawn {
	var out []drawn
	for _, p := range e.Points {
		if p.Load.Shape != manifest.Open {
			continue
		}
		merged := map[string]*hist.Histogram{}
		cells := map[string]int{}
		for _, cell := range e.cells {
			if cell.Point != p.Name || cell.Condition != c || cell.Twin ||
				cell.Status != record.Measured || cell.Result == nil ||
				cell.Result.Latencies() == nil {
				continue
			}
			if merged[cell.Model] == nil {
				merged[cell.Model] = &hist.Histogram{}
			}
			merged[cell.Model].Merge(cell.Result.Latencies())
			cells[cell.Model]++
		}
		// Of fewer than twenty requests there is no line: a median is where ten are left.
		maps.DeleteFunc(merged, func(_ string, h *hist.Histogram) bool { return h.Count() < 20 })
		if len(merged) > 0 {
			out = append(out, s.quantileFigure(e, c, p, merged, cells, styles))
		}
	}
	return out
}

func (s *study) quantileFigure(e *experiment, c manifest.Condition, p manifest.Point,
	merged map[string]*hist.Histogram, cells map[string]int, styles map[string]figure.Style) drawn {
	id := anchor("fig", e.Name, p.Name, "distribution", string(c))
	f := figure.Quantiles{YName: "latency from the due time"}
	t := table{
		Caption: "Latency counted from the moment a request was due; histograms of all rounds " +
			"merged by addition. Intervals over rounds stand with the figures of p50 and p99.",
		Head: []string{"model", "p50", "p90", "p99", "p99.9", "longest", "requests", "rounds"},
	}
	for _, model := range sortedKeys(merged) {
		h := merged[model]
		series := figure.QuantileSeries{Name: model, Style: styles[model], Strong: e.about(model)}
		for _, q := range figure.Shares(h.Count()) {
			series.Points = append(series.Points,
				[2]float64{q, float64(max(h.Quantile(q), 1)) / 1e3})
		}
		f.Series = append(f.Series, series)
		line := []string{model}
		for _, q := range []float64{.5, .9, .99, .999} {
			text := quantity.Missing
			if float64(h.Count())*(1-q) >= 10 {
				text = quantity.Of(float64(h.Quantile(q))/1e3, "µs")
			}
			line = append(line, text)
		}
		t.Rows = append(t.Rows, append(line, quantity.Of(float64(h.Max())/1e3, "µs"),
			quantity.Count(int64(h.Count())), fmt.Sprint(cells[model])))
	}
	f.Frame = figure.Frame{ID: id, Title: "Distribution of latency at " + p.Name,
		Desc: "Quantiles of latency on a logarithmic axis, one line for each of " +
			quantity.Many(len(f.Series), "model") + "; the table has the figures."}
	caption := fmt.Sprintf("Latency of all requests at “%s” (%s), from the moment each was due; "+
		"%s. Rounds merged; a line ends where fewer than ten requests are left.",
		p.Name, offer(p.Load), where(c))
	return draw(id, caption, f, t)
}
