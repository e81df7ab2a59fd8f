package server

import (
	"context"
	"errors"
	"runtime"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
)

// tick is how often silent clients, marks and signs of life are looked after.
const tick = 500 * time.Millisecond

// deal owns the hall and all clients, and ends some time after ctx, when the clients have
// their last words.
func (s *server) deal(ctx context.Context, listeners []listener) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	s.log.empty = true // the first batch says that this server has nobody of before
	s.launch()
	stop := ctx.Done()
	var deadline <-chan time.Time
	for {
		var catching <-chan time.Time
		if behind := s.hall.Step(); s.log.held > 0 {
			catching = time.After(s.log.held)
		} else if behind > 0 || len(s.late) > 0 {
			// who is behind gets more, and who waits goes on, as soon as there is room
			catching = time.After(time.Millisecond)
		}
		s.flush()
		select {
		case e := <-s.events:
			s.hear(e)
			if s.log.flying == nil && len(s.log.queue) > 0 {
				runtime.Gosched() // readers that have something, too, say it before a batch goes
			}
			for range len(s.events) {
				s.hear(<-s.events)
			}
		case <-s.written:
		case a := <-s.batches:
			s.come(a)
			if s.lost != nil {
				return errors.Join(s.lost, s.close())
			}
		case r := <-s.results:
			s.stored(r)
		case now := <-ticker.C:
			s.look(now)
			s.saveSome(now)
			if s.hall.Lost(s.config.Unique, s.run) {
				return errors.Join(errLost, s.close())
			}
		case <-catching:
		case <-deadline:
			return s.close()
		case <-stop:
			stop = nil
			for _, d := range listeners {
				d.Close()
			}
			for _, c := range s.conns {
				s.mark(c)
			}
			deadline = time.After(lastBatches)
		}
		if !s.begun && s.log.flying == nil && stop != nil {
			s.begin(listeners)
		}
		s.moment = time.Since(s.start)
		s.launch()
		if stop == nil && s.log.flying == nil && len(s.log.queue) == 0 {
			return s.close()
		}
	}
}

// lastBatches is how long what was said before the end may take to come into the log.
const lastBatches = 700 * time.Millisecond

// hear takes one event.
func (s *server) hear(e event) {
	s.moment = time.Since(s.start)
	c := e.conn
	switch {
	case e.arrives:
		s.arrive(c)
	case e.do != nil:
		if entry, ok := e.do(); ok {
			s.push(item{conn: c, entry: entry})
		}
	case e.end:
		why := "Connection reset"
		if e.inOrder {
			why = "Connection closed"
		}
		s.end(c, e.inOrder, why)
		delete(s.conns, c.ID)
		if f := s.config.Metrics.Disconnected; f != nil {
			f()
		}
	default:
		c.heard, c.probed = time.Now(), false
		if f := s.config.Metrics.Lines; f != nil {
			f(len(e.lines))
		}
		if f := s.config.Say; f != nil {
			c.wait = f(c.net.RemoteAddr(), c.Account(), len(e.lines))
		}
		c.reading = true
		for i := range e.lines {
			s.obey(c, e.lines[i])
		}
		if c.pending == 0 {
			c.wake()
		}
	}
}

func (s *server) arrive(c *conn) {
	s.next++
	c.ID = s.next
	c.began = time.Now()
	c.heard = c.began
	s.conns[c.ID] = c
	s.hall.Connect(&c.Client, c)
	if f := s.config.Metrics.Connected; f != nil {
		f()
	}
	if n := s.config.Limits.Clients; n > 0 && len(s.conns) > n {
		s.end(c, false, "This server is full")
	}
}

// end takes a client out: after what it has said, if that is still on its way.
func (s *server) end(c *conn, inOrder bool, why string) {
	if c.ending {
		return
	}
	c.ending = true
	if f := s.config.Metrics.Cut; f != nil && !inOrder {
		f(why)
	}
	s.push(item{conn: c, end: &ending{inOrder, why}})
}

// obey takes one line of a client. Behind lines that are on their way to the log it waits.
func (s *server) obey(c *conn, l line) {
	switch {
	case c.ending:
	case l.fault == fine && s.hall.Logged(&c.Client, &l.Message):
		if s.log.flying != nil && time.Since(s.log.since) > doubtAfter &&
			s.hall.Refuse(&c.Client, &l.Message, "the log does not answer") {
			return
		}
		s.push(item{conn: c, message: l.Message, entry: hall.Entry{Client: c.ID, Kind: hall.Said,
			Data: text(&l.Message)}})
	case c.pending > 0:
		s.push(item{conn: c, message: l.Message, fault: l.fault})
	default:
		s.do(c, l)
	}
}

// do obeys a line that needs no log.
func (s *server) do(c *conn, l line) {
	switch l.fault {
	case tooLong:
		s.hall.TooLong(&c.Client)
	case hasNUL:
		s.end(c, true, "A line with NUL in it")
	default:
		if s.hall.Logged(&c.Client, &l.Message) { // it has registered since the line came
			s.push(item{conn: c, message: l.Message, entry: hall.Entry{Client: c.ID,
				Kind: hall.Said, Data: text(&l.Message)}})
			return
		}
		if e, ok := s.hall.Line(&c.Client, &l.Message); ok {
			c.ending = c.ending || e.Kind == hall.End
			s.push(item{conn: c, entry: e})
		}
	}
}

// text is a message as it goes into the log: without its source, and with the client's
// own tags only.
func text(m *irc.Message) []byte {
	own := *m
	own.Source, own.Tags = "", nil
	for k, v := range m.Tags {
		if k[0] == '+' {
			if own.Tags == nil {
				own.Tags = map[string]string{}
			}
			own.Tags[k] = v
		}
	}
	return own.Append(nil)
}

// The state is saved after so many batches or bytes, and not more often than so, and after
// saveLate if anything has happened: so a start has little to read, and the stream may forget what
// is older. The text is synced as often as state is looked after: it is mended from the stream
// where that was too late.
const (
	saveBatches = 20000
	saveBytes   = 64 << 20
	saveEvery   = time.Minute
	saveFull    = 5 * time.Second // where it is the bytes that are too many
	saveLate    = time.Hour
	syncEvery   = time.Second
)

// keepFor is how long the stream keeps what a state that was saved stands for: another server of
// the cluster that loses its way to the log for less has what it needs. One that is alone needs
// none of it, but a backup that is being made may: of that the last state's is kept.
const keepFor = time.Hour

// A saving is a state that was saved.
type saving struct {
	sequence uint64
	at       time.Time
}

// keep syncs the text, saves the state and gives memory back, beside the goroutine
// that owns the hall.
func (s *server) keep(ctx context.Context) {
	ticker := time.NewTicker(syncEvery)
	defer ticker.Stop()
	var rest burstCollector
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			err = s.config.Text.Sync()
			rest.afterBurst()
		case state := <-s.states:
			err = s.write(state.sequence, state.data)
		}
		if err != nil {
			s.config.Logger.Error("the state could not be kept", "reason", err)
		}
	}
}

// saveSome hands the state to keep, if it has changed a lot and the last one is written.
func (s *server) saveSome(now time.Time) {
	n, since := s.applied-s.saved, now.Sub(s.savedAt)
	if (n < saveBatches || since < saveEvery) && (s.unsaved < saveBytes || since < saveFull) &&
		(n == 0 || since < saveLate) {
		return
	}
	data, err := s.hall.Save()
	if err != nil {
		s.config.Logger.Error("the state could not be written", "reason", err)
		return
	}
	select {
	case s.states <- arrived{s.applied, data}:
		s.saved, s.savedAt, s.unsaved = s.applied, now, 0
	default:
	}
}

// signOfLife is how often a server that shares the log says something, and lostAfter how long one
// may say nothing until the others take its clients for gone: a node of NATS that dies may take
// some seconds to be replaced. Both are guesses.
const (
	signOfLife = 5 * time.Second
	lostAfter  = 20 * time.Second
)

// errLost ends a server whose clients the others have taken for gone, after a time without a
// way to the log.
var errLost = errors.New("the other servers have given this one up: start it again")

// errAway ends a server that was without a way to the log for longer than that keeps batches.
// Started again, it begins with the state that others have saved.
var errAway = errors.New("the log no longer has what this server missed: start it again")

// look is what is done now and then.
func (s *server) look(now time.Time) {
	limits := s.config.Limits
	if s.config.Shared && s.begun && s.log.flying == nil && now.Sub(s.log.since) > signOfLife {
		s.log.empty = true
		for _, e := range s.hall.Silent(lostAfter) {
			s.push(item{entry: e})
		}
	}
	for _, c := range s.conns {
		silent := now.Sub(c.heard)
		switch {
		case c.ending:
			continue
		case !c.Registered():
			if now.Sub(c.began) > limits.Register {
				s.end(c, false, "You have not registered in time")
			}
		case silent > limits.Silent+limits.Answer:
			s.end(c, false, "Ping timeout")
		case silent > limits.Silent && !c.probed:
			c.probed = true
			c.Write([]byte("PING :" + s.config.Name + "\r\n"))
		}
		s.hall.Ask(&c.Client)
		s.mark(c)
	}
}

// flush hands everything that was said to the writers. Who has not read for too long is ended.
func (s *server) flush() {
	for i := 0; i < len(s.dirty); i++ {
		c := s.dirty[i]
		waiting, ok := c.flush(s.config.Limits.Unread)
		if !ok {
			s.end(c, false, "Too slow")
			continue
		}
		s.watch(c, waiting)
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
	if f := s.config.Metrics.Deliveries; f != nil && s.delivered > 0 {
		f(s.delivered)
	}
	s.delivered = 0
}

// close gives all clients their last words.
func (s *server) close() error {
	for _, c := range s.conns {
		s.hall.Farewell(&c.Client, "The server stops")
	}
	s.flush()
	written := make(chan struct{})
	go func() { s.writers.Wait(); close(written) }()
	late := time.After(lastWords)
	for open := true; open; {
		select {
		case e := <-s.events:
			s.ignore(e)
		case <-written:
			open = false
		case <-late:
			open = false
		}
	}
	for _, c := range s.conns {
		c.net.Close()
	}
	gone := make(chan struct{})
	go func() { s.readers.Wait(); close(gone) }()
	for {
		select {
		case e := <-s.events:
			s.ignore(e)
		case <-gone:
			return nil
		case <-time.After(lastWords):
			return nil
		}
	}
}

// ignore lets a reader that still has something to say come to its end.
func (s *server) ignore(e event) {
	switch {
	case e.arrives:
		e.conn.net.Close()
	case len(e.lines) > 0:
		e.conn.resume <- struct{}{}
	}
}

// save writes the state, of which the text must be on the disk first.
func (s *server) save() error {
	if s.hall == nil || s.applied == s.saved {
		return nil
	}
	state, err := s.hall.Save()
	if err != nil {
		return err
	}
	s.saved = s.applied
	return s.write(s.applied, state)
}

// write saves a state, and has the stream forget what is older than those before it.
func (s *server) write(sequence uint64, state []byte) error {
	if err := s.config.Text.Sync(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), appendTimeout)
	defer cancel()
	if err := s.config.Log.SaveState(ctx, sequence, state); err != nil {
		return err
	}
	now := time.Now()
	old := 0
	for old < len(s.savings) && (!s.config.Shared || now.Sub(s.savings[old].at) > keepFor) {
		old++
	}
	var err error
	if old > 0 {
		if last := s.savings[old-1].sequence; last > 0 {
			err = s.config.Log.Forget(ctx, last)
		}
		s.savings = s.savings[old:]
	}
	s.savings = append(s.savings, saving{sequence, now})
	return err
}
