package server

import (
	"runtime/debug"
	"runtime/metrics"
)

// What a burst has needed, ten thousand who come into a room at once, say, Go's collector would
// find only when as much again has been used: of a server that is quiet then, the memory stays
// large for minutes. So after a burst it is collected once, and given back to the machine.

// A burst has allocated burstBytes, and is over when no look, of which there is one a second, has
// seen more than quietBytes for quietLooks. Guesses.
const (
	burstBytes = 64 << 20
	quietBytes = 1 << 20
	quietLooks = 3
)

// A rest knows when to collect.
type rest struct {
	done  uint64 // what had been allocated when it was collected last
	last  uint64 // and at the last look
	quiet int    // looks
}

// look hears how much has been allocated since the start, and says whether a burst is over.
func (r *rest) look(allocated uint64) bool {
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
func (r *rest) afterBurst() {
	allocs := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocs)
	if allocs[0].Value.Kind() == metrics.KindUint64 && r.look(allocs[0].Value.Uint64()) {
		debug.FreeOSMemory()
	}
}
