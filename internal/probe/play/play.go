// Package play plays transcripts to servers.
//
// Run plays a transcript to a fresh server, and a Session plays several to one. A transcript's
// steps are Actions, made by the verbs of a Vocabulary. This package has the verbs that any service
// may use (Core); its sub-packages have those of chats and of HTTP. A Verb says how its line is
// read and how it is played, so the verbs of a new protocol are one file: a table of verbs, and for
// each verb a type, a function that reads it and a function that plays it. package conform joins
// the tables.
//
// Every wait of a play is bounded by the transcript's limit.
package play

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/transcript"
)

// An Error is a transcript that did not go as written.
type Error struct {
	File   string
	Line   int
	Step   string // the line as written
	Err    error  // what was seen and what was expected
	Server error  // a *serve.Failure if the server died or flooded its output; else nil
	Tail   string // the end of the server's output
}

// Error names the line, says what was seen and what was expected, and shows the server's last
// words.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d: %s: %v", e.File, e.Line, e.Step, e.Err)
	if e.Server != nil {
		return text + "\n" + e.Server.Error()
	}
	return text + tail.Lines(e.Tail, 20)
}

// Unwrap returns what was seen and what was expected.
func (e *Error) Unwrap() error { return e.Err }

// A Play is one transcript that is being played. Its steps run one after the other; only the
// clients of a group act at once.
type Play struct {
	Server   *serve.Server // the one of the first step, or the one that a step has started since
	Deadline time.Time     // the end of the transcript's limit
	Address  string        // from which clients connect

	transcript *Transcript
	stdout     *collector
	clients    map[string][]*Client
	memory     int64              // of the server before the first step, in bytes
	terminated bool               // a step has ended the server
	options    serve.StartOptions // with which a step starts another server

	keeper
}

// newPlay begins a play of a transcript to a server that is ready.
func newPlay(t *Transcript, s *serve.Server, options serve.StartOptions, out *collector,
	patience float64) *Play {
	return &Play{transcript: t, Server: s, options: options, stdout: out,
		Deadline: time.Now().Add(serve.Lengthen(t.Limit, patience)),
		clients:  map[string][]*Client{}, memory: s.Memory()}
}

// run plays all steps to a server that is ready, within the limit.
func (p *Play) run(ctx context.Context) error {
	defer p.closeAll()
	for _, step := range p.transcript.Steps {
		if err := step.Do.Play(ctx, p, step.Who); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return p.failed(step, err)
		}
	}
	if p.terminated {
		return nil
	}
	return p.Server.Check()
}

// failed adds to the error of a step what became of the server. When a server dies, the ends of its
// connections are seen a moment before its own end.
func (p *Play) failed(s transcript.Step[Action], err error) error {
	e := &Error{File: p.transcript.File, Line: s.Line, Step: s.Text, Err: err}
	if p.terminated {
		e.Tail = p.Server.Tail()
		return e
	}
	select {
	case <-p.Server.Group.Exited():
	case <-time.After(100 * time.Millisecond):
	}
	e.Server, e.Tail = p.Server.Check(), p.Server.Tail()
	return e
}

// closeAll ends what the steps have begun.
func (p *Play) closeAll() {
	p.stdout.hold(false)
	for _, group := range p.clients {
		for _, c := range group {
			_ = c.Conn.Close() // a step may have closed it before
		}
	}
}

// Group returns the clients of a name.
func (p *Play) Group(who string) []*Client { return p.clients[who] }

// Each lets all clients of a name act at once. The first error is the step's, and ends the waits of
// the others.
func (p *Play) Each(ctx context.Context, who string, act func(*Client) error) error {
	group := p.clients[who]
	return p.together(ctx, group, len(group), func(i int) error {
		err := act(group[i])
		if err != nil && len(group) > 1 {
			err = fmt.Errorf("%s: %w", group[i].Name, err)
		}
		return err
	})
}

// together runs n acts at once and waits for all of them. On the first error, and when ctx ends,
// the group's connections stop waiting.
func (p *Play) together(ctx context.Context, group []*Client, n int, act func(int) error) error {
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	stop := func() {
		for _, c := range group {
			_ = c.Conn.SetDeadline(time.Now())
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

// Kill ends all processes of the server at once, as a loss of power would. What they have written
// stays in the kernel.
func (p *Play) Kill() {
	p.Server.Kill()
	p.terminated = true
}

// LosePower kills the server and then removes from its folder what was not synced. The processes
// die first: what they sync until then is on the disk, and they can tell no client about it
// afterwards.
func (p *Play) LosePower(halfway bool) error {
	p.Kill()
	return p.Server.Data.LosePower(halfway)
}

// Terminate asks the server to end.
func (p *Play) Terminate() error {
	p.terminated = true
	return p.Server.Stop()
}

// Why says in plain words how a connection ended.
func Why(err error) string {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "nothing more came within the transcript's limit"
	case IsEOF(err):
		return "the server closed the connection"
	case IsReset(err):
		return "the server reset the connection"
	}
	return err.Error()
}
