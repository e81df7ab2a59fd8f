// Package run carries out experiments: it lays out their cells in rounds, measures each cell on a
// fresh server, voids by named gates what cannot be trusted, and records everything at once.
package run

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"interleave/internal/manifest"
)

// A Spec is one cell to be measured: everything but its round.
type Spec struct {
	Experiment *manifest.Experiment
	Point      manifest.Point
	Protocol   string // of the point's service
	Model      *manifest.Model
	Twin       bool // the baseline's second cell
	Condition  manifest.Condition
	WarmUp     time.Duration
	Window     time.Duration // 0 = until all requests are answered
	Sample     time.Duration
}

// A Key names a spec in records.
type Key struct {
	Experiment, Point, Model string
	Twin                     bool
	Condition                manifest.Condition
	Round                    int
}

// key is the spec's in a round.
func (s *Spec) key(round int) Key {
	return Key{s.Experiment.Name, s.Point.Name, s.Model.Name, s.Twin, s.Condition, round}
}

// A Block is the cells that are compared with each other: one point under one condition. They run
// back to back, so that drift hits all alike.
type Block struct {
	Experiment *manifest.Experiment
	Point      manifest.Point
	Condition  manifest.Condition
	Specs      []*Spec
}

// A Plan is what a run will do.
type Plan struct {
	Blocks    []*Block
	Rounds    map[string]int // by experiment
	MaxRounds map[string]int
	Missing   []Missing // models that an experiment names and the tree lacks
}

// A Missing model is one that an experiment names and the tree lacks.
type Missing struct{ Experiment, Service, Model, Why string }

// Choice narrows a plan.
type Choice struct {
	Depth     string             // quick, normal or full
	Models    []string           // empty = all
	Points    []string           // by name; empty = those of the depth
	Rounds    int                // 0 = the depth's
	Condition manifest.Condition // empty = the depth's
	// every point and model that a budget may be spent on; the depth gives warm-ups and windows
	Budget    bool
	Claims    []string                     // all that a budget is spent on; empty = everything
	Skip      func(m *manifest.Model) bool // models that cannot be measured
	SkipPoint func(p manifest.Point) bool  // points whose hosts cannot be made
}

// Lay lays out the cells of these experiments.
func Lay(tree *manifest.Tree, experiments []*manifest.Experiment, c Choice) (*Plan, error) {
	p := &Plan{Rounds: map[string]int{}, MaxRounds: map[string]int{}}
	for _, e := range experiments {
		if err := p.add(tree, e, c); err != nil {
			return nil, fmt.Errorf("%s: %w", e.File, err)
		}
	}
	return p, nil
}

func (p *Plan) add(tree *manifest.Tree, e *manifest.Experiment, c Choice) error {
	depth, err := e.Depth(c.Depth)
	if err != nil {
		return err
	}
	p.Rounds[e.Name], p.MaxRounds[e.Name] = depth.Rounds, max(depth.Rounds, depth.MaxRounds)
	if c.Rounds > 0 {
		p.Rounds[e.Name], p.MaxRounds[e.Name] = c.Rounds, c.Rounds
	}
	conditions := depth.Conditions
	if c.Budget {
		conditions = budgetConditions(e, c)
	} else if c.Condition != "" {
		conditions = []manifest.Condition{c.Condition}
	}
	for _, condition := range conditions {
		for _, point := range e.Points {
			depth, measured := depth, depth.Has(point)
			if c.Budget {
				depth, measured = paceAt(e, c.Depth, point)
			}
			if len(c.Points) > 0 && !slices.Contains(c.Points, point.Name) {
				continue
			}
			if !measured || c.SkipPoint != nil && c.SkipPoint(point) {
				continue
			}
			service := tree.Service(point.Service)
			if service == nil {
				return fmt.Errorf("point %q: no service %q", point.Name, point.Service)
			}
			b := &Block{Experiment: e, Point: point, Condition: condition}
			for _, name := range modelsOf(e, depth, point, c.Models) {
				model := service.Model(name)
				if model == nil {
					p.miss(Missing{e.Name, point.Service, name, whyMissing(tree, service, name)})
					continue
				}
				if c.Skip != nil && c.Skip(model) {
					continue
				}
				b.Specs = append(b.Specs, specs(e, depth, c.warmUp(depth, model), point, service,
					model, condition)...)
			}
			if len(b.Specs) > 0 {
				p.Blocks = append(p.Blocks, b)
			}
		}
	}
	return nil
}

func (p *Plan) miss(m Missing) {
	if !slices.Contains(p.Missing, m) {
		p.Missing = append(p.Missing, m)
	}
}

// modelsOf are the models of a point: the point's own or the experiment's, as far as the depth or
// the user wants them. The baseline stays, for without it nothing can be compared; with nothing
// beside it a point that the user did not ask for is left out.
func modelsOf(e *manifest.Experiment, depth manifest.Depth, point manifest.Point,
	wanted []string) []string {
	names := point.Models
	if len(names) == 0 {
		names = e.Models
		if len(depth.Models) > 0 && len(wanted) == 0 {
			names = depth.Models
		}
	}
	if len(wanted) == 0 {
		return names
	}
	var out []string
	asked := false
	for _, n := range names {
		if slices.Contains(wanted, n) {
			asked = true
		} else if n != e.Baseline {
			continue
		}
		out = append(out, n)
	}
	if !asked {
		return nil
	}
	return out
}

// warmUp is how long a model warms up at a depth. A budget keeps to what a JVM asks for, since it
// decides claims; quick does not, and what it says of a JVM is of its first seconds.
func (c Choice) warmUp(depth manifest.Depth, m *manifest.Model) time.Duration {
	switch {
	case c.Depth != "quick":
		return max(depth.WarmUp, m.WarmUp)
	case !c.Budget:
		return max(depth.WarmUp, m.WarmUp/quickWarmUp)
	case m.WarmUp > manifest.UsualWarmUp:
		return m.WarmUp
	}
	return depth.WarmUp
}

// specs are the cells of one model at a point: one, or two for the baseline.
func specs(e *manifest.Experiment, depth manifest.Depth, warm time.Duration, point manifest.Point,
	service *manifest.Service, m *manifest.Model, c manifest.Condition) []*Spec {
	window := time.Duration(0)
	switch {
	case point.Load.Shape == manifest.Cold: // its requests end it, and nothing goes before them
		warm = 0
		if depth.Requests > 0 {
			point.Load.Requests = depth.Requests
		}
	case point.Load.Requests == 0:
		window = depth.Window
	case depth.Requests == manifest.AllInWindow:
		point.Load.Requests, window = 0, depth.Window
	case depth.Requests > 0:
		point.Load.Requests = depth.Requests
	}
	s := &Spec{Experiment: e, Point: point, Protocol: service.Protocol, Model: m, Condition: c,
		WarmUp: warm, Window: window, Sample: depth.Sample}
	if m.Name != e.Baseline {
		return []*Spec{s}
	}
	twin := *s
	twin.Twin = true
	return []*Spec{s, &twin}
}

// Shuffled returns the blocks of a round, and the cells in each, in an order that only the seed and
// the round decide: a resumed run goes on as it would have gone.
func (p *Plan) Shuffled(seed uint64, round int) []*Block {
	rng := rand.New(rand.NewPCG(seed, uint64(round)))
	out := make([]*Block, len(p.Blocks))
	for i, b := range p.Blocks {
		copied := *b
		copied.Specs = slices.Clone(b.Specs)
		rng.Shuffle(len(copied.Specs), func(i, j int) {
			copied.Specs[i], copied.Specs[j] = copied.Specs[j], copied.Specs[i]
		})
		out[i] = &copied
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// seedOf gives each round of a point the same schedule of requests for every model.
func seedOf(seed uint64, k Key) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s %d", seed, k.Experiment, k.Point, k.Round)
	return h.Sum64()
}

// Cells counts the cells of the planned rounds, without the rounds that precision may add.
func (p *Plan) Cells() int {
	n := 0
	for _, b := range p.Blocks {
		n += len(b.Specs) * p.Rounds[b.Experiment.Name]
	}
	return n
}

// models are those that the plan measures, each once.
func (p *Plan) models() []*manifest.Model {
	var out []*manifest.Model
	for _, b := range p.Blocks {
		for _, spec := range b.Specs {
			if !slices.Contains(out, spec.Model) {
				out = append(out, spec.Model)
			}
		}
	}
	return out
}

// finiteGuess is how fast a finite load is taken to be answered, in requests a second: the slowest
// compiled peer measured on two cores answers half as many again, interpreters some times fewer.
const finiteGuess = 60_000

// coldGuess is a guess at the time of a response of a cold server: a JVM's first thousand take
// twice that, others a fifth.
const coldGuess = time.Millisecond

// quickWarmUp is by how much quick shortens the warm-up that a model asks for: a JVM's 5 s to 1 s.
const quickWarmUp = 5

// Estimate is how long one cell takes: start and stop, warm-up, window.
func (s *Spec) Estimate() time.Duration {
	// a native server's start, connecting, drain and stop; measured: 70 ms
	around := 100 * time.Millisecond
	switch language := s.Model.Language; {
	case s.Model.StartUp > 0:
		around += s.Model.StartUp
	case language == "java":
		around = 600 * time.Millisecond
	case language == "erlang":
		around = 250 * time.Millisecond
	case language == "python" || language == "ruby":
		around = 200 * time.Millisecond
	case language == "node":
		around = 300 * time.Millisecond
	}
	if s.Point.Hosts == manifest.NetNS || s.Model.Hosts == manifest.Tap ||
		s.Model.Hosts == manifest.NetNS {
		// namespaces and their devices, made and removed; measured likewise
		around += 100 * time.Millisecond
	}
	window := s.Window
	switch {
	case window == 0 && s.Point.Load.Interval > 0: // each pinger keeps to it
		window = time.Duration(s.Point.Load.Requests) * s.Point.Load.Interval
	case s.Point.Load.Shape == manifest.Cold:
		window = time.Duration(s.Point.Load.Requests) * coldGuess
	case window == 0:
		total := float64(s.Point.Load.Requests) * float64(s.Point.Load.Connections)
		window = time.Duration(total / finiteGuess * float64(time.Second))
	}
	around += rampTime(s.Point.Load)
	around *= time.Duration(max(1, s.Point.Load.Chain)) // its servers start one after the other
	return around + s.WarmUp + window
}

// Estimate is how long the planned rounds take.
func (p *Plan) Estimate() time.Duration {
	var d time.Duration
	for _, b := range p.Blocks {
		for _, s := range b.Specs {
			d += s.Estimate() * time.Duration(p.Rounds[b.Experiment.Name])
		}
	}
	return d
}
