package batch

import (
	"time"

	"interleave/papaya/hall"
)

// Do is what the caller of Next is to do.
type Do byte

const (
	Wait Do = iota // for the next event, or until Step.Wait has passed
	Obey           // Step.Line, whose turn has come: Turn, what it says, and Finish
	Send           // Step.Data to the log
)

// A Step is what Next returns.
type Step[P any] struct {
	Do   Do
	Wait time.Duration // 0: there is nothing to do before the next event
	Line Line[P]
	Data []byte // one batch
	// Oldest is when the oldest entry of the batch came, and Since from when on it could have been
	// in a batch.
	Oldest, Since time.Duration
}

// Conditions are what Next must know at the moment. Now is the time since the server's start, and
// Clock is in milliseconds since 1970.
type Conditions[P any] struct {
	Now      time.Duration
	Clock    int64
	Writing  bool // clients are being written to
	MaxBytes int  // about how large a batch may be
	// Slow returns which lines must wait for slow clients, and how large the batch may be. nil: no
	// client is slow.
	Slow func() (held func(*Line[P]) bool, bytes int)
}

const (
	// maxDelay is how long a batch may wait for more lines. It waits while clients are being
	// written to, since many answer what they read. It also waits after the last batch if nobody
	// waits for an answer. Each batch costs 200 us of CPU, however small it is
	// (papayachat-cpu-chat).
	maxDelay = time.Millisecond
	// minDelay is the shortest delay that is used. Go's timers round every delay up to a
	// millisecond (the poller's unit), so the sum of all delays would exceed two.
	minDelay = maxDelay / 10
	// enough is in lines: a batch of that many does not wait for more.
	enough = 1024
	// retryAfter is how soon lines for slow clients are looked at again.
	retryAfter = time.Millisecond
)

// Next says what is to be done now. The caller does it, and calls Next again until it is to wait.
// The lines at the head of the queue that the log does not need are obeyed while no batch is in
// flight. A batch has all lines that have come while the last one was in flight, and while its
// lines were written to clients.
func (m *Machine[P]) Next(at Conditions[P]) Step[P] {
	if m.InFlight() {
		return Step[P]{}
	}
	if len(m.queue) > 0 && m.queue[0].Entry.Kind == 0 {
		return m.obey()
	}
	switch {
	case len(m.queue) == 0 && !m.empty:
		m.state = idle
		return Step[P]{}
	case at.Now < m.pauseTo && m.onlyDone():
		m.state = backoff
		return Step[P]{}
	}
	m.newcomersLast()
	if wait := m.delay(at); wait > 0 {
		m.state = gathering
		return Step[P]{Wait: wait}
	}
	if at.Slow == nil {
		return m.send(at, len(m.queue), at.MaxBytes)
	}
	return m.sendAdmitted(at)
}

// obey takes the first line out of the queue.
func (m *Machine[P]) obey() Step[P] {
	l := m.queue[0]
	m.queue[0] = Line[P]{}
	m.queue = m.queue[1:]
	m.round++
	if l.From != nil {
		l.From.queued--
	}
	return Step[P]{Do: Obey, Line: l}
}

// onlyDone says whether every waiting line was applied already, so that the batch is not urgent.
func (m *Machine[P]) onlyDone() bool {
	for n := range m.queue {
		if !m.queue[n].Done {
			return false
		}
	}
	return !m.empty
}

// delay returns how long the next batch should still wait for more lines. Lines of clients that
// wait for an answer are not delayed by clients that only talk.
func (m *Machine[P]) delay(at Conditions[P]) (wait time.Duration) {
	if len(m.queue) == 0 {
		return 0
	}
	if at.Writing {
		wait = m.queue[0].came + maxDelay - at.Now
	}
	if !m.awaited && len(m.queue) < enough {
		wait = max(wait, m.doneAt+maxDelay-at.Now)
	}
	if wait < minDelay {
		return 0
	}
	return wait
}

// sendAdmitted sends a batch of the lines that need not wait for slow clients.
func (m *Machine[P]) sendAdmitted(at Conditions[P]) Step[P] {
	n, bytes := 0, 0
	if at.Now >= m.retryAt {
		var held func(*Line[P]) bool
		held, bytes = at.Slow()
		n = m.admit(held, at.Now)
	}
	switch {
	case n > 0 && m.queue[0].Entry.Kind == 0 && !m.hasEntry(n):
		return m.obey() // the others follow, since they are first now
	case n > 0 || m.empty:
		return m.send(at, n, bytes)
	}
	m.state = holding
	return Step[P]{}
}

// hasEntry says whether one of the first n lines is for the log.
func (m *Machine[P]) hasEntry(n int) bool {
	for k := range n {
		if m.queue[k].Entry.Kind != 0 {
			return true
		}
	}
	return false
}

// send sends a batch of the first n lines, or of as many as fit into size bytes.
func (m *Machine[P]) send(at Conditions[P], n, size int) Step[P] {
	m.head.Number++
	m.head.Time = at.Clock
	// as large as the last batch, and a quarter more
	data := hall.AppendBatch(make([]byte, 0, m.bytes+m.bytes/4), m.head)
	data, oldest := m.compose(data, n, size, at.Now)
	m.state, m.sentAt, m.ticks, m.bytes = sent, at.Now, 0, len(data)
	m.empty, m.awaited = false, len(m.queue) > 0
	m.round++
	return Step[P]{Do: Send, Data: data, Oldest: oldest, Since: max(oldest, m.doneAt)}
}
