package record

// Records of format 1: a result had one set of fields for all protocols, and what a field meant
// depended on the load.

import (
	"encoding/json"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
)

// A formerResult is what format 1 has besides the fields that results still have.
type formerResult struct {
	// paced: messages sent; bulk: blocks; streams: texts
	Requests   int64            `json:"requests"`
	Total      int64            `json:"total"` // since the start
	Offered    int64            `json:"offered"`
	Lost       int64            `json:"lost"`
	Deliveries int64            `json:"deliveries"`
	BytesOut   int64            `json:"bytes_out"` // bulk: that the server's stack has acknowledged
	BytesIn    int64            `json:"bytes_in"`  // programs: that they have transferred
	Latency    *hist.Histogram  `json:"latency"`   // chats: of deliveries; streams: of texts
	Service    *hist.Histogram  `json:"service"`   // streams: until the greeting
	Late       *hist.Histogram  `json:"late"`      // streams: from arrival to reading
	Acks       *hist.Histogram  `json:"acks"`
	Images     *load.ImageTimes `json:"images"`
}

// upgrade gives a cell of format 1 the part that its load has in this format.
func upgrade(line []byte, c *Cell) error {
	if c.Result == nil || c.Result.Part != nil {
		return nil
	}
	var former struct {
		Result formerResult `json:"result"`
	}
	if err := json.Unmarshal(line, &former); err != nil {
		return err
	}
	c.Result.Part = former.Result.part(c.Load)
	return nil
}

// part converts the counts into the part of the load's family.
func (f *formerResult) part(l manifest.Load) load.Part {
	switch l.Family().Name {
	case "chat":
		return f.chat(l)
	case "sink":
		return &load.Messages{Sent: f.Requests, Total: f.Total, Offered: f.Offered,
			BytesOut: f.BytesOut, Late: f.Late}
	case "stream":
		return &load.Streams{Texts: f.Requests, Total: f.Total, Offered: f.Offered,
			BytesOut: f.BytesOut, BytesIn: f.BytesIn, Delay: f.Latency, Greeting: f.Service,
			Waited: f.Late}
	case "images":
		p := &load.Images{Operations: f.Requests, Total: f.Total, Offered: f.Offered,
			BytesOut: f.BytesOut, BytesIn: f.BytesIn, Latency: f.Latency, Operation: f.Service,
			Late: f.Late}
		if f.Images != nil {
			p.ImageTimes = *f.Images
		}
		return p
	case "ping":
		return &load.Pings{Answered: f.Requests, Total: f.Total, Lost: f.Lost, Offered: f.Offered,
			BytesOut: f.BytesOut, BytesIn: f.BytesIn, Latency: f.Latency, Trip: f.Service,
			Late: f.Late}
	case "transfer":
		return f.transfer(l)
	case "program":
		return &load.Solved{Solutions: f.Requests, Total: f.Total, Bytes: f.BytesIn,
			Took: f.Service}
	}
	if l.Shape == manifest.Connect {
		return &load.Turns{Answered: f.Requests, Total: f.Total, BytesOut: f.BytesOut,
			BytesIn: f.BytesIn, Took: f.Service}
	}
	return &load.Requests{Answered: f.Requests, Total: f.Total, Offered: f.Offered,
		BytesOut: f.BytesOut, BytesIn: f.BytesIn, Latency: f.Latency, Service: f.Service,
		Late: f.Late}
}

func (f *formerResult) chat(l manifest.Load) load.Part {
	switch l.Shape {
	case manifest.Paced:
		return &load.Ingest{Sent: f.Requests, Total: f.Total, Offered: f.Offered,
			Deliveries: f.Deliveries, BytesOut: f.BytesOut, BytesIn: f.BytesIn, Late: f.Late}
	case manifest.Idle:
		return &load.Quiet{Answered: f.Requests, Total: f.Total, Offered: f.Offered,
			BytesOut: f.BytesOut, BytesIn: f.BytesIn, Acks: f.Acks, Service: f.Service,
			Late: f.Late}
	}
	return &load.Chat{Acknowledged: f.Requests, Total: f.Total, Offered: f.Offered,
		Deliveries: f.Deliveries, BytesOut: f.BytesOut, BytesIn: f.BytesIn, Delivery: f.Latency,
		Acks: f.Acks, Service: f.Service, Late: f.Late}
}

func (f *formerResult) transfer(l manifest.Load) load.Part {
	switch {
	case l.Shape == manifest.Transfers:
		return &load.Transfers{Done: f.Requests, Total: f.Total, BytesOut: f.BytesOut,
			Took: f.Service}
	case l.Direction == "in":
		return &load.Bulk{Blocks: f.Requests, Total: f.Total, Acknowledged: f.BytesOut}
	}
	return &load.Bulk{Blocks: f.Requests, Total: f.Total, Received: f.BytesIn}
}
