package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/toolchain"
)

// programChecks reads what the programs of a service must print, from the lines of its conform
// files.
//
//	fib 20 = 6765         the result of a problem, with 1 and with 2 workers, twice in a row
//	transfer 4 7 = 1400   the result depends on the workers: with 7 of them
//	fails nonsense 1      must be refused: status 2, one line on standard error
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

// solveLimit bounds one small problem, with the start of a JVM, on a busy machine.
const solveLimit = 20 * time.Second

// programCheck reads the fields of one line.
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
	problem := serve.Problem{Kernel: fields[0], Size: size, Rounds: 2}
	name := fields[0] + " " + fields[1]
	if refused {
		refused := func(ctx context.Context, b *toolchain.Built, patience float64) error {
			return refuses(ctx, b, problem, patience)
		}
		return Check{Name: name, Title: "a problem that is not known is refused with status 2",
			Play: refused}, nil
	}
	if len(workers) == 1 {
		name = fmt.Sprintf("%s, %d workers", name, workers[0])
	}
	play := func(ctx context.Context, b *toolchain.Built, patience float64) error {
		for _, problem.Workers = range workers {
			if err := solves(ctx, b, problem, fields[3], patience); err != nil {
				return err
			}
		}
		return nil
	}
	return Check{Name: name, Title: "gives " + fields[3], Play: play}, nil
}

// solves has a program solve a problem, whose result must be want.
func solves(ctx context.Context, b *toolchain.Built, problem serve.Problem, want string,
	patience float64) error {
	p, err := serve.Solve(ctx, b, problem, serve.StartOptions{})
	if err != nil {
		return err
	}
	defer p.Kill()
	for range problem.Rounds {
		s, err := p.Next(ctx, serve.Lengthen(solveLimit, patience))
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%d workers: it ended before its last solution%s", problem.Workers,
				tail.Lines(p.Tail(), 20))
		}
		if err != nil {
			return err
		}
		if s.Result != want {
			return fmt.Errorf("%d workers: got %s, want %s", problem.Workers, s.Result, want)
		}
	}
	if s, err := p.Next(ctx, serve.Lengthen(solveLimit, patience)); err == nil {
		return fmt.Errorf("%d workers: one solution more than the %d asked for: %s",
			problem.Workers, problem.Rounds, s.Result)
	}
	if status := p.Status(); status != 0 {
		return fmt.Errorf("%d workers: status %d at the end%s", problem.Workers, status,
			tail.Lines(p.Tail(), 20))
	}
	return nil
}

// refuses gives a program a problem that it must refuse.
func refuses(ctx context.Context, b *toolchain.Built, problem serve.Problem,
	patience float64) error {
	problem.Workers = 1
	p, err := serve.Solve(ctx, b, problem, serve.StartOptions{})
	if err != nil {
		return err
	}
	defer p.Kill()
	if s, err := p.Next(ctx, serve.Lengthen(solveLimit, patience)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("got %v (%w), want nothing", s.Result, err)
	}
	status, said := p.Status(), strings.TrimSpace(p.Tail())
	if status != 2 || said == "" || strings.Contains(said, "\n") {
		return fmt.Errorf("status %d and %q on standard error, want status 2 and one line", status,
			said)
	}
	return nil
}
