package load

// The controller's side: an engine is a child process that is spoken to in lines.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// An Engine is a running engine's process. One goroutine calls Next and Go; any may call Kill.
type Engine struct {
	cmd    *exec.Cmd
	placed bool // by the caller's start, and so waited for by the caller
	stdin  *os.File
	stdout *os.File
	events *bufio.Scanner
	stderr tail
	cancel func() bool // of the context's watch
	once   sync.Once
	ended  error       // of Wait, after once
	saw    Stage       // the last one that Next reported
	over   atomic.Bool // it was Done or Failed: the process ends by itself
}

// maxEventBytes bounds a line of the engine: three histograms of 7,424 buckets and
// 65,536 slices fit.
const maxEventBytes = 4 << 20

// Start runs exe, whose arguments end in Main ([]string{os.Executable(), "load"}), and hands it the
// plan. The engine is killed when ctx ends. start may place the process, in a group for example;
// its caller then waits for the process. If start is nil, Kill does.
//
// Next then reports Connected; Go lets the load begin; Opened, Closed and Done follow, or Failed at
// any point. A load that ends early, because all connections failed for example, reports Opened and
// Closed all the same.
func Start(ctx context.Context, exe []string, plan Plan,
	start func(*exec.Cmd) error) (*Engine, error) {
	e, err := begin(ctx, exe, plan, start)
	if err != nil {
		return nil, fmt.Errorf("starting the load: %w", err)
	}
	return e, nil
}

func begin(ctx context.Context, exe []string, plan Plan,
	start func(*exec.Cmd) error) (*Engine, error) {
	if len(exe) == 0 {
		return nil, errors.New("no command")
	}
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	e := &Engine{cmd: exec.Command(exe[0], exe[1:]...), placed: start != nil}
	// The runtime would interrupt a thread that computes for 10 ms; ours must not be.
	e.cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := e.launch(start); err != nil {
		return nil, err
	}
	e.cancel = context.AfterFunc(ctx, func() { e.cmd.Process.Kill() })
	if _, err := e.stdin.Write(append(text, '\n')); err != nil {
		e.Kill()
		return nil, fmt.Errorf("%w%s", err, e.stderr.words())
	}
	return e, nil
}

// launch starts the process with a pipe at each standard file. The pipes are ours and not the
// command's, so that no call of Wait closes one that is still being read.
func (e *Engine) launch(start func(*exec.Cmd) error) (err error) {
	var ours, theirs [3]*os.File // by descriptor
	defer func() {
		closeAll(theirs[:])
		if err != nil {
			closeAll(ours[:])
		}
	}()
	for fd := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		ours[fd], theirs[fd] = r, w
		if fd == 0 {
			ours[fd], theirs[fd] = w, r
		}
	}
	e.cmd.Stdin, e.cmd.Stdout, e.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	e.stdin, e.stdout = ours[0], ours[1]
	e.events = bufio.NewScanner(e.stdout)
	e.events.Buffer(make([]byte, 0, 64<<10), maxEventBytes)
	if err := start(e.cmd); err != nil {
		return err
	}
	e.stderr.drained = make(chan struct{})
	go e.stderr.drain(ours[2])
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// Next waits for the engine's next event. An engine that dies is an error, with the end
// of what it said.
func (e *Engine) Next() (Event, error) {
	var ev Event
	if !e.events.Scan() {
		err := e.events.Err()
		e.Kill()
		if err == nil {
			err = e.ended
		}
		if err == nil {
			err = io.EOF
		}
		return ev, fmt.Errorf("the load's process ended after %q: %w%s", e.saw, err,
			e.stderr.words())
	}
	if err := json.Unmarshal(e.events.Bytes(), &ev); err != nil {
		return ev, fmt.Errorf("reading the load's events: %w", err)
	}
	e.saw = ev.At
	e.over.Store(ev.At == Done || ev.At == Failed)
	return ev, nil
}

// Go lets the load begin. It is called once, after Connected.
func (e *Engine) Go() error { return e.tell("beginning the load", "go\n") }

// Stint lets a load of stints run for a time. Next then reports Rested.
func (e *Engine) Stint(s Stint) error {
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return e.tell("beginning a stint", string(line)+"\n")
}

// End ends a load of stints. Next then reports Done.
func (e *Engine) End() error { return e.tell("ending the load", endWord) }

// tell writes a line to the engine.
func (e *Engine) tell(what, line string) error {
	if _, err := e.stdin.WriteString(line); err != nil {
		return fmt.Errorf("%s: %w%s", what, err, e.stderr.words())
	}
	return nil
}

// Kill ends the engine, if it has not ended, and frees what it holds. Every engine must be killed,
// once it is done too.
func (e *Engine) Kill() {
	e.once.Do(func() {
		e.cancel()
		e.stdin.Close()
		if e.placed || !e.over.Load() {
			e.cmd.Process.Kill()
		}
		if !e.placed {
			e.ended = e.cmd.Wait()
		}
		e.stdout.Close()
	})
}

// A tail keeps the end of a stream.
type tail struct {
	mu      sync.Mutex
	text    []byte
	drained chan struct{} // closed at the stream's end
}

const (
	tailBytes = 2048
	// tailWait is for a process that has ended: what it said last is in the pipe, unless a child of
	// it holds it open.
	tailWait = time.Second
)

// drain reads until the stream's end, and closes it.
func (t *tail) drain(r io.ReadCloser) {
	defer close(t.drained)
	defer r.Close()
	buf := make([]byte, tailBytes)
	for {
		n, err := r.Read(buf)
		t.mu.Lock()
		t.text = append(t.text, buf[:n]...)
		t.text = t.text[max(0, len(t.text)-tailBytes):]
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// words is the tail as the end of an error message, once the process has ended.
func (t *tail) words() string {
	select {
	case <-t.drained:
	case <-time.After(tailWait):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(t.text)
	if len(text) == 0 {
		return ""
	}
	return ": " + string(text)
}
