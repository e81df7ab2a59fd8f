package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/verdict"
)

// ErrStopped is a run that was interrupted; what was measured is recorded.
var ErrStopped = errors.New("stopped")

// maxAttempts is how often a cell is measured in a round when the machine, not the
// server, spoilt it.
const maxAttempts = 2

// A Runner carries a plan out. One goroutine owns it.
type Runner struct {
	Tree   *manifest.Tree
	Plan   *Plan
	Record *record.Writer
	Cells  []record.Cell // recorded so far, those of an earlier session included; figures only
	Bench  Bench
	Watch  Watcher
	Now    func() time.Time
	Duets  bool // blocks that can be are measured as duets
	// whose claims are judged while the run goes on
	Experiments []*manifest.Experiment
	Planner     *Planner // nil: the plan has a fixed number of rounds

	done  map[Key]int // attempts recorded
	spent time.Duration
	guess time.Duration // what the spent cells were estimated at

	// of a budget
	turn *Turn
	used time.Duration // measured so far
	end  time.Duration // used, when it is spent
}

// A Bench measures one cell on a fresh server, or the cells of a round of a block side by side, in
// the order of the specs. It returns an error only when nothing can be measured any more, or when
// ctx is done; what goes wrong with one server is the cell's status.
type Bench interface {
	Measure(ctx context.Context, s *Spec, seed uint64, window func(open bool)) (*record.Cell, error)
	Round(ctx context.Context, specs []*Spec, seed uint64, window func(open bool)) ([]*record.Cell,
		error)
}

// Run measures what the plan asks for and is not recorded yet, and marks the record as finished.
func (r *Runner) Run(ctx context.Context) error {
	r.done = map[Key]int{}
	for i := range r.Cells {
		r.note(&r.Cells[i])
		r.Cells[i] = lean(r.Cells[i])
	}
	work := r.allRounds
	if r.Planner != nil {
		work = r.spend
	}
	if err := work(ctx); err != nil {
		return err
	}
	if err := r.profiles(ctx); err != nil {
		return err
	}
	if r.Planner != nil {
		if err := r.Record.Update(func(h *record.Header) {
			h.Undecided = open(r.Planner.Standings(r.Cells))
		}); err != nil {
			return err
		}
	}
	if err := r.Record.Finish(r.Now()); err != nil {
		return err
	}
	r.Watch.Watch(Event{Kind: Ends, Done: len(r.Cells), Total: len(r.Cells),
		Verdicts: r.verdicts()})
	return nil
}

// allRounds measures the rounds of a fixed plan.
func (r *Runner) allRounds(ctx context.Context) error {
	for round := 1; ; round++ {
		wanted := r.wanted(round)
		if len(wanted) == 0 {
			return nil
		}
		if err := r.round(ctx, round, wanted); err != nil {
			return err
		}
		r.Watch.Watch(Event{Kind: RoundEnds, Round: round, Rounds: r.rounds(), Done: len(r.Cells),
			Total: r.total(), Left: r.left(round + 1), Verdicts: r.verdicts()})
	}
}

// note counts a recorded cell as an attempt.
func (r *Runner) note(c *record.Cell) {
	k := Key{c.Experiment, c.Point, c.Model, c.Twin, c.Condition, c.Round}
	r.done[k]++
	if c.Duet || !again(c) {
		r.done[k] = maxAttempts
	}
}

// lean leaves out of a recorded cell what no metric is computed from: a run of a day has thousands
// of cells, and half a megabyte for each would be collected while servers are measured.
func lean(c record.Cell) record.Cell {
	c.Tail = ""
	if c.Result != nil {
		c.Result = c.Result.Lean()
	}
	if c.Server != nil {
		series := *c.Server
		series.Threads = nil
		c.Server = &series
	}
	return c
}

// machineGates are those by which the machine, and not the server, spoilt a cell.
var machineGates = []string{"steal", "foreign-cpu", "load-waited", "clock", "late",
	"load-saturated", "cut-short"}

// consequences are the gates that a spoilt machine makes a cell fail as well; alone,
// they are not its.
var consequences = []string{"littles-law", "achieved"}

// again says whether a cell deserves a second attempt: the machine spoilt it, and the server did
// nothing wrong.
func again(c *record.Cell) bool {
	machines := false
	for _, why := range c.Reasons {
		machines = machines || slices.Contains(machineGates, why.Gate)
		if !slices.Contains(machineGates, why.Gate) && !slices.Contains(consequences, why.Gate) {
			return false
		}
	}
	return machines && c.Status == record.Void
}

// wanted are the blocks of a round in its order, without the cells that are not asked for.
func (r *Runner) wanted(round int) []*Block {
	wide := map[string]map[verdict.Series]bool{}
	var out []*Block
	for _, b := range r.Plan.Shuffled(r.Record.Header().Seed, round) {
		e := b.Experiment
		if round <= r.Plan.Rounds[e.Name] {
			out = append(out, b)
			continue
		}
		if round > r.Plan.MaxRounds[e.Name] {
			continue
		}
		if wide[e.Name] == nil {
			wide[e.Name] = verdict.TooWide(e, r.before(round), r.models())
		}
		b.Specs = slices.DeleteFunc(b.Specs, func(s *Spec) bool {
			return !wide[e.Name][verdict.Series{Point: s.Point.Name, Condition: s.Condition,
				Model: s.Model.Name}]
		})
		if len(b.Specs) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// before are the cells of earlier rounds: what decides whether a round is needed must not depend on
// how much of it was done before an interruption.
func (r *Runner) before(round int) []record.Cell {
	var out []record.Cell
	for _, c := range r.Cells {
		if c.Round < round {
			out = append(out, c)
		}
	}
	return out
}

// round measures what is left of one round.
func (r *Runner) round(ctx context.Context, round int, blocks []*Block) error {
	order := 0
	for _, b := range blocks {
		if err := r.block(ctx, round, b, &order); err != nil {
			return err
		}
	}
	return nil
}

// block measures what is left of one block in a round. Order is the place of its last cell.
func (r *Runner) block(ctx context.Context, round int, b *Block, order *int) error {
	if can, _ := Duets(b); can && r.Duets {
		*order += len(b.Specs)
		return r.duet(ctx, b, round, *order-len(b.Specs))
	}
	for _, s := range b.Specs {
		*order++
		for r.done[s.key(round)] < maxAttempts {
			if err := r.cell(ctx, s, round, *order); err != nil {
				return err
			}
		}
	}
	return nil
}

// cell measures and records one cell.
func (r *Runner) cell(ctx context.Context, s *Spec, round, order int) error {
	k := s.key(round)
	r.Watch.Watch(r.progress(Event{Kind: CellStarts, Spec: s, Round: round}))
	began := r.Now()
	c, err := r.Bench.Measure(ctx, s, seedOf(r.Record.Header().Seed, k), r.window(s, round))
	if ctx.Err() != nil {
		return fmt.Errorf("%w in round %d; what was measured is recorded", ErrStopped, round)
	}
	if err != nil {
		return err
	}
	c.Started, c.Took = began.UTC(), r.Now().Sub(began)
	return r.keep(s, c, round, order)
}

// window tells the watcher of a window.
func (r *Runner) window(s *Spec, round int) func(open bool) {
	return func(open bool) {
		kind := WindowCloses
		if open {
			kind = WindowOpens
		}
		r.Watch.Watch(Event{Kind: kind, Spec: s, Round: round})
	}
}

// keep records a cell that has been measured.
func (r *Runner) keep(s *Spec, c *record.Cell, round, order int) error {
	c.Experiment, c.Point, c.Service = s.Experiment.Name, s.Point.Name, s.Point.Service
	c.Model, c.Twin, c.Condition = s.Model.Name, s.Twin, s.Condition
	if s.Model.Stack != manifest.Kernel {
		c.Stack = s.Model.Stack
	}
	c.Round, c.Order, c.Attempt = round, order, r.done[s.key(round)]+1
	if err := r.Record.Append(c); err != nil {
		return err
	}
	r.Cells = append(r.Cells, lean(*c))
	r.spent, r.guess = r.spent+c.Took, r.guess+s.Estimate()
	r.note(c)
	r.Watch.Watch(r.progress(Event{Kind: CellEnds, Spec: s, Cell: c, Round: round}))
	return nil
}

// progress adds to an event how far the run is.
func (r *Runner) progress(e Event) Event {
	e.Done, e.Left = len(r.Cells), r.left(e.Round)
	if r.Planner != nil {
		e.Turn, e.Spent = r.turn, r.used
		return e
	}
	e.Rounds, e.Total = r.rounds(), r.total()
	return e
}

// rounds is the largest number of rounds that any experiment has planned.
func (r *Runner) rounds() int {
	most := 0
	for _, n := range r.Plan.Rounds {
		most = max(most, n)
	}
	return most
}

// total is the number of cells that the record will hold: those it has, and those planned that it
// lacks. Repeats and added rounds are not counted before they come.
func (r *Runner) total() int {
	n := len(r.Cells)
	r.lacking(1, func(*Spec) { n++ })
	return n
}

// lacking visits the planned cells from a round on that were not tried.
func (r *Runner) lacking(from int, visit func(*Spec)) {
	for _, b := range r.Plan.Blocks {
		for _, s := range b.Specs {
			for round := from; round <= r.Plan.Rounds[b.Experiment.Name]; round++ {
				if r.done[s.key(round)] == 0 {
					visit(s)
				}
			}
		}
	}
}

// left estimates the time to the end from what cells took against their estimates so far. Of a
// budget it is what is not spent.
func (r *Runner) left(from int) time.Duration {
	if r.Planner != nil {
		return max(0, r.end-r.used)
	}
	var rest time.Duration
	r.lacking(from, func(s *Spec) { rest += s.Estimate() })
	if r.guess > 0 {
		rest = time.Duration(float64(rest) * float64(r.spent) / float64(r.guess))
	}
	return rest
}

// models is what the record knows of models besides their cells.
func (r *Runner) models() verdict.Models {
	return verdict.ModelsOf(r.Tree, r.Record.Header().Skipped)
}
