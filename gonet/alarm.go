package gonet

import (
	"sync"
	"time"

	"interleave/gonet/tcp"
)

// alarms holds for each connection the instant at which its timers must be looked at. It is a heap
// with one runtime timer for all. With a timer for each connection, the runtime woke a thread
// whenever one was set that became the first to go off.
type alarms struct {
	onTimer func() // runs when the timer goes off
	mu      sync.Mutex
	heap    []alarm            // earliest first
	due     [dueKinds]tcp.Time // when the dealer must run for something else, 0: never
	timer   *time.Timer
	at      tcp.Time // when timer goes off, 0 if it does not run
	ended   bool
}

// dueKind is what the dealer must run for beside the alarms of connections.
type dueKind int

const (
	dueHeldACKs dueKind = iota // see heldack.go
	dueUnarmed                 // see unarmed.go
	dueRemnants                // see timewait.go
	dueKinds
)

type alarm struct {
	at tcp.Time
	c  *Conn
}

// set sets or moves the alarm of a connection. Any goroutine.
func (a *alarms) set(c *Conn, at, now tcp.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.alarm == 0 {
		a.heap = append(a.heap, alarm{})
		a.store(len(a.heap), alarm{at, c})
	} else {
		a.heap[c.alarm-1].at = at
	}
	a.restoreOrder(int(c.alarm))
	a.setTimer(now)
}

// remove removes the alarm of a connection. The timer is not stopped: when it goes off, it is set
// for the next alarm. Any goroutine.
func (a *alarms) remove(c *Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.alarm != 0 {
		a.removeAt(int(c.alarm))
	}
}

// setDue sets the instant at which the dealer must run for something; 0 clears it.
func (a *alarms) setDue(kind dueKind, at, now tcp.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due[kind] = at
	a.setTimer(now)
}

// popDue removes the alarms that are due, appends their connections to the slice and returns it,
// and sets the timer for the remaining alarms. What else is due counts as done.
func (a *alarms) popDue(to []*Conn, now tcp.Time) []*Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	for kind, at := range a.due {
		if at <= now {
			a.due[kind] = 0
		}
	}
	for len(a.heap) > 0 && a.heap[0].at <= now {
		to = append(to, a.heap[0].c)
		a.removeAt(1)
	}
	a.setTimer(now)
	return to
}

// timerFired tells, after the timer has gone off, whether an alarm is due. If none is, it sets the
// timer again.
func (a *alarms) timerFired(now tcp.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = 0
	if at, ok := a.earliest(); ok && at <= now {
		return true
	}
	a.setTimer(now)
	return false
}

// end stops the timer. It is not set again.
func (a *alarms) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.timer != nil {
		a.timer.Stop()
	}
}

// setTimer sets the timer for the earliest alarm, unless it goes off early enough already. The
// timer is never stopped for an alarm that was removed. The caller holds mu, as for all methods
// below.
func (a *alarms) setTimer(now tcp.Time) {
	at, ok := a.earliest()
	if !ok || a.at != 0 && a.at <= at || a.ended {
		return
	}
	a.at = at
	if wait := max(at.Sub(now), 0); a.timer == nil {
		a.timer = time.AfterFunc(wait, a.onTimer)
	} else {
		a.timer.Reset(wait)
	}
}

func (a *alarms) earliest() (tcp.Time, bool) {
	var first tcp.Time
	if len(a.heap) > 0 {
		first = a.heap[0].at
	}
	for _, at := range a.due {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first, first != 0
}

// removeAt removes the alarm at index i from the heap. Indexes count from 1.
func (a *alarms) removeAt(i int) {
	n := len(a.heap)
	last := a.heap[n-1]
	a.heap[i-1].c.alarm = 0
	a.heap[n-1] = alarm{}
	a.heap = a.heap[:n-1]
	if i < n {
		a.store(i, last)
		a.restoreOrder(i)
	}
	if cap(a.heap) > 64 && n < cap(a.heap)/4 { // most alarms were removed
		a.heap = append(make([]alarm, 0, cap(a.heap)/2), a.heap...)
	}
}

func (a *alarms) store(i int, x alarm) {
	a.heap[i-1] = x
	x.c.alarm = int32(i)
}

// restoreOrder moves the alarm at index i up or down until the heap is in order.
func (a *alarms) restoreOrder(i int) {
	h := a.heap
	for ; i > 1 && h[i-1].at < h[i/2-1].at; i /= 2 {
		a.swap(i, i/2)
	}
	for next := 2 * i; next <= len(h); next = 2 * i {
		if next < len(h) && h[next].at < h[next-1].at {
			next++
		}
		if h[i-1].at <= h[next-1].at {
			return
		}
		a.swap(i, next)
		i = next
	}
}

func (a *alarms) swap(i, j int) {
	x, y := a.heap[i-1], a.heap[j-1]
	a.store(i, y)
	a.store(j, x)
}

// alarmTimerFired runs in the timer's goroutine. It leaves the work to the dealer, which first
// reads the frames that wait at the link. On a busy machine the awaited acknowledgement may be
// among them, and then nothing must be sent again.
func (s *Stack) alarmTimerFired() {
	if s.tcp.alarms.timerFired(s.clock()) {
		_ = s.post(s.expire) // a stack that has ended has no timers
	}
}

// expire runs the timers of all connections whose alarm is due, and all else that is. Dealer only.
func (s *Stack) expire() {
	now := s.clock()
	s.tcp.expired = s.tcp.alarms.popDue(s.tcp.expired[:0], now)
	for i, c := range s.tcp.expired {
		c.expire(now)
		s.tcp.expired[i] = nil
	}
	s.armAll(now)
	s.endTimeWaits(now)
}
