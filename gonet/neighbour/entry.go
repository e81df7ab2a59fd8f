package neighbour

import (
	"net/netip"
	"sync/atomic"
	"time"

	"interleave/gonet/wire"
)

// State is what is known of a neighbour.
type State uint8

// The states of RFC 4861 section 7.3.2, and two of our own.
const (
	// Incomplete: no station is known. Requests are sent to all stations, once a packet waits.
	Incomplete State = iota
	// Reachable: the neighbour has answered within ReachableTime.
	Reachable
	// Stale: the station is known, but whether it is still there is not. Nothing has been sent to
	// it since.
	Stale
	// Delay: a packet was sent to a stale neighbour. It has DelayFirstProbeTime to show itself.
	Delay
	// Probe: requests are sent to the known station, and packets too.
	Probe
	// Failed: nobody has answered. The RFC deletes the entry at once. This one stays for
	// RetryDelay, so that packets do not bring about requests without end; Linux calls it
	// NUD_FAILED.
	Failed
	// Permanent: the station is given, and never asked for.
	Permanent
)

var stateNames = [...]string{"INCOMPLETE", "REACHABLE", "STALE", "DELAY", "PROBE", "FAILED",
	"PERMANENT"}

func (s State) String() string { return stateNames[s] }

// Entry is a neighbour in a cache. A sender may keep it, and send to Station without a Lookup.
type Entry struct {
	addr netip.Addr
	// Any goroutine: the station in the states in which packets are sent without a Lookup, whether
	// a packet was sent since the hand passed, and whether the entry has left the cache.
	station atomic.Pointer[wire.MAC]
	used    atomic.Bool
	removed atomic.Bool

	// The owner of the cache only.
	state   State
	mac     *wire.MAC // the station as it is known, nil in INCOMPLETE and FAILED; never changed
	asked   int       // requests that were sent in this state
	waiting [][]byte  // the packets that wait for the station
	due     time.Time // when the timer goes off
	timer   int       // the index in Cache.timers, counted from 1; 0: no timer runs
	index   int       // the index in Cache.all
}

// NewPermanent returns an entry that is in no cache, such as the host itself.
func NewPermanent(mac *wire.MAC) *Entry {
	e := &Entry{mac: mac, state: Permanent}
	e.station.Store(mac)
	return e
}

// Addr returns the neighbour's address.
func (e *Entry) Addr() netip.Addr { return e.addr }

// Station returns the station to which packets may be sent now, or nil if a Lookup must decide. Any
// goroutine.
func (e *Entry) Station() *wire.MAC {
	mac := e.station.Load()
	if mac != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return mac
}

// Removed tells whether the entry has left the cache. Any goroutine.
func (e *Entry) Removed() bool { return e.removed.Load() }

// State returns the state. For the owner of the cache.
func (e *Entry) State() State { return e.state }

// asking tells whether requests are being sent.
func (e *Entry) asking() bool { return e.timer != 0 }

// enter changes the state, and starts or stops the timer. That of PROBE is started by the first
// request.
func (c *Cache) enter(e *Entry, s State, now time.Time) {
	e.state, e.asked = s, 0
	station := e.mac
	switch s {
	case Reachable:
		c.timers.start(e, now.Add(ReachableTime))
	case Delay:
		c.timers.start(e, now.Add(DelayFirstProbeTime))
	case Stale: // the next packet must go through Lookup
		c.timers.stop(e)
		station = nil
	case Failed:
		c.timers.start(e, now.Add(RetryDelay))
	default:
		c.timers.stop(e)
	}
	e.station.Store(station)
}
