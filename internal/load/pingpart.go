package load

// Pings: their results, and their loads in words.

import (
	"fmt"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// Pings are counted by pingers.
type Pings struct {
	plain
	Answered int64 `json:"answered"`          // in the window
	Total    int64 `json:"total"`             // answered since the start, warm-up included
	Lost     int64 `json:"lost,omitempty"`    // not answered within a second
	Offered  int64 `json:"offered,omitempty"` // due in the window, at an interval
	BytesOut int64 `json:"bytes_out"`
	BytesIn  int64 `json:"bytes_in"`
	// from the due time to the reply, at an interval; a ping that is lost counts as if its reply
	// had taken a second
	Latency *hist.Histogram `json:"latency,omitempty"`
	Trip    *hist.Histogram `json:"trip,omitempty"` // from the send to the reply
	Late    *hist.Histogram `json:"late,omitempty"` // from the due time to the send, at an interval
}

var pingFamily = declare(Family{
	name:     "ping",
	parts:    []func() Part{func() Part { return new(Pings) }},
	words:    pingWords,
	interval: func(l manifest.Load) time.Duration { return l.Interval },
	metrics: func(l manifest.Load) []manifest.Metric {
		if !l.Timed() {
			return []manifest.Metric{manifest.Throughput, manifest.Loss, manifest.CPUPerRequest,
				manifest.PSS}
		}
		return []manifest.Metric{manifest.LatencyP50, manifest.LatencyP99, manifest.Loss,
			manifest.CPUPerRequest, manifest.PSS}
	},
})

func pingWords(l manifest.Load) []string {
	size := bytesWords(l)
	words := []string{quantity.Many(l.Connections, "pinger"), size +
		", the next when the last has been answered"}
	if l.Interval > 0 {
		words[1] = fmt.Sprintf("each %s every %s, evenly spread", size,
			quantity.Setting(l.Interval))
	}
	if l.Requests > 0 {
		words = append(words, quantity.Many(int(l.Requests), "ping")+" each")
	}
	return words
}

func (*Pings) kind() string { return "pings" }

func (p *Pings) add(other Part) {
	o := other.(*Pings)
	p.Answered += o.Answered
	p.Total += o.Total
	p.Lost += o.Lost
	p.Offered += o.Offered
	p.BytesOut += o.BytesOut
	p.BytesIn += o.BytesIn
	merge([2]*hist.Histogram{p.Latency, o.Latency}, [2]*hist.Histogram{p.Trip, o.Trip},
		[2]*hist.Histogram{p.Late, o.Late})
}

// Served is how many pings were answered. Of those that were due nothing is kept to: one that is
// lost has its place in the latencies.
func (p *Pings) Served() int64 { return p.Answered }

// Latencies are from the due time to the reply.
func (p *Pings) Latencies() *hist.Histogram { return p.Latency }

// Lateness is from the due time to the send.
func (p *Pings) Lateness() *hist.Histogram { return p.Late }

// Figure computes the loss, and the share that was answered.
func (p *Pings) Figure(m manifest.Metric, _ manifest.Load, _ time.Duration) (float64, bool) {
	asked := p.Answered + p.Lost
	switch {
	case asked == 0:
	case m == manifest.Loss:
		return 100 * float64(p.Lost) / float64(asked), true
	case m == manifest.Answered:
		return 100 * float64(p.Answered) / float64(asked), true
	}
	return 0, false
}

// Lean is a copy without the histograms that no metric is computed of.
func (p *Pings) Lean() Part {
	lean := *p
	lean.Trip, lean.Late = nil, nil
	return &lean
}
