package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"interleave/internal/group"
	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
)

// A Problem is what a program is told to solve and how often.
type Problem struct {
	Kernel  string
	Size    int64
	Workers int
	Rounds  int
}

// A Solution is one line of a program's output: the result, and how long it took by the program's
// own clock.
type Solution struct {
	Result string
	Took   time.Duration
}

// A Program is a process that solves a problem again and again.
type Program struct {
	Group *group.Group

	server *Server // the process, its output and its end
	stdout *os.File
	lines  *bufio.Scanner
	unhook func() bool // ends the watch on the context that Solve was given
}

// Solve starts a program. The caller must Kill it, or read it to its end and ask for its Status.
func Solve(ctx context.Context, built *toolchain.Built, p Problem,
	opts StartOptions) (*Program, error) {
	values := map[string]string{
		"out": built.Out, "kernel": p.Kernel, "problem": strconv.FormatInt(p.Size, 10),
		"workers": strconv.Itoa(p.Workers), "rounds": strconv.Itoa(p.Rounds),
	}
	told := *built
	told.Env = slices.Clone(built.Env)
	for name, value := range built.Model.Env {
		told.Env = append(told.Env, manifest.Expand([]string{name + "=" + value}, values)...)
	}
	opts.env = told.Env
	s := &Server{Built: &told, ready: make(chan struct{})}
	if opts.Group.Pdeathsig == 0 {
		opts.Group.Pdeathsig = syscall.SIGKILL
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	opts.Stdout = theirs
	if s.Group, err = group.New("program", opts.Group); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	if err := s.exec(manifest.Expand(built.Model.Run, values), opts); err != nil {
		s.closePipes()
		return nil, errors.Join(err, s.Group.Close(), ours.Close())
	}
	unhook := context.AfterFunc(ctx, func() {
		_ = ours.SetReadDeadline(time.Unix(1, 0)) // a pipe has deadlines
	})
	return &Program{Group: s.Group, server: s, stdout: ours, lines: bufio.NewScanner(ours),
		unhook: unhook}, nil
}

// Next reads the next solution and waits for it at most as long as limit says. At the end of the
// output the error is io.EOF. If the program does something wrong, it is a *Failure.
func (p *Program) Next(ctx context.Context, limit time.Duration) (Solution, error) {
	if err := p.stdout.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return Solution{}, err
	}
	if ctx.Err() != nil {
		return Solution{}, context.Cause(ctx)
	}
	if !p.lines.Scan() {
		err := p.lines.Err()
		switch {
		case ctx.Err() != nil:
			return Solution{}, context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return Solution{}, &Failure{NeverReady, fmt.Sprintf("printed no solution within %v",
				limit), p.server.Tail()}
		case err != nil:
			return Solution{}, err
		}
		return Solution{}, io.EOF
	}
	fields := strings.Fields(p.lines.Text())
	if len(fields) == 2 {
		if seconds, err := strconv.ParseFloat(fields[1], 64); err == nil && seconds >= 0 {
			return Solution{fields[0], time.Duration(seconds * float64(time.Second))}, nil
		}
	}
	return Solution{}, &Failure{Died, fmt.Sprintf("printed %q, not a result and seconds",
		p.lines.Text()), p.server.Tail()}
}

// Tail returns the end of what the program wrote to standard error.
func (p *Program) Tail() string { return p.server.Tail() }

// Status waits for the end of a program whose output was read to its end. It returns the exit
// status, or -1 after a signal.
func (p *Program) Status() int {
	err := p.server.Group.Wait()
	p.server.drained()
	p.Kill()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		return -1
	}
	return 0
}

// Kill ends the program.
func (p *Program) Kill() {
	p.unhook()
	p.server.Kill()
	p.stdout.Close()
}
