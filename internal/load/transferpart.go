package load

// Transfers and bulk: their results, and their loads in words.

import (
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// Transfers are counted where each connection carries one message.
type Transfers struct {
	plain
	Done     int64 `json:"done"`  // whole ones, which the server has read, in the window
	Total    int64 `json:"total"` // done since the start, warm-up included
	BytesOut int64 `json:"bytes_out"`
	// from the beginning of the connection to the server's end of file
	Took *hist.Histogram `json:"took,omitempty"`
}

// Bulk is counted where connections carry as much as they can.
type Bulk struct {
	plain
	Blocks int64 `json:"blocks"` // of manifest.BulkBlock bytes, begun to be carried in the window
	Total  int64 `json:"total"`  // blocks since the start, warm-up included
	// bytes into the server that its stack has acknowledged in the window
	Acknowledged int64 `json:"acknowledged,omitempty"`
	// bytes out of the server that were read in the window
	Received int64 `json:"received,omitempty"`
}

var transferFamily = declare(Family{
	name: "transfer",
	parts: []func() Part{func() Part { return new(Transfers) },
		func() Part { return new(Bulk) }},
	words: transferWords,
	metrics: func(manifest.Load) []manifest.Metric {
		return []manifest.Metric{manifest.BitRate, manifest.CPUPerGB, manifest.PSS}
	},
})

func offerTransfers(l *manifest.Load, w Wishes) {
	if l.Shape == manifest.Bulk {
		l.Direction, l.SizeBytes = w.Direction, 0
	}
}

func transferWords(l manifest.Load) []string {
	if l.Shape == manifest.Bulk {
		way := "as much as goes into the server"
		if l.Direction == "out" {
			way = "as much as comes out of the server"
		}
		return []string{quantity.Many(l.Connections, "connection"), way}
	}
	words := []string{quantity.Many(l.Connections, "client"), "connect, send " + bytesWords(l) +
		", half-close, wait for the end"}
	if l.Requests > 0 {
		words = append(words, quantity.Many(int(l.Requests), "transfer")+" each")
	}
	return words
}

// carried computes the figures of bytes that were carried.
func carried(m manifest.Metric, bytes float64, window time.Duration) (float64, bool) {
	if m != manifest.BitRate {
		return 0, false
	}
	return bitRate(bytes, window)
}

func carriedCost(m manifest.Metric, bytes float64, cpu time.Duration) (float64, bool) {
	if m != manifest.CPUPerGB {
		return 0, false
	}
	return perGB(bytes, cpu)
}

func (*Transfers) kind() string { return "transfers" }

func (p *Transfers) add(other Part) {
	o := other.(*Transfers)
	p.Done += o.Done
	p.Total += o.Total
	p.BytesOut += o.BytesOut
	merge([2]*hist.Histogram{p.Took, o.Took})
}

// Served is how many transfers were done.
func (p *Transfers) Served() int64 { return p.Done }

func (p *Transfers) bytes(l manifest.Load) float64 {
	return float64(p.Done) * float64(l.SizeBytes)
}

// Figure computes the bit rate.
func (p *Transfers) Figure(m manifest.Metric, l manifest.Load,
	window time.Duration) (float64, bool) {
	return carried(m, p.bytes(l), window)
}

// Cost computes the CPU for each GB.
func (p *Transfers) Cost(m manifest.Metric, l manifest.Load, cpu time.Duration) (float64, bool) {
	return carriedCost(m, p.bytes(l), cpu)
}

// Lean is a copy without the histogram, which no metric is computed of.
func (p *Transfers) Lean() Part {
	lean := *p
	lean.Took = nil
	return &lean
}

func (*Bulk) kind() string { return "bulk" }

func (p *Bulk) add(other Part) {
	o := other.(*Bulk)
	p.Blocks += o.Blocks
	p.Total += o.Total
	p.Acknowledged += o.Acknowledged
	p.Received += o.Received
}

// Served is how many blocks were carried.
func (p *Bulk) Served() int64 { return p.Blocks }

func (p *Bulk) bytes() float64 { return float64(p.Acknowledged + p.Received) }

// Figure computes the bit rate.
func (p *Bulk) Figure(m manifest.Metric, _ manifest.Load, window time.Duration) (float64, bool) {
	return carried(m, p.bytes(), window)
}

// Cost computes the CPU for each GB.
func (p *Bulk) Cost(m manifest.Metric, _ manifest.Load, cpu time.Duration) (float64, bool) {
	return carriedCost(m, p.bytes(), cpu)
}

// Lean is the part as it is.
func (p *Bulk) Lean() Part { return p }
