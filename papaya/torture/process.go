package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// patience bounds every wait for a server or an answer. Nothing comes near it, unless it hangs.
const patience = 5 * time.Minute

// lastWords is in bytes: how much of a process's output an error shows.
const lastWords = 4 << 10

// A server that asks for it is started again after soon (RestartSec of systemd), unless it has
// asked inVain times and never accepted clients. That is a guess: a log without a leader takes 45 s
// each.
const (
	soon   = 100 * time.Millisecond
	inVain = 20
)

// A state is that of a process.
type state int

// The states: no program runs; it runs, and accepts clients or does not yet; it was sent a signal;
// it has ended by itself, or not as it should.
const (
	idle state = iota
	starting
	running
	ending
	dead
)

// A process is a server or a node of the log. The campaign starts and ends it again and again.
type process struct {
	name    string
	program string
	args    []string
	folder  string // in which it runs, and where NAME.err is
	cluster bool   // it may end by itself with an error, and is started again then
	// tell is called when it is running, dead, or was started again (starting), by any goroutine.
	tell func(p *process, s state, err error)

	mu      sync.Mutex
	state   state
	changed chan struct{} // closed at the next change of state
	cmd     *exec.Cmd
	said    *output
	err     error // why it is dead
	vain    int   // how often it has asked to be started again since it was running
}

// An output writes what a process says into a file, and waits for the line "ready".
type output struct {
	mu    sync.Mutex
	file  io.Writer
	tail  []byte
	ready chan struct{}
	is    bool
}

// Write never fails: the process would be ended by SIGPIPE if the disk of the file is full.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, b...)
	if !o.is && bytes.Contains(o.tail, []byte("ready\n")) {
		o.is = true
		close(o.ready)
	}
	o.tail = slices.Delete(o.tail, 0, max(0, len(o.tail)-lastWords))
	_, _ = o.file.Write(b)
	return len(b), nil
}

func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.TrimSpace(o.tail))
}

// enter changes the state. The caller holds mu.
func (p *process) enter(s state) {
	p.state = s
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// launch starts the program and does not wait for anything.
func (p *process) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.execute()
}

// execute starts the program, and waits for its end in another goroutine. The caller holds mu.
func (p *process) execute() error {
	file, err := os.OpenFile(filepath.Join(p.folder, p.name+".err"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	said := &output{file: file, ready: make(chan struct{})}
	cmd := exec.Command(p.program, p.args...)
	cmd.Dir, cmd.Stderr = p.folder, said
	cmd.SysProcAttr = apart()
	started, ended := make(chan error), make(chan struct{})
	// The goroutine keeps its thread: the process is killed when the thread that has started it
	// ends, as it is with this program.
	go func() {
		runtime.LockOSThread()
		defer file.Close()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.watch(cmd.Wait(), said)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.cmd, p.said, p.err = cmd, said, nil
	p.enter(starting)
	go func() {
		select {
		case <-said.ready:
			p.accepts(said)
		case <-ended:
		}
	}()
	return nil
}

// accepts notes that the program with that output accepts clients.
func (p *process) accepts(said *output) {
	p.mu.Lock()
	if p.said != said || p.state != starting { // it has ended, or is about to
		p.mu.Unlock()
		return
	}
	p.vain = 0
	p.enter(running)
	p.mu.Unlock()
	p.tell(p, running, nil)
}

// watch takes the end of the program. One that has ended by itself with an error is started again
// in a cluster, as a service manager does; a crash (status 2, or a signal) is none.
func (p *process) watch(err error, said *output) {
	status, _ := errors.AsType[*exec.ExitError](err)
	if p.asks(status) {
		time.Sleep(soon)
	}
	p.mu.Lock()
	next := dead
	switch {
	case p.state == ending && (err == nil || killed(status) || p.asks(status)):
		next = idle
	case p.state == ending:
		p.err = fmt.Errorf("%s has not ended in order: %w: %s", p.name, err, said.last())
	case p.asks(status) && p.vain < inVain:
		p.vain++
		p.err = fmt.Errorf("%s has ended: %s", p.name, said.last())
		next = starting
	case err == nil:
		p.err = fmt.Errorf("%s has ended by itself: %s", p.name, said.last())
	default:
		p.err = fmt.Errorf("%s has ended by itself: %w: %s", p.name, err, said.last())
	}
	why := p.err
	if next == starting {
		if failed := p.execute(); failed != nil {
			p.err, why, next = failed, failed, dead
		}
	}
	if next != starting {
		p.enter(next)
	}
	p.mu.Unlock()
	if next != idle {
		p.tell(p, next, why)
	}
}

// asks says whether a server of a cluster has ended with an error, after which it can be started
// again.
func (p *process) asks(status *exec.ExitError) bool {
	return p.cluster && status != nil && status.ExitCode() == 1
}

// killed says whether a process was ended by SIGKILL.
func killed(status *exec.ExitError) bool {
	if status == nil {
		return false
	}
	w, ok := status.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == syscall.SIGKILL
}

// end sends a signal and waits for the end. It does nothing if no program runs.
func (p *process) end(s syscall.Signal) error {
	p.mu.Lock()
	if p.state == starting || p.state == running {
		p.enter(ending)
		_ = p.cmd.Process.Signal(s) // it may have ended already
	}
	p.mu.Unlock()
	err := p.wait(context.Background(), func(s state) bool { return s == idle || s == dead })
	if errors.Is(err, errPatience) {
		_ = p.cmd.Process.Kill()
	}
	return err
}

// isUp waits until the process accepts clients. It returns an error if it is dead.
func (p *process) isUp(ctx context.Context) error {
	return p.wait(ctx, func(s state) bool { return s == running })
}

// errPatience means that a process hangs.
var errPatience = fmt.Errorf("nothing has happened for %v", patience)

// wait waits for a state. It returns an error if the process is dead and that is not it.
func (p *process) wait(ctx context.Context, is func(state) bool) error {
	hangs := time.NewTimer(patience)
	defer hangs.Stop()
	for {
		p.mu.Lock()
		s, err := p.state, p.err
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed, said := p.changed, p.said
		p.mu.Unlock()
		switch {
		case is(s):
			return nil
		case s == dead:
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-hangs.C:
			return fmt.Errorf("%s: %w: %s", p.name, errPatience, said.last())
		}
	}
}
