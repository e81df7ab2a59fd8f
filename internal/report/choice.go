package report

// Which model for which service: a table of ratios to the service's baseline, each with its
// interval.

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/report/figure"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// needs are the columns: what a user may want of a model, with the metrics that show it. The first
// metric that a service has counts. The longest head has a place to break it.
var needs = []struct {
	Head    string
	metrics []manifest.Metric
}{
	{"through\u00adput", []manifest.Metric{manifest.Deliveries, manifest.BitRate,
		manifest.SolveTime, manifest.Throughput}},
	{"CPU", []manifest.Metric{manifest.CPUPerDelivery, manifest.CPUPerGB, manifest.CPUPerRequest,
		manifest.CPU}},
	{"p99", []manifest.Metric{manifest.LatencyP99, manifest.ResponseP99, manifest.AckP99}},
	{"memory", []manifest.Metric{manifest.ClientMemory, manifest.PSS}},
	{"lines", []manifest.Metric{manifest.Lines}},
}

// A choice is the models of one service.
type choice struct {
	Service, Baseline string
	Title, Anchor     string // of the experiment that measured them
	Heads             []choiceHead
	Rows              []choiceRow
}

// A choiceHead says what a column shows.
type choiceHead struct {
	Name  string // "throughput"
	What  string // "requests/s at echo"
	More  bool   // is better
	Empty bool
	Axis  template.HTML
}

// Shown are the columns that have figures.
func (c choice) Shown() []choiceHead {
	return slices.DeleteFunc(slices.Clone(c.Heads), func(h choiceHead) bool { return h.Empty })
}

// A choiceRow is one model.
type choiceRow struct {
	Model string
	Base  bool
	Cells []choiceCell
}

// A choiceCell is a ratio to the baseline.
type choiceCell struct {
	Text   string // "1.42"
	Spread string // "±3 %", or the level that is missing
	Whole  string // with the interval, for a pointer that rests on it and for readers who hear it
	Class  string // better, worse, same (1 lies inside), few (no interval), none
	Strip  template.HTML
	ratio  stats.Interval
	exact  bool
}

// choices are the services of which at least two models were measured.
func (s *study) choices() []choice {
	var names []string
	for _, c := range s.Cells {
		if !slices.Contains(names, c.Service) {
			names = append(names, c.Service)
		}
	}
	slices.Sort(names)
	var out []choice
	for _, name := range names {
		var best choice
		most := 0
		for _, e := range s.experiments {
			if c, n := s.choice(e, name); n > most {
				best, most = c, n
			}
		}
		if len(best.Rows) > 1 {
			out = append(out, best)
		}
	}
	drawChoices(out)
	return out
}

// choice is a service as one experiment measured it, and how many figures that gives.
func (s *study) choice(e *experiment, service string) (c choice, figures int) {
	c = choice{Service: service, Baseline: e.Baseline, Title: e.title(), Anchor: anchor(e.Name)}
	columns := make([]map[string]stats.Interval, len(needs))
	for i, need := range needs {
		head := choiceHead{Name: need.Head, Empty: true}
		for _, m := range need.metrics {
			if m == manifest.Lines {
				continue
			}
			rows, what := s.widest(e, service, m)
			if len(rows) < 2 {
				continue
			}
			head.What, head.More, head.Empty = what, manifest.Metrics[m].MoreIsBetter, false
			if m == manifest.SolveTime {
				head.Name = "time"
			}
			columns[i] = map[string]stats.Interval{}
			for _, r := range rows {
				columns[i][r.Model] = ratio(r)
			}
			break
		}
		c.Heads = append(c.Heads, head)
		figures += len(columns[i])
	}
	if figures == 0 {
		return c, 0
	}
	c.fill(s, columns)
	return c, figures
}

// widest is the point, under the first condition, at which most models have the metric; of several
// one of warm servers, and of those the last, which is that of the highest load.
func (s *study) widest(e *experiment, service string,
	m manifest.Metric) (best []verdict.Row, what string) {
	for _, condition := range e.conditions {
		for _, rows := range byPoint(e.rows(condition, m)) {
			rows = slices.DeleteFunc(slices.Clone(rows), func(r verdict.Row) bool {
				return r.Service != service || r.Twin || !known(ratio(r)) ||
					m.Rate() && e.offered(r) || s.variant(e, r, rows)
			})
			if len(rows) >= max(len(best), 1) && (what == "" || len(rows) > len(best) ||
				best[0].Condition == condition && (!e.cold(rows) || e.cold(best))) {
				best = rows
				what = fmt.Sprintf("%s, at %s, %s cores", unit(m), rows[0].Point, condition)
			}
		}
	}
	return best, what
}

// cold says whether rows are of fresh servers.
func (e *experiment) cold(rows []verdict.Row) bool {
	p := e.point(rows[0].Point)
	return p != nil && p.Load.Shape == manifest.Cold
}

// variant says whether a row is of a program that another row is of, too, only built or started in
// another way: with another database, or other locks. That is no choice between models.
func (s *study) variant(e *experiment, r verdict.Row, rows []verdict.Row) bool {
	m := s.model(r.Service, r.Model)
	return m != nil && m.Name != e.Baseline && slices.ContainsFunc(rows, func(o verdict.Row) bool {
		return o.Service == r.Service && o.Model == m.VariantOf()
	})
}

// fill makes a row of each model, those that serve most first.
func (c *choice) fill(s *study, columns []map[string]stats.Interval) {
	var models []string
	for _, column := range columns {
		for model := range column {
			if !slices.Contains(models, model) {
				models = append(models, model)
			}
		}
	}
	slices.Sort(models)
	base, last := s.lines(c.Service, c.Baseline), len(needs)-1
	if base > 0 {
		c.Heads[last].Empty = false
		c.Heads[last].What = fmt.Sprintf("lines of code; %s has %d", c.Baseline, base)
	}
	for _, model := range models {
		row := choiceRow{Model: model, Base: model == c.Baseline}
		for i, column := range columns {
			cell := choiceCell{ratio: stats.Interval{Estimate: math.NaN()}}
			if iv, found := column[model]; found {
				cell.ratio = iv
			}
			if i == last && base > 0 {
				cell.count(s.lines(c.Service, model), base)
			}
			cell.tell(row.Base, c.Heads[i].More)
			row.Cells = append(row.Cells, cell)
		}
		c.Rows = append(c.Rows, row)
	}
	c.rank()
}

// count sets the ratio of lines of code, which has no interval. A model without any has none.
func (c *choiceCell) count(lines, base int) {
	if lines > 0 {
		r := float64(lines) / float64(base)
		c.ratio, c.exact = stats.Interval{Estimate: r, Lower: r, Upper: r}, true
	}
}

// rank puts the rows in the order of the first column that has figures.
func (c *choice) rank() {
	for i, h := range c.Heads {
		if h.Empty {
			continue
		}
		sign := 1
		if h.More {
			sign = -1
		}
		slices.SortStableFunc(c.Rows, func(a, b choiceRow) int {
			x, y := a.Cells[i].ratio.Estimate, b.Cells[i].ratio.Estimate
			switch {
			case math.IsNaN(x) || math.IsNaN(y):
				return cmp.Compare(boolean(math.IsNaN(x)), boolean(math.IsNaN(y)))
			}
			return sign * cmp.Compare(x, y)
		})
		return
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tell writes a cell's texts.
func (c *choiceCell) tell(base, more bool) {
	iv := c.ratio
	switch {
	case math.IsNaN(iv.Estimate):
		c.Text, c.Class, c.Whole = quantity.Missing, "none", "not measured"
		return
	case base:
		c.Text, c.Class, c.Whole = "1", "base", "the baseline"
		return
	}
	c.Text = quantity.Significant(iv.Estimate, 2)
	if iv.Estimate < 10 {
		c.Text = fmt.Sprintf("%.2f", iv.Estimate)
	}
	c.Whole = figureOf(iv, "")
	switch {
	case c.exact:
		c.Whole = c.Text
	case iv.Short():
		c.Class, c.Whole = "few", c.Text+", too few rounds for an interval"
		return
	default:
		half := (iv.Upper - iv.Lower) / 2 / iv.Estimate
		c.Spread = "±" + quantity.Percent(half)
		if half > 1 {
			c.Spread = "wide"
		}
	}
	switch higher := iv.Lower > 1; {
	case iv.Lower <= 1 && iv.Upper >= 1:
		c.Class = "same"
	case higher == more:
		c.Class = "better"
	default:
		c.Class = "worse"
	}
}

// drawChoices draws the strips, those of a service's column on one axis.
func drawChoices(all []choice) {
	for i := range all {
		for column := range needs {
			axis := all[i].axis(column)
			if head := &all[i].Heads[column]; !head.Empty {
				head.Axis = template.HTML(axis.Axis())
			}
			for j := range all[i].Rows {
				cell := &all[i].Rows[j].Cells[column]
				if cell.Class != "none" {
					cell.Strip = template.HTML(axis.Strip(cell.row(), all[i].grid(column)))
				}
			}
		}
	}
}

// axis is the axis of a column.
func (c *choice) axis(column int) *figure.Forest {
	var rows []figure.ForestRow
	for _, r := range c.Rows {
		rows = append(rows, r.Cells[column].row())
	}
	return figure.NewForest(rows, 1000, 4)
}

// grid is the name of the axis' lines.
func (c *choice) grid(column int) string { return anchor(c.Service, fmt.Sprint(column)) }

// row is a cell as a strip shows it: hollow where 1 lies inside.
func (c choiceCell) row() figure.ForestRow {
	nan := math.NaN()
	r := figure.ForestRow{Shape: figure.Round, Estimate: c.ratio.Estimate, Low: nan, High: nan,
		InnerLow: nan, InnerHigh: nan, Published: nan, Accept: [2]float64{0, math.Inf(1)}}
	if c.Class == "same" || c.Class == "few" {
		r.Shape = figure.Hollow
	}
	if !c.exact && !c.ratio.Short() {
		r.Low, r.High = c.ratio.Lower, c.ratio.Upper
	}
	return r
}

// grids are the axes of the columns, as the page defines them once.
func grids(all []choice) template.HTML {
	var out strings.Builder
	for i := range all {
		for column := range needs {
			out.WriteString(all[i].axis(column).Grid(all[i].grid(column)))
		}
	}
	return template.HTML(out.String())
}
