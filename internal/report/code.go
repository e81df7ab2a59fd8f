package report

// The length of the models' code as a figure.

import (
	"cmp"
	"fmt"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/report/figure"
)

// linesFigure shows how long the code of the experiment's models is, the shortest first. It is of
// all that the tree has: counting needs no measurement. There is no figure of less than two.
func (s *study) linesFigure(e *experiment, styles map[string]figure.Style) []drawn {
	type length struct {
		model string
		lines int
	}
	var all []length
	for _, m := range e.Models {
		if n := s.lines(e.Service, m); n > 0 {
			all = append(all, length{m, n})
		}
	}
	if len(all) < 2 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b length) int { return cmp.Compare(a.lines, b.lines) })
	f := figure.Parts{Axis: manifest.Metrics[manifest.Lines].Name,
		Names: []string{"lines that are neither blank nor only comment"}}
	t := table{Caption: "Lines that are neither blank nor only comment.",
		Head: []string{"model", "lines", "by " + e.Baseline}}
	base := s.lines(e.Service, e.Baseline)
	for _, l := range all {
		style, measured := styles[l.model]
		if !measured {
			style = figure.Style{Marker: figure.Cross}
		}
		f.Rows = append(f.Rows, figure.PartsRow{Name: l.model, Style: style,
			Parts: []float64{float64(l.lines)}, Note: fmt.Sprint(l.lines),
			Strong: e.about(l.model)})
		by := quantity.Missing
		if base > 0 {
			by = quantity.Significant(float64(l.lines)/float64(base), 3)
		}
		t.Rows = append(t.Rows, []string{l.model, fmt.Sprint(l.lines), by})
	}
	first, last := all[0], all[len(all)-1]
	f.Frame = figure.Frame{ID: anchor("fig", e.Name, "lines"),
		Title: "Lines of code, " + quantity.Many(len(all), "model"),
		Desc: fmt.Sprintf("From %s with %d to %s with %d.", first.model, first.lines, last.model,
			last.lines)}
	caption := "Lines of code of each model’s own server, without blank lines and comments; " +
		"counted, so there is no interval. Bold: the models that claims are about."
	return []drawn{draw(f.ID, caption, f, t)}
}
