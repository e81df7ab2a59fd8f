package calibrate

// What it costs to wake a core. The kernel's time for it is charged to no process, and would be
// taken for other programs' by the gate foreign-cpu. So cores are woken at several rates, and the
// gate's own reading of other programs is set against the wakings. Its slope is the cost of one.
// Programs that run beside the calibration at all rates alike do not change a slope.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"interleave/internal/machine"
	"interleave/internal/proc"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// A way is one pattern of wakings.
type way struct {
	kind  string // of the reference server
	name  string
	cores func(b bench) []int
	rates []int // the lowest first
}

// The second way wakes three times for each of its rate: a timer, the answerer, the asker. So both
// reach more than 20,000 a second, as the loads do that keep a schedule.
var ways = []way{
	{"sleeper", "a thread that sleeps", func(b bench) []int { return b.server },
		[]int{500, 10_000, 20_000}},
	{"pair", "two threads that wake each other",
		func(b bench) []int { return slices.Concat(b.server, b.load) }, []int{200, 4000, 8000}},
}

const (
	wakeTurns  = 6                      // windows of each rate, of a way
	wakeWindow = 100 * time.Millisecond // at least
	// A tick of the cores' rest comes within 10 ms on a core that rests. The limit is a guess.
	edgeTime = 100 * time.Millisecond
	edgeLook = 500 * time.Microsecond
	// of the cores, by other programs at the lowest rate: with more the cores are not woken from a
	// rest
	maxBeside = .25
	// between the quartiles of all pairs of windows. Their median is known four times as well: with
	// more, other programs have come and gone, and it is not known to a microsecond
	maxScatter = 4 * time.Microsecond
)

// errNoRest says that there is nothing to wake a core from.
var errNoRest = errors.New("the cores never rested: other programs kept them busy, or the kernel " +
	"does not count their rest")

// Wakings measures what it costs to wake a core. What cannot be measured is none, and its note says
// why: a machine without the figure is measured on all the same.
func Wakings(ctx context.Context, exe string) record.Waking {
	b := newBench(exe)
	var patterns []record.Pattern
	for _, w := range ways {
		if w.kind == "pair" && len(machine.UsableCPUs()) < 2 {
			continue // nothing rests while the other runs
		}
		p, err := b.wake(ctx, w)
		if err != nil {
			return record.UnknownWaking(w.name + ": " + err.Error())
		}
		patterns = append(patterns, p)
	}
	return record.MeasuredWaking(patterns)
}

// wake measures one way.
func (b bench) wake(ctx context.Context, w way) (p record.Pattern, err error) {
	b.server = w.cores(b)
	s, err := b.start(w.kind)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	sampler := sample.New(s.group, time.Hour) // nothing but marks
	sampler.Start()
	defer sampler.Stop()
	r := idle(new(proc.Reader))
	var windows []wakeLook
	for turn := range wakeTurns {
		for i := range w.rates {
			// up and down, so that what changes slowly meets all rates alike
			if turn%2 == 1 {
				i = len(w.rates) - 1 - i
			}
			if err := s.setRate(w.rates[i]); err != nil {
				return p, err
			}
			look, err := r.window(ctx, sampler)
			if err != nil {
				return p, err
			}
			look.rate = w.rates[i]
			windows = append(windows, look)
		}
	}
	return slope(w.name, windows)
}

// setRate has the server wake so often a second.
func (s *server) setRate(n int) error {
	if _, err := s.stdin.WriteString(strconv.Itoa(n) + "\n"); err != nil {
		return err
	}
	if s.say() != "set" {
		return fmt.Errorf("the reference server did not wake %d times a second", n)
	}
	return nil
}

// A wakeLook is one window: how often cores were woken in a second, and the time of the cores that
// nobody was charged with, in it.
type wakeLook struct {
	rate  int     // that was asked for
	woken float64 // a second
	left  float64 // seconds of a second
	busy  float64 // of the cores' time, by anything
}

// A rest tells how long the cores have rested so far.
type rest func() (time.Duration, error)

// idle is the count of this machine, as the gate reads it.
func idle(reader *proc.Reader) rest {
	return func() (time.Duration, error) {
		m, ok := proc.ParseMachine(reader.Path("/proc/stat"), proc.Cores())
		if !ok {
			return 0, errors.New("/proc/stat does not tell how long the cores rest")
		}
		return m.Idle, nil
	}
}

// window measures at one rate. It begins and ends when the time at rest makes a step, for the
// kernel tells it in steps of 10 ms, which are as long as all that is measured here.
func (r rest) window(ctx context.Context, sampler *sample.Sampler) (wakeLook, error) {
	if err := r.step(ctx); err != nil {
		return wakeLook{}, err
	}
	from := sampler.Mark(sample.MarkOpen)
	if err := pause(ctx, wakeWindow); err != nil {
		return wakeLook{}, err
	}
	if err := r.step(ctx); err != nil {
		return wakeLook{}, err
	}
	return lookOf(sampler.Mark(sample.MarkClosed).Sub(from), len(machine.UsableCPUs()))
}

// lookOf takes the figures of a window from the counters that the gate reads.
func lookOf(d sample.Delta, cores int) (wakeLook, error) {
	if d.Wall <= 0 || d.Busy == 0 && d.CPU() == 0 {
		return wakeLook{}, errors.New("the counters could not be read")
	}
	second := d.Wall.Seconds()
	return wakeLook{woken: float64(d.Voluntary) / second, left: d.Others().Seconds() / second,
		busy: d.Others().Seconds() / second / float64(cores)}, nil
}

// step waits until the time at rest of the cores is a step longer.
func (r rest) step(ctx context.Context) error {
	first, err := r()
	for end := time.Now().Add(edgeTime); err == nil; {
		if err := pause(ctx, edgeLook); err != nil {
			return err
		}
		var now time.Duration
		if now, err = r(); err == nil && now > first {
			return nil
		}
		if err == nil && time.Now().After(end) {
			err = errNoRest
		}
	}
	return err
}

// slope is by how much the time that nobody is charged with grows with each waking: the median over
// pairs of windows (Theil and Sen), so that a few windows that something disturbed do not move it.
// The two of a pair differ by more than half as much as the lowest and the highest rate, for what
// the machine does besides weighs more the nearer they are.
func slope(name string, windows []wakeLook) (p record.Pattern, err error) {
	var slopes, beside []float64
	byRate := func(a, b wakeLook) int { return a.rate - b.rate }
	lowest, highest := slices.MinFunc(windows, byRate).rate, slices.MaxFunc(windows, byRate).rate
	for i, a := range windows {
		if a.rate == lowest {
			beside = append(beside, a.busy)
		}
		for _, b := range windows[:i] {
			apart := max(a.rate-b.rate, b.rate-a.rate)
			if apart > 0 && 2*apart >= highest-lowest && a.woken != b.woken {
				slopes = append(slopes, (a.left-b.left)/(a.woken-b.woken))
			}
		}
	}
	if len(slopes) == 0 {
		return p, errors.New("the threads did not wake more often when they were to")
	}
	if share := middle(beside); share > maxBeside {
		return p, fmt.Errorf("other programs used %.0f %% of the cores meanwhile, at most %.0f %% "+
			"leave them a rest to be woken from", 100*share, 100*maxBeside)
	}
	slices.Sort(slopes)
	at := func(q float64) time.Duration {
		return time.Duration(slopes[int(q*float64(len(slopes)-1))] * float64(time.Second))
	}
	p = record.Pattern{Name: name, Slope: at(.5), Low: at(.25), High: at(.75),
		Windows: len(windows)}
	if spread := p.High - p.Low; spread > maxScatter {
		return p, fmt.Errorf("the cost of a waking was between %v and %v, which is too unsteady: "+
			"the machine was not quiet", p.Low, p.High)
	}
	return p, nil
}
