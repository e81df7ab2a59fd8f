package load

// Streams: their results, the gate that they have of their own, and their loads in words.

import (
	"fmt"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// Streams are counted by clients that listen.
type Streams struct {
	plain
	Texts    int64 `json:"texts"`   // that came in the window
	Total    int64 `json:"total"`   // that came since the start
	Offered  int64 `json:"offered"` // due in the window
	BytesOut int64 `json:"bytes_out"`
	BytesIn  int64 `json:"bytes_in"`
	// from the second that a text was due at to its reading
	Delay *hist.Histogram `json:"delay,omitempty"`
	// from the request of a stream to its greeting
	Greeting *hist.Histogram `json:"greeting,omitempty"`
	// from a text's arrival in the kernel to its reading
	Waited *hist.Histogram `json:"waited,omitempty"`
}

var streamFamily = declare(Family{
	name:  "stream",
	parts: []func() Part{func() Part { return new(Streams) }},
	words: func(l manifest.Load) []string {
		return []string{quantity.Many(l.Connections, "connection"),
			"opened at " + quantity.Trim(l.Rate, 4) + " a second", "each hears a text a second"}
	},
	gates:  []Gate{lateReading},
	uneven: true, // they tick as they were opened, in a part of each second
	ramp: func(l manifest.Load) time.Duration {
		return time.Duration(float64(l.Connections) / l.Rate * float64(time.Second))
	},
	metrics: func(manifest.Load) []manifest.Metric {
		return []manifest.Metric{manifest.LatencyP99, manifest.CPU, manifest.ClientMemory,
			manifest.KernelMemory, manifest.Threads}
	},
})

func offerStreams(l *manifest.Load, w Wishes) { l.Rate, l.SizeBytes = w.Rate, 0 }

const (
	// maxLateRead is by what part of the delay that streams report the load may have waited to read
	// a text, both at the 99th percentile.
	maxLateRead = .10
	// minLateRead is a tenth of what a server's timer of milliseconds is late by itself.
	minLateRead = 100 * time.Microsecond
)

// lateReading judges a load that only listens. A text that has arrived waits for the load alone,
// and that wait is in the delay which the cell reports. So the wait must be small against the
// delay.
func lateReading(_ manifest.Load, r *Result) *Doubt {
	p, ok := r.Part.(*Streams)
	if !ok || p.Waited == nil || p.Delay == nil || p.Waited.Count() == 0 {
		return &Doubt{Gate: "late",
			Text: "the kernel did not say when texts had come, so nothing tells whether the load " +
				"was late"}
	}
	p99 := time.Duration(p.Waited.Quantile(.99))
	limit := max(minLateRead, time.Duration(maxLateRead*float64(p.Delay.Quantile(.99))))
	if p99 <= limit {
		return nil
	}
	return &Doubt{Gate: "late", Value: p99.Seconds(), Limit: limit.Seconds(),
		Text: fmt.Sprintf("1 %% of the texts had waited for the load for more than %v, %v is "+
			"allowed (a tenth of the lateness that it reports)", quantity.Round(p99),
			quantity.Round(limit))}
}

func (*Streams) kind() string { return "streams" }

func (p *Streams) add(other Part) {
	o := other.(*Streams)
	p.Texts += o.Texts
	p.Total += o.Total
	p.Offered += o.Offered
	p.BytesOut += o.BytesOut
	p.BytesIn += o.BytesIn
	merge([2]*hist.Histogram{p.Delay, o.Delay}, [2]*hist.Histogram{p.Greeting, o.Greeting},
		[2]*hist.Histogram{p.Waited, o.Waited})
}

// Served is how many texts came.
func (p *Streams) Served() int64 { return p.Texts }

// Kept counts by when texts were due: one that came late, after the window, stands in the delays.
func (p *Streams) Kept() (served, due int64) { return counted(p.Delay), p.Offered }

// Latencies are the delays of texts.
func (p *Streams) Latencies() *hist.Histogram { return p.Delay }

// Lean is a copy without the histograms that no metric is computed of.
func (p *Streams) Lean() Part {
	lean := *p
	lean.Greeting, lean.Waited = nil, nil
	return &lean
}
