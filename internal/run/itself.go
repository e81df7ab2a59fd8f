package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"time"

	"interleave/internal/group"
	"interleave/internal/machine"
	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// Itself measures one model against itself, in cells and in duets. Its ratio is known: it is 1. So
// the width of the interval shows how much of the noise of the machine is left in ratios, and how
// often the interval holds 1 whether it is to be believed.
type Itself struct {
	Bench  Bench
	Spec   Spec
	Rounds int // of a trial
}

// The load of a trial, small enough for a hundred trials in twenty minutes.
const (
	itselfClients = 64
	itselfWarmUp  = 100 * time.Millisecond
	itselfWindow  = 300 * time.Millisecond
	itselfRounds  = 8
)

// ItselfMetrics are the figures whose ratios a trial has.
var ItselfMetrics = []manifest.Metric{manifest.Throughput, manifest.CPUPerRequest}

// NewItself prepares trials of a model of the service echo.
func NewItself(exe string, built *toolchain.Built) *Itself {
	return &Itself{
		Bench: &Local{Exe: []string{exe, "load"}, CPUs: defaultCPUs(machine.UsableCPUs()),
			Built: map[*manifest.Model]*toolchain.Built{built.Model: built}},
		Spec: Spec{
			Experiment: &manifest.Experiment{Name: "itself"},
			Point: manifest.Point{Name: "itself", X: math.NaN(), Service: built.Model.Service,
				Load: manifest.Load{Shape: manifest.Closed, Connections: itselfClients,
					SizeBytes: 16, Pipeline: 1}},
			Protocol: "echo", Model: built.Model, Condition: manifest.Own, WarmUp: itselfWarmUp,
			Window: itselfWindow, Sample: 50 * time.Millisecond,
		},
		Rounds: itselfRounds,
	}
}

// A Trial is the outcome of some rounds of a model against itself.
type Trial struct {
	Cells, Void int
	// the ratio by metric: of the cells that count, and of all that have a figure
	Counted, All map[manifest.Metric]stats.Interval
}

// Try makes one trial, in cells or as a duet in each round.
func (i *Itself) Try(ctx context.Context, duet bool, seed uint64) (*Trial, error) {
	t := &Trial{Counted: map[manifest.Metric]stats.Interval{},
		All: map[manifest.Metric]stats.Interval{}}
	counted, all := map[manifest.Metric][]float64{}, map[manifest.Metric][]float64{}
	rng := rand.New(rand.NewPCG(seed, 0))
	for range i.Rounds {
		cells, err := i.round(ctx, duet, rng)
		if err != nil {
			return nil, err
		}
		for _, c := range cells {
			t.Cells++
			if c.Status != record.Measured {
				t.Void++
			}
		}
		for _, m := range ItselfMetrics {
			if x, ok := ratio(cells, m, (*record.Cell).Metric); ok {
				counted[m] = append(counted[m], x)
			}
			if x, ok := ratio(cells, m, (*record.Cell).Raw); ok {
				all[m] = append(all[m], x)
			}
		}
	}
	for _, m := range ItselfMetrics {
		t.Counted[m] = stats.HodgesLehmann(counted[m], .95).Exp()
		t.All[m] = stats.HodgesLehmann(all[m], .95).Exp()
	}
	return t, nil
}

// round measures the two cells of a round, in an order drawn anew. The first that it returns is the
// twin.
func (i *Itself) round(ctx context.Context, duet bool, rng *rand.Rand) ([]*record.Cell, error) {
	twin := i.Spec
	twin.Twin = true
	specs := []*Spec{&twin, &i.Spec}
	swap := rng.IntN(2) == 1
	if swap {
		specs[0], specs[1] = specs[1], specs[0]
	}
	seed := rng.Uint64()
	var cells []*record.Cell
	var err error
	if duet {
		cells, err = i.Bench.Round(ctx, specs, seed, func(bool) {})
	} else {
		for _, s := range specs {
			var c *record.Cell
			if c, err = i.Bench.Measure(ctx, s, seed, func(bool) {}); err != nil {
				break
			}
			cells = append(cells, c)
		}
	}
	if err != nil {
		return nil, err
	}
	if swap {
		cells[0], cells[1] = cells[1], cells[0]
	}
	return cells, nil
}

// ratio is the logarithm of the ratio of two cells.
func ratio(cells []*record.Cell, m manifest.Metric,
	figure func(*record.Cell, manifest.Metric) (float64, bool)) (float64, bool) {
	a, ok := figure(cells[0], m)
	b, ok2 := figure(cells[1], m)
	return math.Log(a / b), ok && ok2
}

// Beside starts programs that do nothing but compute, each in a session of its own, as a user's
// other programs are. Stop ends them.
func Beside(n int) (stop func() error, err error) {
	var loops []*group.Group
	stop = func() (err error) {
		for _, g := range loops {
			err = errors.Join(err, g.Close())
		}
		return err
	}
	for range n {
		g, err := group.New("beside", group.Options{Pdeathsig: syscall.SIGKILL})
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		loops = append(loops, g)
		if err := g.Start(exec.Command("sh", "-c", "while :; do :; done")); err != nil {
			return nil, errors.Join(fmt.Errorf("starting a busy loop: %w", err), stop())
		}
	}
	return stop, nil
}
