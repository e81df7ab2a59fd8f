// Package report turns a recorded run into what people and tools read: an HTML page that loads
// nothing from elsewhere, terminal tables, Markdown, Go benchmark lines, JSON, and the
// comparison of two runs.
//
// The trade: everything is computed again from the record each time, so a report of an old run
// profits from a repaired statistic, and no stored summary can disagree with its data; it costs a
// second for a run of a thousand cells.
package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// A Run is a record with the manifests and sources that were measured.
type Run struct {
	Header record.Header
	Cells  []record.Cell
	Tree   *manifest.Tree // the run's own copy
	// the folder that holds the stacks' code, for the page that compares it; empty if there is none
	Checkout string
}

// A study is a run with its verdicts: what every form of report starts from.
type study struct {
	Run
	experiments []*experiment
	rounds      int // the most rounds that any experiment has begun
	count       counts
	holm        map[claimKey]holm
	names       map[claimKey]string
}

// A claimKey names a claim in a run.
type claimKey struct{ experiment, claim string }

// A holm is a claim's p-value once it is looked at together with the others of its source.
type holm struct {
	p      float64
	source string
	claims int // of the source that were judged
}

// counts are of cells.
type counts struct{ all, measured, void, broken int }

func (n *counts) add(s record.Status) {
	n.all++
	switch s {
	case record.Measured:
		n.measured++
	case record.Void:
		n.void++
	default:
		n.broken++
	}
}

// An experiment is one of the run, with its own cells only.
type experiment struct {
	*manifest.Experiment
	cells      []record.Cell
	verdicts   []verdict.Verdict
	conditions []manifest.Condition // that were measured, the first is the main one
	rounds     int
	count      counts
	builds     []record.Build // of one that builds in place of measuring
	rowsOf     map[rowKey][]verdict.Row
}

type rowKey struct {
	condition manifest.Condition
	metric    manifest.Metric
}

// examine judges a run.
func examine(run Run) *study {
	s := &study{Run: run}
	if run.Tree == nil {
		s.Tree = &manifest.Tree{}
	}
	byName := map[string][]record.Cell{}
	for _, c := range run.Cells {
		byName[c.Experiment] = append(byName[c.Experiment], c)
		s.count.add(c.Status)
	}
	for _, e := range s.Tree.Experiments {
		asked := slices.Contains(run.Header.Experiments, e.Name)
		if !asked && len(byName[e.Name]) == 0 {
			continue
		}
		s.experiments = append(s.experiments, s.experiment(e, byName[e.Name]))
	}
	slices.SortStableFunc(s.experiments, func(a, b *experiment) int {
		return cmp.Compare(place(run.Header.Experiments, a.Name), place(run.Header.Experiments,
			b.Name))
	})
	var manifests []*manifest.Experiment
	for _, e := range s.experiments {
		s.rounds = max(s.rounds, e.rounds)
		manifests = append(manifests, e.Experiment)
	}
	s.names = names(manifests)
	s.correct()
	return s
}

// correct applies Holm over the claims of each source: several claims are several chances to be
// right by luck.
func (s *study) correct() {
	s.holm = map[claimKey]holm{}
	keys, p := map[string][]claimKey{}, map[string][]float64{}
	for _, e := range s.experiments {
		source, _, _ := strings.Cut(e.Source, ",")
		for _, v := range e.verdicts {
			if v.Finding.Rounds > 0 {
				keys[source] = append(keys[source], claimKey{e.Name, v.Claim.ID})
				p[source] = append(p[source], v.Finding.P)
			}
		}
	}
	for source, list := range keys {
		for i, adjusted := range stats.Holm(p[source]) {
			s.holm[list[i]] = holm{adjusted, source, len(list)}
		}
	}
}

// place is the place of a name in the order that was asked for; a name that was not comes last.
func place(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names)
}

func (s *study) experiment(e *manifest.Experiment, cells []record.Cell) *experiment {
	x := &experiment{Experiment: e, cells: cells, rowsOf: map[rowKey][]verdict.Row{}}
	for _, c := range cells {
		x.count.add(c.Status)
		x.rounds = max(x.rounds, c.Round)
		if !slices.Contains(x.conditions, c.Condition) {
			x.conditions = append(x.conditions, c.Condition)
		}
	}
	depth := s.depth(e)
	slices.SortStableFunc(x.conditions, func(a, b manifest.Condition) int {
		return cmp.Compare(place(words(depth.Conditions), string(a)), place(words(depth.Conditions),
			string(b)))
	})
	for _, v := range verdict.Judge(e, cells,
		verdict.Models{Lines: s.lines, Missing: verdict.Missing(s.Header.Skipped)}) {
		x.verdicts = append(x.verdicts, v.Told())
	}
	if len(e.Builds) > 0 {
		x.builds = slices.DeleteFunc(slices.Clone(s.Header.Builds),
			func(b record.Build) bool { return b.Experiment != e.Name })
		x.verdicts = verdict.JudgeBuilds(e, x.builds)
	}
	return x
}

// depth is the part of the experiment that the run was asked for.
func (s *study) depth(e *manifest.Experiment) manifest.Depth {
	switch s.Header.Depth {
	case "quick":
		return e.Quick
	case "full":
		return e.Full
	}
	return e.Normal
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// model finds a model of the run's tree; nil if it is not there.
func (s *study) model(service, name string) *manifest.Model {
	for _, sv := range s.Tree.Services {
		if sv.Name != service {
			continue
		}
		for _, m := range sv.Models {
			if m.Name == name {
				return m
			}
		}
	}
	return nil
}

// lines counts a model's code; 0 where it is not known.
func (s *study) lines(service, model string) int {
	m := s.model(service, model)
	if m == nil || !m.Whole() {
		return 0
	}
	n, err := m.Lines()
	if err != nil {
		return 0 // a source that cannot be read is shown as missing among the sources
	}
	return n
}

// rows are the experiment's under a condition, for one metric.
func (e *experiment) rows(c manifest.Condition, m manifest.Metric) []verdict.Row {
	k := rowKey{c, m}
	if _, known := e.rowsOf[k]; !known {
		e.rowsOf[k] = verdict.Rows(e.Experiment, e.cells, c, m)
	}
	return e.rowsOf[k]
}

// metrics are those that the experiment lists and those that its claims are about, without what is
// no measurement.
func (e *experiment) metrics() []manifest.Metric {
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

// about says whether a claim of the experiment names a model.
func (e *experiment) about(model string) bool {
	for _, c := range e.Claims {
		if c.Of.Model == model || c.Against.Model == model ||
			slices.ContainsFunc(c.Order, func(t manifest.Term) bool { return t.Model == model }) {
			return true
		}
	}
	return false
}

// point finds a point by its name; nil if the experiment has none of it.
func (e *experiment) point(name string) *manifest.Point {
	for i := range e.Points {
		if e.Points[i].Name == name {
			return &e.Points[i]
		}
	}
	return nil
}

// verdicts are all of the run, in the order of the experiments.
func (s *study) verdicts() []verdict.Verdict {
	var all []verdict.Verdict
	for _, e := range s.experiments {
		all = append(all, e.verdicts...)
	}
	return all
}

// measuredModels are those with at least one cell, by name.
func (s *study) measuredModels() []string {
	var names []string
	for _, c := range s.Cells {
		if !slices.Contains(names, c.Model) {
			names = append(names, c.Model)
		}
	}
	slices.Sort(names)
	return names
}

// title is an experiment's, or its name where it has none.
func (e *experiment) title() string { return cmp.Or(e.Title, e.Name) }

// anchor makes an element's id of a name: letters, digits and hyphens.
func anchor(parts ...string) string {
	var b strings.Builder
	for _, r := range strings.Join(parts, "-") {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}

// known says whether an interval bounds anything.
func known(iv stats.Interval) bool {
	return !math.IsNaN(iv.Estimate) && !math.IsInf(iv.Estimate, 0)
}
