package run

// A run with a budget: turn after turn, until the time is spent or nothing is left that fits.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/verdict"
)

// spend measures what the planner chooses until the last budget of the record is spent.
func (r *Runner) spend(ctx context.Context) error {
	h := r.Record.Header()
	last := h.Budgets[len(h.Budgets)-1]
	r.end, r.used = last.After+last.For, Spent(&h, r.Cells)
	r.Watch.Watch(Event{Kind: Begins, Left: r.left(0), Verdicts: r.verdicts()})
	if h.Turn != nil {
		if begun := r.Planner.Begun(h.Turn); r.lacks(begun) {
			if err := r.take(ctx, begun); err != nil {
				return err
			}
		}
	}
	for r.used < r.end {
		turn := r.Planner.Next(r.Cells, r.end-r.used)
		if turn == nil {
			break
		}
		turn.Spent = r.used
		if err := r.Record.Update(func(h *record.Header) { h.Turn = &turn.Turn }); err != nil {
			return err
		}
		if err := r.take(ctx, turn); err != nil {
			return err
		}
	}
	return nil
}

// Spent is how long a run has measured: its turns before the last, and the cells of the last.
func Spent(h *record.Header, cells []record.Cell) time.Duration {
	var d time.Duration
	if h.Turn != nil {
		d = h.Turn.Spent
	}
	for i := range cells {
		c := &cells[i]
		if h.Turn == nil || c.Experiment == h.Turn.Experiment && c.Condition == h.Turn.Condition &&
			c.Round == h.Turn.Round {
			d += c.Took
		}
	}
	return d
}

// lacks says whether something of a turn was not tried.
func (r *Runner) lacks(t *Turn) bool {
	return slices.ContainsFunc(t.blocks, func(b *Block) bool {
		return slices.ContainsFunc(b.Specs, func(s *Spec) bool {
			return r.done[s.key(t.Round)] == 0
		})
	})
}

// take measures a turn. Time that ends within a turn ends it after the block.
func (r *Runner) take(ctx context.Context, t *Turn) error {
	order := 0
	r.turn = t
	for _, b := range t.blocks {
		if r.used >= r.end {
			break
		}
		began := r.Now()
		if err := r.block(ctx, t.Round, b, &order); err != nil {
			return err
		}
		r.used += r.Now().Sub(began)
	}
	r.Watch.Watch(r.progress(Event{Kind: RoundEnds, Round: t.Round, Verdicts: r.verdicts()}))
	return nil
}

// open are the claims that are not decided, and why, but for those that no machine can judge, and
// those that the user did not name.
func open(all []Standing) (out []record.Undecided) {
	for _, s := range all {
		u := record.Undecided{Experiment: s.Experiment, Claim: s.Claim.ID, Reason: s.Reason,
			Takes: s.Takes}
		switch {
		case s.State == Decided || s.Claim.Comparable != "" || s.Reason == notNamed:
			continue
		case s.State == Open && s.Rounds == 0:
			u.Reason = leftOut
		case s.State == Open:
			u.Reason = fmt.Sprintf("not decided after %d rounds", s.Rounds)
		}
		out = append(out, u)
	}
	return out
}

// leftOut is why a claim has no cell that could have had some.
const leftOut = "left out: it did not fit into the time"

// wanted are the models that a budget of this size is likely to be spent on.
func (p *Planner) wanted(left time.Duration) (out []*manifest.Model) {
	add := func(s *Spec) {
		if !slices.Contains(out, s.Model) {
			out = append(out, s.Model)
		}
	}
	v := p.look(nil)
	all := p.standings(v)
	for _, b := range p.choose(v, all, left) {
		left -= b.costs
		for _, s := range b.claims {
			for _, n := range s.needs {
				add(n.spec)
			}
		}
	}
	for _, b := range p.figures(v, all, left) {
		for _, s := range b.block.Specs {
			add(s)
		}
	}
	return out
}

// verdicts are those of all experiments as the cells stand; those about builds and lines of code
// need no cell.
func (r *Runner) verdicts() []verdict.Verdict {
	var out []verdict.Verdict
	for _, e := range r.Experiments {
		switch {
		case len(e.Builds) > 0:
			out = append(out, verdict.JudgeBuilds(e, r.Record.Header().Builds)...)
		case r.Planner != nil:
			out = append(out, r.Planner.verdicts(e, r.Cells)...)
		default:
			out = append(out, verdict.Judge(e, r.Cells, r.models())...)
		}
	}
	return out
}
