package server

import (
	"time"
	_ "unsafe" // for the names below
)

// The periods of Raft in NATS, which has no option for them. Its own tests shorten them in the same
// way, to these values: an election that takes 4 to 9 s takes 1.5 to 3.5. A version of NATS without
// these names does not link.
var (
	//go:linkname natsHeartbeat github.com/nats-io/nats-server/v2/server.hbInterval
	natsHeartbeat time.Duration
	//go:linkname natsElectionLeast github.com/nats-io/nats-server/v2/server.minElectionTimeout
	natsElectionLeast time.Duration
	//go:linkname natsElectionMost github.com/nats-io/nats-server/v2/server.maxElectionTimeout
	natsElectionMost time.Duration
)

// electSoon shortens elections of the nodes in this process.
func electSoon() {
	natsHeartbeat, natsElectionLeast, natsElectionMost = 50*time.Millisecond, 1500*time.Millisecond,
		3500*time.Millisecond
}
