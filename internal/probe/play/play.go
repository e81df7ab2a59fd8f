package play

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/tail"
)

// A PlayError is a transcript that did not go as written.
type PlayError struct {
	File   string
	Line   int
	Step   string // the line as written
	Err    error  // what was seen and what was expected
	Server error  // a *Failure if the server died or flooded; else nil
	Tail   string // the end of its output
}

func (e *PlayError) Error() string {
	text := fmt.Sprintf("%s:%d: %s: %v", e.File, e.Line, e.Step, e.Err)
	if e.Server != nil {
		return text + "\n" + e.Server.Error()
	}
	return text + tail.Lines(e.Tail, 20)
}

func (e *PlayError) Unwrap() error { return e.Err }

// A play is one transcript under way. Its steps run one after the other; only the clients of a
// group act at once.
type play struct {
	t          *Transcript
	server     *serve.Server
	stdout     *collector
	deadline   time.Time
	clients    map[string][]*client
	sent       *ledger // lines that stdout must show
	memory     int64   // of the server before the first step
	terminated bool    // by a step: there is no server to stop at the end

	options serve.StartOptions // of the server, to start another
	count   uint64             // where a counter stood that had served others before
	talk    *talk              // generated lines of a chat
	granted int                // how often the last "until" was taken
	logAt   int                // lines of the log that were looked at
	address string             // that clients have
}

// A client is one connection of a play.
type client struct {
	name   string // "a", or "c[17]" in a group
	index  int    // 17
	conn   *net.TCPConn
	filled data  // what fill has begun to send
	sent   int64 // bytes of it
	lines  int64 // sent with lines so far

	*speaker           // once it talks in lines
	*stream            // once it hears one
	spoke    time.Time // when it last began to send
	old      bool      // it asked by HTTP/1.0
}

// run does what the transcript says to a server that is ready, within the limit.
func (p *play) run(ctx context.Context) error {
	defer p.closeAll()
	for _, step := range p.t.steps {
		if err := p.step(ctx, step); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return p.failed(step, err)
		}
	}
	if p.terminated {
		return nil
	}
	return p.server.Check()
}

// failed adds to a step's error what became of the server. A server that dies closes its
// connections first: its end is seen a moment later than theirs.
func (p *play) failed(s step, err error) error {
	e := &PlayError{File: p.t.File, Line: s.line, Step: s.text, Err: err}
	if p.terminated {
		e.Tail = p.server.Tail()
		return e
	}
	select {
	case <-p.server.Group.Exited():
	case <-time.After(100 * time.Millisecond):
	}
	e.Server, e.Tail = p.server.Check(), p.server.Tail()
	return e
}

func (p *play) closeAll() {
	p.stdout.hold(false)
	for _, group := range p.clients {
		for _, c := range group {
			_ = c.conn.Close() // a step may have closed it before
		}
	}
}

func (p *play) step(ctx context.Context, s step) error {
	switch do := s.do.(type) {
	case *dial:
		return p.dial(ctx, do)
	case *ping:
		return p.ping(ctx, do)
	case *memoryBelow:
		return p.memoryBelow(do)
	case *serverIdle:
		return p.serverIdle(ctx)
	case *serverEnds:
		return p.terminate()
	case *serverFails:
		p.terminated = true
		return p.serverFails(ctx)
	case *stdoutHold:
		p.stdout.hold(do.on)
		return nil
	case *stdoutFilled:
		return p.stdoutFilled(ctx, do)
	case *stdoutText:
		return p.stdoutText(ctx, do)
	case *stdoutWhole:
		return p.stdoutWhole(ctx)
	case *tally:
		return p.tally(ctx, s.who, do)
	case *lines:
		return p.each(ctx, s.who, func(c *client) error { return p.lines(ctx, c, do) })
	case *send:
		return p.each(ctx, s.who, func(c *client) error { return c.send(ctx, do) })
	case *receive:
		return p.each(ctx, s.who, func(c *client) error { return c.receive(ctx, do) })
	case *echo:
		return p.each(ctx, s.who, func(c *client) error { return c.echo(ctx, do) })
	case *fill:
		return p.each(ctx, s.who, func(c *client) error { return c.fill(ctx, do, p.deadline) })
	case *end:
		return p.each(ctx, s.who, func(c *client) error { return c.end(do.verb) })
	case *silent:
		return p.each(ctx, s.who, func(c *client) error { return c.silent(do, p.deadline) })
	case *values:
		return p.each(ctx, s.who, func(c *client) error { return c.values(do, p.count) })
	case *visits:
		return p.visit(ctx, do)
	case *serverKilled:
		p.kill()
		return nil
	case *powerLost:
		return p.losePower(do.halfway)
	case *serverStarts:
		return p.starts(ctx)
	case *serverAlone:
		return p.keepsFolder(ctx)
	case *dataFile, *dataRoom, *dataPrivate:
		return p.data(do)
	case *logIs:
		return p.logIs(do)
	case *logEnds:
		return p.logEnds()
	case *logWhole:
		return p.logWhole()
	case *logRemoved:
		return p.logRemoved()
	case *chats:
		return p.chats(ctx, s.who, do)
	case *gets, *hearsStatus, *hearsGreeting, *hearsChunks:
		return p.each(ctx, s.who, func(c *client) error { return p.http(ctx, c, s.do) })
	}
	return p.each(ctx, s.who, func(c *client) error { return p.speech(ctx, c, s.do) })
}

// speech plays what one client of a chat does.
func (p *play) speech(ctx context.Context, c *client, do action) error {
	switch do := do.(type) {
	case *says:
		return p.says(ctx, c, do)
	case *hears:
		return p.hears(c, do)
	case *names:
		return c.hearsNames(do)
	case *skips:
		return p.skipTo(c, do.to)
	case *ignores:
		c.speak().deaf = true
		return nil
	case *drains:
		return p.drains(c)
	case *enters:
		return p.registers(c, do)
	case *joins:
		return p.joins(c, do)
	case *catches:
		return p.catchesUp(c, do)
	}
	panic(fmt.Sprintf("a step of kind %T cannot be played", do))
}

// dialAtOnce bounds the connections that are being made at a time; the backlog of a server is at
// least twice this.
const dialAtOnce = 256

func (p *play) dial(ctx context.Context, d *dial) error {
	group := make([]*client, d.count)
	free := make(chan struct{}, dialAtOnce)
	for _, old := range p.clients[d.who] {
		_ = old.conn.Close() // its name is another connection's now
	}
	delete(p.clients, d.who)
	err := p.together(ctx, nil, d.count, func(i int) error {
		free <- struct{}{}
		defer func() { <-free }()
		name := d.who
		if d.group {
			name = fmt.Sprintf("%s[%d]", d.who, i)
		}
		conn, err := p.server.DialBuffered(ctx, p.server.Port+d.after, p.deadline, d.buffer)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		group[i] = &client{name: name, index: i, conn: conn}
		p.talk.again(group[i].plainName())
		return conn.SetDeadline(p.deadline)
	})
	for _, c := range group {
		if c != nil {
			p.clients[d.who] = append(p.clients[d.who], c)
			p.address = c.conn.LocalAddr().(*net.TCPAddr).IP.String()
		}
	}
	return err
}

// each lets all clients of a name act at once. The first error is the step's; it ends the others'
// waiting.
func (p *play) each(ctx context.Context, who string, act func(*client) error) error {
	group := p.clients[who]
	return p.together(ctx, group, len(group), func(i int) error {
		err := act(group[i])
		if err != nil && len(group) > 1 {
			err = fmt.Errorf("%s: %w", group[i].name, err)
		}
		return err
	})
}

// together runs n acts at once and waits for all. On the first error, and when ctx ends, the
// group's connections stop waiting.
func (p *play) together(ctx context.Context, group []*client, n int, act func(int) error) error {
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	stop := func() {
		for _, c := range group {
			_ = c.conn.SetDeadline(time.Now())
		}
	}
	defer context.AfterFunc(ctx, stop)()
	for i := range n {
		wait.Go(func() {
			if err := act(i); err != nil {
				once.Do(func() { first = err; stop() })
			}
		})
	}
	wait.Wait()
	return first
}

// why says in plain words how a connection ended.
func why(err error) string {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "nothing more came within the transcript's limit"
	case isEOF(err):
		return "the server closed the connection"
	case isReset(err):
		return "the server reset the connection"
	}
	return err.Error()
}
