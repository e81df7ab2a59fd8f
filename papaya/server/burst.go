package server

import (
	"runtime/debug"
	"runtime/metrics"
)

// Go's collector finds what a burst has needed (ten thousand clients that join a room at once, say)
// only when as much again has been used. The memory of a server that is quiet then stays large for
// minutes. So garbage is collected once after a burst, and given back to the machine.

// A burst has allocated burstBytes, and is over when no look, of which there is one a second, has
// seen more than quietBytes for quietLooks. Guesses.
const (
	burstBytes = 64 << 20
	quietBytes = 1 << 20
	quietLooks = 3
)

// A burstCollector knows when to collect.
type burstCollector struct {
	done  uint64 // what had been allocated when it was collected last
	last  uint64 // and at the last look
	quiet int    // looks
}

// look hears how much has been allocated since the start, and says whether a burst is over.
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

// afterBurst gives memory back if a burst is over.
func (r *burstCollector) afterBurst() {
	allocs := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocs)
	if allocs[0].Value.Kind() == metrics.KindUint64 && r.look(allocs[0].Value.Uint64()) {
		debug.FreeOSMemory()
	}
}
