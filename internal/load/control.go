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
	"time"
)

// An Engine is a running engine's process. One goroutine calls Next and Go; any may call Kill.
type Engine struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	events *bufio.Scanner
	stderr tail
	cancel func() bool // of the context's watch
	once   sync.Once
	ended  error // of Wait, after once
	saw    Stage
}

// maxEventBytes bounds a line of the engine: three histograms of 7,424 buckets and 65,536 slices fit.
const maxEventBytes = 4 << 20

// Start runs exe, whose arguments end in Main ([]string{os.Executable(), "load"}), and hands it the plan. start may
// place the process, in a cgroup for example; nil means (*exec.Cmd).Start. The engine is killed when ctx ends.
//
// Next then reports Connected; Go lets the load begin; Opened, Closed and Done follow, or Failed at any point. A load
// that ends early, because all connections failed for example, reports Opened and Closed all the same.
func Start(ctx context.Context, exe []string, plan Plan, start func(*exec.Cmd) error) (*Engine, error) {
	if len(exe) == 0 {
		return nil, errors.New("starting the load: no command")
	}
	if err := plan.Validate(); err != nil {
		return nil, fmt.Errorf("starting the load: %w", err)
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("starting the load: %w", err)
	}
	e := &Engine{cmd: exec.Command(exe[0], exe[1:]...)}
	// The runtime would interrupt a thread that computes for 10 ms; ours must not be.
	e.cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	e.cmd.Stderr = &e.stderr
	// A grandchild must not keep Wait waiting for standard error.
	e.cmd.WaitDelay = time.Second
	e.stdin, err = e.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the load: %w", err)
	}
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the load: %w", err)
	}
	e.events = bufio.NewScanner(stdout)
	e.events.Buffer(make([]byte, 0, 64<<10), maxEventBytes)
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(e.cmd); err != nil {
		return nil, fmt.Errorf("starting the load: %w", err)
	}
	e.cancel = context.AfterFunc(ctx, func() { e.cmd.Process.Kill() })
	if _, err := e.stdin.Write(append(text, '\n')); err != nil {
		e.Kill()
		return nil, fmt.Errorf("starting the load: %w%s", err, e.stderr.words())
	}
	return e, nil
}

// PID is the engine's process.
func (e *Engine) PID() int { return e.cmd.Process.Pid }

// Next waits for the engine's next event. An engine that dies is an error, with the end of what it said.
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
		return ev, fmt.Errorf("the load's process ended after %q: %w%s", e.saw, err, e.stderr.words())
	}
	if err := json.Unmarshal(e.events.Bytes(), &ev); err != nil {
		return ev, fmt.Errorf("reading the load's events: %w", err)
	}
	e.saw = ev.At
	return ev, nil
}

// Go lets the load begin. It is called once, after Connected.
func (e *Engine) Go() error {
	if _, err := io.WriteString(e.stdin, "go\n"); err != nil {
		return fmt.Errorf("beginning the load: %w%s", err, e.stderr.words())
	}
	return nil
}

// Kill ends the engine, if it has not ended, and frees what it holds. Every engine must be killed, once it is done too.
func (e *Engine) Kill() {
	e.once.Do(func() {
		e.cancel()
		e.stdin.Close()
		if e.saw != Done && e.saw != Failed {
			e.cmd.Process.Kill()
		}
		e.ended = e.cmd.Wait()
	})
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// words is the tail as the end of an error message.
func (t *tail) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(t.text)
	if len(text) == 0 {
		return ""
	}
	return ": " + string(text)
}
