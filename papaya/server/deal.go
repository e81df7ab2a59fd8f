package server

import (
	"context"
	"errors"
	"runtime"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/log"
)

// tick is the period of the checks for silent clients, marks and heartbeats.
const tick = 500 * time.Millisecond

// deal owns the hall and all clients. It ends after ctx has ended and the clients have been sent
// their last lines.
func (s *server) deal(ctx context.Context, listeners []listener) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	s.log.Beat() // the first batch says that all clients of earlier runs are gone
	s.sendBatch()
	stop := ctx.Done()
	var deadline <-chan struct{}
	told := s.applied
	for {
		if s.applied != told && s.config.Admin != nil {
			told = s.applied
			s.config.Admin.tell()
		}
		var catching <-chan time.Time
		if behind := s.hall.Step(); s.delay > 0 {
			catching = time.After(s.delay)
		} else if behind > 0 || len(s.slow) > 0 {
			// Clients that are behind get more, and lines that wait go on, as soon as there is
			// room.
			catching = time.After(time.Millisecond)
		}
		s.flush()
		select {
		case e := <-s.events:
			s.handle(e)
			if !s.log.InFlight() && s.log.Queued() > 0 {
				runtime.Gosched() // other readers may submit lines for the same batch
			}
			for range len(s.events) {
				s.handle(<-s.events)
			}
		case <-s.written:
		case a := <-s.batches:
			s.receive(a)
			if s.lost != nil {
				return errors.Join(s.lost, s.close())
			}
		case r := <-s.results:
			s.stored(r)
		case now := <-ticker.C:
			s.log.Tick()
			s.tickRush()
			s.checkClients(now)
			s.checkTokens(now)
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
			late, cancel := log.WithRunningTime(context.Background(), drainTimeout)
			defer cancel()
			deadline = late.Done()
		}
		if !s.begun && !s.log.InFlight() && stop != nil {
			s.begin(listeners)
		}
		s.now = time.Since(s.start)
		s.followBans()
		s.sendBatch()
		if stop == nil && s.log.Drained() {
			return s.close()
		}
	}
}

// drainTimeout bounds how long the server waits at its end for batches to be stored.
const drainTimeout = 700 * time.Millisecond

// handle works on one event.
func (s *server) handle(e event) {
	s.now = time.Since(s.start)
	c := e.conn
	switch {
	case e.arrives:
		s.arrive(c)
	case e.do != nil:
		if entry, ok := e.do(); ok {
			s.push(words{conn: c}, entry)
		}
		if c != nil {
			s.release(c)
		}
	case e.end:
		why := "Connection reset"
		if e.inOrder {
			why = "Connection closed"
		}
		s.end(c, e.inOrder, why)
		c.abandonLogin()
		delete(s.conns, c.ID)
		if f := s.config.Metrics.Disconnected; f != nil {
			f()
		}
	default:
		c.heard, c.askedAt = time.Now(), 0
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
		s.goOn(c)
	}
}

// goOn lets a client's reader go on when its lines are done.
func (s *server) goOn(c *conn) {
	if !c.queue.Pending() && !c.Busy() {
		c.wake()
	}
}

// release obeys the lines that have waited while a login was checked or a history read, so that a
// client gets its answers in the order of its lines. Its reader waits meanwhile, so that its end
// does not come before them.
func (s *server) release(c *conn) {
	for len(c.held) > 0 && !c.Busy() {
		l := c.held[0]
		c.held = c.held[1:]
		s.admit(c, l)
	}
	if len(c.held) == 0 {
		c.held = nil
	}
	s.goOn(c)
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
	if s.hall.TurnsAway(&c.Client, s.config.Now().UnixMilli()) {
		c.ending = true
		return
	}
	if n := s.config.Limits.Clients; n > 0 && len(s.conns) > n {
		s.end(c, false, "This server is full")
	}
}

// end disconnects a client, after its lines that are still in the outbox.
func (s *server) end(c *conn, inOrder bool, why string) {
	if c.ending {
		return
	}
	c.ending = true
	if f := s.config.Metrics.Cut; f != nil && !inOrder {
		f(why)
	}
	s.push(words{conn: c, end: &ending{inOrder, why}}, hall.Entry{})
}

// obey takes one line of a client. The line waits behind lines of the same client that are in the
// outbox.
func (s *server) obey(c *conn, l line) {
	if c.ending || c.left {
		return
	}
	c.left = l.fault == hasNUL || l.Command == "QUIT"
	s.admit(c, l)
}

// admit brings a line to the log, or behind those that wait, or does it.
func (s *server) admit(c *conn, l line) {
	switch {
	case c.ending:
	case c.Busy():
		c.held = append(c.held, l)
	case l.fault == fine && s.hall.Logged(&c.Client, &l.Message):
		if !s.doubted(c, hall.Entry{Kind: hall.Said}, &l.Message) {
			s.pushSaid(c, &l.Message)
		}
	case c.queue.Pending():
		s.push(words{conn: c, message: l.Message, fault: l.fault}, hall.Entry{})
	default:
		s.do(c, l)
	}
}

// doubted says whether an entry was refused because the log has not answered for so long.
func (s *server) doubted(c *conn, e hall.Entry, m *irc.Message) bool {
	return s.log.Doubted() && s.hall.Refuse(&c.Client, e, m, "the log does not answer")
}

// do obeys a line that the log does not need.
func (s *server) do(c *conn, l line) {
	if c.Busy() {
		c.held = append(c.held, l)
		return
	}
	switch l.fault {
	case tooLong:
		s.hall.TooLong(&c.Client, l.Tags["label"])
	case notUTF8:
		s.hall.NotUTF8(&c.Client, l.Command, l.Tags["label"])
	case hasNUL:
		s.end(c, true, "A line with NUL in it")
	default:
		// the client has registered since it sent the line
		if s.hall.Logged(&c.Client, &l.Message) {
			s.pushSaid(c, &l.Message)
			return
		}
		if e, ok := s.hall.Line(&c.Client, &l.Message); ok {
			c.ending = c.ending || e.Kind == hall.End
			if !s.doubted(c, e, &irc.Message{}) {
				s.push(words{conn: c}, e)
			}
		}
	}
}

// text returns a message as it is logged: without its source, and with the client's own tags only.
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

// heartbeat is how often a server that shares the log writes an empty batch. lostAfter is how long
// a server may write nothing before the others disconnect its clients: a failing node of NATS may
// take some seconds to be replaced. Both are guesses.
const (
	heartbeat = 5 * time.Second
	lostAfter = 20 * time.Second
)

// errLost ends a server that could not write to the log for so long that the others have
// disconnected its clients.
var errLost = errors.New("the other servers have given this one up: start it again")

// errAway ends a server that could not read the log for longer than retainFor. After a restart it
// begins with a state that the others have saved.
var errAway = errors.New("the log no longer has what this server missed: start it again")

// checkClients does what is due once in tick: heartbeats, PINGs, timeouts and marks.
func (s *server) checkClients(now time.Time) {
	limits := s.config.Limits
	s.hall.Tick(s.config.Now().UnixMilli())
	s.bars.reports.Store(int64(s.hall.OpenReports()))
	if s.config.Shared && s.begun && !s.log.InFlight() &&
		now.Sub(s.start)-s.log.SentAt() > heartbeat {
		s.log.Beat()
		for _, e := range s.hall.Silent(lostAfter) {
			s.push(words{}, e)
		}
	}
	for _, c := range s.conns {
		switch {
		case c.ending:
			continue
		case !c.Registered():
			if now.Sub(c.began) > limits.Register {
				s.end(c, false, "You have not registered in time")
			}
		case c.askedAt > 0:
			if now.Sub(s.start)-c.askedAt >= limits.Answer {
				s.end(c, false, "Ping timeout")
			}
		case now.Sub(c.heard) > limits.Silent:
			c.askedAt = now.Sub(s.start)
			c.Write([]byte("PING :" + s.config.Name + "\r\n"))
		}
		s.confirm(c, now)
		s.mark(c)
	}
}

// confirm asks a client by PING whether the messages that it was sent have arrived, when the first
// of them is Limits.Confirm old. They count from the tick before this one on.
func (s *server) confirm(c *conn, now time.Time) {
	if !s.hall.Owes(&c.Client) {
		c.owesSince = 0
		return
	}
	since := now.Sub(s.start)
	if c.owesSince == 0 {
		c.owesSince = max(since-tick, 1)
	}
	if since-c.owesSince >= s.config.Limits.Confirm {
		s.hall.Ask(&c.Client)
		c.owesSince = 0
	}
}

// flush hands all staged lines to the writers. A client that has read too little for too long is
// disconnected.
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

// close sends all clients their last lines and closes the connections.
func (s *server) close() error {
	for _, c := range s.conns {
		s.hall.Disconnect(&c.Client, "The server stops")
	}
	s.flush()
	written := make(chan struct{})
	go func() { s.writers.Wait(); close(written) }()
	late, cancel := log.WithRunningTime(context.Background(), closeTimeout)
	defer cancel()
	for open := true; open; {
		select {
		case e := <-s.events:
			s.ignore(e)
		case <-written:
			open = false
		case <-late.Done():
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
		case <-time.After(closeTimeout):
			return nil
		}
	}
}

// ignore lets a reader that submits an event go on to its end.
func (s *server) ignore(e event) {
	switch {
	case e.arrives:
		e.conn.net.Close()
	case len(e.lines) > 0:
		e.conn.resume <- struct{}{}
	}
}
