package server

import (
	"runtime/debug"
	"runtime/metrics"
)

// After a burst, such as ten thousand clients that join a room at once, Go's collector frees the
// memory only when as much again has been allocated. A server that is quiet then keeps it for
// minutes. So the server collects garbage once after a burst, and returns the memory to the system.

// A burst has allocated burstBytes since the last collection. It is over when quietLooks looks in a
// row, one each second, have each seen less than quietBytes allocated. Guesses.
const (
	burstBytes = 64 << 20
	quietBytes = 1 << 20
	quietLooks = 3
)

// A burstCollector decides when to collect.
type burstCollector struct {
	done  uint64 // allocated in all at the last collection
	last  uint64 // allocated in all at the last look
	quiet int    // quiet looks in a row
}

// look takes how much has been allocated since the start, and says whether a burst is over.
func (r *burstCollector) look(allocated uint64) bool {
	if allocated-r.last > quietBytes {
		r.quiet = 0
	} else {
		r.quiet++
	}
	r.last = allocated
	if r.quiet < quietLooks || allocated-r.done < burstBytes {
		return false
	}
	r.done = allocated
	return true
}

// afterBurst returns memory to the system if a burst is over.
func (r *burstCollector) afterBurst() {
	allocs := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocs)
	if allocs[0].Value.Kind() == metrics.KindUint64 && r.look(allocs[0].Value.Uint64()) {
		debug.FreeOSMemory()
	}
}
