// Package timewait has what is left of connections in TIME-WAIT whose users have gone: remnants.
// Each has about a tenth of the memory of a connection, and no pointers that a collector of garbage
// would follow. For a segment of the peer the connection is made again (tcp.Revive). The table is
// given the time; its owner is one goroutine.
package timewait

import (
	"iter"
	"maps"

	"interleave/gonet/internal/demux"
	"interleave/gonet/tcp"
)

// Remnant is what is left of a connection.
type Remnant struct {
	tcp.Waiting
	TTL, TOS uint8
	queued   tcp.Time // until when it was to be kept when it was queued
}

// Table has the remnants by their flows. Its zero value is empty.
type Table struct {
	flows map[demux.Flow]Remnant // nil: there are none
	// The flows in the order in which they have entered TIME-WAIT, from first on. An entry whose
	// until is not the remnant's queued is of a connection that has left TIME-WAIT since.
	queue []entry
	first int
}

type entry struct {
	flow  demux.Flow
	until tcp.Time
}

// Len returns the number of remnants and of entries for those that have left.
func (t *Table) Len() int { return len(t.queue) - t.first }

// Count returns the number of remnants.
func (t *Table) Count() int { return len(t.flows) }

// Flows returns the flows of the remnants.
func (t *Table) Flows() iter.Seq[demux.Flow] { return maps.Keys(t.flows) }

// Add puts a remnant in the table.
func (t *Table) Add(f demux.Flow, r Remnant) {
	if t.flows == nil {
		t.flows = map[demux.Flow]Remnant{}
	}
	t.put(f, r)
}

func (t *Table) put(f demux.Flow, r Remnant) {
	r.queued = r.Until
	t.flows[f] = r
	t.queue = append(t.queue, entry{f, r.Until})
}

// Get returns the remnant of a flow.
func (t *Table) Get(f demux.Flow) (Remnant, bool) {
	r, ok := t.flows[f]
	return r, ok
}

// Has tells whether a flow is in TIME-WAIT here.
func (t *Table) Has(f demux.Flow) bool {
	_, ok := t.flows[f]
	return ok
}

// Update changes what is left of a connection, after a segment of the peer.
func (t *Table) Update(f demux.Flow, w tcp.Waiting) {
	if r, ok := t.flows[f]; ok {
		r.Waiting = w
		t.flows[f] = r
	}
}

// Remove removes the remnant of a flow.
func (t *Table) Remove(f demux.Flow) { delete(t.flows, f) }

// Yields tells whether a new connection of ours may use a flow, and then removes what is left of
// the last one.
func (t *Table) Yields(f demux.Flow, cfg *tcp.Config, now tcp.Time) bool {
	r, ok := t.flows[f]
	switch {
	case !ok:
		return true
	case !r.Yields(cfg, now):
		return false
	}
	delete(t.flows, f)
	return true
}

// take removes the first entry of the queue. It returns false if that is of a connection that has
// left TIME-WAIT.
func (t *Table) take() (e entry, r Remnant, ok bool) {
	e = t.queue[t.first]
	if t.first++; t.first > len(t.queue)/2 {
		t.queue = append(t.queue[:0], t.queue[t.first:]...)
		t.first = 0
	}
	r, ok = t.flows[e.flow]
	return e, r, ok && r.queued == e.until
}

// EvictFirst removes the first entry of the queue, and what is left of its connection. It returns
// false if there is none.
func (t *Table) EvictFirst() bool {
	if t.Len() == 0 {
		return false
	}
	if e, _, ok := t.take(); ok {
		delete(t.flows, e.flow)
	}
	return true
}

// Deadline returns when TIME-WAIT ends for the first entry of the queue. It returns false if the
// table is empty.
func (t *Table) Deadline() (tcp.Time, bool) {
	if t.Len() == 0 {
		return 0, false
	}
	return t.queue[t.first].until, true
}

// Expire removes the remnants whose TIME-WAIT is over.
func (t *Table) Expire(now tcp.Time) {
	for t.Len() > 0 && t.queue[t.first].until <= now {
		e, r, ok := t.take()
		switch {
		case !ok:
		case r.Until > now: // the peer has sent its FIN again
			t.put(e.flow, r)
		default:
			delete(t.flows, e.flow)
		}
	}
	if t.Len() == 0 {
		*t = Table{} // a map keeps the memory of what it had
	}
}
