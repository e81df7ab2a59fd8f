package trace

import (
	"errors"
	"fmt"
	"time"

	"interleave/eve/dump"
)

// Magic is how a recording begins.
const Magic = "EVEREC01"

// The kinds of events, as eve/runtime/recording.hpp numbers them.
const (
	evNone = iota
	evMade
	evWants
	evGranted
	evBegins
	evBody
	evEnds
	evSleeps
	evWakes
	evPolled
	evTook
	evStolen
	evStolenEnd
	evJoins
	evJoined
	evServes
	evBack
	evGone
	evBuilds
	evGives
)

// The flags of events.
const (
	madeChild    = 1
	wantsWrite   = 1
	wantsInScope = 2
	endsKeeps    = 1
)

const (
	eventBytes = 32
	// most workers of a program; more are a broken file
	mostWorkers = 256
)

// A recording is the contents of a file.
type recording struct {
	program string
	args    []string
	workers int
	pid     int
	started time.Time
	run     uint64 // address of the runtime's function run
	clock   clock
	rings   []ring
	codes   map[uint64]dump.Code
	types   map[uint64]string
	whole   bool // the file has its end
}

// A ring has the events of one worker, or behind those of all workers, of the other threads.
type ring struct {
	lost   uint64 // events that were overwritten
	events []event
}

type event struct {
	ticks uint64
	kind  uint8
	flags uint8
	n     uint64
	a, p  uint64
}

// A clock makes nanoseconds since the start of ticks.
type clock struct {
	ticks0 uint64
	ns     float64 // of a tick
	end    int64   // when the file was written
}

func (c clock) at(ticks uint64) int64 {
	if ticks <= c.ticks0 {
		return 0
	}
	ns := float64(ticks-c.ticks0) * c.ns
	if ns >= float64(c.end) {
		return c.end
	}
	return int64(ns)
}

// parse reads a recording.
func parse(data []byte) (*recording, error) {
	r := &recording{codes: map[uint64]dump.Code{}, types: map[uint64]string{}}
	whole, err := dump.Read(data, Magic, r.section)
	if errors.Is(err, dump.ErrMagic) {
		return nil, errors.New("not a recording: EVE_RECORD=FILE makes a program write one")
	}
	r.whole = whole
	return r, err
}

func (r *recording) section(tag string, p *dump.Part) error {
	switch tag {
	case "head":
		return r.head(p)
	case "program":
		r.program = p.Text()
	case "argument":
		r.args = append(r.args, p.Text())
	case "ring":
		return r.ring(p)
	case "code":
		at, c := p.Code()
		r.codes[at] = c
	case "type":
		at := p.Number()
		r.types[at] = p.Text()
	}
	return p.Err
}

func (r *recording) head(p *dump.Part) error {
	ticks0, ns0, ticks1, ns1 := p.Number(), p.Number(), p.Number(), p.Number()
	started, workers, pid := p.Number(), p.Number(), p.Number()
	p.Number() // the size of a ring
	r.run = p.Number()
	switch {
	case p.Err != nil:
		return p.Err
	case r.workers != 0:
		return errors.New("it is there twice")
	case workers == 0 || workers > mostWorkers:
		return fmt.Errorf("%d workers", workers)
	case ticks1 < ticks0 || ns1 < ns0 || ns1-ns0 > uint64(100*365*24*time.Hour):
		return errors.New("its clock goes back")
	}
	r.workers, r.pid = int(workers), int(pid&0x7fffffff)
	r.started = time.Unix(0, int64(started))
	r.clock = clock{ticks0: ticks0, ns: 1, end: int64(ns1 - ns0)}
	if ticks1 > ticks0 {
		r.clock.ns = float64(ns1-ns0) / float64(ticks1-ticks0)
	}
	return nil
}

func (r *recording) ring(p *dump.Part) error {
	number, lost, count := p.Number(), p.Number(), p.Number()
	switch {
	case p.Err != nil:
		return p.Err
	case number != uint64(len(r.rings)) || number > uint64(r.workers):
		return fmt.Errorf("ring %d at the place of ring %d", number, len(r.rings))
	case count*eventBytes != uint64(len(p.Data)) || count > uint64(len(p.Data)):
		return dump.ErrShort
	}
	in := ring{lost: lost, events: make([]event, 0, count)}
	for range count {
		e := event{ticks: p.Number()}
		word := p.Number()
		e.kind, e.flags, e.n = uint8(word), uint8(word>>8), word>>16
		e.a, e.p = p.Number(), p.Number()
		if e.kind == evNone { // overwritten while it was copied
			in.lost++
			continue
		}
		in.events = append(in.events, e)
	}
	r.rings = append(r.rings, in)
	return nil
}
