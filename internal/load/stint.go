package load

// Stints: a load that several share the machine with, one after the other, rests and runs in turn.
// The controller says when: it asks for a stint, the threads load for its time, take in what is in
// flight, and rest again. Only one engine of a machine has a stint at a time, however long a server
// takes to answer its last request: a timetable would have to know that before.
//
// A stint begins and ends with nothing under way. So all requests of a counted stint are answered
// in it, whatever the server has used between its two ends is theirs, and no clock has to be read
// while a thread runs: the kernel brings the CPU time of a running thread up to date at its ticks.

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

// A Stint is a time for which a load runs that rests before and after it.
type Stint struct {
	For     time.Duration `json:"for_ns"`
	Counted bool          `json:"counted,omitempty"` // a part of the window
}

// maxStint bounds a stint: more is a mistake.
const maxStint = time.Hour

// endWord is the line that ends a load of stints.
const endWord = "end\n"

// parseStint reads the line that asks for a stint.
func parseStint(line []byte) (s Stint, err error) {
	if err := json.Unmarshal(line, &s); err != nil {
		return s, fmt.Errorf("reading a stint: %w", err)
	}
	if s.For <= 0 || s.For > maxStint {
		return s, fmt.Errorf("reading a stint: it lasts %v, want more than nothing and up to %v",
			s.For, maxStint)
	}
	return s, nil
}

// validateStints refuses the loads that cannot rest.
func (p *Plan) validateStints() error {
	switch {
	case !p.Stints:
		return nil
	case p.Load.Requests > 0 || p.Window == 0:
		return errors.New("stints are of a window: a number of requests has none")
	case p.WarmUp > 0:
		return errors.New("a load of stints warms up in stints that do not count: it has no " +
			"warm-up of its own")
	case p.Load.Shape == manifest.Bulk || p.Load.Shape == manifest.Stream:
		return fmt.Errorf("shape %s cannot rest: its connections are never without something "+
			"under way", p.Load.Shape)
	}
	return nil
}

// A roll is the state of a load of stints that the threads share.
type roll struct {
	parts   int
	asked   atomic.Int64 // stints asked for so far
	ending  atomic.Bool  // no more are asked for
	stopped atomic.Int32 // threads that send no more in this stint
	mu      sync.Mutex   // over the fields below; no thread takes it while it measures
	stint   Stint        // the last that was asked for
	resting int          // threads that rest
	began   int64        // this stint, of the first thread
	ended   int64        // this stint, of the last thread to have all replies
	window  int64        // counted stints so far, in ns
	lull    int64        // of them, what passed between the last send and the last reply
	errors  int64        // of all threads so far
}

func newRoll(parts int) *roll {
	r := &roll{parts: parts, resting: parts}
	r.stopped.Store(int32(parts))
	return r
}

var errBusy = errors.New("a stint was asked for before the last one had ended")

// ask enters a stint. The threads must then be woken.
func (r *roll) ask(s Stint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resting < r.parts {
		return errBusy
	}
	r.stint, r.resting, r.began, r.ended = s, 0, never, 0
	r.stopped.Store(0)
	r.asked.Add(1)
	return nil
}

// begin is told when a thread begins the stint, and returns it.
func (r *roll) begin(at int64) Stint {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = min(r.began, at)
	return r.stint
}

// rest is told when a thread has nothing under way any more, and how many errors it has met since
// it was here last. The last thread learns the window so far and all errors.
//
// A counted stint of a load that keeps a schedule adds its own time to the window: so much was due
// in it. Of one that keeps none it lasts until the last reply, for the server has worked until
// then.
func (r *roll) rest(at, faults int64, scheduled bool) (last bool, window, errors int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = max(r.ended, at)
	r.errors += faults
	r.resting++
	if r.resting < r.parts {
		return false, 0, 0
	}
	if r.stint.Counted {
		r.lull += max(0, r.ended-r.began-int64(r.stint.For))
	}
	switch {
	case !r.stint.Counted:
	case scheduled:
		r.window += int64(r.stint.For)
	default:
		r.window += r.ended - r.began
	}
	return true, r.window, r.errors
}

// total is the time of all counted stints, and of their lulls.
func (r *roll) total() (window, lull time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.window), time.Duration(r.lull)
}

// quiet tells whether no thread of the load sends any more, in this stint or at all.
func (s *shared) quiet() bool {
	if s.roll != nil {
		return int(s.roll.stopped.Load()) == s.parts
	}
	return int(s.atClose.Load()) == s.parts
}

// A turn is a worker's place in a load of stints.
type turn struct {
	asked  int64 // stints that it has begun
	stint  Stint
	active int64 // ns of the counted stints before this one, as this thread has seen them
	faults int64 // told so far
	spent  bool  // it has given up: its stints are empty
}

// awaitStints rests from the load's beginning on.
func (w *worker) awaitStints() {
	w.stage = stageRest
	w.setDeadline(never)
	bell := int32(w.shared.wakes[w.part].fd)
	if e := w.poll.add(bell, wakeTag, unix.EPOLLIN); e != 0 {
		w.faults.add(ioKind(e), 1, "watching for stints: %v", e)
		w.stage = stageDone
	}
}

// wake looks what is asked of a worker that rests.
func (w *worker) wake() {
	w.shared.wakes[w.part].take()
	switch r := w.shared.roll; {
	case w.stage != stageRest:
	case r.ending.Load():
		w.endRest()
	case r.asked.Load() > w.stints.asked:
		w.stints.asked++
		w.beginStint(r.begin(w.now))
	}
}

// beginStint loads from now on.
func (w *worker) beginStint(s Stint) {
	w.stints.stint = s
	w.stage, w.sending = stageStint, true
	w.openAt, w.closeAt = never, never
	w.setDeadline(w.now + int64(s.For))
	if s.Counted {
		w.openAt, w.closeAt = w.now, w.now+int64(s.For)
		w.openedAt = w.now - w.stints.active
		w.startCounting()
	}
	if w.stints.spent {
		w.deadline = w.now
		return
	}
	switch {
	case !w.scheduled:
		w.driver.start()
	case len(w.order) > 0:
		w.schedule.resume(w.now)
	}
}

// lull sends no more: what is in flight is answered.
func (w *worker) lull() {
	w.stage, w.sending = stageLull, false
	w.schedule.pause(w.deadline)
	w.shared.roll.stopped.Add(1)
	w.setDeadline(w.now + int64(w.driver.drainTime()))
}

// rest ends a stint: nothing is under way any more.
func (w *worker) rest() {
	if w.measuring {
		w.stopCounting()
		w.stints.active = w.now - w.openedAt
	}
	w.stage = stageRest
	w.deadline = w.limitAt
	met := w.faults.total() - w.stints.faults
	w.stints.faults += met
	last, window, errors := w.shared.roll.rest(w.now, met, w.scheduled)
	if last {
		w.shared.emit(Event{At: Rested, Window: time.Duration(window), Errors: errors})
	}
}

// endRest ends the load of a worker that rests.
func (w *worker) endRest() {
	w.stage = stageDrain
	w.driver.closed()
	w.setDeadline(w.now + int64(w.driver.drainTime()))
}
