package run

// What a budget would be spent on, by an earlier run of this machine if there is one.

import (
	"path/filepath"
	"slices"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// A Forecast is what a budget would be spent on.
type Forecast struct {
	For       time.Duration
	From      string // the earlier run that it learnt from, or the one that goes on; empty = none
	Before    int    // claims that the run that goes on has decided by measuring
	Sets      []ForecastSet
	Figures   time.Duration // spent on figures when no claim is left
	Points    int           // of figures
	Free      int           // claims that are judged without measuring
	All       int           // claims
	Undecided []record.Undecided
}

// A ForecastSet is claims that are measured together.
type ForecastSet struct {
	Experiment string
	Condition  manifest.Condition
	Claims     []string
	Takes      time.Duration
}

// Forecast tells what the session's budget would be spent on. Missing says why a model cannot be
// measured here.
func (s *Session) Forecast(here record.Machine, missing func(*manifest.Model) string) (*Forecast,
	error) {
	plan, err := Lay(s.Tree, s.Experiments, s.Choice)
	if err != nil {
		return nil, err
	}
	if err := s.afford(plan); err != nil {
		return nil, err
	}
	old, err := s.resumed()
	if err != nil {
		return nil, err
	}
	left, err := s.Left()
	if err != nil {
		return nil, err
	}
	var skipped []record.Skip
	for _, service := range s.Tree.Services {
		for _, m := range service.Models {
			if why := missing(m); why != "" {
				skipped = append(skipped, record.Skip{Service: m.Service, Model: m.Name,
					Reason: why})
			}
		}
	}
	f := &Forecast{For: left}
	p := s.planner(plan, skipped)
	if s.Resume != "" {
		f.From = old.Header.ID
	} else if earlier := s.earlier(plan, here); earlier != nil {
		f.From = earlier.Header.ID
		p.Learn(s.Experiments, earlier)
	}
	p.forecast(f, old.Cells, left)
	for _, e := range s.Experiments {
		f.All += len(e.Claims)
		for _, c := range e.Claims {
			if len(e.Builds) > 0 || c.Metric == manifest.Lines {
				f.Free++
			}
		}
	}
	return f, nil
}

// forecast fills in what is chosen after these cells.
func (p *Planner) forecast(f *Forecast, cells []record.Cell, left time.Duration) {
	v := p.look(cells)
	all := p.standings(v)
	for _, s := range all {
		if s.State == Decided {
			f.Before++
		}
	}
	for _, b := range p.choose(v, all, left) {
		at := b.claims[0].goal.setting
		set := ForecastSet{Experiment: at.experiment, Condition: at.condition, Takes: b.costs}
		for _, s := range b.claims {
			set.Claims = append(set.Claims, s.Claim.ID)
			s.State = Decided
		}
		left -= b.costs
		f.Sets = append(f.Sets, set)
	}
	if !p.named {
		for _, b := range p.figures(v, all, left) {
			f.Figures, f.Points = f.Figures+b.costs, f.Points+1
		}
	}
	f.Undecided = open(all)
}

// Learn takes the prices of an earlier run, and the rounds that its claims needed.
func (p *Planner) Learn(experiments []*manifest.Experiment, earlier *record.Run) {
	v := p.look(earlier.Cells)
	p.learnt = v.prices
	rounds := map[*goal]int{}
	for _, s := range p.standings(v) {
		if s.State == GivenUp || s.Rounds < stats.MinRounds {
			continue
		}
		rounds[s.goal] = s.Rounds + s.Need
		for _, e := range experiments {
			for _, found := range p.verdicts(e, earlier.Cells) {
				if e == s.goal.e && found.Claim.ID == s.Claim.ID && found.Decided() {
					rounds[s.goal] = max(stats.MinRounds, decidedAfter(&found))
				}
			}
		}
	}
	p.expect = func(g *goal) int {
		if n, ok := rounds[g]; ok {
			return n
		}
		return usualRounds
	}
	p.known = map[string]judged{}
}

// earlier is the newest run with a budget, of this machine and these servers, or nil. A run that
// cannot be read teaches nothing.
func (s *Session) earlier(plan *Plan, here record.Machine) *record.Run {
	root := filepath.Join(s.Out, "runs")
	ids, err := record.List(root)
	if err != nil {
		return nil
	}
	for _, id := range slices.Backward(ids) {
		dir := filepath.Join(root, id)
		r, err := record.Read(dir)
		if err != nil || len(r.Header.Budgets) == 0 || r.Header.Depth != s.Choice.Depth ||
			r.Header.Hosts != s.Hosts || r.Header.Machine.Same(here) != "" {
			continue
		}
		var measured []*manifest.Experiment
		for _, e := range s.Experiments {
			if slices.Contains(r.Header.Experiments, e.Name) {
				measured = append(measured, e)
			}
		}
		if len(measured) > 0 && unchanged(s.Tree, measured, plan.models(), dir) == nil {
			return r
		}
	}
	return nil
}
