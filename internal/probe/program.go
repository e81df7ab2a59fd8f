package probe

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
)

// A Problem is what a program is told to solve, and how often.
type Problem struct {
	Kernel  string
	Size    int64
	Workers int
	Rounds  int
}

// A Solution is one line of a program: what came out, and how long that took by the
// program's own clock.
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
	unhook func() bool // from the context that Solve was given
}

// Solve starts a program. The caller must Kill it, or read it to its end and ask for its Status.
func Solve(ctx context.Context, built *Built, p Problem, opts StartOptions) (*Program, error) {
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
	unhook := context.AfterFunc(ctx, func() { ours.SetReadDeadline(time.Unix(1, 0)) }) //nolint:errcheck // a pipe has deadlines
	return &Program{Group: s.Group, server: s, stdout: ours, lines: bufio.NewScanner(ours),
		unhook: unhook}, nil
}

// Next reads the next solution, waiting at most so long. At the end of the output it is io.EOF;
// what the program does wrong is a *Failure.
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

// Tail is the end of what the program wrote to standard error.
func (p *Program) Tail() string { return p.server.Tail() }

// Status waits for the end of a program that was read to its end and says how it
// ended: 0, 2, ..., or
// -1 after a signal.
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

// Kill ends the program; it has nothing to lose.
func (p *Program) Kill() {
	p.unhook()
	p.server.Kill()
	p.stdout.Close()
}

// programChecks reads what programs of a service must print: lines of its conform files.
//
//	fib 20 = 6765         the result of a problem, with 1 and with 2 workers, twice in a row
//	transfer 4 7 = 1400   of a problem whose result depends on the workers: with 7 of them
//	fails nonsense 1      a problem that it must refuse: status 2, one line on standard error
func programChecks(files []string) ([]Check, error) {
	var checks []Check
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for n, line := range strings.Split(string(text), "\n") {
			line, _, _ = strings.Cut(line, "#")
			fields := strings.Fields(line)
			if len(fields) == 0 {
				continue
			}
			check, err := programCheck(fields)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
			}
			checks = append(checks, check)
		}
	}
	return checks, nil
}

// solveLimit is for one small problem, the start of a JVM included, on a busy machine.
const solveLimit = 20 * time.Second

func programCheck(fields []string) (Check, error) {
	refused := fields[0] == "fails"
	if refused {
		fields = fields[1:]
	}
	workers := []int{1, 2}
	if !refused && len(fields) == 5 {
		n, err := strconv.Atoi(fields[2])
		if err != nil || n < 1 {
			return Check{}, fmt.Errorf("%q is no number of workers", fields[2])
		}
		workers, fields = []int{n}, slices.Delete(fields, 2, 3)
	}
	if !refused && (len(fields) != 4 || fields[2] != "=") || refused && len(fields) != 2 {
		return Check{},
			errors.New("expected `KERNEL SIZE = RESULT`, `KERNEL SIZE WORKERS = RESULT` or " +
				"`fails KERNEL SIZE`")
	}
	size, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return Check{}, fmt.Errorf("%q is no size", fields[1])
	}
	problem := Problem{Kernel: fields[0], Size: size, Rounds: 2}
	name := fields[0] + " " + fields[1]
	if refused {
		refused := func(ctx context.Context, b *Built,
			patience float64) error {
			return refuses(ctx, b, problem, patience)
		}
		return Check{Name: name, Title: "a problem that is not known is refused with status 2",
			Play: refused}, nil
	}
	if len(workers) == 1 {
		name = fmt.Sprintf("%s, %d workers", name, workers[0])
	}
	return Check{Name: name, Title: "gives " + fields[3], Play: func(ctx context.Context, b *Built,
		patience float64) error {
		for _, problem.Workers = range workers {
			if err := solves(ctx, b, problem, fields[3], patience); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

func solves(ctx context.Context, b *Built, problem Problem, want string, patience float64) error {
	p, err := Solve(ctx, b, problem, StartOptions{})
	if err != nil {
		return err
	}
	defer p.Kill()
	for range problem.Rounds {
		s, err := p.Next(ctx, lengthen(solveLimit, patience))
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%d workers: it ended before its last solution%s", problem.Workers,
				lastLines(p.Tail(), 20))
		}
		if err != nil {
			return err
		}
		if s.Result != want {
			return fmt.Errorf("%d workers: got %s, want %s", problem.Workers, s.Result, want)
		}
	}
	if s, err := p.Next(ctx, lengthen(solveLimit, patience)); err == nil {
		return fmt.Errorf("%d workers: one solution more than the %d asked for: %s",
			problem.Workers, problem.Rounds, s.Result)
	}
	if status := p.Status(); status != 0 {
		return fmt.Errorf("%d workers: status %d at the end%s", problem.Workers, status,
			lastLines(p.Tail(), 20))
	}
	return nil
}

func refuses(ctx context.Context, b *Built, problem Problem, patience float64) error {
	problem.Workers = 1
	p, err := Solve(ctx, b, problem, StartOptions{})
	if err != nil {
		return err
	}
	defer p.Kill()
	if s, err := p.Next(ctx, lengthen(solveLimit, patience)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("got %v (%w), want nothing", s.Result, err)
	}
	status, said := p.Status(), strings.TrimSpace(p.Tail())
	if status != 2 || said == "" || strings.Contains(said, "\n") {
		return fmt.Errorf("status %d and %q on standard error, want status 2 and one line", status,
			said)
	}
	return nil
}
