package run

// What a budget is spent on: the claims, what each of them needs, and how each stands. Pure: the
// planner starts nothing and reads no clock, so the same cells always give the same next turn.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// A Planner chooses what a budget is spent on next.
type Planner struct {
	plan   *Plan
	seed   uint64
	judge  func(*manifest.Experiment, []record.Cell) []verdict.Verdict
	series []*series
	goals  []*goal
	known  map[string]judged // by experiment
	expect func(g *goal) int // the rounds that a claim takes before it has any
	learnt prices            // of an earlier run
	named  bool              // the claims were named: no time goes to anything else
}

// A judged experiment has these verdicts after so many of its cells.
type judged struct {
	cells    int
	verdicts []verdict.Verdict
}

// A series is the cells of one model at one point under one condition.
type series struct {
	block *Block
	spec  *Spec
	at    int // its place in Planner.series
}

// A setting is an experiment in one condition.
type setting struct {
	experiment string
	condition  manifest.Condition
}

// A goal is a claim that a budget may decide.
type goal struct {
	setting
	e     *manifest.Experiment
	claim manifest.Claim
	needs []*series
	never string        // why this run cannot judge it; empty if it can
	later time.Duration // what it would cost if its models were built; 0: they are, or cannot be
}

// usualRounds is how many rounds a claim is taken to need before any round of it was measured: the
// least is six, and a claim that is far from its margin is decided then.
const usualRounds = 7

// notNamed is why a run of some claims alone does not judge the others.
const notNamed = "it is not among the claims of this run"

// NewPlanner makes the planner of a plan that was laid out for a budget.
func NewPlanner(plan *Plan, experiments []*manifest.Experiment, choice Choice, seed uint64,
	models verdict.Models) *Planner {
	p := &Planner{plan: plan, seed: seed, known: map[string]judged{},
		judge: func(e *manifest.Experiment, cells []record.Cell) []verdict.Verdict {
			return verdict.Judge(e, cells, models)
		},
		expect: func(*goal) int { return usualRounds }, named: len(choice.Claims) > 0}
	for _, b := range plan.Blocks {
		for _, s := range b.Specs {
			if !s.Twin {
				p.series = append(p.series, &series{b, s, len(p.series)})
			}
		}
	}
	for _, e := range experiments {
		if len(e.Builds) > 0 {
			continue
		}
		for _, c := range e.Claims {
			if c.Metric != manifest.Lines {
				p.goals = append(p.goals, p.goal(e, c, choice, models))
			}
		}
	}
	return p
}

// goal finds what a claim needs.
func (p *Planner) goal(e *manifest.Experiment, c manifest.Claim, choice Choice,
	models verdict.Models) *goal {
	g := &goal{e: e, claim: c}
	condition, ok := judgedIn(e, c, choice)
	g.setting = setting{e.Name, condition}
	switch {
	case c.Comparable != "":
		g.never = c.Comparable
		return g
	case len(choice.Claims) > 0 && !slices.Contains(choice.Claims, c.ID):
		g.never = notNamed
		return g
	case !ok:
		g.never = fmt.Sprintf("it is judged on %s cores, which this run leaves out", c.Condition)
		return g
	}
	for _, need := range claimNeeds(e, c, models) {
		s := p.find(e, need.Point, condition, need.Model)
		switch {
		case s != nil:
			if why := s.spec.tooShort(c.Metric); why != "" {
				g.never = why
			}
			if !slices.Contains(g.needs, s) {
				g.needs = append(g.needs, s)
			}
		case models.Missing(e.Service, need.Model) != "":
			g.never = fmt.Sprintf("%s cannot be measured here: %s", need.Model,
				models.Missing(e.Service, need.Model))
			return g
		default:
			g.never = need.Model + " is not among the models of this run"
			return g
		}
	}
	if len(g.needs) == 0 && g.never == "" {
		g.never = "it needs nothing that this run could measure"
	}
	return g
}

// find is the series of a model at a point under a condition, or nil.
func (p *Planner) find(e *manifest.Experiment, point string, c manifest.Condition,
	model string) *series {
	for _, s := range p.series {
		if s.spec.Experiment.Name == e.Name && s.spec.Point.Name == point &&
			s.spec.Condition == c && s.spec.Model.Name == model {
			return s
		}
	}
	return nil
}

// verdicts are those of an experiment as the cells stand.
func (p *Planner) verdicts(e *manifest.Experiment, cells []record.Cell) []verdict.Verdict {
	n := 0
	for i := range cells {
		if cells[i].Experiment == e.Name {
			n++
		}
	}
	if old, ok := p.known[e.Name]; ok && old.cells == n {
		return old.verdicts
	}
	now := judged{n, p.judge(e, cells)}
	p.known[e.Name] = now
	return now.verdicts
}

// A Standing is how a claim stands.
type Standing struct {
	Experiment string
	Claim      manifest.Claim
	Condition  manifest.Condition
	State      State
	Reason     string        // of a claim that is given up, or cannot be judged
	Rounds     int           // in which all that it needs was tried
	Counted    int           // of these, rounds that the machine did not spoil
	Need       int           // further rounds until a decision, as far as can be told
	Takes      time.Duration // what they cost

	goal *goal
	// what these rounds have to measure: less than at first, if a part is settled
	needs []*series
}

// State is where a claim is between the beginning of a run and its verdict.
type State int

// The states of a claim.
const (
	Open    State = iota
	Decided       // reproduced or not reproduced
	GivenUp       // further rounds of this run would not decide it
	Never         // this run cannot judge it
)

// A view is a run's cells as the planner sees them.
type view struct {
	cells  []record.Cell
	tries  []tries // by series
	prices prices
	last   map[string]int // experiment -> its last round
}

// tries are the rounds in which a series was measured or tried.
type tries struct {
	rounds   []int          // in order
	cells    []*record.Cell // that were measured
	measured int
	broken   int
	latest   int // the place of its last cell in the record, from 1
	why      string
}

// look counts the cells.
func (p *Planner) look(cells []record.Cell) *view {
	v := &view{cells: cells, tries: make([]tries, len(p.series)), last: map[string]int{},
		prices: p.pricesOf(cells)}
	at := map[Key]int{}
	for i, s := range p.series {
		at[s.spec.key(0)] = i
	}
	for i := range cells {
		c := &cells[i]
		v.last[c.Experiment] = max(v.last[c.Experiment], c.Round)
		n, ok := at[Key{c.Experiment, c.Point, c.Model, c.Twin, c.Condition, 0}]
		if !ok {
			continue
		}
		t := &v.tries[n]
		t.latest = i + 1
		if !slices.Contains(t.rounds, c.Round) {
			t.rounds = append(t.rounds, c.Round)
		}
		switch c.Status {
		case record.Measured:
			t.measured++
			t.cells = append(t.cells, c)
		case record.Broken:
			t.broken++
			t.why = reasonsOf(c)
		default:
			t.why = reasonsOf(c)
		}
	}
	return v
}

// reasonsOf are the gates that a cell did not pass.
func reasonsOf(c *record.Cell) string {
	var gates []string
	for _, r := range c.Reasons {
		gates = append(gates, r.Gate)
	}
	return strings.Join(gates, ", ")
}

// joint counts the rounds in which every one of these series was tried.
func (v *view) joint(needs []*series) int {
	n := 0
	for _, r := range v.tries[needs[0].at].rounds {
		if !slices.ContainsFunc(needs[1:], func(s *series) bool {
			return !slices.Contains(v.tries[s.at].rounds, r)
		}) {
			n++
		}
	}
	return n
}

// counts tells how many of the rounds in which every one of these series was tried have a figure of
// each.
func (v *view) counts(needs []*series, m manifest.Metric) int {
	have := map[int]int{}
	for _, s := range needs {
		for _, c := range v.tries[s.at].cells {
			if _, ok := c.Metric(m); ok {
				have[c.Round]++
			}
		}
	}
	n := 0
	for _, series := range have {
		if series == len(needs) {
			n++
		}
	}
	return n
}

// lost is how many rounds it takes on this machine to have so many more that count, of a claim of
// which so many of the tried ones count. Two are taken to have counted before: one bad round is no
// evidence yet.
func lost(more, tried, counted int) int {
	return (more*(tried+2) + counted + 1) / (counted + 2)
}

// Standings tell how every claim stands after these cells.
func (p *Planner) Standings(cells []record.Cell) []Standing {
	return p.standings(p.look(cells))
}

func (p *Planner) standings(v *view) []Standing {
	out := make([]Standing, len(p.goals))
	for i, g := range p.goals {
		out[i] = p.standing(g, v)
	}
	return out
}

// The ends of patience with a series that gives no figure, in rounds.
const (
	maxBroken = 3
	maxVoid   = 12
)

func (p *Planner) standing(g *goal, v *view) Standing {
	s := Standing{Experiment: g.e.Name, Claim: g.claim, Condition: g.condition, goal: g,
		needs: g.needs}
	switch {
	case g.later > 0:
		s.State, s.Reason, s.Takes = Never, leftOut, g.later
		return s
	case g.never != "":
		s.State, s.Reason = Never, g.never
		return s
	}
	s.Rounds = v.joint(g.needs)
	for _, n := range g.needs {
		t := &v.tries[n.at]
		switch tried := len(t.rounds); {
		case t.measured > 0:
		case t.broken > 0 && tried >= maxBroken:
			s.State, s.Reason = GivenUp, fmt.Sprintf("%s at %s failed in each of %d rounds: %s",
				n.spec.Model.Name, n.spec.Point.Name, tried, t.why)
			return s
		case tried >= maxVoid:
			s.State, s.Reason = GivenUp, fmt.Sprintf("%s at %s was void in each of %d rounds: %s",
				n.spec.Model.Name, n.spec.Point.Name, tried, t.why)
			return s
		}
	}
	s.Counted = v.counts(g.needs, g.claim.Metric)
	if slices.ContainsFunc(g.needs, func(n *series) bool { return v.tries[n.at].broken > 0 }) {
		s.Counted = s.Rounds // not the machine's fault: patience with a server has its own end
	}
	if s.Rounds < stats.MinRounds {
		s.Need = lost(max(stats.MinRounds, p.expect(g))-s.Counted, s.Rounds, s.Counted)
		s.Takes = v.prices.rounds(g.needs, s.Need)
		return s
	}
	now := p.verdicts(g.e, v.cells)
	i := slices.IndexFunc(now, func(v verdict.Verdict) bool { return v.Claim.ID == g.claim.ID })
	found := &now[i]
	switch {
	case found.Condition != "" && found.Condition != g.condition:
		s.Need = 1 // cells of another condition are judged until this one is measured
	case found.Decided():
		s.State = Decided
		return s
	default:
		s.needs = unsettled(found, g.needs)
		s.Need, s.Reason = further(found, v.joint(s.needs))
		if s.Need == 0 {
			s.State = GivenUp
			return s
		}
	}
	s.Takes = v.prices.rounds(s.needs, s.Need)
	return s
}
