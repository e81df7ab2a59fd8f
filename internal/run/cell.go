package run

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"runtime"
	"syscall"
	"time"

	"interleave/internal/group"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
	"interleave/internal/record"
	"interleave/internal/sample"
)

const (
	// slack is what a cell may take beyond its warm-up and window: connecting,
	// draining, a slow start.
	slack = 20 * time.Second
	// longest bounds a finite load that a very slow server would never end.
	longest = 10 * time.Minute
)

// Local is the bench on this machine: server and load are processes here, on cores of their own or
// shared, on loopback, in two network namespaces, or at the two ends of a tap. Each cell has hosts
// of its own, so that nothing of an earlier one waits in their tables.
type Local struct {
	Exe   []string                             // the engine's command
	Built map[*manifest.Model]*toolchain.Built // every model that may be measured
	CPUs  map[string][]int                     // the own condition's cores by role
	Hosts manifest.Hosts                       // of servers that could be anywhere: Local or NetNS
	// of the kernel for each waking of a core, as calibrated
	WakeCost time.Duration
}

// Measure starts a fresh server, loads it, samples it, stops it, and judges the cell by the gates.
func (l *Local) Measure(ctx context.Context, s *Spec, seed uint64,
	window func(open bool)) (*record.Cell, error) {
	runtime.GC() // now, so that the controller has nothing to collect while the window is open
	c := &record.Cell{Load: s.Point.Load, Status: record.Measured}
	facts := l.facts(s)
	err := l.measure(ctx, s, seed, window, c, &facts)
	var bad *spoilt
	switch {
	case errors.As(err, &bad):
		breaks(c, bad)
		return c, nil
	case err != nil:
		return nil, err
	}
	Judge(c, facts)
	return c, nil
}

// facts are what is known of a cell before it is measured.
func (l *Local) facts(s *Spec) Facts {
	f := Facts{Cores: runtime.NumCPU(), LoadCores: len(l.cpus("load", s.Condition)),
		Pinned: s.Condition == manifest.Own, Window: s.Window, WakeCost: l.WakeCost}
	if f.LoadCores == 0 {
		f.LoadCores = 1 // one engine thread on any core
	}
	return f
}

// breaks makes a cell a failed one.
func breaks(c *record.Cell, why *spoilt) {
	c.Status, c.Tail = record.Broken, why.tail
	c.Reasons = append(c.Reasons, record.Reason{Gate: why.gate, Text: why.err.Error()})
}

// spoilt is an error that ends a cell but not the run.
type spoilt struct {
	gate string
	err  error
	tail string
}

func (s *spoilt) Error() string { return s.err.Error() }

// cpus are a role's cores under a condition; nil is all of them.
func (l *Local) cpus(role string, c manifest.Condition) []int {
	if c == manifest.Own {
		return l.CPUs[role]
	}
	return nil
}

// role is how the processes of one role are started.
func (l *Local) role(name string, c manifest.Condition) group.Options {
	return group.Options{CPUs: l.cpus(name, c), Pdeathsig: syscall.SIGKILL, Priority: true}
}

// hosts says where a cell's server is: the model first, then the point, then the run.
func (l *Local) hosts(s *Spec) manifest.Hosts {
	if hosts := cmp.Or(s.Model.Hosts, manifest.Local); hosts != manifest.Local {
		return hosts
	}
	return cmp.Or(s.Point.Hosts, l.Hosts, manifest.Local)
}

// measure fills c and f. A *spoilt error is the cell's, any other the run's.
func (l *Local) measure(ctx context.Context, s *Spec, seed uint64, window func(bool),
	c *record.Cell, f *Facts) (err error) {
	if s.Protocol == manifest.Program {
		return l.solve(ctx, s, window, c, f)
	}
	opts := serve.StartOptions{Hosts: l.hosts(s), Group: l.role("server", s.Condition)}
	if s.Protocol == manifest.Sink {
		out, err := openOutput(l.Built[s.Model], s.Point.Load)
		if err != nil {
			return err
		}
		defer out.close()
		opts.Stdout = out.file
	}
	if rampTime(s.Point.Load) > 0 {
		if err := makeRoom(s, l.Built[s.Model].Model, &opts); err != nil {
			return &spoilt{"room", err, ""}
		}
	}
	chain, err := serve.StartChain(ctx, l.Built[s.Model], opts, max(1, s.Point.Load.Chain))
	if err != nil {
		return cause("start", err)
	}
	defer chain.Kill()
	server := chain[0] // the one that clients connect to
	c.StartUp = server.StartUp
	sampler := sample.New(chain.Group(), s.Sample)
	sampler.CountForeign()
	if rampTime(s.Point.Load) > 0 {
		sampler.Trace()
	}
	sampler.Start()
	sampler.Mark(sample.MarkIdle)
	clock := startClock()

	loadErr := l.offer(ctx, s, seed, chain, window, sampler, c, f)
	series := sampler.Stop()
	c.Server = &series
	f.ClockStep = clock.step()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := chain.Check(); err != nil {
		return cause("died", err)
	}
	if loadErr != nil {
		return &spoilt{"load", loadErr, server.Tail()}
	}
	return s.ends(chain, c, f)
}

// ends stops the servers of a cell, and notes what they do wrong.
func (s *Spec) ends(chain serve.Chain, c *record.Cell, f *Facts) error {
	var failure *serve.Failure
	switch err := forgiven(s.Model, chain.Stop()); {
	case errors.As(err, &failure) && failure.Cause == serve.Died:
		f.Died, c.Tail = failure.Text, failure.Tail
	case errors.As(err, &failure):
		f.Dirty, c.Tail = failure.Text, failure.Tail
	case err != nil:
		return err
	}
	return nil
}

// plan is the engine's plan for a cell.
func (l *Local) plan(s *Spec, seed uint64, server *serve.Server) load.Plan {
	limit := s.WarmUp + s.Window + slack
	if s.Window == 0 {
		limit = longest
	}
	if rampTime(s.Point.Load) > 0 {
		limit += slowRamp*rampTime(s.Point.Load) + load.StreamDrainTime
	}
	p := load.Plan{
		Protocol: s.Protocol, Load: s.Point.Load, Seed: seed, Limit: limit,
		Addr:   netip.AddrPortFrom(netip.MustParseAddr(server.Host), uint16(server.Port)),
		WarmUp: s.WarmUp, Window: s.Window, CPUs: l.cpus("load", s.Condition),
	}
	if server.Net != nil {
		p.Sources = server.Net.Load
	} else {
		p.Sources = load.LoopbackSources(s.Point.Load.Connections)
	}
	return p
}

// offer drives the engine through its stages.
func (l *Local) offer(ctx context.Context, s *Spec, seed uint64, chain serve.Chain,
	window func(bool), sampler *sample.Sampler, c *record.Cell, f *Facts) (err error) {
	role := l.role("load", s.Condition)
	role.NetNS = chain[0].Net.Path("load")
	loads, err := group.New("load", role)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loads.Close()) }()
	// now, for it looks at each file that the server has open
	if rampTime(s.Point.Load) > 0 {
		if err := checkOwner(chain, c, f); err != nil {
			return err
		}
	}
	engine, err := load.Start(ctx, l.Exe, l.plan(s, seed, chain[0]), loads.Start)
	if err != nil {
		return err
	}
	defer engine.Kill()
	for {
		event, err := engine.Next()
		if err != nil {
			return err
		}
		switch event.At {
		case load.Connected:
			if rampTime(s.Point.Load) > 0 {
				sampler.Mark(sample.MarkRamp)
			} else if err := checkOwner(chain, c, f); err != nil {
				return err
			}
			if err := engine.Go(); err != nil {
				return err
			}
		case load.Opened:
			window(true)
			sampler.Mark(sample.MarkOpen)
		case load.Closed:
			sampler.Mark(sample.MarkClosed)
			window(false)
		case load.Done:
			if event.Result == nil {
				return errors.New("the load engine ended without a result")
			}
			c.Result = event.Result
			return nil
		case load.Failed:
			return errors.New(event.Error)
		}
	}
}

// checkOwner finds other processes that listen on the servers' ports.
func checkOwner(chain serve.Chain, c *record.Cell, f *Facts) error {
	err := chain.CheckOwner()
	var failure *serve.Failure
	if errors.As(err, &failure) && failure.Cause == serve.PortOwner {
		f.Stranger, c.Tail = failure.Text, failure.Tail
		return nil
	}
	return err
}

// cause turns a server's failure into what spoils its cell; any other error stays one of the run.
func cause(gate string, err error) error {
	var failure *serve.Failure
	if !errors.As(err, &failure) {
		return err
	}
	if failure.Cause != "" {
		gate = string(failure.Cause)
	}
	return &spoilt{gate, errors.New("the server " + failure.Text), failure.Tail}
}

// clocks compares the wall clock with the monotonic one.
type clocks struct{ began time.Time }

func startClock() clocks { return clocks{time.Now()} }

// step is by how much the wall clock was set since the start.
func (c clocks) step() time.Duration {
	now := time.Now()
	return now.Round(0).Sub(c.began.Round(0)) - now.Sub(c.began)
}
