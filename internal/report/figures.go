package report

// From rows to figures: one for each metric under each condition, a sweep where points lie on an
// axis, a strip of models where they do not.

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/report/figure"
	"interleave/internal/verdict"
)

// A drawn figure with what belongs to it.
type drawn struct {
	ID      string
	Number  int
	Caption string
	Paper   template.HTML // for wide screens and print
	Phone   template.HTML
	Table   table
}

type drawing interface{ SVG(figure.Width) string }

func draw(id, caption string, d drawing, t table) drawn {
	return drawn{
		ID: id, Caption: caption, Table: t,
		// The drawings escape every text that they are given.
		Paper: template.HTML(d.SVG(figure.Wide)), Phone: template.HTML(d.SVG(figure.Narrow)),
	}
}

// styles gives each model of the run one look in all figures.
func (s *study) styles() map[string]figure.Style {
	kind := map[string]string{}
	for _, c := range s.Cells {
		if m := s.model(c.Service, c.Model); m != nil {
			kind[c.Model] = m.Model
		} else if _, found := kind[c.Model]; !found {
			kind[c.Model] = ""
		}
	}
	return figure.StylesFor(kind)
}

// where says in words which cores a condition uses.
func where(c manifest.Condition) string {
	switch c {
	case manifest.Own:
		return "server and load on cores of their own"
	case manifest.Shared:
		return "server and load share all cores"
	}
	return string(c)
}

// cores is where, with the cores' numbers: for a heading, so that the captions below
// need not have them.
func (s *study) cores(c manifest.Condition) string {
	server, load := s.Header.CPUs["server"], s.Header.CPUs["load"]
	if c == manifest.Own && len(server) > 0 && len(load) > 0 {
		return fmt.Sprintf("%s (server %s, load %s)", where(c), numbers(server), numbers(load))
	}
	return where(c)
}

func numbers(list []int) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = fmt.Sprint(n)
	}
	return strings.Join(text, ", ")
}

// measured draws all metrics of an experiment under one condition.
func (s *study) measured(e *experiment, c manifest.Condition,
	styles map[string]figure.Style) []drawn {
	var out []drawn
	for _, m := range e.metrics() {
		rows := e.rows(c, m)
		if m.Rate() {
			rows = slices.DeleteFunc(slices.Clone(rows), e.offered)
		}
		sweep, single := split(rows)
		if len(sweep) > 0 {
			out = append(out, s.sweepFigure(e, c, m, sweep, styles))
		}
		for _, rows := range byPoint(single) {
			out = append(out, s.stripFigure(e, c, m, rows, styles))
		}
	}
	if c == e.conditions[0] && slices.Contains(e.Metrics, manifest.Lines) {
		out = append(out, s.linesFigure(e, styles)...)
	}
	out = append(out, s.ofImages(e, c, styles)...)
	out = append(out, s.ofStreams(e, c)...)
	out = append(out, s.ofProfiles(e, c, styles)...)
	return append(out, s.distributions(e, c, styles)...)
}

// offered says that a row's rate is what the load offered: no result.
func (e *experiment) offered(r verdict.Row) bool {
	p := e.point(r.Point)
	return p != nil && (p.Load.Rate > 0 || p.Load.Bits > 0)
}

// split takes apart what lies on an axis of at least two places and what does not.
func split(rows []verdict.Row) (sweep, single []verdict.Row) {
	var places []float64
	for _, r := range rows {
		if !math.IsNaN(r.X) && !slices.Contains(places, r.X) {
			places = append(places, r.X)
		}
	}
	for _, r := range rows {
		if len(places) > 1 && !math.IsNaN(r.X) {
			sweep = append(sweep, r)
		} else {
			single = append(single, r)
		}
	}
	return sweep, single
}

func byPoint(rows []verdict.Row) [][]verdict.Row {
	var out [][]verdict.Row
	for _, r := range rows {
		if n := len(out); n > 0 && out[n-1][0].Point == r.Point {
			out[n-1] = append(out[n-1], r)
			continue
		}
		out = append(out, []verdict.Row{r})
	}
	return out
}

// logFrom is the ratio of the largest to the smallest estimate from which an axis is logarithmic:
// below, a linear axis from zero shows both ends.
const logFrom = 40

func (s *study) sweepFigure(e *experiment, c manifest.Condition, m manifest.Metric,
	rows []verdict.Row, styles map[string]figure.Style) drawn {
	id := anchor("fig", e.Name, string(m), string(c))
	f := figure.Sweep{
		XName: cmp.Or(e.Axis.Label, e.Axis.Over), YName: axisName(m),
		YUnit: manifest.Metrics[m].Unit, LogX: e.Axis.Log,
	}
	at := map[string]int{}
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		if r.Twin || !known(centre(r)) {
			continue
		}
		i, found := at[r.Model]
		if !found {
			i, at[r.Model] = len(f.Series), len(f.Series)
			f.Series = append(f.Series, figure.Series{Name: r.Model, Style: styles[r.Model],
				Strong: e.about(r.Model)})
		}
		v := centre(r)
		p := figure.SweepPoint{X: r.X, Y: v.Estimate, Low: v.Lower, High: v.Upper}
		if v.Short() {
			p.Low, p.High = p.Y, p.Y
		}
		f.Series[i].Points = append(f.Series[i].Points, p)
		low, high = min(low, p.Y), max(high, p.Y)
	}
	f.LogX = f.LogX && !slices.ContainsFunc(rows, func(r verdict.Row) bool { return r.X <= 0 })
	var published []string
	for _, curve := range e.Curves {
		if curve.Metric == m {
			if series := e.published(c, curve, styles); len(series.Points) > 0 {
				f.Published = append(f.Published, series)
				for _, p := range series.Points {
					low, high = min(low, p.Y), max(high, p.Y)
				}
				published = append(published, curve.Label)
			}
		}
	}
	f.LogY = low > 0 && high/low > logFrom
	f.Frame = figure.Frame{ID: id, Title: fmt.Sprintf("%s over %s, %s", capital(axisName(m)),
		f.XName, quantity.Many(len(f.Series), "model")), Desc: describeSweep(f)}
	caption := fmt.Sprintf("%s over %s; %s. %s; bars and bands are 95 %% intervals.",
		capital(axisName(m)), f.XName, where(c), roundsOf(rows))
	if len(e.Claims) > 0 {
		caption += " Bold: the models that claims are about."
	}
	if len(published) > 0 {
		caption += " Pale and wide, behind: the published curve (" + strings.Join(published, ", ") +
			")."
	}
	return draw(id, caption+footnote(rows), f, sweepTable(rows, m))
}

// published is a curve of the source; one that is relative is brought to the figures of this run.
func (e *experiment) published(c manifest.Condition, curve manifest.Curve,
	styles map[string]figure.Style) figure.Series {
	p := figure.Series{Name: "published, " + curve.Model, Style: styles[curve.Model]}
	for _, xy := range curve.Points {
		y := xy[1]
		if of := curve.Relative; of.Model != "" {
			i := slices.IndexFunc(e.rows(c, curve.Metric), func(r verdict.Row) bool {
				return r.Model == of.Model && !r.Twin && (r.Point == of.Point ||
					of.Point == "" && r.X == xy[0])
			})
			if i < 0 || !known(centre(e.rows(c, curve.Metric)[i])) {
				continue // the model that it is relative to was not measured
			}
			y *= centre(e.rows(c, curve.Metric)[i]).Estimate
		}
		p.Points = append(p.Points, figure.SweepPoint{X: xy[0], Y: y, Low: y, High: y})
	}
	return p
}

// describeSweep tells the ends of the axis, for readers who hear the figure.
func describeSweep(f figure.Sweep) string {
	var parts []string
	for _, s := range f.Series {
		if n := len(s.Points); n > 0 {
			first, last := s.Points[0], s.Points[n-1]
			parts = append(parts, fmt.Sprintf("%s from %s at %s to %s at %s", s.Name,
				quantity.Short(first.Y, f.YUnit),
				quantity.Trim(first.X, 3), quantity.Short(last.Y, f.YUnit),
				quantity.Trim(last.X, 3)))
		}
	}
	return strings.Join(parts, "; ") + "."
}

// roundsOf tells on how many rounds the points of a figure rest.
func roundsOf(rows []verdict.Row) string {
	least, most := math.MaxInt, 0
	for _, r := range rows {
		least, most = min(least, len(r.Values)), max(most, len(r.Values))
	}
	switch {
	case most == 0:
		return "No round counts"
	case least == most:
		return "Estimates over " + quantity.Many(most, "round")
	}
	return fmt.Sprintf("Estimates over %d to %d rounds", least, most)
}

func (s *study) stripFigure(e *experiment, c manifest.Condition, m manifest.Metric,
	rows []verdict.Row, styles map[string]figure.Style) drawn {
	rows = ranked(rows, manifest.Metrics[m].MoreIsBetter)
	id := anchor("fig", e.Name, rows[0].Point, string(m), string(c))
	f := figure.Strip{Axis: axisName(m), Unit: manifest.Metrics[m].Unit}
	low, high := math.Inf(1), math.Inf(-1)
	var told []string
	for _, r := range rows {
		row := figure.StripRow{
			Name: name(r), Style: styles[r.Model], Dots: r.Values,
			Note:   absolute(r, m),
			Centre: centre(r).Estimate, Low: centre(r).Lower, High: centre(r).Upper, Twin: r.Twin,
			Strong: e.about(r.Model) && !r.Twin,
		}
		if centre(r).Short() {
			row.Low, row.High = row.Centre, row.Centre
		}
		if n := r.Labels[record.GeneratorBound]; m.Rate() && 2*n > len(r.Values) {
			row.Name += " *"
		}
		for _, v := range r.Values {
			low, high = min(low, v), max(high, v)
		}
		f.Rows = append(f.Rows, row)
		told = append(told, name(r)+" "+quantity.Short(centre(r).Estimate, f.Unit))
	}
	f.Log = low > 0 && high/low > logFrom
	f.Frame = figure.Frame{ID: id, Title: fmt.Sprintf("%s at %s, %s", capital(axisName(m)),
		rows[0].Point, quantity.Many(len(rows), "row")), Desc: strings.Join(told, "; ") + "."}
	caption := fmt.Sprintf("%s at “%s”; %s. %s; the baseline %s stands twice, A against A.",
		capital(axisName(m)), rows[0].Point, where(c), roundsOf(rows), e.Baseline)
	if slices.ContainsFunc(f.Rows,
		func(r figure.StripRow) bool { return strings.HasSuffix(r.Name, " *") }) {
		caption += " * The load's core was full in most rounds: a lower bound."
	}
	return draw(id, caption+footnote(rows), f, stripTable(rows, m, e.Baseline))
}

// ranked puts the best first; the twin stays below its baseline, what has no figure comes last.
func ranked(rows []verdict.Row, moreIsBetter bool) []verdict.Row {
	estimate := map[string]float64{}
	for _, r := range rows {
		if !r.Twin {
			estimate[r.Model] = centre(r).Estimate
		}
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b verdict.Row) int {
		x, y := estimate[a.Model], estimate[b.Model]
		if a.Model == b.Model {
			return cmp.Compare(twin(a), twin(b))
		}
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return cmp.Compare(a.Model, b.Model)
		case math.IsNaN(x):
			return 1
		case math.IsNaN(y):
			return -1
		}
		if moreIsBetter {
			x, y = y, x
		}
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Model, b.Model))
	})
	return rows
}

func twin(r verdict.Row) int {
	if r.Twin {
		return 1
	}
	return 0
}
