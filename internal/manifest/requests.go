package manifest

import (
	"errors"
	"fmt"
)

// Requests and replies, which come one after the other on a connection: the protocols that need
// only say what their bytes are. The shapes and keys of this file are those that other families
// use as well.

// The shapes of requests.
const (
	// each connection sends when its reply is there; or keeps Pipeline in flight
	Closed  Shape = "closed"
	Open    Shape = "open"    // a schedule fixed before the start; latency counts from the due time
	Paced   Shape = "paced"   // each connection sends bytes at a rate and reads nothing but the end
	Connect Shape = "connect" // connect, send one message, read its reply, close
)

// Counter is the protocol that has reads besides increments.
const Counter = "counter"

var (
	needConnections = must{"connections", "how many are open at once, such as 64"}
	needSize        = must{"size", `the bytes of a message, such as "16 B"`}
)

var requestsFamily = Family{
	Name: "requests",
	Protocols: []Protocol{
		{Name: "echo", Shape: Closed, SizeBytes: 16},
		{Name: Counter, Shape: Closed, SizeBytes: 1},
	},
	shapes: []shapeRow{
		{shape: Closed, keys: "connections size requests pipeline read_share",
			needs: []must{needConnections, needSize}},
		{shape: Open, keys: "connections size rate gaps read_share",
			needs: []must{needConnections, needSize,
				{"rate", `requests a second over all connections, such as "5000/s"`}},
			timed: always,
			enter: func(l *Load) {
				if l.Gaps == "" {
					l.Gaps = "constant"
				}
			}},
		{shape: Paced, keys: "connections size bits",
			needs: []must{needConnections, needSize,
				{"bits", `the rate of each connection, such as "1 Mbit/s"`}}},
		{shape: Connect, keys: "connections size requests read_share",
			needs: []must{needConnections, needSize}},
	},
	keys: []loadKey{
		swept("connections", counts, 1, mostConnections,
			func(l *Load) *int { return &l.Connections }),
		amount("requests", counts, 1, mostRequests, func(l *Load) *int64 { return &l.Requests }),
		swept("size", sizes, 1, mostSizeBytes, func(l *Load) *int { return &l.SizeBytes }),
		pipelineKey(),
		swept("rate", rates, 1, mostRate, func(l *Load) *float64 { return &l.Rate }),
		word("gaps", gaps, func(l *Load) *string { return &l.Gaps }),
		swept("bits", bitRates, 1, mostBits, func(l *Load) *float64 { return &l.Bits }),
		swept("read_share", shares, 0, 1, func(l *Load) *float64 { return &l.ReadShare }),
	},
	fits: func(l Load, protocol string) (key string, err error) {
		switch {
		case protocol == Counter && l.SizeBytes != 1:
			return "size", fmt.Errorf("a request to a counter is 1 byte, got %d", l.SizeBytes)
		case protocol != Counter && l.ReadShare != 0:
			return "read_share", errors.New("only a counter has reads")
		}
		return "", nil
	},
}

// pipelineKey is of a load that has one request in flight on a connection unless it says more.
func pipelineKey() loadKey {
	k := swept("pipeline", counts, 1, mostPipeline, func(l *Load) *int { return &l.Pipeline })
	k.clear = func(l *Load) { l.Pipeline = 1 }
	text := k.text
	k.text = func(l Load) string {
		if l.Pipeline == 1 {
			return ""
		}
		return text(l)
	}
	return k
}
