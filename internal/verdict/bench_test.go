package verdict

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// A truth is what a model's metric is at a point, before noise. NaN is a cell that a gate voided, 0
// one that was never tried.
type truth func(model string, p manifest.Point, round int) float64

// An experimenter makes the cells of an experiment whose truth is known.
type experimenter struct {
	experiment *manifest.Experiment
	rounds     int
	noise      float64 // standard deviation of the logarithm
	seed       uint64
	condition  manifest.Condition
	metric     manifest.Metric
	labels     []string
	draw       func(r *rand.Rand) float64 // of the noise; nil = normal
	lag        float64                    // its correlation with that of the round before
}

// sweep is an experiment over connections, with one named point beside it.
func sweep(values ...float64) *manifest.Experiment {
	e := &manifest.Experiment{
		Name: "made", Service: "echo", Models: []string{"a", "b", "c"}, Baseline: "a",
		Axis:  manifest.Axis{Over: "connections", Label: "open connections"},
		Setup: []string{"another machine"},
	}
	for _, x := range values {
		e.Points = append(e.Points, manifest.Point{Name: fmt.Sprintf("connections = %g", x), X: x,
			Service: "echo"})
	}
	e.Points = append(e.Points, manifest.Point{Name: "alone", X: math.NaN(), Service: "echo"})
	return e
}

// cells measures every model, the baseline twice, at every point in every round.
func (x experimenter) cells(of truth) []record.Cell {
	models := append([]string{x.experiment.Baseline}, x.experiment.Models...)
	out := make([]record.Cell, 0, x.rounds*len(x.experiment.Points)*len(models))
	if x.condition == "" {
		x.condition = manifest.Own
	}
	if x.metric == "" {
		x.metric = manifest.Throughput
	}
	for round := 1; round <= x.rounds; round++ {
		for _, p := range x.experiment.Points {
			for _, m := range models {
				twin := len(out) > 0 && m == x.experiment.Baseline && out[len(out)-1].Model == m &&
					out[len(out)-1].Round == round
				v := of(m, p, round)
				if v == 0 {
					continue
				}
				out = append(out, x.cell(m, twin, p, round, v))
			}
		}
	}
	return out
}

func (x experimenter) cell(model string, twin bool, p manifest.Point, round int,
	v float64) record.Cell {
	c := record.Cell{
		Experiment: x.experiment.Name, Point: p.Name, Service: p.Service, Model: model, Twin: twin,
		Condition: x.condition,
		Round:     round, Attempt: 1, Status: record.Measured, Labels: x.labels, Load: p.Load,
	}
	if math.IsNaN(v) {
		c.Status, c.Reasons = record.Void, []record.Reason{{Gate: "steal", Text: "stolen"}}
		v = 1000 // what a void cell says must not matter
	}
	show(&c, x.metric, v*math.Exp(x.noise*x.random(model, twin, p.Name, round)))
	return c
}

// random draws a cell's noise, the same in each test. Noise that resembles that of the round before
// is a moving mean of two draws.
func (x experimenter) random(model string, twin bool, point string, round int) float64 {
	own := x.fresh(model, twin, point, round)
	if x.lag == 0 {
		return own
	}
	share := (1 - math.Sqrt(1-4*x.lag*x.lag)) / (2 * x.lag) // whose correlation is lag
	return (own + share*x.fresh(model, twin, point, round-1)) / math.Sqrt(1+share*share)
}

func (x experimenter) fresh(model string, twin bool, point string, round int) float64 {
	h := fnv.New64a()
	fmt.Fprintln(h, model, twin, point, round)
	r := rand.New(rand.NewPCG(x.seed, h.Sum64()))
	if x.draw != nil {
		return x.draw(r)
	}
	return r.NormFloat64()
}

// requests is how many a made cell answers where its metric is another.
const requests = 1_000_000

// show gives a cell the result and samples that show v of the metric.
func show(c *record.Cell, m manifest.Metric, v float64) {
	second := time.Second
	part := &load.Requests{Answered: requests}
	c.Result = &load.Result{Window: second, Part: part}
	closed := sample.Sample{At: second, Mark: sample.MarkClosed, User: second / 2}
	micro := func(v float64) int64 { return int64(v * float64(time.Microsecond)) }
	latencies := func(values ...float64) {
		part.Latency = &hist.Histogram{}
		for _, v := range values {
			part.Latency.Record(micro(v))
		}
	}
	samples := append(make([]sample.Sample, 0, 2), sample.Sample{Mark: sample.MarkOpen})
	every := second / 10
	switch m {
	case manifest.Throughput:
		c.Result.Window = time.Duration(requests / v * float64(second))
		closed.At = c.Result.Window
	case manifest.CPU:
		closed.User = time.Duration(v / 100 * float64(second))
	case manifest.CPUPerRequest:
		closed.User = time.Duration(v * requests * float64(time.Microsecond))
	case manifest.Switches:
		closed.Voluntary = int64(v * requests)
	case manifest.PSS:
		closed.PSS = int64(v * 1e6)
	case manifest.Threads:
		closed.Threads = int(v * 100)
	case manifest.LatencyP50, manifest.LatencyP99:
		latencies(v)
	case manifest.Jitter:
		latencies(1, 1, 1, 1+v)
	// nine intervals with nothing and one with all have 3.16; the mean of both lowers it
	case manifest.CPUVariation:
		every = second / 2
		for i := range 10 {
			user := time.Duration(float64(i) / 10 * (1 - v/1000) * float64(second))
			samples = append(samples, sample.Sample{At: every * time.Duration(i), User: user})
		}
		closed.At, closed.User = 10*every, second
	}
	c.Server = &sample.Series{Every: every, Samples: append(samples, closed)}
}

// noModels is a laboratory without sources, which lacks nothing.
var noModels = Models{func(string, string) int { return 0 }, Missing(nil)}
