package manifest

import "fmt"

// Transfers: what the TCP of a host of its own carries, one message for each connection or as much
// as it can. Port {port} discards, and the port after it sends without end.

// Transfer is the protocol of such hosts.
const Transfer = "transfer"

// The shapes of transfers.
const (
	// connect, send one message, half-close, wait for the peer's end of file
	Transfers Shape = "transfer"
	// each connection carries as much as it can, one way; a request is BulkBlock bytes
	Bulk Shape = "bulk"
)

// BulkBlock is in bytes what counts as a request of a bulk load.
const BulkBlock = 64 << 10

var directions = []string{"in", "out"}

var transferFamily = Family{
	Name:      "transfer",
	Protocols: []Protocol{{Name: Transfer, Shape: Transfers, SizeBytes: 4096}},
	shapes: []shapeRow{
		{shape: Transfers, keys: "connections size requests",
			needs: []must{needConnections, needSize}},
		{shape: Bulk, keys: "connections direction", needs: []must{needConnections,
			{"direction", `"in" to the server or "out" of it`}}},
	},
	keys: []loadKey{
		word("direction", directions, func(l *Load) *string { return &l.Direction }),
	},
	owns: ofTransfers,
	fits: func(l Load, protocol string) (key string, err error) {
		if (protocol == Transfer) != ofTransfers(l) {
			return "shape",
				fmt.Errorf("shape %q and the protocol %q do not go together: \"transfer\" and "+
					"\"bulk\" are for servers of transfers, and these have no other", l.Shape,
					protocol)
		}
		return "", nil
	},
	hides: func(l Load, m Metric) (needs string) {
		if l.Shape == Bulk && (m == Throughput || m == CPUPerRequest || m == Switches) {
			return `a point of another shape than "bulk", which has no requests but for counting`
		}
		return ""
	},
	carries: always,
}

func ofTransfers(l Load) bool { return l.Shape == Transfers || l.Shape == Bulk }
