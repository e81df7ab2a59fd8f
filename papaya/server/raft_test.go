package server

import (
	"time"
	_ "unsafe" // for go:linkname
)

// The periods of Raft in NATS, which has no options for them. NATS' own tests set these values in
// the same way. An election then takes 1.5 to 3.5 s, not 4 to 9. The test does not link with a
// version of NATS that lacks these names.
var (
	//go:linkname natsHeartbeat github.com/nats-io/nats-server/v2/server.hbInterval
	natsHeartbeat time.Duration
	//go:linkname natsElectionLeast github.com/nats-io/nats-server/v2/server.minElectionTimeout
	natsElectionLeast time.Duration
	//go:linkname natsElectionMost github.com/nats-io/nats-server/v2/server.maxElectionTimeout
	natsElectionMost time.Duration
)

// electSoon shortens the elections of nodes in this process.
func electSoon() {
	natsHeartbeat, natsElectionLeast, natsElectionMost = 50*time.Millisecond, 1500*time.Millisecond,
		3500*time.Millisecond
}
