package findings

// Which model should I take? An answer for each service and each need.

import (
	"cmp"
	"math"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// level is the factor within which two models are called level: less than that is seldom a reason
// to choose (a guess; a recompiled server can differ from itself by half of it).
const level = 1.10

// A Choice is the answer for one need of one service, at the point where most models were measured.
type Choice struct {
	Service    string             `json:"service"`
	Need       string             `json:"need"`
	Metric     manifest.Metric    `json:"metric"`
	Experiment string             `json:"experiment,omitempty"` // none for lines of code
	Point      string             `json:"point,omitempty"`
	Condition  manifest.Condition `json:"condition,omitempty"`
	Models     []Place            `json:"models"` // the best first
	// of the run that the answer comes from, if not the one of the claims
	Run     string `json:"run,omitempty"`
	Machine string `json:"machine,omitempty"`
}

// A Place is one model in the order of a choice.
type Place struct {
	Model string   `json:"model"`
	Group Standing `json:"group"`
	Value Span     `json:"value"`
	// by how much worse than the best, from 1 on; the best's own is 1
	Times Span `json:"times"`
	// that count of both this model and the best; the best's own, and those of lines, are 0
	Rounds int `json:"rounds,omitempty"`
}

// Standing is how a model stands to the best of its choice.
type Standing string

// The standings.
const (
	Level  Standing = "level"  // shown to lie within 10 % of the best, or the best itself
	Open   Standing = "open"   // neither that nor a difference is shown
	Behind Standing = "behind" // shown to be worse
)

// needs are what people choose by, with the metrics that tell of it, the first that a service has.
var needs = []struct {
	name    string
	metrics []manifest.Metric
}{
	{"throughput", []manifest.Metric{manifest.Throughput, manifest.Deliveries, manifest.BitRate,
		manifest.SolveTime}},
	{"CPU", []manifest.Metric{manifest.CPUPerRequest, manifest.CPUPerDelivery, manifest.CPUPerGB,
		manifest.CPU}},
	{"p99", []manifest.Metric{manifest.LatencyP99, manifest.ResponseP99}},
	{"memory", []manifest.Metric{manifest.ClientMemory, manifest.PSS}},
	{"lines", []manifest.Metric{manifest.Lines}},
}

// choices answers for every service that was measured.
func (g *gatherer) choices() []Choice {
	out := []Choice{}
	var services []string
	for _, s := range g.series {
		if !slices.Contains(services, s.Service) {
			services = append(services, s.Service)
		}
	}
	slices.Sort(services)
	for _, service := range services {
		for _, n := range needs {
			if n.name == "lines" {
				out = append(out, g.byLines(service)...)
				continue
			}
			if c := g.pick(service, n.name, n.metrics); c != nil {
				out = append(out, *c)
			}
		}
	}
	return out
}

// pick finds the answer that tells most models of a service apart, or shows them level. Of equals,
// servers that are warm come before fresh ones, an experiment on the service before one that only
// borrows it, cores of their own before shared ones, and the last point, which on an axis is the
// highest load, before all others.
func (g *gatherer) pick(service, need string, metrics []manifest.Metric) *Choice {
	for _, m := range metrics {
		var best *Choice
		most := 0
		for i := range g.series {
			s := &g.series[i]
			if s.Service != service || s.Metric != m || s.offered && m.Rate() ||
				m == manifest.CPU && !s.offered {
				continue
			}
			c := s.choice(need, g.variants(service))
			if rank := s.rank(c); rank > 0 && rank >= most {
				best, most = &c, rank
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// rank is the larger, the better a choice answers for its service; 0 if it holds no two models
// against each other.
func (s *series) rank(c Choice) int {
	told := 0
	for _, p := range c.Models {
		if p.Times.bounded() {
			told++
		}
	}
	if told < 2 { // the best is one of them
		return 0
	}
	n := 8 * told
	if !s.cold {
		n += 4
	}
	if !s.borrowed {
		n += 2
	}
	if s.Condition == manifest.Own {
		n++
	}
	return n
}

// variants are the models of a service that are another one's program: all of their source is in
// its folder. Beside it they are no choice of a model.
func (g *gatherer) variants(service string) map[string]string {
	out := map[string]string{}
	if g.run.Tree == nil {
		return out
	}
	for _, s := range g.run.Tree.Services {
		if s.Name != service {
			continue
		}
		for _, m := range s.Models {
			if of := m.VariantOf(); of != "" {
				out[m.Name] = of
			}
		}
	}
	return out
}

// choice orders the models of a table. All are held against the best within rounds.
func (s *series) choice(need string, variants map[string]string) Choice {
	out := Choice{Service: s.Service, Need: need, Metric: s.Metric, Experiment: s.Experiment,
		Point: s.Point, Condition: s.Condition}
	here := func(model string) bool {
		return slices.ContainsFunc(s.rows, func(r verdict.Row) bool { return r.Model == model })
	}
	rows := slices.DeleteFunc(slices.Clone(s.rows), func(r verdict.Row) bool {
		of := variants[r.Model]
		return of != "" && here(of)
	})
	more := manifest.Metrics[s.Metric].MoreIsBetter
	slices.SortStableFunc(rows, func(a, b verdict.Row) int {
		if more {
			a, b = b, a
		}
		return cmp.Compare(merit(a), merit(b))
	})
	times := func(r, best verdict.Row) (Span, int) {
		if more {
			r, best = best, r
		}
		iv, rounds := between(r, best)
		return spanOf(iv), rounds
	}
	best := bestOf(rows, times)
	for i, r := range rows {
		p := Place{Model: r.Model, Group: Level, Value: spanOf(r.Centre), Times: Span{1, 1, 1}}
		if i != best {
			p.Times, p.Rounds = times(r, rows[best])
			p.Group = p.Times.standing()
		}
		out.Models = append(out.Models, p)
	}
	if len(rows) > 0 { // the best first, whatever its figure over all rounds is
		first := out.Models[best]
		out.Models = slices.Insert(slices.Delete(out.Models, best, best+1), 0, first)
	}
	slices.SortStableFunc(out.Models[min(1, len(out.Models)):], func(a, b Place) int {
		return cmp.Compare(places[a.Group], places[b.Group])
	})
	return out
}

// bestOf is the index of the best of some rows, which are in the order of their own figures. Those
// may be of different rounds, so a row that is better within the rounds that both have takes its
// place. A row that shares too few rounds with any other cannot be told to be the best.
func bestOf(rows []verdict.Row, times func(r, best verdict.Row) (Span, int)) int {
	best := max(0, slices.IndexFunc(rows, func(r verdict.Row) bool {
		return slices.ContainsFunc(rows, func(o verdict.Row) bool {
			t, _ := times(o, r)
			return o.Model != r.Model && t.bounded()
		})
	}))
	for range rows { // more steps would go in a circle
		least, next := 1., best
		for i, r := range rows {
			if t, _ := times(r, rows[best]); i != best && t.bounded() && t.Estimate < least {
				least, next = t.Estimate, i
			}
		}
		if next == best {
			break
		}
		best = next
	}
	return best
}

// places is the order of the standings.
var places = map[Standing]int{Level: 0, Open: 1, Behind: 2}

// merit is the centre of a row's values: NaN sorts as the worst of a metric of which less is
// better.
func merit(r verdict.Row) float64 {
	if math.IsNaN(r.Centre.Estimate) {
		return math.Inf(1)
	}
	return r.Centre.Estimate
}

// between is the ratio of two rows over the rounds that both have, and their number.
func between(a, b verdict.Row) (stats.Interval, int) {
	var x, y []float64
	for i, round := range a.Rounds {
		if j := slices.Index(b.Rounds, round); j >= 0 && i < len(a.Values) && j < len(b.Values) {
			x, y = append(x, a.Values[i]), append(y, b.Values[j])
		}
	}
	logs, _ := stats.LogRatios(x, y)
	return stats.HodgesLehmann(logs, .95).Exp(), len(logs)
}

// standing reads how a model stands from its ratio to the best.
func (s Span) standing() Standing {
	switch {
	case !s.bounded():
		return Open
	case s.Upper <= level:
		return Level
	case s.Lower > 1:
		return Behind
	}
	return Open
}

// byLines orders the models of a service by their lines of code, which have no uncertainty. Those
// that the run has miscounted are left out.
func (g *gatherer) byLines(service string) []Choice {
	out := Choice{Service: service, Need: "lines", Metric: manifest.Lines}
	for _, s := range g.series {
		if s.Service != service {
			continue
		}
		for _, r := range s.Rows {
			n := float64(lines(g.run.Tree, service, r.Model))
			if n == 0 || g.variants(service)[r.Model] != "" || g.recounted(service, r.Model) ||
				slices.ContainsFunc(out.Models,
					func(p Place) bool { return p.Model == r.Model }) {
				continue
			}
			out.Models = append(out.Models, Place{Model: r.Model, Value: Span{n, n, n}})
		}
	}
	if len(out.Models) < 2 {
		return nil
	}
	slices.SortStableFunc(out.Models, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Value.Estimate, b.Value.Estimate),
			cmp.Compare(a.Model, b.Model))
	})
	for i := range out.Models {
		p := &out.Models[i]
		times := digits(p.Value.Estimate / out.Models[0].Value.Estimate)
		p.Times = Span{times, times, times}
		p.Group = p.Times.standing()
	}
	return []Choice{out}
}
