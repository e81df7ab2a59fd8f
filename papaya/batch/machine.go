// Package batch decides which lines of clients go into the next batch of the log, and when. Machine
// is a state machine as hall.Hall is: lines, the answers of the log and the time go in, and what is
// to be done comes out. It does no I/O, reads no clock and takes no lock. One goroutine calls it.
package batch

import (
	"slices"
	"time"

	"interleave/papaya/hall"
)

// A state says what the machine waits for. The first four wait for a batch to be due, and the
// others are those of the batch in flight, of which there is one at a time.
//
//	idle, ... ──Next──▶ sent ──Stored───▶ stored ───Applied──▶ idle
//	                    sent ──Applied──▶ applied ──Stored───▶ idle
//	                    sent ──Refused──▶ refusing ─Resume───▶ backoff
type state byte

const (
	idle      state = iota // for lines
	gathering              // for more lines, or until clients were written to
	holding                // for slow clients: all lines are for them
	backoff                // the log has refused a batch: lines that were applied wait a second
	sent                   // for the log, which has been given a batch
	stored                 // the log has the batch; it is to be applied
	applied                // the batch has come from the log and is applied; for the log's answer
	refusing               // the log has refused the batch; for what becomes of its lines
)

// A Line is what a client has sent, or an entry of the server itself. P is what the caller needs to
// obey it; the machine does not look at that.
type Line[P any] struct {
	From  *Client    // nil: the server itself
	Entry hall.Entry // without a Kind, the line is not for the log: it is obeyed in its turn
	// MayLog says that a line without an entry may give one when it is obeyed. Later entries of its
	// client wait for that.
	MayLog  bool
	Awaited bool // somebody waits for the answer
	Done    bool // it was applied already, without the log; it is written for later starts
	What    P

	came time.Duration
}

// A Client is what the machine notes of one client. The zero value is for a new one.
type Client struct {
	pending int    // lines in the machine and the one that is obeyed now
	queued  int    // lines in the queue
	lead    int    // lines in the queue that came out of lines of this round
	round   uint64 // the round of lead
	mayLog  uint64 // the number of the batch with a line that may give an entry
	held    uint64 // the number of the batch that later lines must not be in

	newcomer bool // an entry in the queue registers the client: see compose.go
}

// Pending says whether lines of the client are in the machine, or one is obeyed now.
func (c *Client) Pending() bool { return c.pending > 0 }

// A Machine is the state machine. The zero value is not ready: see New.
type Machine[P any] struct {
	state  state
	head   hall.Batch // of the batch in flight, or of the last one
	queue  []Line[P]
	flight []Line[P]
	spare  []Line[P] // empty: memory for the next batch
	again  []Line[P] // lines of a refused batch that go before all others
	late   []Line[P] // empty: memory for newcomersLast

	round     uint64  // tells the lines that are obeyed together
	obeyed    *Client // the client whose line is obeyed now
	empty     bool    // a batch is due even if it has no entries
	awaited   bool    // somebody waits for the answer to a line in the queue
	newcomers int     // in the queue
	bytes     int     // of the last batch
	ticks     int     // since the last batch was sent
	patience  int     // in ticks: see Doubted

	sentAt  time.Duration // when the last batch was sent
	doneAt  time.Duration // when the last batch was done
	retryAt time.Duration // when lines for slow clients are looked at again
	pauseTo time.Duration // the end of backoff
}

// New makes a machine for one run of a server. After so many ticks without an answer of the log,
// the log is doubted.
func New[P any](server string, run int64, patience int) *Machine[P] {
	return &Machine[P]{head: hall.Batch{Server: server, Run: run}, patience: patience}
}

// InFlight says whether a batch is on its way, so that no other is sent.
func (m *Machine[P]) InFlight() bool { return m.state >= sent }

// Drained says whether nothing is in flight and nothing waits.
func (m *Machine[P]) Drained() bool { return !m.InFlight() && len(m.queue) == 0 }

// Queued returns how many lines wait for the next batch.
func (m *Machine[P]) Queued() int { return len(m.queue) }

// Head returns the head of the batch in flight, or of the last one.
func (m *Machine[P]) Head() hall.Batch { return m.head }

// SentAt returns when the last batch was sent, and Bytes its size.
func (m *Machine[P]) SentAt() time.Duration { return m.sentAt }
func (m *Machine[P]) Bytes() int            { return m.bytes }

// Doubted says whether the log has not answered for so long that no more messages should be taken.
// Time counts in ticks of the caller: a server that itself stood still has seen one.
func (m *Machine[P]) Doubted() bool { return m.InFlight() && m.ticks > m.patience }

// Tick notes that a tick of the caller has passed.
func (m *Machine[P]) Tick() { m.ticks++ }

// Beat has the next batch sent even if it has no entries.
func (m *Machine[P]) Beat() { m.empty = true }

// Push adds a line. An entry that comes out of the line that is obeyed now takes its place before
// the later lines of its client.
func (m *Machine[P]) Push(now time.Duration, l Line[P]) {
	l.came = now
	if l.From != nil {
		l.From.pending++
	}
	m.noteNewcomer(&l)
	m.awaited = m.awaited || l.Awaited
	if l.From != nil && l.From == m.obeyed && l.Entry.Kind != 0 {
		m.put(l)
		return
	}
	m.add(l)
}

// add adds a line at the end of the queue.
func (m *Machine[P]) add(l Line[P]) {
	if l.From != nil {
		l.From.queued++
	}
	m.queue = append(m.queue, l)
}

// put adds a line that has come out of a line of this round: before the later lines of its client,
// and behind those that came out before.
func (m *Machine[P]) put(l Line[P]) {
	c := l.From
	c.inRound(m.round)
	lead := c.lead
	c.lead++
	switch {
	case m.state == refusing:
		m.again = append(m.again, l)
		return
	case c.queued == 0 || c.queued == lead:
		m.add(l)
		return
	}
	for n := range m.queue {
		if m.queue[n].From != c {
			continue
		}
		if lead == 0 {
			m.queue = slices.Insert(m.queue, n, l)
			c.queued++
			return
		}
		lead--
	}
	m.add(l)
}

func (c *Client) inRound(round uint64) {
	if c.round != round {
		c.round, c.lead = round, 0
	}
}

// Turn begins a line without an entry, which Next has returned or which is in flight. It returns
// false if an earlier line of the client has turned out to need the log. The line then waits in the
// queue behind that. This happens to lines that were sent before the client was registered.
func (m *Machine[P]) Turn(l *Line[P]) bool {
	c := l.From
	if c == nil {
		return true
	}
	c.inRound(m.round)
	if c.lead > 0 {
		m.put(*l)
		return false
	}
	m.obeyed = c
	return true
}

// Finish notes that a line of a client was obeyed, applied or refused.
func (m *Machine[P]) Finish(c *Client) {
	m.obeyed = nil
	if c != nil {
		c.pending--
	}
}

// Flight returns the lines of the batch in flight. They are to be applied in this order when the
// log has stored the batch, and are valid until Applied or Resume.
func (m *Machine[P]) Flight() []Line[P] { return m.flight }

// Mine says whether a batch that has come from the log is the one in flight, which was not applied
// yet.
func (m *Machine[P]) Mine(b hall.Batch) bool {
	return (m.state == sent || m.state == stored) && b.Server == m.head.Server &&
		b.Run == m.head.Run && b.Number == m.head.Number
}

// Stored notes that the log has stored the batch. It returns false if none was waiting for that.
func (m *Machine[P]) Stored(now time.Duration) bool {
	switch m.state {
	case sent:
		m.state = stored
		return true
	case applied:
		m.done(now)
		return true
	}
	return false
}

// Applied notes that the lines in flight were applied.
func (m *Machine[P]) Applied(now time.Duration) {
	switch m.state {
	case sent:
		m.state = applied
	case stored:
		m.done(now)
	}
}

// done makes room for the next batch.
func (m *Machine[P]) done(now time.Duration) {
	m.state, m.doneAt = idle, now
	m.spare, m.flight = without(m.flight, 0, len(m.flight)), nil
	m.round++
}

// Refused notes that the log has refused the batch, and returns its lines. The caller decides about
// each, in their order: those of Again go before all others that wait. It calls Resume then. A
// batch that has come from the log is stored, whatever the answer: nothing is returned.
func (m *Machine[P]) Refused(now time.Duration) []Line[P] {
	switch m.state {
	case sent:
		m.state = refusing
		return m.flight
	case applied:
		m.done(now)
	}
	return nil
}

// maxAgain bounds, in lines, what was applied without the log and is kept until the log can be
// written again.
const maxAgain = 10000

// Again keeps a line of a refused batch for the next one.
func (m *Machine[P]) Again(l Line[P]) {
	switch {
	case m.state != refusing || l.Done && len(m.again) >= maxAgain:
	case l.From == nil || l.Done: // later lines need not wait for it
		m.again = append(m.again, l)
	default:
		m.put(l)
	}
}

// pauseAfter is how long lines that were applied without the log wait after a refusal.
const pauseAfter = time.Second

// Resume ends the work on a refused batch.
func (m *Machine[P]) Resume(now time.Duration) {
	if m.state != refusing {
		return
	}
	for n := range m.again {
		if c := m.again[n].From; c != nil {
			c.queued++
		}
	}
	m.queue = append(m.again, m.queue...)
	m.again = nil
	m.done(now)
	m.state, m.pauseTo = backoff, now+pauseAfter
}

// Repeat has a refused batch sent again at once. It is for the first batch of a run, which must be
// in the log before all else.
func (m *Machine[P]) Repeat(now time.Duration) {
	if m.state != refusing {
		return
	}
	for _, l := range m.flight {
		m.Again(l)
	}
	m.Resume(now)
	m.pauseTo, m.empty = 0, true
}
