package play

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/toolchain"
)

// What a transcript does to the server as a whole, and to its folder.

// kill ends all processes of the server at once, as a loss of power would, but for what
// the kernel holds.
func (p *play) kill() {
	p.server.Kill()
	p.terminated = true
}

// losePower is kill, and what the server has not seen to being on the disk is gone as well. Its
// processes die first: what they sync until then is on the disk, and they cannot say so to
// anybody afterwards.
func (p *play) losePower(halfway bool) error {
	p.kill()
	p.talk.unsure = len(p.talk.said)
	return p.server.Data.LosePower(halfway)
}

// terminate asks the server to end.
func (p *play) terminate() error {
	p.terminated = true
	return p.server.Stop()
}

// starts starts the server again, on the same port and folder. What it writes to standard output is
// watched, not collected.
func (p *play) starts(ctx context.Context) error {
	if !p.terminated {
		return errors.New("the server has not ended: expected server killed, server terminates " +
			"or power lost before")
	}
	opts := p.options
	opts.Port, opts.Stdout, opts.Data = p.server.Port, nil, p.server.Data
	s, err := serve.Start(ctx, p.server.Built, opts)
	if err != nil {
		return err
	}
	p.server, p.terminated, p.memory = s, false, s.Memory()
	return nil
}

// keepsFolder starts a second server on the folder, which must give up in the way of one whose
// port is in use.
func (p *play) keepsFolder(ctx context.Context) error {
	opts := p.options
	opts.Port, opts.Stdout, opts.Data = 0, nil, p.server.Data
	s, err := serve.Start(ctx, p.server.Built, opts)
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
	return p.server.Check()
}

// visit connects and goes at once, so many times.
func (p *play) visit(ctx context.Context, v *visits) error {
	var mu sync.Mutex
	left := v.count
	return p.together(ctx, nil, int(min(v.count, dialAtOnce)), func(int) error {
		for {
			mu.Lock()
			left--
			done := left < 0
			mu.Unlock()
			if done {
				return nil
			}
			conn, err := p.server.Dial(ctx, p.server.Port, p.deadline)
			if err != nil {
				return err
			}
			// A reset leaves no port behind that waits for a minute: there are 28,000 of them.
			if err := errors.Join(conn.SetLinger(0), conn.Close()); err != nil {
				return err
			}
		}
	})
}

func (p *play) data(do action) error {
	folder := p.server.Data
	if folder == nil {
		return errors.New("the server has no folder: its run does not use {data}")
	}
	switch do := do.(type) {
	case *dataFile:
		return folder.Write(do.name, do.more, do.data.reader())
	case *dataRoom:
		if !folder.IsSmall() {
			return errors.New("the folder is no small disk: expected data is small before the " +
				"first step")
		}
		if do.full {
			return folder.Fill()
		}
		return folder.Drain()
	}
	return folder.Private()
}

// prepare makes the folder as the transcript wants it before the server's start; nil where the
// model asks for none.
func (t *Transcript) prepare(built *toolchain.Built) (*serve.Folder, error) {
	if !serve.WantsFolder(built.Model) {
		return nil, nil
	}
	folder, err := serve.NewFolder(built.Out)
	if err != nil {
		return nil, err
	}
	switch t.Folder {
	case folderAbsent:
		err = os.Remove(folder.Path)
	case folderSmall:
		err = folder.Shrink(serve.SmallDisk)
	case folderMortal:
		err = folder.Risk()
	}
	for _, file := range t.files {
		if err == nil {
			err = folder.Write(file.name, file.more, file.data.reader())
		}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}
