package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	return p.server.Data.losePower(halfway)
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
	s, err := Start(ctx, p.server.Built, opts)
	if err != nil {
		return err
	}
	p.server, p.terminated, p.memory = s, false, s.memory()
	return nil
}

// keepsFolder starts a second server on the folder, which must give up in the way of one whose
// port is in use.
func (p *play) keepsFolder(ctx context.Context) error {
	opts := p.options
	opts.Port, opts.Stdout, opts.Data = 0, nil, p.server.Data
	s, err := Start(ctx, p.server.Built, opts)
	if err == nil {
		s.Kill()
		return errors.New("a second server started on the same folder")
	}
	var failure *Failure
	if !errors.As(err, &failure) {
		return err
	}
	said := strings.TrimSpace(failure.Tail)
	if !strings.Contains(failure.Text, "exit status 1 ") &&
		!strings.Contains(failure.Text, "exit status 1:") || said == "" ||
		strings.Contains(said, "\n") {
		return fmt.Errorf("a second server on the same folder %s; want exit status 1 and one "+
			"line on standard error%s", failure.Text, lastLines(failure.Tail, 20))
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
			conn, err := p.server.dial(ctx, p.server.Port, p.deadline)
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

// write makes a file in the folder, or adds to it.
func (f *dataFile) write(folder *Folder) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if f.more {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	if err := os.MkdirAll(folder.Path, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(folder.Path, f.name), flags, 0o600)
	if err != nil {
		return err
	}
	_, err = file.ReadFrom(f.data.reader())
	if folder.disk != nil {
		err = errors.Join(err, file.Sync())
	}
	return errors.Join(err, file.Close())
}

func (p *play) data(do action) error {
	folder := p.server.Data
	if folder == nil {
		return errors.New("the server has no folder: its run does not use {data}")
	}
	switch do := do.(type) {
	case *dataFile:
		return do.write(folder)
	case *dataRoom:
		if !folder.mounted {
			return errors.New("the folder is no small disk: expected data is small before the " +
				"first step")
		}
		if do.full {
			return folder.Fill()
		}
		return folder.Drain()
	}
	return folder.private()
}

// private tells whether only the server's user may look into the folder.
func (f *Folder) private() error {
	info, err := os.Stat(f.Path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		return fmt.Errorf("the folder has mode %04o, want 0700", mode)
	}
	return nil
}

// prepare makes the folder as the transcript wants it before the server's start; nil where the
// model asks for none.
func (t *Transcript) prepare(built *Built) (*Folder, error) {
	if !wantsFolder(built.Model) {
		return nil, nil
	}
	folder, err := NewFolder(built.Out)
	if err != nil {
		return nil, err
	}
	switch t.Folder {
	case folderAbsent:
		err = os.Remove(folder.Path)
	case folderSmall:
		err = folder.Shrink(smallDisk)
	case folderMortal:
		err = folder.risk()
	}
	for _, file := range t.files {
		if err == nil {
			err = file.write(folder)
		}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}
