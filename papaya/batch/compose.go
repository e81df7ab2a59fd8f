package batch

import (
	"slices"
	"time"

	"interleave/papaya/hall"
)

// A newcomer is a client that is about to be registered by an entry in the queue. When thousands
// come at once, what is said by those who are in does not wait for them: the lines of newcomers go
// behind all others, and a batch has only some of them.
const (
	// LoginsAtOnce is how many clients a batch registers at most. Each costs up to a millisecond:
	// it gets its rooms with their members, and what it has missed there. All others wait
	// meanwhile. A guess.
	LoginsAtOnce = 16
	// One batch in aheadEvery begins with aheadLines lines of newcomers, so that these come in,
	// however much the others say. Guesses.
	aheadEvery = 8
	aheadLines = 4
	// maxSpare bounds, in lines, the memory that is kept for the next batch.
	maxSpare = 4096
)

// noteNewcomer notes a newcomer when its entry is queued. An order that ends sessions or changes
// rights is not to overtake the logins before it, which may be by an old password or with an old
// role. These keep their places.
func (m *Machine[P]) noteNewcomer(l *Line[P]) {
	switch {
	case l.From != nil && l.Entry.Kind == hall.Enter:
		l.From.newcomer = true
		m.newcomers++
	case l.Entry.Kind == hall.Order && !hall.Says(l.Entry) && m.newcomers > 0:
		for n := range m.queue {
			if c := m.queue[n].From; c != nil {
				c.newcomer = false
			}
		}
		m.newcomers = 0
	}
}

// admitNewcomer notes that a line goes into a batch.
func (m *Machine[P]) admitNewcomer(l *Line[P]) {
	if l.From != nil && l.From.newcomer && l.Entry.Kind == hall.Enter {
		l.From.newcomer = false
		m.newcomers--
	}
}

// newcomersLast moves the lines of newcomers behind all others, or a few of them before these. The
// lines of each client stay in order.
func (m *Machine[P]) newcomersLast() {
	if m.newcomers == 0 {
		m.late = nil
		return
	}
	late, others := m.late, m.queue[:0]
	for _, l := range m.queue {
		if l.From != nil && l.From.newcomer {
			late = append(late, l)
		} else {
			others = append(others, l)
		}
	}
	ahead := 0
	if m.head.Number%aheadEvery == 0 {
		ahead = min(len(late), aheadLines)
	}
	m.queue = slices.Insert(append(others, late[ahead:]...), 0, late[:ahead]...)
	clear(late)
	m.late = late[:0]
}

// admit moves the lines that must wait for slow clients behind all others, and returns how many
// these are.
func (m *Machine[P]) admit(held func(*Line[P]) bool, now time.Duration) int {
	waits := map[*Client]bool{}
	var ready, wait []Line[P]
	for n := range m.queue {
		l := &m.queue[n]
		if c := l.From; c != nil && (waits[c] || held(l)) {
			waits[c] = true // its later lines wait, too, to stay in order
			wait = append(wait, *l)
			wait[len(wait)-1].came = now
			continue
		}
		ready = append(ready, *l)
	}
	if len(wait) > 0 {
		m.retryAt = now + retryAfter
	}
	m.queue = append(ready, wait...)
	return len(ready)
}

// compose moves the first n lines from the queue into the batch in flight, or as many as fit into
// size bytes, and appends their entries to data. An entry stays in the queue if an earlier line of
// its client, which may give an entry itself, is in this batch; so do the client's later lines.
func (m *Machine[P]) compose(data []byte, n, size int, now time.Duration) ([]byte, time.Duration) {
	oldest, logins, number := now, 0, m.head.Number
	flight, kept := m.spare, 0
	m.spare = nil
	if flight == nil {
		flight = make([]Line[P], 0, n)
	}
	k := 0
	for ; k < n; k++ {
		l := &m.queue[k]
		c := l.From
		if c != nil && (c.held == number || c.mayLog == number && l.Entry.Kind != 0) {
			c.held = number
			if kept != k {
				m.queue[kept] = *l
			}
			kept++
			continue
		}
		if l.Entry.Kind == hall.Enter {
			logins++
		}
		if len(data) >= size || logins > LoginsAtOnce {
			break
		}
		if l.Entry.Kind != 0 {
			data = hall.AppendEntry(data, l.Entry)
			oldest = min(oldest, l.came)
		}
		if c != nil {
			c.queued--
			if l.MayLog && l.Entry.Kind == 0 {
				c.mayLog = number
			}
		}
		m.admitNewcomer(l)
		flight = append(flight, *l)
	}
	m.flight = flight
	m.queue = without(m.queue, kept, k)
	return data, oldest
}

// without removes the lines from i up to j. It keeps the memory unless it is large.
func without[P any](lines []Line[P], i, j int) []Line[P] {
	lines = slices.Delete(lines, i, j)
	if len(lines) == 0 && cap(lines) > maxSpare {
		return nil
	}
	return lines
}
