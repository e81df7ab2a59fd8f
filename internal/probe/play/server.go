package play

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// What a transcript asks of the server as a whole: its memory and its CPU.

const (
	// In idleWindow a server at rest uses less than idleShare of a core. One that spins uses a
	// whole one, but on a busy machine perhaps little: then it is found to wait for a core.
	idleWindow = 200 * time.Millisecond
	idleShare  = 0.20
	// betweenWindow is for the look between two transcripts, which only waits for what
	// is under way.
	betweenWindow = 50 * time.Millisecond
)

func (p *play) memoryBelow(m *memoryBelow) error {
	if p.server.Built.Sanitize != toolchain.Plain {
		return nil // a sanitizer keeps what was freed
	}
	most := m.more
	if p.server.BehindTap() {
		most += ownBuffers
	}
	if more := p.server.Memory() - p.memory; more > most {
		return fmt.Errorf("the server uses %d KiB more than when the transcript began, want "+
			"less than %d KiB", more>>10, most>>10)
	}
	return nil
}

// ownBuffers is what a server with a stack of its own may use more: the kernel's buffers of
// connections are nobody's memory, and those of a stack are the server's. In bytes; Linux has 4 MiB
// to send and 6 to read for one connection (tcp_wmem, tcp_rmem).
const ownBuffers = 10 << 20

// serverIdle waits until the server uses next to no CPU and wants none: whatever was under way is
// done, and nothing spins.
func (p *play) serverIdle(ctx context.Context) error { return p.restsFor(ctx, idleWindow) }

// restsFor waits for such a window.
func (p *play) restsFor(ctx context.Context, atLeast time.Duration) error {
	for {
		cpu, begin := p.server.CPU(), time.Now()
		if err := serve.Sleep(ctx, atLeast); err != nil {
			return err
		}
		window, used, runnable := time.Since(begin), p.server.CPU()-cpu, p.server.Runnable()
		if float64(used) < idleShare*float64(window) && runnable == 0 {
			return p.server.Check()
		}
		if time.Now().After(p.deadline) {
			return fmt.Errorf("the server never rests: in the last %v it used %v of CPU, and %d "+
				"threads still wanted more", window, used, runnable)
		}
	}
}

// serverFails waits for the server to give up, as it must when its standard output fails: with exit
// status 1 and one line.
func (p *play) serverFails(ctx context.Context) error {
	select {
	case <-p.server.Group.Exited():
	case <-time.After(time.Until(p.deadline)):
		return errors.New("the server goes on within the transcript's limit, want exit status 1")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	how := p.server.Wait()
	_ = p.server.Stop() // that it ended by itself is no fault here
	if how != "exit status 1" {
		return fmt.Errorf("the server ended with %s, want exit status 1", how)
	}
	if len(p.server.Ended.Strays) > 0 {
		return fmt.Errorf("the server left %d processes behind", len(p.server.Ended.Strays))
	}
	if said := strings.Count(strings.TrimPrefix(p.server.Tail(), "ready\n"), "\n"); said != 1 {
		return fmt.Errorf("the server wrote %d lines to standard error besides ready, want one "+
			"that says why it ends", said)
	}
	return nil
}
