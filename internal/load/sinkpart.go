package load

// Sinks: the results of messages that are never answered, and their loads in words.

import (
	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// Messages are counted by loads whose messages have no reply: shape paced.
type Messages struct {
	plain
	Sent     int64 `json:"sent"`    // wholly written in the window
	Total    int64 `json:"total"`   // likewise since the start, warm-up included
	Offered  int64 `json:"offered"` // due in the window
	BytesOut int64 `json:"bytes_out"`
	// from the due time to the send
	Late *hist.Histogram `json:"late,omitempty"`
}

var sinkFamily = declare(Family{
	name:     "sink",
	parts:    []func() Part{func() Part { return new(Messages) }},
	words:    sinkWords,
	interval: pacedInterval,
	metrics:  pacedMetrics,
})

// pacedMetrics are those of loads in which the load decides how much is served.
func pacedMetrics(manifest.Load) []manifest.Metric {
	return []manifest.Metric{manifest.CPU, manifest.CPUVariation, manifest.PSS, manifest.Switches}
}

// offeredBits is the rate of each connection that "interleave bench" offers, bits a second.
const offeredBits = 1e6

func sinkWords(l manifest.Load) []string {
	words := []string{quantity.Many(l.Connections, "connection"),
		quantity.Bits(l.Bits) + " each in messages of " + bytesWords(l)}
	if l.Output == manifest.OutputFile {
		words = append(words, "written into a file")
	}
	return words
}

func (*Messages) kind() string { return "messages" }

func (p *Messages) add(other Part) {
	o := other.(*Messages)
	p.Sent += o.Sent
	p.Total += o.Total
	p.Offered += o.Offered
	p.BytesOut += o.BytesOut
	merge([2]*hist.Histogram{p.Late, o.Late})
}

// Served is how many messages were sent.
func (p *Messages) Served() int64 { return p.Sent }

// Kept is how many messages were sent of those that were due.
func (p *Messages) Kept() (served, due int64) { return p.Sent, p.Offered }

// Lateness is from the due time to the send.
func (p *Messages) Lateness() *hist.Histogram { return p.Late }

// Lean is a copy without the histogram, which no metric is computed of.
func (p *Messages) Lean() Part {
	lean := *p
	lean.Late = nil
	return &lean
}
