package play

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/toolchain"
	"interleave/internal/probe/transcript"
)

// betweenWindow is for how long a server must rest between two transcripts. The look only waits for
// what is under way.
const betweenWindow = 50 * time.Millisecond

// A Session plays transcripts to servers of one build, one after the other. Transcripts that leave
// a server as they found it are played to the same server, with a look between them that nothing is
// left. If one fails on a server that has played others before, it is played again to a fresh
// server, and the error says on which of the two it failed.
type Session struct {
	built    *toolchain.Built
	patience float64
	shared   map[transcript.StdoutKind]*lasting
}

// A lasting server plays several transcripts that want its kind of standard output.
type lasting struct {
	server  *serve.Server
	options serve.StartOptions
	stdout  *collector
	played  []*Transcript
}

// NewSession begins a session. The caller must Close it.
func NewSession(built *toolchain.Built, patience float64) *Session {
	return &Session{built, patience, map[transcript.StdoutKind]*lasting{}}
}

// Play plays one transcript to a server with this kind of standard output.
func (s *Session) Play(ctx context.Context, t *Transcript, kind transcript.StdoutKind) error {
	if !t.Shares() || serve.WantsFolder(s.built.Model) {
		return Run(ctx, t, s.built, kind, s.patience)
	}
	l, err := s.lasting(ctx, t, kind)
	if err != nil {
		return err
	}
	failed := l.play(ctx, t, s.patience)
	if failed == nil {
		l.played = append(l.played, t)
		return nil
	}
	delete(s.shared, kind) // the next transcript must not fail because of this one
	l.server.Kill()
	_ = l.stdout.finish() // the failure says it better
	if ctx.Err() != nil || len(l.played) == 0 {
		return failed
	}
	if fresh := Run(ctx, t, s.built, kind, s.patience); fresh != nil {
		return fresh
	}
	return fmt.Errorf("only on a server that had played %s before; a fresh one passes: %w",
		l.names(), failed)
}

// Close stops the servers of the session, which must end as the contract says.
func (s *Session) Close() (err error) {
	for kind, l := range s.shared {
		delete(s.shared, kind)
		if failed := l.close(); failed != nil {
			err = errors.Join(err, fmt.Errorf("a server that played %s: at the end %w", l.names(),
				failed))
		}
	}
	return err
}

// lasting returns the session's server for a transcript. It starts one if there is none, or if the
// transcript shows that a counter starts at 0.
func (s *Session) lasting(ctx context.Context, t *Transcript,
	kind transcript.StdoutKind) (*lasting, error) {
	values := firstValues(t)
	startsCounter := len(values) > 0 && values[0] == 0
	if l := s.shared[kind]; l != nil && !(startsCounter && len(l.played) > 0) {
		return l, nil
	} else if l != nil {
		delete(s.shared, kind)
		if err := l.close(); err != nil {
			return nil, fmt.Errorf("a server that played %s: at the end %w", l.names(), err)
		}
	}
	out, err := newCollector(kind, s.built.Out)
	if err != nil {
		return nil, err
	}
	options := serve.StartOptions{Stdout: out.theirs}.WithPatience(s.built.Model, s.patience)
	server, err := serve.Start(ctx, s.built, options)
	if err != nil {
		return nil, errors.Join(err, out.finish())
	}
	out.started()
	l := &lasting{server: server, options: options, stdout: out}
	s.shared[kind] = l
	return l, nil
}

// play plays a transcript and checks that nothing of it is left.
func (l *lasting) play(ctx context.Context, t *Transcript, patience float64) error {
	p := newPlay(t, l.server, l.options, l.stdout, patience)
	if len(l.played) > 0 && firstValues(t) != nil {
		if err := p.countFrom(ctx); err != nil {
			return fmt.Errorf("%s: asking the count before it begins: %w", t.File, err)
		}
	}
	if err := p.run(ctx); err != nil {
		return err
	}
	p.Deadline = time.Now().Add(serve.Lengthen(transcript.DefaultLimit, patience))
	if err := p.cleared(ctx); err != nil {
		return fmt.Errorf("%s: when its clients had gone, %w%s", t.File, err,
			tail.Lines(l.server.Tail(), 20))
	}
	if found := l.server.SanitizerReport(); found != nil {
		return fmt.Errorf("%s: %w", t.File, found)
	}
	left := l.stdout.left()
	if left != nil && (l.server.Built.Model.Ready != manifest.ReadyConnect || t.LooksAtStdout()) {
		return fmt.Errorf("%s: at the end %w", t.File, left)
	}
	return nil
}

// cleared waits until the server has closed the connections of all clients, and rests.
func (p *Play) cleared(ctx context.Context) error {
	for p.Server.Built.Model.Holds("{port}") && !p.Server.BehindTap() {
		open, err := p.Server.Connections()
		if err != nil || open == 0 {
			break // if the kernel does not tell, the server's end will
		}
		if time.Now().After(p.Deadline) {
			return fmt.Errorf("the server still has %d connections open", open)
		}
		if err := serve.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return p.restsFor(ctx, betweenWindow)
}

// close stops the server.
func (l *lasting) close() error {
	stopped := l.server.Stop()
	left := l.stdout.finish()
	if found := l.server.SanitizerReport(); found != nil {
		return found
	}
	if stopped != nil {
		return stopped
	}
	if l.server.Built.Model.Ready != manifest.ReadyConnect {
		return left
	}
	return nil
}

// names lists the transcripts that the server has played.
func (l *lasting) names() string {
	var names []string
	for _, t := range l.played {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}
