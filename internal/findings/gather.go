package findings

// From a run to its figures.

import (
	"cmp"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/report"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// Of judges a run and keeps what pages show. Claims of experiments that only the checkout has, and
// not the run, are not measured; tree may be nil.
func Of(run report.Run, tree *manifest.Tree) *Figures {
	h := run.Header
	f := &Figures{Version: Version, Run: h.ID, Started: h.Started, Finished: h.Finished,
		Hosts: h.Hosts, Calibrated: len(h.Calibration) > 0, Machine: h.Machine,
		Gates: []Gate{}, Labels: []Label{}, Skipped: []record.Skip{}, Sources: []Source{},
		Claims: []Claim{}, Choices: []Choice{}, Tables: []Table{}}
	for _, s := range record.Servers(h.Skipped) {
		f.Skipped = append(f.Skipped, record.Skip{Service: s.Service, Model: s.Model,
			Reason: s.Reason})
	}
	for i := range run.Cells {
		f.count(&run.Cells[i])
	}
	slices.SortStableFunc(f.Gates, func(a, b Gate) int { return cmp.Compare(b.Cells, a.Cells) })
	slices.SortFunc(f.Labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	g := gatherer{f: f, run: run, checkout: tree, byName: map[string][]record.Cell{}}
	for _, c := range run.Cells {
		g.byName[c.Experiment] = append(g.byName[c.Experiment], c)
	}
	for _, e := range experiments(run.Tree, tree) {
		g.experiment(e)
	}
	f.sortSources()
	f.Choices = g.choices()
	if tree != nil {
		if names, steps := report.StackLines(tree.Root); len(names) > 0 {
			f.Stacks = &Stacks{names, steps}
		}
	}
	return f
}

// sortSources has the known sources in the order of papers, and all others after them by name.
func (f *Figures) sortSources() {
	slices.SortStableFunc(f.Sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Name, b.Name))
	})
}

// experiments are those of the run, and then those that the checkout has besides. What was measured
// comes from the run. What the source says may have been read again since, and comes from the
// checkout.
func experiments(run, checkout *manifest.Tree) []*manifest.Experiment {
	var out []*manifest.Experiment
	for _, t := range []*manifest.Tree{run, checkout} {
		if t == nil {
			continue
		}
		for _, e := range t.Experiments {
			i := slices.IndexFunc(out,
				func(o *manifest.Experiment) bool { return o.Name == e.Name })
			if i < 0 {
				out = append(out, e)
			} else {
				out[i] = retold(out[i], e)
			}
		}
	}
	return out
}

// count adds a cell to the counts.
func (f *Figures) count(c *record.Cell) {
	f.Cells.All++
	f.Measuring += c.Took
	switch c.Status {
	case record.Measured:
		f.Cells.Measured++
		for _, name := range c.Labels {
			i := slices.IndexFunc(f.Labels, func(l Label) bool { return l.Name == name })
			if i < 0 {
				i, f.Labels = len(f.Labels), append(f.Labels, Label{Name: name})
			}
			f.Labels[i].Cells++
		}
		return
	case record.Void:
		f.Cells.Void++
	default:
		f.Cells.Failed++
	}
	for _, r := range c.Reasons {
		i := slices.IndexFunc(f.Gates, func(g Gate) bool { return g.Name == r.Gate })
		if i < 0 {
			i, f.Gates = len(f.Gates), append(f.Gates, Gate{Name: r.Gate, Example: r.Text})
		}
		f.Gates[i].Cells++
	}
}

// A gatherer goes through the experiments of a run.
type gatherer struct {
	f        *Figures
	run      report.Run
	checkout *manifest.Tree // nil: there is none
	byName   map[string][]record.Cell
	series   []series // what the choice of a model is made from
}

// A series is one table with the values by round, which the file does not keep.
type series struct {
	Table
	rows     []verdict.Row
	offered  bool // the load set the rate
	borrowed bool // the experiment is about another service
	cold     bool // of a server's first responses
}

func (g *gatherer) experiment(e *manifest.Experiment) {
	name := SourceOf(e)
	if len(e.Claims) > 0 {
		i := slices.IndexFunc(g.f.Sources, func(s Source) bool { return s.Name == name })
		if i < 0 {
			i, g.f.Sources = len(g.f.Sources), append(g.f.Sources, Source{Name: name})
		}
		g.f.Sources[i].Experiments = append(g.f.Sources[i].Experiments, Experiment{Name: e.Name,
			Title: cmp.Or(e.Title, e.Name), Source: e.Source, Question: e.Question,
			Setup: append([]string{}, e.Setup...)})
	}
	for _, v := range g.judge(e) {
		g.f.Claims = append(g.f.Claims, claimOf(name, v))
	}
	g.tables(e)
}

func (g *gatherer) judge(e *manifest.Experiment) []verdict.Verdict {
	if len(e.Builds) > 0 {
		if !slices.Contains(g.run.Header.Experiments, e.Name) {
			return notBuilt(e)
		}
		return verdict.JudgeBuilds(e, g.run.Header.Builds)
	}
	models := verdict.Models{Missing: verdict.Missing(g.run.Header.Skipped),
		Lines: func(service, model string) int { return lines(g.run.Tree, service, model) }}
	out := verdict.Judge(e, g.byName[e.Name], models)
	g.younger(out)
	return out
}

// notBuilt are the verdicts of builds that the run left out.
func notBuilt(e *manifest.Experiment) []verdict.Verdict {
	out := verdict.JudgeBuilds(e, nil)
	for i := range out {
		if out[i].Word == stats.Inconclusive {
			out[i].Word, out[i].Reason = stats.NotMeasured, "nothing was built in this run"
			out[i].Sentence = "Not measured: nothing was built in this run."
		}
	}
	return out
}

// lines counts a model's code; 0 where it is not known.
func lines(t *manifest.Tree, service, model string) int {
	if t == nil {
		return 0
	}
	return verdict.LinesOf(t)(service, model)
}

// recounted says whether the checkout takes other files for a model's source than the run did. Then
// the run's count of its lines is known to be wrong.
func (g *gatherer) recounted(service, model string) bool {
	source := func(t *manifest.Tree) []string {
		if t == nil {
			return nil
		}
		if s := t.Service(service); s != nil {
			if m := s.Model(model); m != nil {
				return m.Source
			}
		}
		return nil
	}
	now := source(g.checkout)
	return now != nil && !slices.Equal(now, source(g.run.Tree))
}

// tables keeps the figures of an experiment's cells.
func (g *gatherer) tables(e *manifest.Experiment) {
	cells := g.byName[e.Name]
	if len(cells) == 0 {
		return
	}
	for _, condition := range []manifest.Condition{manifest.Own, manifest.Shared} {
		for _, m := range metrics(e) {
			rows := verdict.Rows(e, cells, condition, m)
			for _, p := range e.Points {
				g.table(e, p, condition, m, slices.DeleteFunc(slices.Clone(rows),
					func(r verdict.Row) bool { return r.Point != p.Name || len(r.Values) == 0 }))
			}
		}
	}
}

func (g *gatherer) table(e *manifest.Experiment, p manifest.Point, condition manifest.Condition,
	m manifest.Metric, rows []verdict.Row) {
	t := Table{Experiment: e.Name, Service: cmp.Or(p.Service, e.Service), Point: p.Name,
		Condition: condition, Metric: m, Baseline: e.Baseline}
	for _, r := range rows {
		value := finite(digits(r.Centre.Estimate))
		if r.Twin || value == nil {
			continue
		}
		row := Row{Model: r.Model, Value: *value, Ratio: spanOf(r.Ratio),
			Rounds: len(r.Values)}
		if r.Model == e.Baseline {
			row.Ratio = none
			if i := slices.IndexFunc(rows,
				func(t verdict.Row) bool { return t.Twin }); i >= 0 {
				row.Ratio = spanOf(rows[i].Ratio)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return
	}
	offered := p.Load.Rate > 0 || p.Load.Bits > 0
	if !(m.Rate() && offered) { // a rate that the load set is no result
		g.f.Tables = append(g.f.Tables, t)
	}
	g.series = append(g.series, series{t, slices.DeleteFunc(slices.Clone(rows),
		func(r verdict.Row) bool { return r.Twin }), offered, t.Service != e.Service,
		p.Load.Shape == manifest.Cold})
}

// metrics are those that the experiment lists and those of its claims, without lines of code.
func metrics(e *manifest.Experiment) []manifest.Metric {
	var list []manifest.Metric
	add := func(m manifest.Metric) {
		if m != "" && m != manifest.Lines && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	for _, m := range e.Metrics {
		add(m)
	}
	for _, c := range e.Claims {
		add(c.Metric)
	}
	return list
}
