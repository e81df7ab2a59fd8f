package run

import (
	"time"

	"interleave/internal/record"
	"interleave/internal/verdict"
)

// An Event tells a watcher what a run does. Events come from one goroutine, in order; a watcher
// that draws must not do so between WindowOpens and WindowCloses.
type Event struct {
	Kind     Kind
	Spec     *Spec             // CellStarts, WindowOpens, WindowCloses
	Cell     *record.Cell      // CellEnds
	Round    int               // CellStarts, CellEnds, RoundEnds
	Rounds   int               // planned now; precision may add some
	Done     int               // cells recorded, earlier sessions of the run included
	Total    int               // cells planned now
	Spent    time.Duration     // of a budget
	Left     time.Duration     // until the end, by what cells took so far
	Verdicts []verdict.Verdict // Begins, RoundEnds, Ends: as they stand
	Turn     *Turn             // of a budget: what is measured, and for which claims
	Text     string            // Note
}

// Kind tells events apart.
type Kind int

// The kinds, in the order in which a run meets them.
const (
	Note   Kind = iota // a step before the rounds, or something the user should know
	Begins             // of a budget: the verdicts that need no cell, or stand already
	CellStarts
	WindowOpens
	WindowCloses
	CellEnds
	RoundEnds
	Ends
)

// A Watcher is told of a run's events.
type Watcher interface {
	Watch(Event)
}
