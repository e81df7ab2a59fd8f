package gonet

import (
	"sync"
	"time"

	"interleave/gonet/tcp"
)

// alarms are the instants at which connections are to be looked at: a heap, and one timer of the
// runtime for all. With a timer for each the runtime woke a thread whenever one was set that would
// be the first to go off.
type alarms struct {
	tell  func() // the timer's
	mu    sync.Mutex
	heap  []alarm  // the earliest first
	look  tcp.Time // when the dealer is to look whatever comes, 0: never
	timer *time.Timer
	at    tcp.Time // when timer goes off, 0 if it is not running
	ended bool
}

type alarm struct {
	at tcp.Time
	c  *Conn
}

// set puts the alarm of a connection in the heap, or moves it. Any goroutine.
func (a *alarms) set(c *Conn, at, now tcp.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.alarm == 0 {
		a.heap = append(a.heap, alarm{})
		a.put(len(a.heap), alarm{at, c})
	} else {
		a.heap[c.alarm-1].at = at
	}
	a.order(c.alarm)
	a.wind(now)
}

// drop forgets the alarm of a connection. The timer goes off in any case, and is set again
// then. Any goroutine.
func (a *alarms) drop(c *Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.alarm != 0 {
		a.take(c.alarm)
	}
}

// lookAt has the dealer look at an instant, 0: not any more.
func (a *alarms) lookAt(at, now tcp.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.look = at
	a.wind(now)
}

// due takes those whose time has come out of the heap, behind those that are in to already, and
// winds the timer for the others.
func (a *alarms) due(to []*Conn, now tcp.Time) []*Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.heap) > 0 && a.heap[0].at <= now {
		to = append(to, a.heap[0].c)
		a.take(1)
	}
	a.wind(now)
	return to
}

// ring tells, when the timer has gone off, whether something is due; if not, it is wound again.
func (a *alarms) ring(now tcp.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = 0
	if at, ok := a.first(); ok && at <= now {
		return true
	}
	a.wind(now)
	return false
}

// end stops the timer for good.
func (a *alarms) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.timer != nil {
		a.timer.Stop()
	}
}

// wind sets the timer, unless it goes off in time: it is never stopped for what has become
// needless. The caller has mu, as have all from here on.
func (a *alarms) wind(now tcp.Time) {
	at, ok := a.first()
	if !ok || a.at != 0 && a.at <= at || a.ended {
		return
	}
	a.at = at
	if wait := max(at.Sub(now), 0); a.timer == nil {
		a.timer = time.AfterFunc(wait, a.tell)
	} else {
		a.timer.Reset(wait)
	}
}

func (a *alarms) first() (tcp.Time, bool) {
	at := a.look
	if len(a.heap) > 0 && (at == 0 || a.heap[0].at < at) {
		at = a.heap[0].at
	}
	return at, at != 0
}

// take takes the alarm at a place out of the heap. Places count from 1.
func (a *alarms) take(i int) {
	n := len(a.heap)
	last := a.heap[n-1]
	a.heap[i-1].c.alarm = 0
	a.heap[n-1] = alarm{}
	a.heap = a.heap[:n-1]
	if i < n {
		a.put(i, last)
		a.order(i)
	}
	if cap(a.heap) > 64 && n < cap(a.heap)/4 { // many have gone
		a.heap = append(make([]alarm, 0, cap(a.heap)/2), a.heap...)
	}
}

func (a *alarms) put(i int, x alarm) {
	a.heap[i-1] = x
	x.c.alarm = i
}

// order moves the alarm at a place up or down, to where it belongs.
func (a *alarms) order(i int) {
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
	a.put(i, y)
	a.put(j, x)
}

// alarm is the timer's goroutine. The dealer does the work once it has read what waits at the
// link: on a machine that has had no time for us the acknowledgement is there, and what it tells
// of need not go again.
func (s *Stack) alarm() {
	if s.alarms.ring(s.clock()) {
		_ = s.post(s.expire) // a stack that has ended waits for nothing
	}
}

// expire does what is due. The dealer's.
func (s *Stack) expire() {
	s.expired = s.alarms.due(s.expired[:0], s.clock())
	for i, c := range s.expired {
		c.due()
		s.expired[i] = nil
	}
}
