package play

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/toolchain"
)

// serverVerbs look at the server as a whole, end it and start it again.
var serverVerbs = Vocabulary{{Word: "server", Verbs: Verbs{
	"memory":     shared(Once("server memory below SIZE more", readMemory, memoryBelow)),
	"idle":       shared(Once("server idle", NoWords, isIdle)),
	"fails":      Once("server fails", NoWords, fails),
	"terminates": Once("server terminates", readServerEnd, terminates),
	"killed":     Once("server killed", readServerEnd, isKilled),
	"starts":     Once("server starts", NoWords, starts),
	"keeps":      Once("server keeps its folder", readKeeps, keepsFolder),
}}}

const (
	// In idleWindow a server at rest uses less than idleShare of a core. One that spins uses a
	// whole core. On a busy machine it may get little of it, but then it waits for a core.
	idleWindow = 200 * time.Millisecond
	idleShare  = 0.20
	// givesBackIn is for how long a server that holds too much memory is watched while it rests. A
	// collector of garbage frees what nobody needs only later: Papaya, when it has been quiet for
	// three seconds after a burst (papaya/server/burst.go). A server that holds it for a client's
	// timeout of half a minute holds too much.
	givesBackIn = 6 * time.Second
	// ownBuffers is how much more memory a server with a stack of its own may use, in bytes. The
	// kernel's buffers of connections belong to no process, but those of its own stack belong to
	// the server. For one connection Linux has 4 MiB to send and 6 MiB to receive (tcp_wmem,
	// tcp_rmem).
	ownBuffers = 10 << 20
)

// readMemory reads how many bytes more than at the beginning the server may use.
func readMemory(l *Line) (more int64, err error) {
	if !l.Take("below") {
		return 0, fmt.Errorf("expected below SIZE more")
	}
	if more, err = l.Bytes(); err != nil {
		return 0, err
	}
	if !l.Take("more") {
		return 0, fmt.Errorf("expected more after the size")
	}
	return more, nil
}

// memoryBelow compares the server's memory with that before the first step. A server that holds too
// much has givesBackIn to free what it does not need any more. Only its rest counts: on a busy
// machine a server that wants to collect garbage waits for a core.
func memoryBelow(ctx context.Context, p *Play, _ string, most int64) error {
	if p.Server.Built.Sanitize != toolchain.Plain {
		return nil // a sanitizer keeps memory that was freed
	}
	if p.Server.BehindTap() {
		most += ownBuffers
	}
	for rested := time.Duration(0); ; rested += idleWindow {
		more := p.Server.Memory() - p.memory
		if more <= most {
			return nil
		}
		tooMuch := fmt.Errorf("the server uses %d KiB more than when the transcript began, want "+
			"less than %d KiB", more>>10, most>>10)
		if rested >= givesBackIn {
			return tooMuch
		}
		if err := p.restsFor(ctx, idleWindow); err != nil {
			return errors.Join(tooMuch, err)
		}
	}
}

// isIdle waits until the server uses next to no CPU and wants none: everything that was under way
// is done, and nothing spins.
func isIdle(ctx context.Context, p *Play, _ string, _ None) error {
	return p.restsFor(ctx, idleWindow)
}

// restsFor waits until the server rests for a window of this length.
func (p *Play) restsFor(ctx context.Context, atLeast time.Duration) error {
	for {
		cpu, begin := p.Server.CPU(), time.Now()
		if err := serve.Sleep(ctx, atLeast); err != nil {
			return err
		}
		window, used := time.Since(begin), p.Server.CPU()-cpu
		runnable := p.Server.Runnable()
		if float64(used) < idleShare*float64(window) && runnable == 0 {
			return p.Server.Check()
		}
		if time.Now().After(p.Deadline) {
			return fmt.Errorf("the server never rests: in the last %v it used %v of CPU, and %d "+
				"threads still wanted more", window, used, runnable)
		}
	}
}

// fails waits for the server to give up, as it must if its standard output fails: with exit status
// 1 and one line on standard error.
func fails(ctx context.Context, p *Play, _ string, _ None) error {
	p.terminated = true
	select {
	case <-p.Server.Group.Exited():
	case <-time.After(time.Until(p.Deadline)):
		return errors.New("the server goes on within the transcript's limit, want exit status 1")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	how := p.Server.Wait()
	_ = p.Server.Stop() // its failure is that the server ended by itself, which it should
	if how != "exit status 1" {
		return fmt.Errorf("the server ended with %s, want exit status 1", how)
	}
	if len(p.Server.Ended.Strays) > 0 {
		return fmt.Errorf("the server left %d processes behind", len(p.Server.Ended.Strays))
	}
	if said := strings.Count(strings.TrimPrefix(p.Server.Tail(), "ready\n"), "\n"); said != 1 {
		return fmt.Errorf("the server wrote %d lines to standard error besides ready, want one "+
			"that says why it ends", said)
	}
	return nil
}

// readServerEnd reads a line after which the server has ended.
func readServerEnd(l *Line) (None, error) {
	l.EndsServer()
	return None{}, nil
}

// terminates asks the server to end.
func terminates(_ context.Context, p *Play, _ string, _ None) error { return p.Terminate() }

// isKilled kills the server.
func isKilled(_ context.Context, p *Play, _ string, _ None) error {
	p.Kill()
	return nil
}

// starts starts the server again on the same port and folder. Its standard output is watched like
// its standard error, not collected.
func starts(ctx context.Context, p *Play, _ string, _ None) error {
	if !p.terminated {
		return errors.New("the server has not ended: expected server killed, server terminates " +
			"or power lost before")
	}
	opts := p.options
	opts.Port, opts.Stdout, opts.Data = p.Server.Port, nil, p.Server.Data
	s, err := serve.Start(ctx, p.Server.Built, opts)
	if err != nil {
		return err
	}
	p.Server, p.terminated, p.memory = s, false, s.Memory()
	return nil
}

func readKeeps(l *Line) (None, error) { return None{}, l.Expect("its", "folder") }

// keepsFolder starts a second server on the folder, which must give up like a server whose port is
// in use.
func keepsFolder(ctx context.Context, p *Play, _ string, _ None) error {
	opts := p.options
	opts.Port, opts.Stdout, opts.Data = 0, nil, p.Server.Data
	s, err := serve.Start(ctx, p.Server.Built, opts)
	if err == nil {
		s.Kill()
		return errors.New("a second server started on the same folder")
	}
	var failure *serve.Failure
	if !errors.As(err, &failure) {
		return err
	}
	said := strings.TrimSpace(failure.Tail)
	if !strings.Contains(failure.Text, "exit status 1 ") &&
		!strings.Contains(failure.Text, "exit status 1:") || said == "" ||
		strings.Contains(said, "\n") {
		return fmt.Errorf("a second server on the same folder %s; want exit status 1 and one "+
			"line on standard error%s", failure.Text, tail.Lines(failure.Tail, 20))
	}
	return p.Server.Check()
}
