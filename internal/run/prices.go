package run

import (
	"time"

	"interleave/internal/record"
)

// prices are what cells cost: the estimate of their spec, corrected by what cells of their model
// took so far, or else by what all took.
type prices struct {
	took   map[string]span // by service and model
	all    span
	before *prices // of an earlier run; nil = there is none
}

// A span is what cells took, and what they were estimated at.
type span struct{ took, guess time.Duration }

// pricesOf learns from cells.
func (p *Planner) pricesOf(cells []record.Cell) prices {
	out := prices{took: map[string]span{}}
	if p.learnt.all.guess > 0 {
		out.before = &p.learnt
	}
	specs := map[Key]*Spec{}
	for _, b := range p.plan.Blocks {
		for _, s := range b.Specs {
			specs[s.key(0)] = s
		}
	}
	for i := range cells {
		c := &cells[i]
		s := specs[Key{c.Experiment, c.Point, c.Model, c.Twin, c.Condition, 0}]
		if s == nil {
			continue
		}
		guess := s.Estimate()
		if c.Attempt > 1 { // what is measured twice in a round costs twice as much
			guess = 0
		}
		of := out.took[modelKey(s)]
		of.took, of.guess = of.took+c.Took, of.guess+guess
		out.took[modelKey(s)] = of
		out.all.took, out.all.guess = out.all.took+c.Took, out.all.guess+guess
	}
	return out
}

func modelKey(s *Spec) string { return s.Model.Service + "/" + s.Model.Name }

// of is what one cell of a spec costs.
func (p *prices) of(s *Spec) time.Duration {
	known, ok := p.took[modelKey(s)]
	switch {
	case ok:
	case p.before != nil:
		return p.before.of(s)
	default:
		known = p.all
	}
	if known.guess == 0 {
		return s.Estimate()
	}
	return time.Duration(float64(s.Estimate()) * float64(known.took) / float64(known.guess))
}

// rounds is what so many rounds of some series cost.
func (p *prices) rounds(needs []*series, n int) time.Duration {
	var d time.Duration
	for _, s := range needs {
		d += p.of(s.spec)
	}
	return d * time.Duration(n)
}
