package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/log"
)

// maxBatch is in bytes of entries. Larger batches save nothing more, and what they bring at once
// has to find room with each client that it is for.
const maxBatch = 128 << 10

// appendTimeout is how long a log may look for a leader before messages are refused; doubtAfter
// how long one that has not answered may leave clients waiting before new messages are refused.
// Both are guesses.
const (
	appendTimeout = 5 * time.Second
	doubtAfter    = 3 * time.Second
)

// outbox is what is on its way to the log: one batch that flies, and lines that wait for
// the next. What a client asks after it has said something waits here, too, so that its
// answers come in order.
type outbox struct {
	queue   []item
	flying  []item
	spare   []item // empty: room for the next that flies
	number  uint64 // of the batch that flies, or flew last
	batch   hall.Batch
	bytes   int
	since   time.Time
	acked   bool // it is in the log
	applied bool // and has come back
	empty   bool // a batch without entries is wanted: a sign of life
	failed  time.Time
	held    time.Duration // so long yet a batch waits for more
	// one of the lines that wait is of a client that waits, too: for an answer
	awaited bool
	free    time.Duration // when the last batch had landed
	again   time.Duration // when lines that wait for readers are looked at again
}

// An item is a line: with an entry it is for the log, without it is obeyed when its turn comes.
type item struct {
	conn    *conn
	message irc.Message
	fault   fault
	entry   hall.Entry
	end     *ending
	came    time.Duration
	done    bool // the entry was applied without the log; it is written for later starts
}

// ending is the end of a connection, which waits its turn as lines do.
type ending struct {
	inOrder bool
	why     string
}

// push adds an item to the queue.
func (s *server) push(i item) {
	if i.conn != nil {
		i.conn.pending++
		if i.entry.Kind != 0 {
			i.conn.queued++
		}
	}
	i.came = s.moment
	s.log.awaited = s.log.awaited || i.conn == nil || i.entry.Kind != hall.Said ||
		s.hall.Awaited(&i.conn.Client, &i.message)
	s.log.queue = append(s.log.queue, i)
}

// launch sends the next batch to the log, if none flies. Lines that need no log are obeyed as far
// as nothing of the log is before them. What a batch gathers is what has come while the last one
// was on its way, and while what that has brought was written.
func (s *server) launch() {
	for s.log.flying == nil {
		n := 0
		for n < len(s.log.queue) && s.log.queue[n].entry.Kind == 0 {
			n++
		}
		if n == 0 {
			break
		}
		ready := s.log.queue[:n]
		s.log.queue = s.log.queue[n:]
		for _, i := range ready {
			s.complete(i)
		}
	}
	if s.log.flying != nil || len(s.log.queue) == 0 && !s.log.empty || s.log.queue != nil &&
		s.onlyDone() && time.Since(s.log.failed) < time.Second {
		return
	}
	if s.log.held = s.gathers(); s.log.held > 0 {
		return
	}
	if len(s.late) == 0 {
		s.launchSome(len(s.log.queue), s.maxBatch())
	} else if n, size := s.admitLines(); n > 0 || s.log.empty {
		s.launchSome(n, size)
	}
}

const (
	// gatherFor is how long a batch waits at most: while clients are written to, who answer what
	// they are just being told, and after the last batch, if nobody waits for an answer. A batch
	// costs 200 us of CPU however small it is (papayachat-cpu-chat).
	gatherFor = time.Millisecond
	// gatherLeast is the shortest wait that is worth it: Go's timers make a millisecond of any (the
	// poller's unit), so a shorter one would come to more than two with what was waited before.
	gatherLeast = gatherFor / 10
	// enough is in lines: a batch of so many does not wait for more.
	enough = 1024
)

// gathers says how long a batch is to wait yet, since more may come soon. Nobody who waits for an
// answer waits for those who merely talk.
func (s *server) gathers() (wait time.Duration) {
	if len(s.log.queue) == 0 {
		return 0
	}
	if s.unwritten.Load() > 0 {
		wait = s.log.queue[0].came + gatherFor - s.moment
	}
	if !s.log.awaited && len(s.log.queue) < enough {
		wait = max(wait, s.log.free+gatherFor-s.moment)
	}
	if wait < gatherLeast {
		return 0
	}
	return wait
}

// maxBatch is in bytes, as maxBatch; smaller where little may be unread, so that no batch fills a
// client up alone.
func (s *server) maxBatch() int {
	return min(maxBatch, max(s.config.Limits.Unread/8, irc.MaxLine))
}

// launchSome sends a batch of the first n lines that wait, as far as it has room for them.
func (s *server) launchSome(n, size int) {
	s.log.number++
	now := time.Now()
	s.log.batch = hall.Batch{Server: s.config.Unique, Run: s.run, Number: s.log.number,
		Time: s.config.Now().UnixMilli()}
	// like the last one
	data := hall.AppendBatch(make([]byte, 0, s.log.bytes+s.log.bytes/4), s.log.batch)
	oldest := s.moment
	for k := range n {
		if len(data) >= size {
			n = k
			break
		}
		if i := &s.log.queue[k]; i.entry.Kind != 0 {
			data = hall.AppendEntry(data, i.entry)
			oldest = min(oldest, i.came)
			if i.conn != nil {
				i.conn.queued--
			}
		}
	}
	if s.log.spare == nil {
		s.log.spare = make([]item, 0, n)
	}
	s.log.flying = append(s.log.spare, s.log.queue[:n]...)
	s.log.queue, s.log.spare = without(s.log.queue, n), nil
	s.log.acked, s.log.applied, s.log.empty, s.log.since, s.log.bytes = false, false, false, now,
		len(data)
	s.log.awaited = len(s.log.queue) > 0
	s.appends <- data
	if f := s.config.Metrics.Gathered; f != nil {
		done := time.Since(s.start)
		f(done-oldest, done-max(oldest, s.log.free))
	}
}

// maxSpare bounds in items what is kept to be used again.
const maxSpare = 4096

// without removes the first n items, and keeps the room for others if it is not large.
func without(items []item, n int) []item {
	left := copy(items, items[n:])
	clear(items[left:])
	if left == 0 && cap(items) > maxSpare {
		return nil
	}
	return items[:left]
}

// onlyDone says whether all that waits was applied without the log already, so that
// nobody is in a hurry.
func (s *server) onlyDone() bool {
	for _, i := range s.log.queue {
		if !i.done {
			return false
		}
	}
	return !s.log.empty
}

// append is the goroutine that writes to the log, one batch after another. A batch of which nobody
// knows whether it was stored is tried until somebody does: readers know it by its number.
func (s *server) append(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case data := <-s.appends:
			sequence, err := s.store(ctx, data)
			s.results <- result{sequence, err}
		}
	}
}

// A result is how Append went.
type result struct {
	sequence uint64
	err      error
}

func (s *server) store(ctx context.Context, data []byte) (uint64, error) {
	for {
		err := s.config.Text.Ready()
		if err != nil {
			return 0, err
		}
		within, cancel := context.WithTimeout(ctx, appendTimeout)
		sequence, err := s.config.Log.Append(within, data)
		cancel()
		if err == nil || errors.Is(err, log.ErrRefused) || ctx.Err() != nil {
			return sequence, err
		}
		s.config.Logger.Warn("the log does not answer; trying again", "reason", err)
	}
}

// stored hears how Append went. A server that is alone need not wait until its own batch comes
// back: no other is before it.
func (s *server) stored(r result) {
	s.moment = time.Since(s.start)
	err := r.err
	if err == nil {
		s.log.acked = true
		if f := s.config.Metrics.Batches; f != nil {
			f(len(s.log.flying), s.log.bytes, time.Since(s.log.since))
		}
		if !s.config.Shared {
			s.apply(r.sequence)
		}
		s.landed()
		return
	}
	s.config.Logger.Warn("the log refuses a batch", "reason", err)
	if f := s.config.Metrics.Refused; f != nil {
		f(err)
	}
	if !s.begun && s.config.Shared {
		s.log.flying, s.log.empty, s.log.free = nil, true, s.moment
		return
	}
	if !s.begun { // the state says what the first batch would have done
		s.hall.Begin(hall.Batch{Server: s.config.Unique, Run: s.run, Number: s.log.number,
			Time: s.config.Now().UnixMilli()})
	}
	items := s.log.flying
	s.log.flying, s.log.failed, s.log.free = nil, time.Now(), s.moment
	s.refuse(items, plainReason(err))
}

// plainReason is the innermost cause: "no space left on device".
func plainReason(err error) string {
	var inner interface{ Unwrap() []error }
	if errors.As(err, &inner) {
		if causes := inner.Unwrap(); len(causes) > 0 {
			err = causes[len(causes)-1]
		}
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// refuse answers messages that the log has not taken. All else happens: at once where this server
// is alone, else when the log is there again, since others have a say in it.
func (s *server) refuse(items []item, why string) {
	var again []item
	for _, i := range items {
		switch {
		case i.entry.Kind == 0:
			s.complete(i)
		case i.entry.Kind == hall.Said && s.hall.Refuse(&i.conn.Client, &i.message, why):
			s.unpend(i.conn)
		case s.config.Shared:
			again = append(again, i)
		default:
			if !i.done {
				s.hall.Alone(s.config.Unique, s.run, s.config.Now().UnixMilli())
				s.hall.Apply(i.entry, &i.message, i.message.Tags["label"])
				s.hall.Lines()
				s.unpend(i.conn)
				i.done = true
			}
			if len(again) < maxAgain {
				again = append(again, i)
			}
		}
	}
	for _, i := range again {
		if i.conn != nil {
			i.conn.queued++
		}
	}
	s.log.queue = append(again, s.log.queue...)
}

// maxAgain bounds what is kept for the log while it cannot be written.
const maxAgain = 10000

// come applies a batch that the log has handed over.
func (s *server) come(a arrived) {
	if a.sequence != s.applied+1 {
		s.lost = fmt.Errorf("%w: it has %d after %d", errAway, a.sequence, s.applied)
		return
	}
	b, _, err := hall.ReadBatch(a.data)
	if err != nil || b.Server != s.config.Unique || b.Run != s.run || s.log.flying == nil ||
		b.Number != s.log.number || s.log.applied {
		if err := s.replay(a.sequence, a.data); err != nil {
			s.config.Logger.Error("a batch of the log could not be applied", "reason", err)
		}
		s.hall.Step()
		return
	}
	s.apply(a.sequence)
	s.landed()
}

// apply does what the batch that flies says, now that it is in the log.
func (s *server) apply(sequence uint64) {
	s.applied = sequence
	s.unsaved += s.log.bytes
	fresh := s.hall.Begin(s.log.batch)
	for n := range s.log.flying {
		i := &s.log.flying[n]
		switch {
		case i.entry.Kind == 0:
			s.complete(*i)
		case i.done:
		default:
			if fresh {
				s.hall.Apply(i.entry, said(i), i.message.Tags["label"])
			}
			s.unpend(i.conn)
		}
	}
	at, lines := s.hall.Lines()
	if err := s.config.Text.Write(at, lines); err != nil {
		s.config.Logger.Error("lines of the log wait to be written to the text", "reason", err)
	}
	s.hall.Step()
	s.log.applied = true
}

func said(i *item) *irc.Message {
	if i.entry.Kind == hall.Said {
		return &i.message
	}
	return nil
}

// landed makes room for the next batch once one is in the log and has come back.
func (s *server) landed() {
	if s.log.acked && s.log.applied {
		s.log.spare, s.log.flying = without(s.log.flying, len(s.log.flying)), nil
		s.log.free = s.moment
	}
}

// complete obeys an item that needs no log, whose turn has come; unless what the client has
// said before it has turned out to need the log, as all does that was said while it was
// still registering.
func (s *server) complete(i item) {
	if i.conn.queued > 0 {
		s.log.queue = append(s.log.queue, i)
		return
	}
	if i.end != nil {
		s.mark(i.conn)
		if e, ok := s.hall.Ended(&i.conn.Client, i.end.inOrder, i.end.why); ok {
			s.push(item{conn: i.conn, entry: e})
		}
	} else {
		s.do(i.conn, line{Message: i.message, fault: i.fault})
	}
	s.unpend(i.conn)
}

// mark writes to the log what a client has had, if it has said so since the last time.
func (s *server) mark(c *conn) {
	if e, ok := s.hall.Marked(&c.Client); ok {
		s.push(item{conn: c, entry: e})
	}
}

func (s *server) unpend(c *conn) {
	if c == nil {
		return
	}
	if c.pending--; c.pending == 0 {
		c.wake()
	}
}
