package load

// The stages of a worker's load. They follow each other by time, or because there is nothing
// left to wait for.

import (
	"cmp"
	"time"
)

type stage uint8

const (
	stageWarm   stage = iota // load, not measured
	stageSettle              // a finite load: what the warm-up left in flight is answered
	stageRest                // nothing is sent until a stint is asked for
	stageStint               // load, for the time of a stint
	stageLull                // what the stint left in flight is answered
	stageWindow              // load, measured
	stageDrain               // nothing is sent; what is in flight is answered
	stageEnding              // sink: half-closed, the servers' ends of file are awaited
	stageDone
)

const (
	drainTime = time.Second // for replies after the load has ended
	// for a sink to write what it has, a guess: its sockets hold a few MiB at most
	endingTime = 5 * time.Second
)

// begin starts the load.
func (w *worker) begin(at int64) {
	w.now = at
	for i := range w.conns {
		w.conns[i].left = unlimited
	}
	if w.plan.Stints {
		w.awaitStints()
		return
	}
	if w.plan.WarmUp == 0 {
		w.openAt = at
		w.openWindow()
		return
	}
	w.stage, w.sending = stageWarm, true
	if !w.finite {
		w.openAt = at + int64(w.plan.WarmUp)
		w.closeAt = w.openAt + int64(w.plan.Window)
	}
	w.setDeadline(at + int64(w.plan.WarmUp))
	w.kick()
}

// setDeadline ends the stage at a time, or at the run's limit if that is earlier.
func (w *worker) setDeadline(at int64) { w.deadline = min(at, w.limitAt) }

// kick sends the first requests, or starts the schedule that will.
func (w *worker) kick() {
	switch {
	case !w.scheduled:
		w.driver.start()
	case len(w.order) > 0:
		w.schedule.begin(w.now)
	}
}

// advance goes to the next stage: its time has come, or nothing is left to wait for.
func (w *worker) advance() {
	if w.now >= w.limitAt && w.stage <= stageWindow {
		w.faults.add(PastLimit, 1, "the load had not ended after its limit of %v", w.plan.Limit)
		w.abandon()
		w.driver.expire()
		w.stage = stageDone
		return
	}
	switch w.stage {
	case stageWarm:
		switch {
		case w.living == 0:
			w.abandon()
		case w.finite:
			w.stage, w.sending = stageSettle, false
			w.schedule.end()
			w.setDeadline(w.now + int64(w.driver.drainTime()))
		default:
			w.openWindow()
		}
	case stageSettle:
		w.driver.expire()
		w.openAt = w.now
		w.openWindow()
	case stageStint:
		w.sendDue() // what was due before the end, if the engine is behind
		if w.stage == stageStint {
			w.lull()
		}
	case stageLull:
		w.driver.expire()
		w.rest()
	case stageWindow:
		w.sendDue() // what was due before the end, if the engine is behind
		w.abandon()
	case stageDrain:
		w.driver.expire()
		w.stage = stageEnding
		w.setDeadline(w.now + int64(w.endingTime()))
		w.driver.end()
	case stageEnding:
		w.driver.unended()
		w.stage = stageDone
	}
}

// openWindow begins to measure. A finite load, and one without warm-up, begins here.
func (w *worker) openWindow() {
	w.stage, w.sending = stageWindow, true
	if w.finite {
		w.counting = true
		w.left = 0
		for i := range w.conns {
			if c := &w.conns[i]; c.state != connDead {
				c.left = w.plan.Load.Requests
				w.left += c.left
			}
		}
	}
	w.closeAt = never
	if w.plan.Window > 0 {
		w.closeAt = w.openAt + int64(w.plan.Window)
	}
	w.setDeadline(w.closeAt)
	w.openedAt = w.now
	w.startCounting()
	w.shared.pass(&w.shared.atOpen, Opened)
	if w.finite || w.plan.WarmUp == 0 {
		w.kick()
	}
}

// startCounting and stopCounting are called at the two ends of a window, or of each part of one.
func (w *worker) startCounting() {
	w.measuring = true
	w.windowIn -= w.bytesIn
	w.windowOut -= w.bytesOut - w.driver.unsent()
	w.use = w.use.minus(readThreadUse(w.stat, w.statBuf[:]))
}

func (w *worker) stopCounting() {
	w.measuring = false
	w.windowIn += w.bytesIn
	w.windowOut += w.bytesOut - w.driver.unsent()
	w.use = readThreadUse(w.stat, w.statBuf[:]).plus(w.use)
}

// abandon ends the load, if need be before its window has opened, and begins to drain. A load of
// stints ends with its stint, and all that follow are empty.
func (w *worker) abandon() {
	switch {
	case w.stage > stageWindow:
		return
	case w.plan.Stints:
		w.stints.spent = true
		if w.stage == stageStint {
			w.lull()
		}
		return
	}
	if w.measuring {
		w.closedAt = w.now
		w.stopCounting()
	} else {
		w.shared.pass(&w.shared.atOpen, Opened)
	}
	w.shared.pass(&w.shared.atClose, Closed)
	w.sending = false
	w.schedule.end()
	w.stage = stageDrain
	w.driver.closed()
	w.setDeadline(w.now + int64(w.driver.drainTime()))
}

// endingTime bounds the wait for a server to end its connections.
func (w *worker) endingTime() time.Duration { return cmp.Or(w.plan.Drain, endingTime) }
