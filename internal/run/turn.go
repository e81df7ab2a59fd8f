package run

// The choice of the next turn: which claims fit into the time that is left, and which of them are
// decided soonest for what they cost.

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// hand is how many sets of claims are measured in turn. With one alone, all rounds of a claim would
// be of one minute, and of one mood of the machine. With many, nothing would be decided early.
const hand = 5

// figureRounds are the rounds of a point that no claim is about: as many as a normal run has.
const figureRounds = 12

// A Turn is one round of some points: those of some claims, or one point for its figures.
type Turn struct {
	record.Turn
	blocks []*Block
	takes  time.Duration
}

// A bundle is claims of one setting that are measured together, the first for its own sake, the
// others because they cost little beside it; or one block for its figures.
type bundle struct {
	claims []*Standing
	block  *Block
	costs  time.Duration // of all rounds until the decisions
	latest int           // the place in the record of its last cell
}

// each is what a bundle costs for each claim.
func (b *bundle) each() time.Duration { return b.costs / time.Duration(max(1, len(b.claims))) }

// Next is what is measured next after these cells with so much time left, or nil if nothing that is
// left to measure fits.
func (p *Planner) Next(cells []record.Cell, left time.Duration) *Turn {
	v := p.look(cells)
	all := p.standings(v)
	bundles := p.choose(v, all, left)
	if len(bundles) == 0 {
		bundles = p.chase(v, all, left, false)
	}
	if len(bundles) == 0 && !p.named {
		bundles = p.figures(v, all, left)
	}
	if len(bundles) == 0 {
		bundles = p.chase(v, all, left, true)
	}
	if len(bundles) == 0 {
		return nil
	}
	next := slices.MinFunc(bundles[:min(hand, len(bundles))], func(a, b *bundle) int {
		return cmp.Compare(a.latest, b.latest) // of equal ones the first
	})
	return p.turn(v, next)
}

// choose takes sets of open claims until the time is full, the headlines first, and of the others
// the one that costs least for each claim.
func (p *Planner) choose(v *view, all []Standing, left time.Duration) []*bundle {
	open := map[setting][]*Standing{}
	var order []setting
	for i := range all {
		if s := &all[i]; s.State == Open {
			if at := s.goal.setting; open[at] == nil {
				order = append(order, at)
			}
			open[s.goal.setting] = append(open[s.goal.setting], s)
		}
	}
	var out []*bundle
	for _, headlines := range []bool{true, false} {
		found := map[setting]*bundle{}
		for {
			var best *bundle
			for _, at := range order {
				b, ok := found[at]
				if !ok || b != nil && b.costs > left {
					b = p.bundle(v, open[at], headlines, left)
					found[at] = b
				}
				if b != nil && (best == nil || b.each() < best.each()) {
					best = b
				}
			}
			if best == nil {
				break
			}
			at := best.claims[0].goal.setting
			open[at] = slices.DeleteFunc(slices.Clone(open[at]),
				func(s *Standing) bool { return slices.Contains(best.claims, s) })
			delete(found, at)
			left -= best.costs
			out = append(out, best)
		}
	}
	return out
}

// bundle finds the set of these claims that costs least for each of them and fits.
func (p *Planner) bundle(v *view, open []*Standing, headlines bool, left time.Duration) *bundle {
	var best *bundle
	for _, seed := range open {
		if headlines && !seed.Claim.Headline || seed.Takes > left {
			continue
		}
		b := p.grow(v, seed, open, left)
		if best == nil || b.each() < best.each() {
			best = b
		}
	}
	return best
}

// grow adds claims to a first one, as long as each costs no more than those before it did. A claim
// counts with those that come with it for nothing.
func (p *Planner) grow(v *view, seed *Standing, open []*Standing, left time.Duration) *bundle {
	b := &bundle{claims: []*Standing{seed}, costs: seed.Takes}
	for _, s := range seed.needs {
		b.latest = max(b.latest, v.tries[s.at].latest)
	}
	rounds := seed.raise(make([]int, len(p.series)))
	rest := slices.DeleteFunc(slices.Clone(open), func(s *Standing) bool { return s == seed })
	for len(rest) > 0 {
		var best *Standing
		var costs, each time.Duration
		for _, s := range rest {
			more := v.more(s, rounds)
			if b.costs+more > left {
				continue
			}
			per := more
			if more > 0 {
				after := s.raise(slices.Clone(rounds))
				free := 0
				for _, other := range rest {
					if v.more(other, after) == 0 { // s itself is one of them
						free++
					}
				}
				per /= time.Duration(free)
			}
			if best == nil || per < each {
				best, costs, each = s, more, per
			}
		}
		if best == nil || each > b.each() {
			break
		}
		best.raise(rounds)
		b.claims, b.costs = append(b.claims, best), b.costs+costs
		rest = slices.DeleteFunc(rest, func(s *Standing) bool { return s == best })
	}
	return b
}

// raise gives each series that a claim needs the rounds that the claim lacks.
func (s *Standing) raise(rounds []int) []int {
	for _, n := range s.needs {
		rounds[n.at] = max(rounds[n.at], s.Need)
	}
	return rounds
}

// more is what a claim costs beside series that have so many rounds anyway.
func (v *view) more(s *Standing, rounds []int) time.Duration {
	var d time.Duration
	for _, n := range s.needs {
		if lacks := s.Need - rounds[n.at]; lacks > 0 {
			d += v.prices.of(n.spec) * time.Duration(lacks)
		}
	}
	return d
}

// chase spends the end of a budget on claims that were begun: they are expected to take more time
// than is left, and may be decided earlier. Those that have enough rounds for a verdict come first.
// The hopeless ones, of which no round counts so far, are for when nothing else is left.
func (p *Planner) chase(v *view, all []Standing, left time.Duration,
	hopeless bool) (out []*bundle) {
	for i := range all {
		s := &all[i]
		if s.State != Open || s.Rounds == 0 || hopeless != (s.Rounds > 1 && s.Counted == 0) {
			continue
		}
		b := p.grow(v, s, nil, s.Takes)
		b.costs = v.prices.rounds(s.needs, 1)
		if b.costs <= left {
			out = append(out, b)
		}
	}
	looked := func(b *bundle) int {
		if b.claims[0].Rounds >= stats.MinRounds {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b *bundle) int {
		return cmp.Or(cmp.Compare(looked(a), looked(b)),
			cmp.Compare(a.claims[0].Takes, b.claims[0].Takes))
	})
	return out
}

// figures are the points that may be measured when no claim is left that fits: not those of open
// claims, which would be judged at a part of what they need. First come those that no claim is
// about and that were begun, then those that show models of which no figure is there yet.
func (p *Planner) figures(v *view, all []Standing, left time.Duration) []*bundle {
	wanted, claimed := map[*Block]bool{}, map[*Block]bool{}
	for _, s := range all {
		for _, n := range s.needs {
			claimed[n.block] = true
			wanted[n.block] = wanted[n.block] || s.State == Open
		}
	}
	var begun, rest []*bundle
	rounds := map[*bundle]int{}
	for _, b := range p.plan.Blocks {
		if wanted[b] {
			continue
		}
		f := &bundle{block: b}
		var needs []*series
		for _, s := range p.series {
			if s.block == b {
				needs = append(needs, s)
				f.latest = max(f.latest, v.tries[s.at].latest)
			}
		}
		done := v.joint(needs)
		least := max(1, stats.MinRounds-done)
		for _, s := range b.Specs {
			f.costs += v.prices.of(s) * time.Duration(least)
		}
		switch {
		case done >= figureRounds || f.costs > left:
		case done > 0 && done < stats.MinRounds:
			begun = append(begun, f)
		default:
			rounds[f], rest = done, append(rest, f)
		}
	}
	rank := func(b *bundle) int {
		switch {
		case rounds[b] >= stats.MinRounds:
			return 2
		case claimed[b.block]:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(begun, cheaper)
	slices.SortStableFunc(rest, func(a, b *bundle) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cheaper(a, b))
	})
	return slices.DeleteFunc(p.newsFirst(v, begun, rest), func(b *bundle) bool {
		if b.costs > left {
			return true
		}
		left -= b.costs
		return false
	})
}

func cheaper(a, b *bundle) int { return cmp.Compare(a.costs, b.costs) }

// A sight is a model of a service under a shape of load: what a table of models has a figure of.
type sight struct {
	service, model string
	shape          manifest.Shape
}

func sightOf(s *Spec) sight { return sight{s.Model.Service, s.Model.Name, s.Point.Load.Shape} }

// newsFirst orders points by what they show: after those that were begun the ones with models that
// nothing shows yet, least time for each first, and then the others as they are.
func (p *Planner) newsFirst(v *view, begun, rest []*bundle) []*bundle {
	seen := map[sight]bool{}
	for _, s := range p.series {
		if v.tries[s.at].measured >= stats.MinRounds {
			seen[sightOf(s.spec)] = true
		}
	}
	out := begun
	for _, b := range begun {
		b.news(seen, true)
	}
	for {
		best, least := -1, 0.
		for i, b := range rest {
			if n := b.news(seen, false); n > 0 {
				if each := float64(b.costs) / float64(n); best < 0 || each < least {
					best, least = i, each
				}
			}
		}
		if best < 0 {
			return append(out, rest...)
		}
		rest[best].news(seen, true)
		out = append(out, rest[best])
		rest = slices.Delete(rest, best, best+1)
	}
}

// news counts the models of a point that are not seen yet, and has them seen.
func (b *bundle) news(seen map[sight]bool, see bool) int {
	found := map[sight]bool{}
	for _, s := range b.block.Specs {
		if at := sightOf(s); !seen[at] {
			found[at] = true
		}
	}
	if see {
		maps.Copy(seen, found)
	}
	return len(found)
}

// turn is a round of a bundle: its points in an order drawn anew, and at each the models that its
// claims need.
func (p *Planner) turn(v *view, b *bundle) *Turn {
	t := &Turn{}
	if b.block != nil {
		t.Experiment, t.Condition = b.block.Experiment.Name, b.block.Condition
		whole := *b.block
		whole.Specs = slices.Clone(whole.Specs)
		t.blocks = []*Block{&whole}
	} else {
		at := b.claims[0].goal.setting
		t.Experiment, t.Condition = at.experiment, at.condition
		for _, s := range b.claims {
			t.Claims = append(t.Claims, s.Claim.ID)
			for _, n := range s.needs {
				t.add(n)
			}
		}
	}
	t.Round = v.last[t.Experiment] + 1
	seed := seedOf(p.seed, Key{Experiment: t.Experiment, Condition: t.Condition, Round: t.Round})
	rng := rand.New(rand.NewPCG(p.seed, seed))
	shuffle(rng, t.blocks)
	for _, b := range t.blocks {
		shuffle(rng, b.Specs)
		told := record.TurnBlock{Point: b.Point.Name}
		for _, s := range b.Specs {
			t.takes += v.prices.of(s)
			told.Models = append(told.Models, s.Model.Name)
			if s.Twin {
				told.Twin = len(told.Models)
			}
		}
		t.Blocks = append(t.Blocks, told)
	}
	return t
}

func shuffle[T any](rng *rand.Rand, list []T) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// add puts a series into the block of its point.
func (t *Turn) add(n *series) {
	i := slices.IndexFunc(t.blocks, func(b *Block) bool {
		return b.Point.Name == n.spec.Point.Name
	})
	if i < 0 {
		b := *n.block
		b.Specs = nil
		i, t.blocks = len(t.blocks), append(t.blocks, &b)
	}
	if !slices.Contains(t.blocks[i].Specs, n.spec) {
		t.blocks[i].Specs = append(t.blocks[i].Specs, n.spec)
	}
}

// Begun is a turn of the record again, to be finished; models that are no longer here are left out.
func (p *Planner) Begun(old *record.Turn) *Turn {
	t := &Turn{Turn: *old}
	for _, told := range old.Blocks {
		for _, b := range p.plan.Blocks {
			if b.Experiment.Name != old.Experiment || b.Condition != old.Condition ||
				b.Point.Name != told.Point {
				continue
			}
			part := *b
			part.Specs = nil
			for i, name := range told.Models {
				for _, s := range b.Specs {
					if s.Model.Name == name && s.Twin == (told.Twin == i+1) {
						part.Specs = append(part.Specs, s)
					}
				}
			}
			t.blocks = append(t.blocks, &part)
		}
	}
	return t
}
