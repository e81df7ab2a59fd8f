package calibrate

// The checks, each with its truth.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"interleave/internal/group"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/sample"
)

const (
	stallRate        = 2000 // requests a second
	stallConnections = 64
	stallTolerance   = 2.0 // ms
	delayTolerance   = .02 // of the delay
	burnTolerance    = .03 // of the burn
	memoryTolerance  = .02 // of the memory
	samplerLimit     = 5.0 // ms of CPU for a look at 100 processes
	samplerEvery     = 100 * time.Millisecond
	messageBytes     = 16
)

// offer runs a load of the echo against a server. It returns the engine's result, and its part
// about requests.
func (b bench) offer(ctx context.Context, s *server, l manifest.Load,
	warmUp, window time.Duration) (r *load.Result, of *load.Requests, err error) {
	g, err := group.New("calibration", group.Options{CPUs: b.load, Priority: true})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	l.SizeBytes = messageBytes
	p := load.Plan{
		Protocol: "echo", Load: l, Seed: 1, CPUs: b.load,
		Addr:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.port),
		WarmUp: warmUp, Window: window, Drain: startTime, Limit: warmUp + window + startTime,
	}
	e, err := load.Start(ctx, []string{b.exe, "load"}, p, g.Start)
	if err != nil {
		return nil, nil, err
	}
	defer e.Kill()
	for {
		ev, err := e.Next()
		if err != nil {
			return nil, nil, err
		}
		switch ev.At {
		case load.Connected:
			if err := e.Go(); err != nil {
				return nil, nil, err
			}
		case load.Failed:
			return nil, nil, errors.New(ev.Error)
		case load.Done:
			if len(ev.Result.Errors) > 0 {
				return nil, nil, fmt.Errorf("the load met errors: %s", ev.Result.FirstFail)
			}
			of, ok := ev.Result.Part.(*load.Requests)
			if !ok {
				return nil, nil, errors.New("the load engine ended without the result of an echo")
			}
			return ev.Result, of, nil
		}
	}
}

// stallCheck: in an open system, a server that stops for a tenth of the time delays a tenth of the
// requests, evenly by 0 to 100 ms. So 5 % wait longer than 50 ms. A client that waits for the
// server and sends late, but does not count its lateness, sees hardly any of them.
func stallCheck(window time.Duration) check {
	return with([]string{"stall"}, func(ctx context.Context, b bench, s *server) (record.Check,
		error) {
		l := manifest.Load{Shape: manifest.Open, Connections: stallConnections, Rate: stallRate,
			Gaps: "constant"}
		_, of, err := b.offer(ctx, s, l, 100*time.Millisecond, window)
		if err != nil {
			return record.Check{}, fmt.Errorf("measuring a server that stalls: %w", err)
		}
		c := judge("95th percentile of a server that stalls 100 ms each second", "ms", 50,
			ms(of.Latency.Quantile(.95)), stallTolerance)
		c.Note = fmt.Sprintf("sends were late by %.3g ms at the 99th percentile",
			ms(of.Late.Quantile(.99)))
		return c, nil
	})
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

// delayCheck: if a server spins longer before each reply, its clients wait longer by the same time.
// Two servers take short turns, and the difference of neighbouring turns is compared with the
// truth, since the round trip takes time too, which varies from second to second. Both servers
// delay: a core whose idle thread is woken within microseconds wakes faster than one that slept, by
// 1 % of a millisecond.
func delayCheck(delay time.Duration, turns int, window time.Duration) check {
	least := delay / 2
	args := func(d time.Duration) []string { return []string{"delay", fmt.Sprint(int64(d))} }
	// Of the slower server's core, 38 % is used, so that no request waits for another.
	l := manifest.Load{Shape: manifest.Open, Connections: 1, Rate: .25 / delay.Seconds(),
		Gaps: "constant"}
	return with(args(least), func(ctx context.Context, b bench, fast *server) (record.Check,
		error) {
		return with(args(least+delay), func(ctx context.Context, b bench,
			slow *server) (record.Check, error) {
			var medians [2][]float64
			var more []float64
			for turn := range turns {
				for i, s := range []*server{fast, slow} {
					_, of, err := b.offer(ctx, s, l, 10*time.Millisecond, window)
					if err != nil {
						return record.Check{}, fmt.Errorf("measuring a server that delays: %w", err)
					}
					medians[i] = append(medians[i], ms(of.Service.Quantile(.5)))
				}
				more = append(more, medians[1][turn]-medians[0][turn])
			}
			c := judge("injected delay", "ms", ms(int64(delay)), middle(more),
				delayTolerance*ms(int64(delay)))
			c.Note = fmt.Sprintf("replies took %.4g and %.4g ms", middle(medians[0]),
				middle(medians[1]))
			return c, nil
		})(ctx, b)
	})
}

func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// watched samples a server while do runs, between the two marks of a window.
func watched(s *server, do func() error) (sample.Series, error) {
	sampler := sample.New(s.group, samplerEvery)
	sampler.Start()
	sampler.Mark(sample.MarkOpen)
	err := do()
	sampler.Mark(sample.MarkClosed)
	return sampler.Stop(), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// burnCheck: a process that burns a share of a core, by its own CPU clock, is seen to
// use that share.
func burnCheck(share float64, window time.Duration) check {
	return with([]string{"burn", fmt.Sprint(share)}, func(ctx context.Context, b bench,
		s *server) (record.Check, error) {
		if err := pause(ctx, 20*time.Millisecond); err != nil { // its start is no burn
			return record.Check{}, err
		}
		series, err := watched(s, func() error { return pause(ctx, window) })
		if err != nil {
			return record.Check{}, err
		}
		d, ok := series.Between(sample.MarkOpen, sample.MarkClosed)
		if !ok {
			return record.Check{}, errors.New("measuring a burn: the sampler's marks are missing")
		}
		truth := 100 * share
		return judge(fmt.Sprintf("burn of %g %% of a core", truth), "% of a core", truth,
			d.Percent(), burnTolerance*truth), nil
	})
}

// memoryCheck: a process that touches so many MiB grows by that.
func memoryCheck(mib int) check {
	return with([]string{"memory", fmt.Sprint(mib)}, func(_ context.Context, _ bench,
		s *server) (record.Check, error) {
		return memoryOf(s, mib)
	})
}

// memoryOf makes a server touch its memory and compares its growth with mib.
func memoryOf(s *server, mib int) (record.Check, error) {
	series, err := watched(s, func() error {
		if _, err := s.stdin.WriteString("touch\n"); err != nil {
			return err
		}
		if s.say() != "touched" {
			return errors.New("the reference server did not touch its memory")
		}
		return nil
	})
	if err != nil {
		return record.Check{}, fmt.Errorf("measuring memory: %w", err)
	}
	before, ok1 := series.Mark(sample.MarkOpen)
	after, ok2 := series.Mark(sample.MarkClosed)
	if !ok1 || !ok2 {
		return record.Check{}, errors.New("measuring memory: the sampler's marks are missing")
	}
	truth := float64(mib)
	return judge(fmt.Sprintf("memory of %d MiB", mib), "MiB", truth,
		float64(after.PSS-before.PSS)/(1<<20), memoryTolerance*truth), nil
}

// samplerCheck: a look at so many processes costs little. This process does nothing else meanwhile,
// so the cost is its CPU.
func samplerCheck(processes int) check {
	return with([]string{"crowd", fmt.Sprint(processes)}, func(ctx context.Context, _ bench,
		s *server) (record.Check, error) {
		series, err := watched(s, func() error { return pause(ctx, 2*time.Second) })
		if err != nil {
			return record.Check{}, err
		}
		var looks []sample.Sample
		for _, m := range series.Samples {
			if m.Mark == "" {
				looks = append(looks, m)
			}
		}
		if len(looks) < 2 || looks[0].Processes < processes {
			return record.Check{}, fmt.Errorf("measuring the sampler: %w: %d looks at %d processes",
				errSpoiled, len(looks), processes)
		}
		last := len(looks) - 1
		each := ms(int64(looks[last].Self-looks[0].Self)) / float64(last)
		c := record.Check{
			Name: fmt.Sprintf("CPU of a look at %d processes", processes), Unit: "ms",
			Truth: 0, Measured: each, Tolerance: samplerLimit, OK: each < samplerLimit,
		}
		return c, nil
	})
}

// errSpoiled says that the machine was too busy for anything to be measured in time.
var errSpoiled = errors.New("too little was measured")

// roundTripCheck reports the cost of the instrument itself. It has no truth and cannot fail.
func roundTripCheck(window time.Duration) check {
	return with([]string{"delay", "0"}, func(ctx context.Context, b bench, s *server) (record.Check,
		error) {
		r, of, err := b.offer(ctx, s, manifest.Load{Shape: manifest.Closed, Connections: 64},
			100*time.Millisecond, window)
		if err != nil {
			return record.Check{}, fmt.Errorf("measuring a round trip: %w", err)
		}
		if of.Answered == 0 {
			return record.Check{}, fmt.Errorf("measuring a round trip: %w: no request was answered",
				errSpoiled)
		}
		cost := float64((r.User + r.System).Nanoseconds()) / 1000 / float64(of.Answered)
		return record.Check{
			Name: "the load's own CPU for a round trip", Unit: "µs", Truth: cost, Measured: cost,
			OK: true,
			Note: fmt.Sprintf("for information: %.0f round trips a second on 64 connections",
				float64(of.Answered)/r.Window.Seconds()),
		}, nil
	})
}
