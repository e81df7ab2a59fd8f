package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"interleave/papaya/batch"
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

// An item is a line on its way to the log, or one that waits behind such lines of its client, so
// that the answers come in order. Package batch decides when its turn comes.
type item = batch.Line[words]

// words are what an item is made of.
type words struct {
	conn    *conn // nil: the server itself
	message irc.Message
	fault   fault
	end     *ending
}

// ending is the end of a connection. It waits its turn as lines do.
type ending struct {
	inOrder bool
	why     string
}

// push adds an item to those that wait. It is for the log if the entry has a Kind; otherwise it is
// obeyed in its turn.
func (s *server) push(w words, e hall.Entry) {
	i := item{Entry: e, What: w}
	switch c := w.conn; {
	case c == nil:
		i.Awaited = true
	case e.Kind == 0:
		i.From, i.Awaited = &c.queue, true
		i.MayLog = w.end != nil || s.hall.MayLog(&c.Client, &w.message)
	default:
		i.From = &c.queue
		i.Awaited = e.Kind != hall.Said || s.hall.Awaited(&c.Client, &w.message)
	}
	s.log.Push(s.now, i)
}

// pushSaid adds a line that others see.
func (s *server) pushSaid(c *conn, m *irc.Message) {
	s.push(words{conn: c, message: *m},
		hall.Entry{Client: c.ID, Kind: hall.Said, Data: text(m)})
}

// sendBatch obeys the items whose turn has come, and sends the next batch to the log if it is due.
func (s *server) sendBatch() {
	at := batch.Conditions[words]{Now: s.now, Clock: s.config.Now().UnixMilli(),
		Writing: s.unwritten.Load() > 0, MaxBytes: s.maxBatch()}
	if len(s.slow) > 0 {
		at.Slow = s.slowTargets
	}
	for {
		step := s.log.Next(at)
		s.delay = step.Wait
		switch step.Do {
		case batch.Wait:
			return
		case batch.Obey:
			s.complete(&step.Line)
		case batch.Send:
			s.appends <- step.Data
			if f := s.config.Metrics.Gathered; f != nil {
				done := time.Since(s.start)
				f(done-step.Oldest, done-step.Since)
			}
			return
		}
	}
}

// maxBatch returns the size limit of a batch in bytes. It is smaller than the constant if the limit
// of unread bytes is low, so that one batch cannot fill a send queue.
func (s *server) maxBatch() int {
	return min(maxBatch, max(s.config.Limits.Unread/8, irc.MaxLine))
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

// store appends a batch. After a try without an answer the batch may be in the log, so that no
// later refusal is one of the batch: it is tried until the log has taken it.
func (s *server) store(ctx context.Context, data []byte) (uint64, error) {
	if err := s.config.Text.Ready(); err != nil {
		return 0, err
	}
	for doubt := false; ; doubt = true {
		within, cancel := log.WithRunningTime(ctx, appendTimeout)
		sequence, err := s.config.Log.Append(within, data)
		cancel()
		if err == nil || errors.Is(err, log.ErrRefused) && !doubt || ctx.Err() != nil {
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
		if f := s.config.Metrics.Batches; f != nil {
			f(len(s.log.Flight()), s.log.Bytes(), s.now-s.log.SentAt())
		}
		if s.log.Stored(s.now) && !s.config.Shared {
			s.apply(r.sequence)
		}
		return
	}
	s.config.Logger.Error("the log refuses a batch", "reason", err)
	if f := s.config.Metrics.Refused; f != nil {
		f(err)
	}
	items := s.log.Refused(s.now)
	if !s.begun && s.config.Shared {
		s.log.Repeat(s.now)
		return
	}
	if !s.begun { // the state contains what the first batch would have done
		now := s.log.Head()
		now.Time = s.config.Now().UnixMilli()
		s.hall.Begin(now)
	}
	s.refuse(items, plainReason(err))
	s.log.Resume(s.now)
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
	for n := range items {
		i := &items[n]
		c := i.What.conn
		switch {
		case i.Entry.Kind == 0:
			s.complete(i)
		case c != nil && s.hall.Refuse(&c.Client, i.Entry, &i.What.message, why):
			s.finish(c)
		case s.config.Shared:
			s.log.Again(*i)
		case i.Entry.Kind == hall.Order && !hall.Passes(i.Entry):
			s.config.Admin.answer(i.Entry.Client, fmt.Errorf("%w: %s", log.ErrRefused, why))
		default:
			if !i.Done {
				s.hall.Alone(s.config.Unique, s.run, s.config.Now().UnixMilli())
				s.hall.Apply(i.Entry, said(i), label(i))
				s.hall.Lines()
				s.finish(c)
				i.Done = true
			}
			s.log.Again(*i)
		}
	}
}

// receive applies a batch that has come from the log.
func (s *server) receive(a arrived) {
	if a.sequence != s.applied+1 {
		s.lost = fmt.Errorf("%w: it has %d after %d", errAway, a.sequence, s.applied)
		return
	}
	b, _, err := hall.ReadBatch(a.data)
	if err != nil || !s.log.Mine(b) {
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
}

// apply applies the entries of the batch in flight, which the log has stored.
func (s *server) apply(sequence uint64) {
	s.applied = sequence
	s.unsaved += s.log.Bytes()
	s.unread++
	fresh := s.hall.Begin(s.log.Head())
	items := s.log.Flight()
	for n := range items {
		i := &items[n]
		switch {
		case i.Entry.Kind == 0:
			s.complete(i)
		case i.Done:
		default:
			if fresh {
				s.hall.Apply(i.Entry, said(i), label(i))
			}
			if i.Entry.Kind == hall.Enter {
				s.rush.now++
			}
			s.finish(i.What.conn)
		}
	}
	if err := s.writeText(); err != nil {
		s.config.Logger.Error("lines of the log wait to be written to the text", "reason", err)
	}
	s.erase(s.hall.Removed())
	s.hall.Step()
	s.log.Applied(s.now)
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
func label(i *item) string { return cmp.Or(i.Entry.Label, i.What.message.Tags["label"]) }

func said(i *item) *irc.Message {
	if i.Entry.Kind == hall.Said {
		return &i.What.message
	}
	return nil
}

// complete obeys an item whose turn has come and which needs no log.
func (s *server) complete(i *item) {
	if !s.log.Turn(i) {
		return
	}
	c := i.What.conn
	if end := i.What.end; end != nil {
		s.mark(c)
		if e, ok := s.hall.Ended(&c.Client, end.inOrder, end.why); ok {
			s.push(words{conn: c}, e)
		}
	} else {
		s.do(c, line{Message: i.What.message, fault: i.What.fault})
	}
	s.finish(c)
}

// mark logs how far a client has read, if that has changed.
func (s *server) mark(c *conn) {
	if e, ok := s.hall.Marked(&c.Client); ok {
		s.push(words{conn: c}, e)
	}
}

// finish notes that an item is done. c is nil for one of the server itself.
func (s *server) finish(c *conn) {
	if c == nil {
		s.log.Finish(nil)
		return
	}
	s.log.Finish(&c.queue)
	s.goOn(c)
}
