package run

// A duet is a round of a block whose models run side by side: all servers are up, each with an
// engine of its own, and they take turns of some tens of milliseconds. A disturbance meets all of
// them, so ratios are of figures that lie next to each other in time.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/group"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/proc"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// A player is one model of a duet. The goroutine that runs the duet owns it.
type player struct {
	spec   *Spec
	cell   *record.Cell
	facts  Facts
	output *output
	chain  serve.Chain
	loads  *group.Group
	engine *load.Engine
	stints *sample.Stints
	clock  clocks
	since  time.Time     // its server has rested, as far as that is not counted yet
	works  bool          // its server has worked on after a stint
	wrong  *spoilt       // what has ended its part
	used   time.Duration // CPU until then
	// it has no more turns: its server or its load has met an error, or its engine has ended
	out bool
}

// Round measures the cells of a block side by side, and gives them in the order of the specs. Where
// this machine has no room for all the servers, they are measured one after the other.
func (l *Local) Round(ctx context.Context, specs []*Spec, seed uint64,
	window func(open bool)) (cells []*record.Cell, err error) {
	if !roomFor(specs) {
		for _, s := range specs {
			c, err := l.Measure(ctx, s, seed, window)
			if err != nil {
				return nil, err
			}
			cells = append(cells, c)
		}
		return cells, nil
	}
	runtime.GC() // now, and not while the windows are open
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	d := &duet{bench: l, ctx: ctx, seed: seed, limit: together(specs)}
	for _, s := range specs {
		p := &player{spec: s, clock: startClock(),
			cell:  &record.Cell{Load: s.Point.Load, Status: record.Measured, Duet: true},
			facts: l.facts(s)}
		d.players = append(d.players, p)
		d.longest = max(d.longest, s.WarmUp)
	}
	defer func() {
		for _, p := range d.players {
			err = errors.Join(err, p.close())
		}
	}()
	if err := d.play(window); err != nil {
		return nil, err
	}
	d.excuse()
	for _, p := range d.players {
		p.judge()
		cells = append(cells, p.cell)
	}
	return cells, nil
}

// A duet is one round of a block.
type duet struct {
	bench   *Local
	ctx     context.Context
	seed    uint64
	limit   time.Duration // of each engine
	waited  time.Duration // in the window, for servers that worked on after a stint
	longest time.Duration // warm-up of the models
	players []*player
}

// play carries the duet out. An error is one of the run.
func (d *duet) play(window func(open bool)) error {
	steps := []func() error{
		func() error { return d.each(d.start) },
		func() error { return d.each(d.connect) },
		d.warm,
		d.settle,
		func() error { return d.measure(window) },
		func() error { return d.each(d.finish) },
		func() error { return d.each((*player).stop) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// each has all players do something that are still in the duet. An error of one ends its part, and
// no more.
func (d *duet) each(do func(p *player) error) error {
	for _, p := range d.players {
		if err := d.one(p, do); err != nil {
			return err
		}
	}
	return nil
}

// gone tells whether an error has ended the player's part.
func (p *player) gone() bool { return p.wrong != nil }

func (d *duet) one(p *player, do func(p *player) error) error {
	if p.gone() {
		return nil
	}
	err := do(p)
	var bad *spoilt
	switch {
	case d.ctx.Err() != nil:
		return d.ctx.Err()
	case errors.As(err, &bad):
		p.used = p.cpu()
		p.wrong, p.out = bad, true
		return p.close()
	}
	return err
}

// start starts a player's server.
func (d *duet) start(p *player) error {
	s, l := p.spec, d.bench
	opts := serve.StartOptions{Hosts: l.hosts(s), Group: l.role("server", s.Condition)}
	if s.Protocol == manifest.Sink {
		out, err := openOutput(l.Built[s.Model], s.Point.Load)
		if err != nil {
			return err
		}
		p.output, opts.Stdout = &out, out.file
	}
	chain, err := serve.StartChain(d.ctx, l.Built[s.Model], opts, 1)
	if err != nil {
		return cause("start", err)
	}
	p.chain, p.cell.StartUp = chain, chain[0].StartUp
	p.stints = sample.NewStints(chain.Group(), s.Sample)
	p.stints.Idle()
	return nil
}

// connect starts a player's engine. Its connections stand then, and rest.
func (d *duet) connect(p *player) error { return p.loadError(d.offer(p)) }

func (d *duet) offer(p *player) (err error) {
	s, l := p.spec, d.bench
	role := l.role("load", s.Condition)
	role.NetNS = p.chain[0].Net.Path("load")
	if p.loads, err = group.New("load", role); err != nil {
		return err
	}
	plan := l.plan(s, d.seed, p.chain[0])
	plan.Stints, plan.WarmUp, plan.Limit = true, 0, d.limit
	if p.engine, err = load.Start(d.ctx, l.Exe, plan, p.loads.Start); err != nil {
		return err
	}
	if _, err := p.await(load.Connected); err != nil {
		return err
	}
	if err := checkOwner(p.chain, p.cell, &p.facts); err != nil {
		return err
	}
	return p.engine.Go()
}

// loadError makes an error of the engine one of the cell.
func (p *player) loadError(err error) error {
	if _, known := errors.AsType[*spoilt](err); err == nil || known {
		return err
	}
	if dead := p.chain.Check(); dead != nil {
		return cause("died", dead)
	}
	return &spoilt{"load", err, p.chain[0].Tail()}
}

// await waits until the engine is so far. An engine that has ended before has a result all the
// same: its player has no more turns.
func (p *player) await(stage load.Stage) (load.Event, error) {
	for {
		event, err := p.engine.Next()
		switch {
		case err != nil:
			return event, p.loadError(err)
		case event.At == load.Failed:
			return event, p.loadError(errors.New(event.Error))
		case event.At == load.Done && event.Result == nil:
			return event, p.loadError(errors.New("the load engine ended without a result"))
		case event.At == load.Done:
			p.cell.Result, p.out = event.Result, true
			return event, nil
		case event.At == stage:
			return event, nil
		}
	}
}

// run has the load of a player run for a stint. A player whose load meets an error has no more
// turns: its cell does not count any more, and the others need not wait for its time-outs.
func (p *player) run(d time.Duration, counted bool) (load.Event, error) {
	if err := p.diedAtRest(); err != nil {
		return load.Event{}, err
	}
	if err := p.engine.Stint(load.Stint{For: d, Counted: counted}); err != nil {
		return load.Event{}, p.loadError(err)
	}
	event, err := p.await(load.Rested)
	p.out = p.out || event.Errors > 0
	return event, err
}

// warm warms all models up, in turn.
func (d *duet) warm() error {
	left := make(warmUp, len(d.players))
	for i, p := range d.players {
		left[i] = p.spec.WarmUp
	}
	for !left.over() {
		for i, p := range d.players {
			stint := left.next(i)
			if p.out {
				continue
			}
			if err := d.one(p, func(p *player) error {
				_, err := p.run(stint, false)
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// cpu is what all servers and loads have used so far.
func (d *duet) cpu() (total time.Duration) {
	for _, p := range d.players {
		total += p.cpu()
	}
	return total
}

// measure has all models run in turn until each has had its window.
func (d *duet) measure(window func(open bool)) error {
	if err := d.each(func(p *player) error {
		p.stints.Open()
		p.since = time.Now()
		return nil
	}); err != nil {
		return err
	}
	window(true)
	defer window(false)
	opened := d.look()
	cycles, each := divide(d.players[0].spec.Window)
	for cycle := range cycles {
		for _, i := range turns(d.seed, cycle, len(d.players)) {
			p := d.players[i]
			if p.out {
				continue
			}
			if err := d.one(p, func(p *player) error { return p.turn(each) }); err != nil {
				return err
			}
			if err := d.calm(p, cycle == 0); err != nil {
				return err
			}
		}
	}
	d.judgeMachine(d.look().minus(opened))
	var up []*sample.Stints
	err := d.each(func(p *player) error {
		p.stints.Close()
		up = append(up, p.stints)
		return nil
	})
	sample.Alone(up)
	return err
}

// turn is one model's turn: a moment that does not count, and a stint that does.
func (p *player) turn(each time.Duration) error {
	if err := p.rested(); err != nil {
		return err
	}
	if _, err := p.run(leadTime, false); err != nil || p.out {
		return err
	}
	p.stints.Begin()
	event, err := p.run(each, true)
	if err == nil && event.At == load.Rested {
		p.stints.End(event.Window)
	}
	p.since = time.Now()
	return err
}

// diedAtRest is the fault of a server that has ended since its last stint. If all that it was asked
// for in that was answered, it ended at rest.
func (p *player) diedAtRest() error {
	err := p.chain.Check()
	var failure *serve.Failure
	if errors.As(err, &failure) && failure.Cause == serve.Died && !p.out {
		return cause("died", &serve.Failure{Cause: serve.Died, Tail: failure.Tail,
			Text: failure.Text + ", at rest between its stints"})
	}
	return cause("died", err)
}

// finish ends a player's load.
func (d *duet) finish(p *player) error {
	if p.cell.Result != nil {
		return nil
	}
	if err := p.engine.End(); err != nil {
		return p.loadError(err)
	}
	_, err := p.await(load.Done)
	return err
}

// stop ends a player's server. The others are still up, and rest.
func (p *player) stop() error {
	series := p.stints.Series()
	p.cell.Server = &series
	p.facts.ClockStep = p.clock.step()
	if err := p.diedAtRest(); err != nil {
		return err
	}
	return p.spec.ends(p.chain, p.cell, &p.facts)
}

// close frees what a player holds. It may be called again.
func (p *player) close() error {
	if p.engine != nil {
		p.engine.Kill()
	}
	p.chain.Kill()
	if p.output != nil {
		p.output.close()
		p.output = nil
	}
	if p.loads == nil {
		return nil
	}
	loads := p.loads
	p.loads = nil
	return loads.Close()
}

// judge applies the gates.
func (p *player) judge() {
	if p.wrong == nil {
		Judge(p.cell, p.facts)
		return
	}
	if p.stints != nil && p.cell.Server == nil {
		series := p.stints.Series()
		p.cell.Server = &series
	}
	breaks(p.cell, p.wrong)
}

// A machineLook is what the machine has done so far, and what of it was ours.
type machineLook struct {
	at     time.Time
	read   proc.Machine
	ours   time.Duration
	others proc.Census // nil: not all processes are seen
}

// A machineSpan is what the machine did between two looks.
type machineSpan struct {
	wall, busy, steal, ours time.Duration
	others                  time.Duration // that other programs are charged with, if seen
	seen                    bool
}

// look reads the machine's counters.
func (d *duet) look() (m machineLook) {
	var reader proc.Reader
	m.others, _ = proc.Count(&reader, d.ours())
	m.at = time.Now()
	m.read, _ = proc.ParseMachine(reader.Path("/proc/stat"), proc.Cores())
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		m.ours = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	m.ours += d.cpu()
	return m
}

// ours are the processes of the duet. What they have started is ours, too.
func (d *duet) ours() []int {
	ours := []int{os.Getpid()}
	for _, p := range d.players {
		for _, s := range p.chain {
			ours = append(ours, s.Group.PIDs()...)
		}
	}
	return ours
}

// cpu is what a player's server and load have used so far.
func (p *player) cpu() time.Duration {
	if p.gone() {
		return p.used
	}
	total := time.Duration(0)
	for _, s := range p.chain {
		user, system := s.Group.CPU()
		total += user + system
	}
	if p.loads != nil {
		user, system := p.loads.CPU()
		total += user + system
	}
	return total
}

func (m machineLook) minus(o machineLook) machineSpan {
	wall := m.at.Sub(o.at)
	span := machineSpan{wall: wall, busy: m.read.Busy(wall) - o.read.Busy(0),
		steal: m.read.Steal - o.read.Steal, ours: m.ours - o.ours,
		seen: m.others != nil && o.others != nil}
	if span.seen {
		span.others = m.others.Since(o.others)
	}
	return span
}

// judgeMachine gives each player what the gates ask of the machine and of the others.
func (d *duet) judgeMachine(m machineSpan) {
	var resting time.Duration
	for _, p := range d.players {
		if p.stints != nil {
			resting += p.stints.Resting()
		}
	}
	for _, p := range d.players {
		f := &DuetFacts{Wall: m.wall, Waited: d.waited, Steal: m.steal,
			Foreign: max(0, m.busy-m.ours)}
		if m.seen {
			f.Foreign, f.Seen = m.others, true
		}
		if p.stints != nil {
			f.Resting = resting - p.stints.Resting()
			f.Stints = p.stints.Spent()
		}
		p.facts.Duet = f
	}
}

// excuse takes off what the wakings of all stints explain of the machine's time, where other
// programs were not seen themselves. How often the servers and loads were woken between the stints
// was not counted, so that is not excused.
func (d *duet) excuse() {
	woken := int64(0)
	for _, p := range d.players {
		woken += wakings(p.cell)
	}
	for _, p := range d.players {
		if f := p.facts.Duet; f != nil && !f.Seen {
			f.Foreign = max(0, f.Foreign-excused(woken, p.facts.WakeCost,
				f.Wall*time.Duration(p.facts.Cores)))
		}
	}
}

// memory that a server is taken to need beside others. A JVM's heap grows while there is room.
const (
	serverBytes = 128 << 20
	jvmBytes    = 768 << 20
)

// roomFor tells whether the servers fit into the memory of this machine together.
func roomFor(specs []*Spec) bool {
	available, _, ok := proc.ParseMemory(new(proc.Reader).Path("/proc/meminfo"))
	return !ok || needs(specs) <= available
}

func needs(specs []*Spec) (bytes int64) {
	bytes = sparedBytes
	for _, s := range specs {
		if s.Model.Language == "java" {
			bytes += jvmBytes
		} else {
			bytes += serverBytes
		}
	}
	return bytes
}

// duet measures and records what is left of a block, side by side.
func (r *Runner) duet(ctx context.Context, b *Block, round, order int) error {
	for {
		var left []*Spec
		var orders []int
		for i, s := range b.Specs {
			if r.done[s.key(round)] < maxAttempts {
				left, orders = append(left, s), append(orders, order+i+1)
			}
		}
		if len(left) == 0 {
			return nil
		}
		r.Watch.Watch(r.progress(Event{Kind: CellStarts, Spec: left[0], Round: round}))
		began := r.Now()
		cells, err := r.Bench.Round(ctx, left, seedOf(r.Record.Header().Seed, left[0].key(round)),
			r.window(left[0], round))
		if ctx.Err() != nil {
			return fmt.Errorf("%w in round %d; what was measured is recorded", ErrStopped, round)
		}
		if err != nil {
			return err
		}
		took := r.Now().Sub(began) / time.Duration(len(cells))
		repeat := spoiltTogether(cells)
		for i, c := range cells {
			first := r.done[left[i].key(round)] == 0
			c.Started, c.Took = began.UTC(), took
			if err := r.keep(left[i], c, round, orders[i]); err != nil {
				return err
			}
			if repeat && first && again(c) {
				r.done[left[i].key(round)] = 1
			}
		}
	}
}

// spoiltTogether tells whether a duet deserves a second attempt: the machine spoilt cells, and left
// none that counts. A single cell is not repeated, for the others would not lie beside it.
func spoiltTogether(cells []*record.Cell) bool {
	spoilt := false
	for _, c := range cells {
		if c.Status == record.Measured {
			return false
		}
		spoilt = spoilt || again(c)
	}
	return spoilt
}
