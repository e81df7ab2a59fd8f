package load

// The stages of a worker's load. They follow each other by time, or because there is nothing left to wait for.

import (
	"cmp"
	"time"
)

type stage uint8

const (
	stageWarm   stage = iota // load, not measured
	stageSettle              // a finite load: what the warm-up left in flight is answered
	stageWindow              // load, measured
	stageDrain               // nothing is sent; what is in flight is answered
	stageEnding              // sink: half-closed, the servers' ends of file are awaited
	stageDone
)

const (
	drainTime  = time.Second     // for replies after the load has ended
	endingTime = 5 * time.Second // for a sink to write what it has, a guess: its sockets hold a few MiB at most
)

// drainTime is for replies and deliveries after the load has ended.
func (w *worker) drainTime() time.Duration {
	if w.chat != nil || w.images != nil {
		return cmp.Or(w.plan.Drain, roomDrainTime)
	}
	return cmp.Or(w.plan.Drain, drainTime)
}

// endingTime is for a sink to end a connection after the client's last message.
func (w *worker) endingTime() time.Duration { return cmp.Or(w.plan.Drain, endingTime) }

// begin starts the load.
func (w *worker) begin(at int64) {
	w.now = at
	if w.ping != nil {
		w.ping.sweepAt = at
	}
	for i := range w.conns {
		w.conns[i].left = unlimited
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
	if w.scheduled {
		if len(w.order) > 0 {
			w.schedule.begin(w.now)
		}
		return
	}
	if w.bulk != nil || w.stream != nil {
		return // epoll tells at once what can be written or read
	}
	for i := range w.conns {
		c := &w.conns[i]
		w.now = nanotime()
		switch {
		case w.perTurn:
			w.beginTurn(c)
		case c.state == connOpen:
			w.topUp(c)
		}
	}
}

// advance goes to the next stage: its time has come, or nothing is left to wait for.
func (w *worker) advance() {
	if w.now >= w.limitAt && w.stage <= stageWindow {
		w.faults.add(PastLimit, 1, "the load had not ended after its limit of %v", w.plan.Limit)
		w.abandon()
		w.expireAll()
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
			w.setDeadline(w.now + int64(w.drainTime()))
		default:
			w.openWindow()
		}
	case stageSettle:
		w.expireAll()
		w.openAt = w.now
		w.openWindow()
	case stageWindow:
		w.sendDue() // what was due before the end, if the engine is behind
		w.abandon()
	case stageDrain:
		w.expireAll()
		w.end()
	case stageEnding:
		for i := range w.conns {
			if c := &w.conns[i]; c.state == connEnding || w.chat != nil && !w.chat.guests[i].done {
				w.fail(c, Undrained, "connection %d: the server had not ended it, or answered a last PING, %v after the client's last message", c.id, w.endingTime())
			}
		}
		w.stage = stageDone
	}
}

// openWindow begins to measure. A finite load, and one without warm-up, begins here.
func (w *worker) openWindow() {
	w.stage, w.measuring, w.sending = stageWindow, true, true
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
	w.opened = w.now
	w.result.BytesIn, w.result.BytesOut = w.bytesIn, w.bytesOut-w.queued()
	w.use = readThreadUse(w.stat, w.statBuf[:])
	w.shared.pass(&w.shared.atOpen, Opened)
	if w.finite || w.plan.WarmUp == 0 {
		w.kick()
	}
}

// abandon ends the load, if need be before its window has opened, and begins to drain.
func (w *worker) abandon() {
	if w.stage > stageWindow {
		return
	}
	if w.measuring {
		w.measuring = false
		w.closed = w.now
		w.use = readThreadUse(w.stat, w.statBuf[:]).minus(w.use)
		w.result.BytesIn = w.bytesIn - w.result.BytesIn
		w.result.BytesOut = w.bytesOut - w.queued() - w.result.BytesOut
	} else {
		w.shared.pass(&w.shared.atOpen, Opened)
	}
	w.shared.pass(&w.shared.atClose, Closed)
	w.sending = false
	w.schedule.end()
	w.stage = stageDrain
	drain := w.drainTime()
	if w.stream != nil && w.closed > 0 {
		drain = w.streamDrainTime()
		w.closeStreams()
	}
	w.setDeadline(w.now + int64(drain))
}

func (w *worker) expireAll() {
	if w.ping != nil {
		w.sweepLost(w.now)
	}
	if w.stream != nil {
		w.expireStreams()
	}
	for i := range w.conns {
		w.expire(&w.conns[i])
	}
}

// end half-closes where no reply can tell that the server has everything; it closes its side when it has.
func (w *worker) end() {
	w.stage = stageDone
	if w.replies {
		return
	}
	w.stage = stageEnding
	w.setDeadline(w.now + int64(w.endingTime()))
	if w.chat != nil {
		w.endChat()
		return
	}
	for i := range w.conns {
		if c := &w.conns[i]; c.state == connOpen {
			w.halfClose(c)
		}
	}
}
