package load

// Programs: they are no servers, so the engine has no driver for them, but their cells have results
// and their problems are told in words like any other load.

import (
	"fmt"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// Solved counts the solutions of a program.
type Solved struct {
	plain
	Solutions int64 `json:"solutions"`       // in the window
	Total     int64 `json:"total"`           // since the start, warm-up included
	Bytes     int64 `json:"bytes,omitempty"` // that a program which transfers has, in the window
	// what the solutions of the window took, as the program says
	Took *hist.Histogram `json:"took,omitempty"`
}

var _ = declare(Family{
	name:  "program",
	parts: []func() Part{func() Part { return new(Solved) }},
	words: programWords,
	metrics: func(manifest.Load) []manifest.Metric {
		return []manifest.Metric{manifest.SolveTime, manifest.CPU, manifest.PSS}
	},
})

func programWords(l manifest.Load) []string {
	if l.Kernel == manifest.KernelTransfer {
		return []string{quantity.Many(l.Workers, "client"),
			fmt.Sprintf("50 transfers of %s B each", quantity.Count(l.Problem)), "again and again"}
	}
	return []string{fmt.Sprintf("%s of %d", l.Kernel, l.Problem),
		"solved again and again by " + quantity.Many(l.Workers, "worker")}
}

func (*Solved) kind() string { return "solved" }

func (p *Solved) add(other Part) {
	o := other.(*Solved)
	p.Solutions += o.Solutions
	p.Total += o.Total
	p.Bytes += o.Bytes
	merge([2]*hist.Histogram{p.Took, o.Took})
}

// Served is how many solutions there were.
func (p *Solved) Served() int64 { return p.Solutions }

// Figure computes the time of a solution in milliseconds, and the bit rate of a program that
// transfers: by the median of its solutions, for it does other things between them.
func (p *Solved) Figure(m manifest.Metric, _ manifest.Load, _ time.Duration) (float64, bool) {
	if p.Took == nil || p.Took.Count() == 0 {
		return 0, false
	}
	median := time.Duration(p.Took.Quantile(.5))
	switch m {
	case manifest.SolveTime:
		return Positive(float64(median) / float64(time.Millisecond))
	case manifest.BitRate:
		return bitRate(float64(p.Bytes), median*time.Duration(p.Solutions))
	}
	return 0, false
}

// Cost computes the CPU for each GB.
func (p *Solved) Cost(m manifest.Metric, _ manifest.Load, cpu time.Duration) (float64, bool) {
	return carriedCost(m, float64(p.Bytes), cpu)
}

// Lean is the part as it is: the figures are computed of the histogram.
func (p *Solved) Lean() Part { return p }
