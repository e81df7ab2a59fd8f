package manifest

import "fmt"

// Streams: each connection asks once and listens, and nothing is sent any more.

// Stream is the protocol of HTTP streams: services/stream/README.md.
const Stream = "stream"

// Streams is the shape that loads them.
const Streams Shape = "stream"

// The figures that only streams show.
const (
	// bytes that the kernel took for each connection, both its ends on this machine
	KernelMemory Metric = "kernel-memory-per-client"
	// when memory came to rest, by when CPU did, both from the ramp's beginning
	Settling Metric = "settling"
)

var streamFamily = Family{
	Name:      "stream",
	Protocols: []Protocol{{Name: Stream, Shape: Streams}},
	shapes: []shapeRow{{shape: Streams, keys: "connections rate", timed: always,
		needs: []must{needConnections,
			{"rate", `how many are opened in a second, such as "2000/s"`}}}},
	metrics: []metricRow{
		{KernelMemory, MetricInfo{"bytes", "kernel memory for each connection, both ends", false,
			"made the kernel hold {ratio}x {b}'s memory for each connection",
			"made the kernel hold {ratio} bytes for each connection"}, needsStreams},
		{Settling, MetricInfo{"", "time until memory settled, by that of CPU", false,
			"had {ratio}x {b}'s ratio of settling times",
			"took {ratio} times as long until its memory settled as until its CPU did"},
			needsStreams},
	},
	owns: func(l Load) bool { return l.Shape == Streams },
	fits: func(l Load, protocol string) (key string, err error) {
		if (protocol == Stream) != (l.Shape == Streams) {
			return "shape",
				fmt.Errorf("shape %q and the protocol %q do not go together: expected \"stream\" "+
					"for both", l.Shape, protocol)
		}
		return "", nil
	},
	holds: true,
}

func needsStreams(l Load) (needs string) {
	if l.Shape != Streams {
		return `a point of shape "stream"`
	}
	return ""
}
