package load

// The requests in flight on a connection, oldest first: when each was due and when it was sent.

type flight struct {
	due, sent int64 // nanotime
}

// ringBudget bounds the requests that one thread keeps in flight: 2^20 of 16 bytes. Pages that are
// never reached cost nothing.
const ringBudget = 1 << 20

// ringSize is how many requests a connection may have in flight, a power of two.
func ringSize(connections, pipeline int, scheduled bool) int {
	want := pipeline
	if scheduled {
		want = min(max(ringBudget/connections, 64), 1<<14)
	}
	size := 1
	for size < want {
		size *= 2
	}
	return size
}

// rings holds one ring for each connection in one piece of memory. Requests are found
// by their number.
type rings struct {
	slots []flight
	size  uint64
}

func newRings(connections, size int) rings {
	return rings{slots: make([]flight, connections*size), size: uint64(size)}
}

func (r *rings) at(connection int32, request uint64) *flight {
	return &r.slots[uint64(connection)*r.size+request&(r.size-1)]
}
