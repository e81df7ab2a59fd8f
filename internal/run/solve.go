package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/record"
	"interleave/internal/sample"
)

const (
	// endless is more rounds than any window holds: the cell ends the program.
	endless = 1_000_000_000
	// leastSolutions are in every window, however long one takes: a median needs three.
	leastSolutions = 3
)

// solve measures a program: solutions within the warm-up are thrown away, those of the window are
// timed by the program itself, for it may have to lay out its problem anew before each.
func (l *Local) solve(ctx context.Context, s *Spec, window func(bool), c *record.Cell,
	f *Facts) error {
	clock := startClock()
	began := time.Now()
	problem := serve.Problem{Kernel: s.Point.Load.Kernel, Size: s.Point.Load.Problem,
		Workers: s.Point.Load.Workers, Rounds: endless}
	p, err := serve.Solve(ctx, l.Built[s.Model], problem,
		serve.StartOptions{Group: l.role("server", s.Condition)})
	if err != nil {
		return cause("start", err)
	}
	defer p.Kill()
	sampler := sample.New(p.Group, s.Sample)
	sampler.CountForeign()
	sampler.Start()
	sampler.Mark(sample.MarkIdle)
	solved := &load.Solved{Took: &hist.Histogram{}}
	c.Result = &load.Result{Part: solved, Threads: s.Point.Load.Workers}
	err = solutions(ctx, s, p, c.Result, solved, func(open bool) {
		window(open)
		if open {
			c.StartUp = time.Since(began)
			sampler.Mark(sample.MarkOpen)
		} else {
			sampler.Mark(sample.MarkClosed)
		}
	})
	series := sampler.Stop()
	c.Server = &series
	f.ClockStep = clock.step()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return &spoilt{"died", errors.New("the program ended before it was told to"), p.Tail()}
	case err != nil:
		return cause("solve", err)
	}
	return nil
}

// solutions reads what the program solves: at least one solution to warm up, at least
// three to measure.
func solutions(ctx context.Context, s *Spec, p *serve.Program, r *load.Result,
	solved *load.Solved, window func(open bool)) error {
	began, opened := time.Now(), time.Time{}
	for {
		next, err := p.Next(ctx, longest)
		if err != nil {
			return err
		}
		if next.Result != s.Point.Load.Answer {
			if r.Errors == nil {
				r.Errors = map[string]int64{}
				r.FirstFail = fmt.Sprintf("%s came out, not %s", next.Result, s.Point.Load.Answer)
			}
			r.Errors[load.WrongReply]++
		}
		solved.Total++
		switch {
		case !opened.IsZero():
			solved.Solutions++
			if s.Point.Load.Kernel == manifest.KernelTransfer {
				// what is no number is no answer either
				n, _ := strconv.ParseInt(next.Result, 10, 64)
				solved.Bytes += n
			}
			solved.Took.Record(int64(next.Took))
			r.Window = time.Since(opened)
			if solved.Solutions >= leastSolutions && r.Window >= s.Window {
				window(false)
				return nil
			}
		case time.Since(began) >= s.WarmUp:
			opened = time.Now()
			window(true)
		}
	}
}
