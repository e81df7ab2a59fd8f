package report

// The figures of image services: the time of a response by its number since the server's start,
// and the parts of that time.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/report/figure"
)

// ofImages draws both for an experiment under a condition.
func (s *study) ofImages(e *experiment, c manifest.Condition,
	styles map[string]figure.Style) []drawn {
	var out []drawn
	for _, p := range e.Points {
		if cells := e.imageCells(c, p.Name); len(cells) > 0 && p.Load.Shape == manifest.Cold {
			out = append(out, s.byNumber(e, c, p, cells, styles))
		}
	}
	for _, p := range e.Points {
		if cells := e.imageCells(c, p.Name); len(cells) > 0 && e.shownInParts(p) {
			out = append(out, s.partsFigure(e, c, p, cells, styles))
		}
	}
	return out
}

// shownInParts leaves the middle of a sweep out: its ends tell how the parts grow.
func (e *experiment) shownInParts(p manifest.Point) bool {
	sweep := e.Sweep()
	return math.IsNaN(p.X) || p.X == sweep[0].X || p.X == sweep[len(sweep)-1].X
}

// imageCells are the measured cells at a point by model, without the baseline's second ones.
func (e *experiment) imageCells(c manifest.Condition, point string) map[string][]record.Cell {
	out := map[string][]record.Cell{}
	for _, cell := range e.cells {
		if cell.Point == point && cell.Condition == c && !cell.Twin &&
			cell.Status == record.Measured && imageTimes(&cell) != nil {
			out[cell.Model] = append(out[cell.Model], cell)
		}
	}
	return out
}

// imageTimes are those of a cell of an image service; nil if it is of another.
func imageTimes(c *record.Cell) *load.ImageTimes {
	if c.Result == nil {
		return nil
	}
	if p, ok := c.Result.Part.(*load.Images); ok {
		return &p.ImageTimes
	}
	return nil
}

// stretches cut the numbers of responses into parts that are alike on a logarithmic axis: 1, 2, 3,
// 4, 5-6, 7-9, ...
func stretches(n int) [][2]int {
	const perDecade = 8
	var out [][2]int
	for from, i := 0, 0; from < n; i++ {
		to := min(n, int(math.Round(math.Pow(10, float64(i)/perDecade))))
		if to > from {
			out = append(out, [2]int{from, to})
			from = to
		}
	}
	return out
}

// byNumber draws the response time by number: the median over the rounds of the median
// within a stretch.
func (s *study) byNumber(e *experiment, c manifest.Condition, p manifest.Point,
	cells map[string][]record.Cell, styles map[string]figure.Style) drawn {
	id := anchor("fig", e.Name, p.Name, "by-number", string(c))
	f := figure.Sweep{XName: "number of the response since the server's start",
		YName: "response time", YUnit: "µs", LogX: true, LogY: true}
	firsts := []int{1, 10, 100, 1000}
	t := table{
		Caption: "Mean response time of the first so many responses: median over the rounds. In " +
			"brackets: times that of " + e.Baseline + ".",
		Head: []string{"model", "first", "first 10", "first 100", "first 1000", "to start",
			"rounds"},
	}
	base := cells[e.Baseline]
	for _, model := range sortedKeys(cells) {
		list := cells[model]
		series := figure.Series{Name: model, Style: styles[model], Strong: e.about(model)}
		for _, part := range stretches(leastFirst(list)) {
			var rounds []float64
			for _, cell := range list {
				rounds = append(rounds, median(responses(imageTimes(&cell), part[0], part[1])))
			}
			y := median(rounds)
			series.Points = append(series.Points,
				figure.SweepPoint{X: math.Sqrt(float64((part[0] + 1) * part[1])), Y: y, Low: y,
					High: y})
		}
		if len(series.Points) > 0 {
			f.Series = append(f.Series, series)
		}
		line := []string{model}
		for _, n := range firsts {
			line = append(line, withRatio(meanOfFirst(list, n), meanOfFirst(base, n),
				model == e.Baseline))
		}
		var starts []float64
		for _, cell := range list {
			starts = append(starts, float64(cell.StartUp.Microseconds()))
		}
		t.Rows = append(t.Rows, append(line, quantity.Of(median(starts), "µs"),
			fmt.Sprint(len(list))))
	}
	f.Frame = figure.Frame{ID: id, Title: "Response time by number since the start, at " + p.Name,
		Desc: describeSweep(f)}
	caption := fmt.Sprintf("Time of a POST and its GET by their number since the server's "+
		"start, at “%s” (%s), on logarithmic axes; %s. Medians over the rounds.", p.Name,
		offer(p.Load), where(c))
	return draw(id, caption, f, t)
}

// leastFirst is how many responses all cells have kept.
func leastFirst(cells []record.Cell) int {
	n := math.MaxInt
	for _, c := range cells {
		t := imageTimes(&c)
		n = min(n, len(t.FirstPost), len(t.FirstGet))
	}
	return n
}

// responses are those from a number on up to another, in µs.
func responses(t *load.ImageTimes, from, to int) []float64 {
	var out []float64
	for i := from; i < to; i++ {
		out = append(out, float64(t.FirstPost[i]+t.FirstGet[i])/1e3)
	}
	return out
}

// meanOfFirst is the median over the rounds; NaN if there are not so many.
func meanOfFirst(cells []record.Cell, n int) float64 {
	if len(cells) == 0 || leastFirst(cells) < n {
		return math.NaN()
	}
	var rounds []float64
	for _, c := range cells {
		total := 0.
		for _, v := range responses(imageTimes(&c), 0, n) {
			total += v
		}
		rounds = append(rounds, total/float64(n))
	}
	return median(rounds)
}

func withRatio(v, base float64, isBase bool) string {
	text := quantity.Of(v, "µs")
	if isBase || math.IsNaN(v) || !(base > 0) {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, quantity.Of(v/base, ""))
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// partNames are those of the time of a response, in the order in which it passes; but for behind,
// which only a chain has.
var partNames = []string{"to the server", "in its database", "else in the server",
	"from the server"}

// behind is the name of the part that a chain has before what is else in the server.
const behind = "in the services behind"

func namesOf(l manifest.Load) []string {
	if l.Chain < 2 {
		return partNames
	}
	return slices.Insert(slices.Clone(partNames), 2, behind)
}

// partsFigure draws where the time of a response goes.
func (s *study) partsFigure(e *experiment, c manifest.Condition, p manifest.Point,
	cells map[string][]record.Cell, styles map[string]figure.Style) drawn {
	id := anchor("fig", e.Name, p.Name, "parts", string(c))
	names := namesOf(p.Load)
	inServer := names[1 : len(names)-1]
	f := figure.Parts{Axis: "mean response time", Unit: "µs", Names: names}
	t := table{
		Caption: "Means, medians over the rounds; last the part of what a response takes more, " +
			"or less, than under " + e.Baseline + " that lies " + strings.Join(inServer, ", and ") +
			".",
		Head: append(append([]string{"model"}, names...), "response", "more than "+e.Baseline),
	}
	for _, name := range inServer {
		t.Head = append(t.Head, "of it "+name)
	}
	base := partsOf(cells[e.Baseline], len(names))
	for _, model := range sortedKeys(cells) {
		parts := partsOf(cells[model], len(names))
		total := whole(parts)
		f.Rows = append(f.Rows, figure.PartsRow{Name: model, Style: styles[model], Parts: parts,
			Note: quantity.Of(total, "µs"), Strong: e.about(model)})
		line := []string{model}
		for _, v := range parts {
			line = append(line, quantity.Of(v, "µs"))
		}
		line = append(line, quantity.Of(total, "µs"))
		more := []float64{total - whole(base)}
		for i := range inServer {
			more = append(more, parts[1+i]-base[1+i])
		}
		for _, v := range more {
			if len(cells[e.Baseline]) == 0 || model == e.Baseline {
				v = math.NaN()
			}
			line = append(line, quantity.Of(v, "µs"))
		}
		t.Rows = append(t.Rows, line)
	}
	slices.SortStableFunc(f.Rows,
		func(a, b figure.PartsRow) int { return cmp.Compare(whole(a.Parts), whole(b.Parts)) })
	f.Frame = figure.Frame{ID: id, Title: "Where the time of a response goes, at " + p.Name,
		Desc: describeParts(f)}
	itself := "the database's part is what the server says of itself"
	if p.Load.Chain > 1 {
		itself = "the parts of the database and of the services behind are what the first " +
			"server says of itself"
	}
	caption := fmt.Sprintf("Where the time of a response (a POST and what is fetched then) goes "+
		"at “%s” (%s); %s. Means; %s.", p.Name, offer(p.Load), where(c), itself)
	return draw(id, caption, f, t)
}

// partsOf are the medians over the rounds of the means of the four parts, or of the five that a
// chain has, in µs. A part that a server does not tell is left out.
func partsOf(cells []record.Cell, n int) []float64 {
	metrics := []manifest.Metric{manifest.ToServer, manifest.Database, manifest.InServer,
		manifest.FromServer}
	if n > len(metrics) {
		metrics = slices.Insert(metrics, 2, manifest.Next)
	}
	out := make([]float64, len(metrics))
	for i, m := range metrics {
		var rounds []float64
		for _, c := range cells {
			if v, ok := c.Metric(m); ok {
				rounds = append(rounds, v)
			}
		}
		if len(rounds) > 0 {
			out[i] = median(rounds)
		}
	}
	rest := &out[len(out)-2] // of the time in the server
	for i := 1; i < len(out)-2; i++ {
		out[i] = min(out[i], *rest)
		*rest -= out[i]
	}
	return out
}

func whole(parts []float64) (sum float64) {
	for _, v := range parts {
		sum += v
	}
	return sum
}

// describeParts tells the bars, for readers who hear the figure.
func describeParts(f figure.Parts) string {
	text := ""
	for i, r := range f.Rows {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s %s, of which %s in the database", r.Name, r.Note,
			quantity.Short(r.Parts[1], "µs"))
	}
	return text + "."
}
