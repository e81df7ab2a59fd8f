package run

// A session with a budget: what is left of it, what it can be spent on, and which models that
// needs.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/verdict"
)

// ErrBudget is a budget that nothing can be measured with.
var ErrBudget = errors.New("the budget")

// spare is by how much more than a budget could buy models are built: claims that are decided early
// leave time for others.
const spare = 2

// resumed reads the run that goes on, or returns an empty one.
func (s *Session) resumed() (*record.Run, error) {
	if s.Resume == "" {
		return &record.Run{}, nil
	}
	return record.Read(s.Resume)
}

// planner is that of all that could be measured if every model were here.
func (s *Session) planner(plan *Plan, skipped []record.Skip) *Planner {
	return NewPlanner(plan, s.Experiments, s.Choice, s.Seed, verdict.ModelsOf(s.Tree, skipped))
}

// Left is what a session may spend: its budget, or what an interrupted run did not spend of its
// own.
func (s *Session) Left() (time.Duration, error) {
	old, err := s.resumed()
	if err != nil || s.For > 0 || s.Resume == "" {
		return s.For, err
	}
	last := old.Header.Budgets[len(old.Header.Budgets)-1]
	return last.After + last.For - Spent(&old.Header, old.Cells), nil
}

// afford refuses a budget that nothing fits into, before anything is started. A run that was
// interrupted goes on even so: what is left of its time may be too short for another turn, and then
// it ends.
func (s *Session) afford(plan *Plan) error {
	old, err := s.resumed()
	if err != nil {
		return err
	}
	left, err := s.Left()
	if err != nil {
		return err
	}
	if s.Resume != "" && s.For == 0 && old.Header.Finished == nil {
		return nil
	}
	if left <= 0 {
		return fmt.Errorf("%w of run %s is spent: --for 10m gives it ten minutes more",
			ErrBudget, old.Header.ID)
	}
	p := s.planner(plan, old.Header.Skipped)
	if p.Next(old.Cells, left) != nil || len(plan.Blocks) == 0 {
		return nil
	}
	least, what := time.Duration(0), ""
	for _, t := range p.Standings(old.Cells) {
		if t.State == Open && (what == "" || t.Takes < least) {
			least, what = t.Takes, t.Claim.ID
		}
	}
	if what == "" {
		return fmt.Errorf("nothing is left to measure that fits into %w of %s", ErrBudget,
			quantity.Setting(left))
	}
	return fmt.Errorf("%w of %s is too short for anything: the claim that costs least, %s, takes "+
		"about %s", ErrBudget, quantity.Setting(left), what, quantity.Setting(least))
}

// whyNoClaim says why a new run can judge none of the claims that the user has named, now that it
// is known which models can be measured; empty if it can.
func (s *Session) whyNoClaim(plan *Plan) string {
	if !s.Choice.Budget || len(s.Choice.Claims) == 0 || s.Resume != "" {
		return ""
	}
	p := s.planner(plan, s.skipped)
	if p.Next(nil, s.For) != nil {
		return ""
	}
	var why []string
	for _, t := range p.Standings(nil) {
		switch {
		case t.Reason == notNamed:
		case t.State == Open:
			why = append(why, fmt.Sprintf("%s takes about %s", t.Claim.ID,
				quantity.Setting(t.Takes)))
		default:
			why = append(why, t.Claim.ID+": "+t.Reason)
		}
	}
	return strings.Join(why, "; ")
}

// chosen are the models of a plan that are to be built. Of a budget they are those that it is
// likely to be spent on, and those that the run has measured already.
func (s *Session) chosen(plan *Plan) ([]*manifest.Model, error) {
	if !s.Choice.Budget {
		return plan.models(), nil
	}
	old, err := s.resumed()
	if err != nil {
		return nil, err
	}
	left, err := s.Left()
	if err != nil {
		return nil, err
	}
	s.before = s.planner(plan, old.Header.Skipped)
	out := s.before.wanted(spare*left + Spent(&old.Header, old.Cells))
	for _, m := range plan.models() {
		if !slices.Contains(out, m) && slices.ContainsFunc(old.Cells, func(c record.Cell) bool {
			return c.Service == m.Service && c.Model == m.Name
		}) {
			out = append(out, m)
		}
	}
	return out, nil
}

// grant notes a new budget in the header of a run.
func (s *Session) grant(h *record.Header, cells []record.Cell) {
	if s.For > 0 {
		h.Budgets = append(h.Budgets, record.Budget{For: s.For, After: Spent(h, cells)})
		h.Finished, h.Undecided = nil, nil
	}
}

// Later tells of the claims that this planner cannot measure, because their models were not built,
// what they cost by the planner of all models.
func (p *Planner) Later(all *Planner) {
	for i, t := range all.standings(all.look(nil)) {
		if g := p.goals[i]; g.never != "" && t.State == Open {
			g.later = t.Takes
		}
	}
}
