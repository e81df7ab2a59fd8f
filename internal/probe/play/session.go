package play

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/toolchain"
)

// A Session plays checks of one build one after the other. Transcripts that leave a server as they
// found it are played to one server, with a look between them that nothing is left. A failure on a
// server that played others before is played again to a fresh one, and says which it was.
type Session struct {
	built    *toolchain.Built
	patience float64
	shared   map[StdoutKind]*lasting
}

// A lasting server plays several transcripts that want its kind of standard output.
type lasting struct {
	server  *serve.Server
	options serve.StartOptions
	stdout  *collector
	played  []*Transcript
}

// NewSession begins a session; the caller must Close it.
func NewSession(built *toolchain.Built, patience float64) *Session {
	return &Session{built, patience, map[StdoutKind]*lasting{}}
}

// Play plays one check.
func (s *Session) Play(ctx context.Context, c Check) error {
	if c.transcript == nil || !c.transcript.shares() || serve.WantsFolder(s.built.Model) {
		return c.Play(ctx, s.built, s.patience)
	}
	l, err := s.lasting(ctx, c)
	if err != nil {
		return err
	}
	failed := l.play(ctx, c.transcript, s.patience)
	if failed == nil {
		l.played = append(l.played, c.transcript)
		return nil
	}
	delete(s.shared, c.kind) // what one has broken must not blame the next
	l.server.Kill()
	_ = l.stdout.finish() // the failure says it better
	if ctx.Err() != nil || len(l.played) == 0 {
		return failed
	}
	if fresh := c.Play(ctx, s.built, s.patience); fresh != nil {
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

// lasting is the server of the session for a check, started if there is none.
func (s *Session) lasting(ctx context.Context, c Check) (*lasting, error) {
	if l := s.shared[c.kind]; l != nil && !(c.transcript.begins() && len(l.played) > 0) {
		return l, nil
	} else if l != nil {
		delete(s.shared, c.kind)
		if err := l.close(); err != nil {
			return nil, fmt.Errorf("a server that played %s: at the end %w", l.names(), err)
		}
	}
	out, err := newCollector(c.kind, s.built.Out)
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
	s.shared[c.kind] = l
	return l, nil
}

// play plays a transcript and looks that nothing of it is left.
func (l *lasting) play(ctx context.Context, t *Transcript, patience float64) error {
	p := newPlay(t, l.server, l.options, l.stdout, patience)
	if len(l.played) > 0 && t.counts() {
		if err := p.countFrom(ctx); err != nil {
			return fmt.Errorf("%s: asking the count before it begins: %w", t.File, err)
		}
	}
	if err := p.run(ctx); err != nil {
		return err
	}
	p.deadline = time.Now().Add(serve.Lengthen(defaultLimit, patience))
	if err := p.cleared(ctx); err != nil {
		return fmt.Errorf("%s: when its clients had gone, %w%s", t.File, err,
			tail.Lines(l.server.Tail(), 20))
	}
	if found := l.server.SanitizerReport(); found != nil {
		return fmt.Errorf("%s: %w", t.File, found)
	}
	left := l.stdout.left()
	if left != nil && (l.server.Built.Model.Ready != manifest.ReadyConnect || t.looksAtStdout()) {
		return fmt.Errorf("%s: at the end %w", t.File, left)
	}
	return nil
}

// cleared waits until the server has let go of all clients, and rests.
func (p *play) cleared(ctx context.Context) error {
	for p.server.Built.Model.Holds("{port}") && !p.server.BehindTap() {
		open, err := p.server.Connections()
		if err != nil || open == 0 {
			break // a kernel that does not tell leaves it to the server's end
		}
		if time.Now().After(p.deadline) {
			return fmt.Errorf("the server still has %d connections open", open)
		}
		if err := serve.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return p.restsFor(ctx, betweenWindow)
}

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

func (l *lasting) names() string {
	var names []string
	for _, t := range l.played {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// shares tells whether a transcript may be played to a server that has played others, and others
// after it: it wants no server, standard output or folder of its own, and asks of none to end.
func (t *Transcript) shares() bool {
	if t.ownStdout || t.Folder != folderEmpty || len(t.files) > 0 || t.OpenFiles > 0 {
		return false
	}
	for _, s := range t.steps {
		switch s.do.(type) {
		case *dial, *ping, *memoryBelow, *serverIdle, *stdoutText, *stdoutWhole, *tally, *lines,
			*send, *receive, *echo, *fill, *end, *silent, *values:
		default:
			return false
		}
	}
	return true
}

// counts tells whether a transcript knows the values of a counter that starts at 0.
func (t *Transcript) counts() bool {
	for _, s := range t.steps {
		if _, ok := s.do.(*values); ok {
			return true
		}
	}
	return false
}

// begins tells whether a transcript shows that a counter does start at 0.
func (t *Transcript) begins() bool {
	for _, s := range t.steps {
		if v, ok := s.do.(*values); ok {
			return len(v.want) > 0 && v.want[0] == 0
		}
	}
	return false
}

// countFrom asks a counter that has served others where it stands.
func (p *play) countFrom(ctx context.Context) error {
	conn, err := p.server.Dial(ctx, p.server.Port, p.deadline)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is under way
	if err := conn.SetDeadline(p.deadline); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{0}); err != nil {
		return err
	}
	var reply [8]byte
	_, err = io.ReadFull(conn, reply[:])
	p.count = binary.BigEndian.Uint64(reply[:])
	return err
}
