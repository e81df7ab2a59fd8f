package load

import "interleave/internal/hist"

// A count is what the part of any load has, by names that tests of several loads share.
type count struct {
	Requests, Total, Offered, Lost, Deliveries int64
	BytesOut, BytesIn                          int64
	Latency, Service, Late, Acks               *hist.Histogram
	Images                                     *ImageTimes
}

// of returns the counts of a result.
func of(r *Result) count {
	switch p := r.Part.(type) {
	case *Requests:
		return count{Requests: p.Answered, Total: p.Total, Offered: p.Offered, BytesOut: p.BytesOut,
			BytesIn: p.BytesIn, Latency: p.Latency, Service: p.Service, Late: p.Late}
	case *Turns:
		return count{Requests: p.Answered, Total: p.Total, BytesOut: p.BytesOut, BytesIn: p.BytesIn,
			Service: p.Took}
	case *Messages:
		return count{Requests: p.Sent, Total: p.Total, Offered: p.Offered, BytesOut: p.BytesOut,
			Late: p.Late}
	case *Chat:
		return count{Requests: p.Acknowledged, Total: p.Total, Offered: p.Offered,
			Deliveries: p.Deliveries, BytesOut: p.BytesOut, BytesIn: p.BytesIn,
			Latency: p.Delivery, Service: p.Service, Late: p.Late, Acks: p.Acks}
	case *Ingest:
		return count{Requests: p.Sent, Total: p.Total, Offered: p.Offered,
			Deliveries: p.Deliveries, BytesOut: p.BytesOut, BytesIn: p.BytesIn, Late: p.Late}
	case *Quiet:
		return count{Requests: p.Answered, Total: p.Total, Offered: p.Offered, BytesOut: p.BytesOut,
			BytesIn: p.BytesIn, Service: p.Service, Late: p.Late, Acks: p.Acks}
	case *Streams:
		return count{Requests: p.Texts, Total: p.Total, Offered: p.Offered, BytesOut: p.BytesOut,
			BytesIn: p.BytesIn, Latency: p.Delay, Service: p.Greeting, Late: p.Waited}
	case *Images:
		return count{Requests: p.Operations, Total: p.Total, Offered: p.Offered,
			BytesOut: p.BytesOut, BytesIn: p.BytesIn, Latency: p.Latency, Service: p.Operation,
			Late: p.Late, Images: &p.ImageTimes}
	case *Pings:
		return count{Requests: p.Answered, Total: p.Total, Offered: p.Offered, Lost: p.Lost,
			BytesOut: p.BytesOut, BytesIn: p.BytesIn, Latency: p.Latency, Service: p.Trip,
			Late: p.Late}
	case *Transfers:
		return count{Requests: p.Done, Total: p.Total, BytesOut: p.BytesOut, Service: p.Took}
	case *Bulk:
		return count{Requests: p.Blocks, Total: p.Total, BytesOut: p.Acknowledged,
			BytesIn: p.Received}
	}
	return count{}
}
