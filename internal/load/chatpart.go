package load

// Chats: their results, and their loads in words.

import (
	"cmp"
	"fmt"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// Chat is counted where the messages to rooms are acknowledged: shapes fanout and open.
type Chat struct {
	plain
	Acknowledged int64 `json:"acknowledged"`         // messages, in the window
	Total        int64 `json:"total"`                // acknowledged since the start
	Offered      int64 `json:"offered,omitempty"`    // messages due in the window, open shape
	Deliveries   int64 `json:"deliveries,omitempty"` // messages that came to a client in the window
	BytesOut     int64 `json:"bytes_out"`
	BytesIn      int64 `json:"bytes_in"`
	// from the due time of a message to each of its deliveries, open shape
	Delivery *hist.Histogram `json:"delivery,omitempty"`
	// from the due time of a message to its acknowledgement, open shape
	Acks *hist.Histogram `json:"acks,omitempty"`
	// from the send of a burst of messages to its acknowledgement
	Service *hist.Histogram `json:"service,omitempty"`
	// from the due time of a message to its send, open shape
	Late *hist.Histogram `json:"late,omitempty"`
}

// Ingest is counted where no message is acknowledged: shape paced.
type Ingest struct {
	plain
	Sent       int64 `json:"sent"`                 // messages, in the window
	Total      int64 `json:"total"`                // sent since the start
	Offered    int64 `json:"offered"`              // messages due in the window
	Deliveries int64 `json:"deliveries,omitempty"` // messages that came to a client in the window
	BytesOut   int64 `json:"bytes_out"`
	BytesIn    int64 `json:"bytes_in"`
	// from the due time of a burst of messages to its send
	Late *hist.Histogram `json:"late,omitempty"`
}

// Quiet is counted where clients send nothing but a PING now and then: shape idle.
type Quiet struct {
	plain
	Answered int64 `json:"answered"` // PINGs, in the window
	Total    int64 `json:"total"`    // answered since the start
	Offered  int64 `json:"offered"`  // PINGs due in the window
	BytesOut int64 `json:"bytes_out"`
	BytesIn  int64 `json:"bytes_in"`
	// from the due time of a PING to its PONG
	Acks    *hist.Histogram `json:"acks,omitempty"`
	Service *hist.Histogram `json:"service,omitempty"` // from the send to the PONG
	Late    *hist.Histogram `json:"late,omitempty"`    // from the due time to the send
}

var chatFamily = declare(Family{
	name: "chat",
	parts: []func() Part{func() Part { return new(Chat) }, func() Part { return new(Ingest) },
		func() Part { return new(Quiet) }},
	words: chatWords,
	interval: func(l manifest.Load) time.Duration {
		if l.Shape == manifest.Idle {
			return l.Interval
		}
		return max(openInterval(l), pacedInterval(l))
	},
	metrics: func(l manifest.Load) []manifest.Metric {
		switch l.Shape {
		case manifest.Fanout:
			return []manifest.Metric{manifest.Deliveries, manifest.CPUPerDelivery,
				manifest.Throughput, manifest.ClientMemory}
		case manifest.Idle:
			return []manifest.Metric{manifest.ClientMemory, manifest.Threads}
		case manifest.Paced:
			return pacedMetrics(l)
		}
		return []manifest.Metric{manifest.LatencyP50, manifest.LatencyP99,
			manifest.CPUPerRequest, manifest.PSS, manifest.AckP50, manifest.AckP99}
	},
})

// offerChat puts all clients into one room, in which chatSenders send; those whose messages are
// paced are alone.
func offerChat(l *manifest.Load, w Wishes) {
	const chatSenders, chatBurst = 8, 8 // as in experiments/chat-fanout
	l.Members, l.Senders = manifest.AllMembers, min(chatSenders, l.Connections)
	switch l.Shape {
	case manifest.Fanout:
		l.Pipeline = chatBurst
	case manifest.Open:
		offerRate(l, w)
	case manifest.Paced:
		l.Bits, l.Members, l.Senders = offeredBits, 1, 0
	case manifest.Idle:
		l.SizeBytes, l.Senders, l.Interval = 0, 0, time.Second
	}
}

func chatWords(l manifest.Load) []string {
	size := bytesWords(l)
	members := min(l.Members, l.Connections)
	clients := quantity.Many(l.Connections, "client")
	room := fmt.Sprintf("%s in rooms of %d", clients, members)
	switch members {
	case 1:
		room = clients + ", each in a room of its own"
	case l.Connections:
		room = clients + " in one room"
	}
	speak := "all of whom speak"
	if l.Senders > 0 && l.Senders < members {
		speak = fmt.Sprintf("of whom %d in each speak", l.Senders)
	}
	burst := "a message of " + size
	if l.Pipeline > 1 {
		burst = fmt.Sprintf("%d messages of %s at once", l.Pipeline, size)
	}
	switch l.Shape {
	case manifest.Fanout:
		return []string{room, speak, burst +
			" and the next when they are acknowledged and the room has them"}
	case manifest.Open:
		return []string{room, speak, fmt.Sprintf("%s%smessages/s of %s in open loop, %s gaps",
			quantity.Trim(l.Rate, 4), quantity.Thin, size, cmp.Or(l.Gaps, "constant"))}
	case manifest.Paced:
		return []string{room, quantity.Bits(l.Bits) + " each, " + burst}
	}
	return []string{room, "nothing but a PING of each every " + quantity.Setting(l.Interval)}
}

func (*Chat) kind() string { return "chat" }

func (p *Chat) add(other Part) {
	o := other.(*Chat)
	p.Acknowledged += o.Acknowledged
	p.Total += o.Total
	p.Offered += o.Offered
	p.Deliveries += o.Deliveries
	p.BytesOut += o.BytesOut
	p.BytesIn += o.BytesIn
	merge([2]*hist.Histogram{p.Delivery, o.Delivery}, [2]*hist.Histogram{p.Acks, o.Acks},
		[2]*hist.Histogram{p.Service, o.Service}, [2]*hist.Histogram{p.Late, o.Late})
}

// Served is how many messages were acknowledged.
func (p *Chat) Served() int64 { return p.Acknowledged }

// Kept counts by when messages were due: a chat is asked seldom, and what is due at the window's
// end is acknowledged after it.
func (p *Chat) Kept() (served, due int64) { return counted(p.Acks), p.Offered }

// Latencies are those of deliveries.
func (p *Chat) Latencies() *hist.Histogram { return p.Delivery }

// Lateness is from the due time of a message to its send.
func (p *Chat) Lateness() *hist.Histogram { return p.Late }

// Figure computes deliveries and the delay of acknowledgements.
func (p *Chat) Figure(m manifest.Metric, _ manifest.Load, window time.Duration) (float64, bool) {
	switch m {
	case manifest.Deliveries:
		return rate(p.Deliveries, window)
	case manifest.AckP50:
		return micros(p.Acks, .5)
	case manifest.AckP99:
		return micros(p.Acks, .99)
	}
	return 0, false
}

// Cost computes the CPU for each delivery.
func (p *Chat) Cost(m manifest.Metric, _ manifest.Load, cpu time.Duration) (float64, bool) {
	return perDelivery(m, cpu, p.Deliveries)
}

// Lean is a copy without the histograms that no metric is computed of.
func (p *Chat) Lean() Part {
	lean := *p
	lean.Service, lean.Late = nil, nil
	return &lean
}

func perDelivery(m manifest.Metric, cpu time.Duration, deliveries int64) (float64, bool) {
	if m != manifest.CPUPerDelivery {
		return 0, false
	}
	return Positive(float64(cpu) / float64(time.Microsecond) / float64(deliveries))
}

func (*Ingest) kind() string { return "ingest" }

func (p *Ingest) add(other Part) {
	o := other.(*Ingest)
	p.Sent += o.Sent
	p.Total += o.Total
	p.Offered += o.Offered
	p.Deliveries += o.Deliveries
	p.BytesOut += o.BytesOut
	p.BytesIn += o.BytesIn
	merge([2]*hist.Histogram{p.Late, o.Late})
}

// Served is how many messages were sent.
func (p *Ingest) Served() int64 { return p.Sent }

// Kept is how many messages were sent of those that were due.
func (p *Ingest) Kept() (served, due int64) { return p.Sent, p.Offered }

// Lateness is from the due time of a burst to its send.
func (p *Ingest) Lateness() *hist.Histogram { return p.Late }

// Figure computes deliveries.
func (p *Ingest) Figure(m manifest.Metric, _ manifest.Load, window time.Duration) (float64, bool) {
	if m != manifest.Deliveries {
		return 0, false
	}
	return rate(p.Deliveries, window)
}

// Cost computes the CPU for each delivery.
func (p *Ingest) Cost(m manifest.Metric, _ manifest.Load, cpu time.Duration) (float64, bool) {
	return perDelivery(m, cpu, p.Deliveries)
}

// Lean is a copy without the histogram, which no metric is computed of.
func (p *Ingest) Lean() Part {
	lean := *p
	lean.Late = nil
	return &lean
}

func (*Quiet) kind() string { return "quiet" }

func (p *Quiet) add(other Part) {
	o := other.(*Quiet)
	p.Answered += o.Answered
	p.Total += o.Total
	p.Offered += o.Offered
	p.BytesOut += o.BytesOut
	p.BytesIn += o.BytesIn
	merge([2]*hist.Histogram{p.Acks, o.Acks}, [2]*hist.Histogram{p.Service, o.Service},
		[2]*hist.Histogram{p.Late, o.Late})
}

// Served is how many PINGs were answered.
func (p *Quiet) Served() int64 { return p.Answered }

// Kept counts by when PINGs were due: what is due at the window's end is answered after it.
func (p *Quiet) Kept() (served, due int64) { return counted(p.Acks), p.Offered }

// Lateness is from the due time of a PING to its send.
func (p *Quiet) Lateness() *hist.Histogram { return p.Late }

// Lean is a copy without the histograms that no metric is computed of.
func (p *Quiet) Lean() Part {
	lean := *p
	lean.Acks, lean.Service, lean.Late = nil, nil, nil
	return &lean
}
