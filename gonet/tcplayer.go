package gonet

import (
	"interleave/gonet/internal/demux"
	"interleave/gonet/internal/timewait"
	"interleave/gonet/tcp"
)

// tcpLayer has the connections and listeners. Dealer only, except for alarms and async.
type tcpLayer struct {
	alarms alarms     // of all connections: alarm.go
	async  asyncQueue // what handlers of AsyncConns must be told: asyncrun.go

	configs sharedConfigs // of connections with the options of Config.TCP

	conns     map[demux.Flow]*Conn // those in SYN-RECEIVED are the SYN queues: synqueue.go
	listeners demux.Table[*Listener]
	toUpdate  []*Conn // connections that flush updates at the end of this batch
	heldACKs  heldACKs
	unarmed   unarmed
	expired   []*Conn // connections whose alarm is due; used within expire

	// TIME-WAIT: timewait.go
	timeWaits   timeWaits      // of connections whose users are there
	remnants    timewait.Table // of those whose users have gone
	remnantsDue tcp.Time       // when the dealer looks at the first ones, 0: no such time is set
}
