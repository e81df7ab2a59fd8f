package load

// Requests and replies: the results of echo, counter and what else needs only a codec, and their
// loads in words.

import (
	"cmp"
	"fmt"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// Requests are counted by closed and open loads.
type Requests struct {
	plain
	Answered int64 `json:"answered"`          // in the window
	Total    int64 `json:"total"`             // answered since the start, warm-up included
	Offered  int64 `json:"offered,omitempty"` // due in the window, open shape
	BytesOut int64 `json:"bytes_out"`
	BytesIn  int64 `json:"bytes_in"`
	// from the due time to the reply, open shape
	Latency *hist.Histogram `json:"latency,omitempty"`
	Service *hist.Histogram `json:"service,omitempty"` // from the send to the reply
	Late    *hist.Histogram `json:"late,omitempty"`    // from the due time to the send, open shape
}

// Turns are counted where connections follow each other, each with one request: shape connect.
type Turns struct {
	plain
	Answered int64 `json:"answered"` // in the window
	Total    int64 `json:"total"`    // answered since the start, warm-up included
	BytesOut int64 `json:"bytes_out"`
	BytesIn  int64 `json:"bytes_in"`
	// from the beginning of the connection to the reply
	Took *hist.Histogram `json:"took,omitempty"`
}

var requestsFamily = declare(Family{
	name: "requests",
	parts: []func() Part{func() Part { return new(Requests) },
		func() Part { return new(Turns) }},
	words:    requestsWords,
	interval: openInterval,
	metrics: func(l manifest.Load) []manifest.Metric {
		if l.Shape == manifest.Open {
			return []manifest.Metric{manifest.LatencyP50, manifest.LatencyP99,
				manifest.CPUPerRequest, manifest.PSS}
		}
		return []manifest.Metric{manifest.CPUPerRequest, manifest.Throughput, manifest.PSS,
			manifest.Switches}
	},
})

// offerRate sets the rate of an open load.
func offerRate(l *manifest.Load, w Wishes) {
	if l.Shape == manifest.Open {
		l.Rate, l.Gaps = w.Rate, "constant"
	}
}

func requestsWords(l manifest.Load) []string {
	words := []string{quantity.Many(l.Connections, "connection")}
	size := bytesWords(l)
	switch l.Shape {
	case manifest.Open:
		words = append(words, fmt.Sprintf("%s%srequests/s of %s in open loop, %s gaps",
			quantity.Trim(l.Rate, 4), quantity.Thin, size, cmp.Or(l.Gaps, "constant")))
	case manifest.Connect:
		words = append(words, "connect, send "+size+", read the reply, close")
	default:
		words = append(words, size+" in closed loop")
		if l.Pipeline > 1 {
			words = append(words, fmt.Sprintf("%d in flight", l.Pipeline))
		}
	}
	if l.Requests > 0 {
		words = append(words, quantity.Count(l.Requests)+" requests each")
	}
	if l.ReadShare > 0 {
		words = append(words, quantity.Percent(l.ReadShare)+" reads")
	}
	return words
}

// bytesWords is the size of a message.
func bytesWords(l manifest.Load) string {
	return quantity.Trim(float64(l.SizeBytes), 4) + quantity.Thin + "B"
}

func (*Requests) kind() string { return "requests" }

func (p *Requests) add(other Part) {
	o := other.(*Requests)
	p.Answered += o.Answered
	p.Total += o.Total
	p.Offered += o.Offered
	p.BytesOut += o.BytesOut
	p.BytesIn += o.BytesIn
	merge([2]*hist.Histogram{p.Latency, o.Latency}, [2]*hist.Histogram{p.Service, o.Service},
		[2]*hist.Histogram{p.Late, o.Late})
}

// Served is how many requests were answered.
func (p *Requests) Served() int64 { return p.Answered }

// Kept is of open loads.
func (p *Requests) Kept() (served, due int64) { return p.Answered, p.Offered }

// Latencies are from the due time to the reply.
func (p *Requests) Latencies() *hist.Histogram { return p.Latency }

// Lateness is from the due time to the send.
func (p *Requests) Lateness() *hist.Histogram { return p.Late }

// Loop is of closed loads without an end: with a fixed number of requests connections end at
// different times.
func (p *Requests) Loop(l manifest.Load) (inFlight int, took *hist.Histogram) {
	if l.Shape != manifest.Closed || l.Requests > 0 {
		return 0, nil
	}
	return l.Connections * max(1, l.Pipeline), p.Service
}

// Lean is a copy without the histograms that no metric is computed of.
func (p *Requests) Lean() Part {
	lean := *p
	lean.Service, lean.Late = nil, nil
	return &lean
}

func (*Turns) kind() string { return "turns" }

func (p *Turns) add(other Part) {
	o := other.(*Turns)
	p.Answered += o.Answered
	p.Total += o.Total
	p.BytesOut += o.BytesOut
	p.BytesIn += o.BytesIn
	merge([2]*hist.Histogram{p.Took, o.Took})
}

// Served is how many connections had their reply.
func (p *Turns) Served() int64 { return p.Answered }

// Lean is a copy without the histogram, which no metric is computed of.
func (p *Turns) Lean() Part {
	lean := *p
	lean.Took = nil
	return &lean
}
