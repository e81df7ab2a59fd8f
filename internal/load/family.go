package load

// A family of protocols has more than a driver: the rooms after the engine ask it for its loads in
// words, for the gates that its cells must pass, and for its results.

import (
	"time"

	"interleave/internal/manifest"
)

// A Family is what internal/manifest declares under the same name, as the engine and the rooms
// after it see it. It is declared beside the driver.
type Family struct {
	name string // as in internal/manifest
	// parts make the empty parts that its loads may have.
	parts []func() Part
	// words tell what a load offers: "64 connections", "16 B in closed loop".
	words func(l manifest.Load) []string
	// interval is between two messages that are due on one connection; 0, or nil, for loads
	// that keep no schedule.
	interval func(l manifest.Load) time.Duration
	// gates are those that the family has besides the ones of all cells.
	gates []Gate
	// uneven is set where what is served in one part of the window differs from what is in others
	// by the protocol's nature: then a cell is not held to be steady.
	uneven bool
	// ramp is how long a load takes to make its connections, if it makes them at a rate of its own;
	// nil: it makes them at once.
	ramp func(l manifest.Load) time.Duration
	// metrics are those that "interleave bench" shows.
	metrics func(l manifest.Load) []manifest.Metric
}

// A Gate looks at a result and says why it cannot count, or nothing.
type Gate func(l manifest.Load, r *Result) *Doubt

// A Doubt is why a result cannot count.
type Doubt struct {
	Gate         string
	Text         string // a sentence with figure and limit
	Value, Limit float64
}

// Wishes are what a load of "interleave bench" is told besides its shape, size and connections.
type Wishes struct {
	Rate      float64 // requests a second over all connections
	ReadShare float64
	Interval  time.Duration // between two messages of a client that has one
	Direction string        // "in" to the server or "out" of it
}

// families and parts are those that declare has entered. They do not change after the package is
// initialized.
var (
	families = map[string]*Family{}
	parts    = map[string]func() Part{}
)

// declare enters a family. It is called where the family is declared, so that no list of them must
// be kept.
func declare(f Family) *Family {
	families[f.name] = &f
	for _, empty := range f.parts {
		parts[empty().kind()] = empty
	}
	return &f
}

// FamilyOf returns the family of a load.
func FamilyOf(l manifest.Load) *Family { return families[l.Family().Name] }

// Words tell what a load offers.
func (f *Family) Words(l manifest.Load) []string { return f.words(l) }

// Interval is between two messages that are due on one connection; 0 for loads without a schedule.
func (f *Family) Interval(l manifest.Load) time.Duration {
	if f.interval == nil {
		return 0
	}
	return f.interval(l)
}

// Gates are those that the family has besides the ones of all cells.
func (f *Family) Gates() []Gate { return f.gates }

// Even tells whether each part of a window should serve as much as any other.
func (f *Family) Even() bool { return !f.uneven }

// Ramp is how long a load takes to make its connections at a rate of its own; 0 for loads that make
// them at once. A load with a ramp has so many connections that the server is measured while they
// are made, too.
func (f *Family) Ramp(l manifest.Load) time.Duration {
	if f.ramp == nil {
		return 0
	}
	return f.ramp(l)
}

// Metrics are those that "interleave bench" shows of a load.
func (f *Family) Metrics(l manifest.Load) []manifest.Metric { return f.metrics(l) }

// Offer fills in what "interleave bench" offers over a protocol, besides shape, size and
// connections.
func Offer(protocol string, l *manifest.Load, w Wishes) {
	if p, ok := protocols[protocol]; ok && p.offer != nil {
		p.offer(l, w)
	}
}

// openInterval is that of a load whose requests are due at a rate.
func openInterval(l manifest.Load) time.Duration {
	if l.Shape != manifest.Open || l.Rate <= 0 {
		return 0
	}
	return time.Duration(float64(l.Speakers()) / l.Rate * float64(time.Second))
}

// pacedInterval is that of a load whose bytes are due at a rate.
func pacedInterval(l manifest.Load) time.Duration {
	if l.Shape != manifest.Paced || l.Bits <= 0 {
		return 0
	}
	return time.Duration(float64(l.BurstBytes()) * 8 / l.Bits * float64(time.Second))
}
