package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/log"
)

// maxBatch is in bytes of entries. A larger batch saves nothing more, and its lines need room in
// the send queue of every client that gets them.
const maxBatch = 128 << 10

// appendTimeout is how long an append may take before it is tried again. doubtAfter is how long an
// append may take before new messages are refused, in ticks of deal: a server that itself stood
// still has seen one. All are guesses.
const (
	appendTimeout = 5 * time.Second
	doubtAfter    = int(3 * time.Second / tick)
)

// outbox is what is on its way to the log: one batch in flight, and the lines that wait for the
// next. A line that the log does not need waits here, too, behind other lines of its client, so
// that the answers come in order.
type outbox struct {
	queue    []item
	inFlight []item
	spare    []item // empty: memory for the next batch
	number   uint64 // of the batch that is or was last in flight
	batch    hall.Batch
	bytes    int
	since    time.Time
	ticks    int  // since then, while it is in flight
	acked    bool // the log has stored it
	applied  bool // the hall has applied it
	empty    bool // send a batch without entries: a heartbeat
	failed   time.Time
	delay    time.Duration // how long the next batch still waits for more lines
	// One of the waiting lines comes from a client that waits for an answer.
	awaited   bool
	doneAt    time.Duration // when the last batch was done
	retryAt   time.Duration // when lines that wait for slow clients are tried again
	newcomers int           // see newcomer.go
	late      []item        // empty: memory for newcomersLast
}

// An item is a line. If it has an entry it is for the log, otherwise it is obeyed in its turn.
type item struct {
	conn    *conn
	message irc.Message
	fault   fault
	entry   hall.Entry
	end     *ending
	came    time.Duration
	done    bool // applied already, without the log; it is written for later starts
}

// ending is the end of a connection. It waits its turn as lines do.
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
	s.noteNewcomer(&i)
	i.came = s.now
	s.log.awaited = s.log.awaited || i.conn == nil || i.entry.Kind != hall.Said ||
		s.hall.Awaited(&i.conn.Client, &i.message)
	s.log.queue = append(s.log.queue, i)
}

// sendBatch sends the next batch to the log if none is in flight. Before that it obeys the lines at
// the head of the queue that the log does not need. A batch has all lines that have come while the
// last one was in flight, and while its lines were written to clients.
func (s *server) sendBatch() {
	for s.log.inFlight == nil {
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
	if s.log.inFlight != nil || len(s.log.queue) == 0 && !s.log.empty || s.log.queue != nil &&
		s.onlyDone() && time.Since(s.log.failed) < time.Second {
		return
	}
	s.newcomersLast()
	if s.log.delay = s.batchDelay(); s.log.delay > 0 {
		return
	}
	if len(s.slow) == 0 {
		s.sendItems(len(s.log.queue), s.maxBatch())
	} else if n, size := s.admitLines(); n > 0 || s.log.empty {
		s.sendItems(n, size)
	}
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
)

// batchDelay returns how long the next batch should still wait for more lines. Lines of clients
// that wait for an answer are not delayed by clients that only talk.
func (s *server) batchDelay() (wait time.Duration) {
	if len(s.log.queue) == 0 {
		return 0
	}
	if s.unwritten.Load() > 0 {
		wait = s.log.queue[0].came + maxDelay - s.now
	}
	if !s.log.awaited && len(s.log.queue) < enough {
		wait = max(wait, s.log.doneAt+maxDelay-s.now)
	}
	if wait < minDelay {
		return 0
	}
	return wait
}

// maxBatch returns the size limit of a batch in bytes. It is smaller than the constant if the limit
// of unread bytes is low, so that one batch cannot fill a send queue.
func (s *server) maxBatch() int {
	return min(maxBatch, max(s.config.Limits.Unread/8, irc.MaxLine))
}

// sendItems sends a batch of the first n items, or of as many as fit into size bytes.
func (s *server) sendItems(n, size int) {
	s.log.number++
	now := time.Now()
	s.log.batch = hall.Batch{Server: s.config.Unique, Run: s.run, Number: s.log.number,
		Time: s.config.Now().UnixMilli()}
	// as large as the last batch, and a quarter more
	data := hall.AppendBatch(make([]byte, 0, s.log.bytes+s.log.bytes/4), s.log.batch)
	oldest, logins := s.now, 0
	for k := range n {
		i := &s.log.queue[k]
		if i.entry.Kind == hall.Enter {
			logins++
		}
		if len(data) >= size || logins > loginsAtOnce {
			n = k
			break
		}
		if i.entry.Kind != 0 {
			data = hall.AppendEntry(data, i.entry)
			oldest = min(oldest, i.came)
			if i.conn != nil {
				i.conn.queued--
			}
		}
		s.admitNewcomer(i)
	}
	if s.log.spare == nil {
		s.log.spare = make([]item, 0, n)
	}
	s.log.inFlight = append(s.log.spare, s.log.queue[:n]...)
	s.log.queue, s.log.spare = without(s.log.queue, n), nil
	s.log.acked, s.log.applied, s.log.empty = false, false, false
	s.log.since, s.log.ticks, s.log.bytes = now, 0, len(data)
	s.log.awaited = len(s.log.queue) > 0
	s.appends <- data
	if f := s.config.Metrics.Gathered; f != nil {
		done := time.Since(s.start)
		f(done-oldest, done-max(oldest, s.log.doneAt))
	}
}

// maxSpare bounds, in items, the memory that is kept for the next batch.
const maxSpare = 4096

// without removes the first n items. It keeps the memory unless it is large.
func without(items []item, n int) []item {
	left := copy(items, items[n:])
	clear(items[left:])
	if left == 0 && cap(items) > maxSpare {
		return nil
	}
	return items[:left]
}

// onlyDone says whether every waiting item was applied already, so that the batch is not urgent.
func (s *server) onlyDone() bool {
	for _, i := range s.log.queue {
		if !i.done {
			return false
		}
	}
	return !s.log.empty
}

// append is the goroutine that writes to the log, one batch after another. After an error it does
// not know whether the batch was stored, and tries again. Readers tell a repeated batch by its
// number.
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

// A result is the outcome of an append.
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
		within, cancel := log.WithRunningTime(ctx, appendTimeout)
		sequence, err := s.config.Log.Append(within, data)
		cancel()
		if err == nil || errors.Is(err, log.ErrRefused) || ctx.Err() != nil {
			return sequence, err
		}
		s.config.Logger.Warn("the log does not answer; trying again", "reason", err)
	}
}

// stored takes the outcome of an append. A single server applies its batch at once, since no other
// server's batch can be before it.
func (s *server) stored(r result) {
	s.now = time.Since(s.start)
	err := r.err
	if err == nil {
		s.log.acked = true
		if f := s.config.Metrics.Batches; f != nil {
			f(len(s.log.inFlight), s.log.bytes, time.Since(s.log.since))
		}
		if !s.config.Shared {
			s.apply(r.sequence)
		}
		s.batchDone()
		return
	}
	s.config.Logger.Error("the log refuses a batch", "reason", err)
	if f := s.config.Metrics.Refused; f != nil {
		f(err)
	}
	if !s.begun && s.config.Shared {
		s.log.inFlight, s.log.empty, s.log.doneAt = nil, true, s.now
		return
	}
	if !s.begun { // the state contains what the first batch would have done
		s.hall.Begin(hall.Batch{Server: s.config.Unique, Run: s.run, Number: s.log.number,
			Time: s.config.Now().UnixMilli()})
	}
	items := s.log.inFlight
	s.log.inFlight, s.log.failed, s.log.doneAt = nil, time.Now(), s.now
	s.refuse(items, plainReason(err))
}

// plainReason returns the innermost cause: "no space left on device".
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

// refuse answers the items that the log has refused, except those that say who is here. These still
// take effect: at once on a single server, and when the log works again in a cluster, where the
// order is shared. There, orders wait, too.
func (s *server) refuse(items []item, why string) {
	var again []item
	for _, i := range items {
		switch {
		case i.entry.Kind == 0:
			s.complete(i)
		case i.conn != nil && s.hall.Refuse(&i.conn.Client, i.entry, &i.message, why):
			s.unpend(i.conn)
		case s.config.Shared:
			again = append(again, i)
		case i.entry.Kind == hall.Order && !hall.Passes(i.entry):
			s.config.Admin.answer(i.entry.Client, fmt.Errorf("%w: %s", log.ErrRefused, why))
		default:
			if !i.done {
				s.hall.Alone(s.config.Unique, s.run, s.config.Now().UnixMilli())
				s.hall.Apply(i.entry, said(&i), i.label())
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

// maxAgain bounds, in items, what is kept until the log can be written again.
const maxAgain = 10000

// receive applies a batch that has come from the log.
func (s *server) receive(a arrived) {
	if a.sequence != s.applied+1 {
		s.lost = fmt.Errorf("%w: it has %d after %d", errAway, a.sequence, s.applied)
		return
	}
	b, _, err := hall.ReadBatch(a.data)
	if err != nil || b.Server != s.config.Unique || b.Run != s.run || s.log.inFlight == nil ||
		b.Number != s.log.number || s.log.applied {
		if err := s.replay(a.sequence, a.data); errors.Is(err, hall.ErrNewer) {
			s.lost = err
			return
		} else if err != nil {
			s.config.Logger.Error("a batch of the log could not be applied", "reason", err)
		}
		s.hall.Step()
		return
	}
	s.apply(a.sequence)
	s.batchDone()
}

// apply applies the entries of the batch in flight, which the log has stored.
func (s *server) apply(sequence uint64) {
	s.applied = sequence
	s.unsaved += s.log.bytes
	fresh := s.hall.Begin(s.log.batch)
	for n := range s.log.inFlight {
		i := &s.log.inFlight[n]
		switch {
		case i.entry.Kind == 0:
			s.complete(*i)
		case i.done:
		default:
			if fresh {
				s.hall.Apply(i.entry, said(i), i.label())
			}
			if i.entry.Kind == hall.Enter {
				s.rush.now++
			}
			s.unpend(i.conn)
		}
	}
	if err := s.writeText(); err != nil {
		s.config.Logger.Error("lines of the log wait to be written to the text", "reason", err)
	}
	s.erase(s.hall.Removed())
	s.hall.Step()
	s.log.applied = true
}

// erase removes messages from the text that users have removed. Config.Erased and PreviewErased
// come first: after a crash in between, the text still has what they need.
func (s *server) erase(spans []hall.Span) {
	for _, p := range spans {
		if s.config.Erased != nil {
			if who, text := s.hall.SaidAt(p.At); who != "" {
				s.config.Erased(who, text)
			}
		}
		if f := s.config.PreviewErased; f != nil {
			if preview := s.hall.PreviewAt(p.At); preview != "" {
				f(preview)
			}
		}
		if err := s.config.Text.Erase(p.At, p.Size); err != nil {
			s.config.Logger.Error("a message waits to be removed from the text", "reason", err)
		}
		s.config.Index.Removed(p.At)
	}
}

// label returns the label of the line that has caused the item.
func (i *item) label() string { return cmp.Or(i.entry.Label, i.message.Tags["label"]) }

func said(i *item) *irc.Message {
	if i.entry.Kind == hall.Said {
		return &i.message
	}
	return nil
}

// batchDone makes room for the next batch when the last one is stored and applied.
func (s *server) batchDone() {
	if s.log.acked && s.log.applied {
		s.log.spare, s.log.inFlight = without(s.log.inFlight, len(s.log.inFlight)), nil
		s.log.doneAt = s.now
	}
}

// complete obeys an item whose turn has come and which needs no log. It queues the item again if
// earlier lines of the same client have turned out to need the log. This happens to lines that were
// sent before the client was registered.
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

// mark logs how far a client has read, if that has changed.
func (s *server) mark(c *conn) {
	if e, ok := s.hall.Marked(&c.Client); ok {
		s.push(item{conn: c, entry: e})
	}
}

func (s *server) unpend(c *conn) {
	if c == nil {
		return
	}
	c.pending--
	s.goOn(c)
}
