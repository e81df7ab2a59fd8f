package run

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"interleave/internal/load"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// The limits of the gates. They are proposals of docs/method.md, which says why each stands.
const (
	maxSteal = .005 // of the machine's time
	// of the cores' time, by processes that are neither server, load nor laboratory: above it the
	// cell is disturbed
	maxForeign = .05
	// above it the cell is void, whatever it measures
	maxCrowd = .50
	// of the cores' time, excused as the kernel's for waking them, however often they were woken.
	// 8.6 % is the most that was seen, with 33,000 wakings of two cores a second.
	maxWaking   = .10
	maxBusyLoad = .90 // of the load's core, where it must keep a schedule
	// of a connection's interval, 99th percentile of send lateness
	maxLate     = .10
	minAchieved = .99                  // of the requests that were due
	maxLittle   = .05                  // deviation from N = X R in a closed loop
	maxLoadWait = .05                  // of the load's CPU, waiting for a core of its own
	wakeUp      = 2 * time.Microsecond // of each waking, on a core that is not shared
	// of the window: less wait than that disturbs nothing that late would not see
	minLoadWait  = .01
	maxClockStep = 50 * time.Millisecond
	// A disturbance meets all models of a duet: ratios still count up to this limit, absolute
	// figures up to that above. A share of the machine.
	maxDuetSteal = .20
	// of a duet's window: so many of the messages are read late, and a median moves by as many
	// percentiles at most
	maxDuetWait = .05
	// the quantile of send lateness, in a duet, in place of the 99th percentile
	duetLate = .90
	// of the machine's time, by the servers that rest in a duet
	maxResting = .02
	// of a duet's window, in which a load with a schedule waited for what was due in it
	maxLull = .10
	// of the window that was asked for: else the load was not let run when it opened
	minWindow     = .90
	maxUnsteady   = .10                   // difference of the window's last quarter from its first
	tick          = 10 * time.Millisecond // /proc/stat counts in these, each counter rounded down
	steadySlices  = 4
	minSteadyTime = time.Second // a shorter window says nothing about drift
)

// Facts are what the gates judge a cell by, besides its record.
type Facts struct {
	Cores     int           // of the machine
	LoadCores int           // that the load may use
	Pinned    bool          // the two roles have cores of their own
	Window    time.Duration // that was asked for; 0 if the load ends by itself
	ClockStep time.Duration // wall clock against the monotonic one, over the cell
	WakeCost  time.Duration // of the kernel for each waking of a core, charged to no process
	// "shares port 4000 with 4711 (nc)"; empty if the port is the server's alone
	Stranger string
	Died     string     // how the server ended before it was told to; empty if it did not
	Dirty    string     // what the server did wrong when it was told to end; empty if nothing
	Duet     *DuetFacts // nil unless the cell is one of a duet
}

// DuetFacts are the times of a whole duet, for /proc counts the machine's in ticks of 10 ms.
type DuetFacts struct {
	Wall   time.Duration // from the first stint to the last
	Waited time.Duration // of that, for servers that worked on after a stint
	Steal  time.Duration // by the hypervisor
	// CPU of what is neither server, load nor laboratory: what the other processes are charged
	// with, if Seen, or what is not excused as the cost of waking
	Foreign time.Duration
	Seen    bool
	Resting time.Duration // CPU of the other models' servers while they rested, but for Waited
	Stints  time.Duration // of this model, by the clock
}

// A gate looks at a cell and says why it cannot count, or nothing.
type gate func(c *record.Cell, f Facts) *record.Reason

// The gates of all cells, in the order in which their reasons are shown: the most basic first. The
// gates of the load's family come between the two lists.
var (
	basic = []gate{died, stranger, wrongReplies, errorsSeen, window, cut}
	gates = []gate{late, achieved, overloaded, busyLoad, loadWait, littlesLaw, steal, foreign,
		resting, clock, dirty}
)

// ofFamily are the gates of a load's family.
func ofFamily(f *load.Family) (own []gate) {
	for _, doubts := range f.Gates() {
		own = append(own, func(c *record.Cell, _ Facts) *record.Reason {
			if d := doubts(c.Load, c.Result); d != nil {
				return (*record.Reason)(d)
			}
			return nil
		})
	}
	return own
}

// Judge sets the cell's status, reasons and labels.
func Judge(c *record.Cell, f Facts) {
	if c.Status == record.Broken {
		return
	}
	c.Status = record.Measured
	family := load.FamilyOf(c.Load)
	for _, g := range slices.Concat(basic, ofFamily(family), gates) {
		if r := g(c, f); r != nil {
			c.Reasons = append(c.Reasons, *r)
			c.Status = record.Void
		}
	}
	if family.Interval(c.Load) == 0 && f.Pinned &&
		busy(c.Result) > maxBusyLoad*float64(f.LoadCores) {
		c.Labels = append(c.Labels, record.GeneratorBound)
	}
	if family.Even() && unsteady(c.Result) {
		c.Labels = append(c.Labels, record.NotSteady)
	}
	if disturbed(c, f) {
		c.Labels = append(c.Labels, record.Disturbed)
	}
}

// disturbed tells whether the machine was not quiet: a cell of a duet keeps its ratios, and one
// that was measured alone its memory and threads.
func disturbed(c *record.Cell, f Facts) bool {
	d := f.Duet
	if d == nil {
		share, ok := others(c, f)
		return ok && share > maxForeign
	}
	_, _, late := latest(c, .99)
	return late || waited(c, f) > max(maxLoadWait*float64(c.Result.User+c.Result.System),
		minLoadWait*float64(c.Result.Window)) ||
		d.share(d.Steal, f) > maxSteal || d.share(d.Foreign, f) > maxForeign
}

// share is a time as a share of the machine's over the duet.
func (d *DuetFacts) share(t time.Duration, f Facts) float64 {
	if d.Wall <= 0 {
		return 0
	}
	return float64(t) / float64(d.Wall) / float64(f.Cores)
}

// less is the duet without a part of its time.
func (d *DuetFacts) less(t time.Duration) *DuetFacts {
	rest := *d
	rest.Wall -= t
	return &rest
}

func void(gate string, value, limit float64, format string, args ...any) *record.Reason {
	return &record.Reason{Gate: gate, Text: fmt.Sprintf(format, args...), Value: value,
		Limit: limit}
}

func died(_ *record.Cell, f Facts) *record.Reason {
	if f.Died == "" {
		return nil
	}
	return void("died", 0, 0, "the server %s", f.Died)
}

func stranger(_ *record.Cell, f Facts) *record.Reason {
	if f.Stranger == "" {
		return nil
	}
	return void("port-owner", 0, 0, "the server %s", f.Stranger)
}

func wrongReplies(c *record.Cell, _ Facts) *record.Reason {
	n := c.Result.Errors[load.WrongReply]
	if n == 0 {
		return nil
	}
	return void("wrong-reply", float64(n), 0, "%d wrong replies: %s", n, c.Result.FirstFail)
}

func errorsSeen(c *record.Cell, _ Facts) *record.Reason {
	var kinds []string
	var total int64
	for k, n := range c.Result.Errors {
		if k != load.WrongReply && n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, k))
			total += n
		}
	}
	if total == 0 {
		return nil
	}
	sort.Strings(kinds)
	return void("errors", float64(total), 0, "%s; the first: %s", strings.Join(kinds, ", "),
		c.Result.FirstFail)
}

func window(c *record.Cell, _ Facts) *record.Reason {
	if c.Result.Window <= 0 || c.Result.Served() == 0 {
		return void("window", 0, 1, "no request was answered in the measuring window")
	}
	if _, ok := marks(c); !ok {
		return void("window", 0, 0,
			"the server's resources were not read at both ends of the window")
	}
	return nil
}

func cut(c *record.Cell, f Facts) *record.Reason {
	if share := float64(c.Result.Window) / float64(f.Window); f.Window > 0 && share < minWindow {
		return void("cut-short", share, minWindow,
			"the window was open for %v of %v: the load was not let run when it should have opened",
			quantity.Round(c.Result.Window), f.Window)
	}
	return nil
}

func late(c *record.Cell, _ Facts) *record.Reason {
	quantile, share := .99, "1"
	if c.Duet {
		quantile, share = duetLate, "10"
	}
	if c.Duet && c.Result.Latencies() == nil {
		return nil
	}
	by, limit, over := latest(c, quantile)
	if !over {
		return nil
	}
	return void("late", by.Seconds(), limit.Seconds(),
		"%s %% of the messages left more than %v late, %v is allowed (a tenth of a connection's "+
			"interval)", share, quantity.Round(by), quantity.Round(limit))
}

// latest is a quantile of send lateness, what is allowed of it, and whether it is more.
func latest(c *record.Cell, quantile float64) (by, limit time.Duration, over bool) {
	interval := interval(c)
	if c.Result.Part == nil || interval == 0 {
		return 0, 0, false
	}
	lateness := c.Result.Part.Lateness()
	if lateness == nil {
		return 0, 0, false
	}
	by = time.Duration(lateness.Quantile(quantile))
	limit = time.Duration(maxLate * float64(interval))
	return by, limit, by > limit
}

// interval is the time between two messages that the load must send on one connection; 0 where it
// keeps no schedule.
func interval(c *record.Cell) time.Duration { return load.FamilyOf(c.Load).Interval(c.Load) }

func achieved(c *record.Cell, _ Facts) *record.Reason {
	if c.Result.Part == nil {
		return nil
	}
	served, due := c.Result.Part.Kept()
	share := float64(served) / float64(due)
	if due == 0 || share >= minAchieved {
		return nil
	}
	return void("achieved", share, minAchieved,
		"%.1f %% of the messages due were sent and answered in the window, at least %.0f %% "+
			"must be",
		100*share, 100*minAchieved)
}

// busy is the load's CPU as a share of one core.
func busy(r *load.Result) float64 {
	if r.Window <= 0 {
		return 0
	}
	return float64(r.User+r.System) / float64(r.Window)
}

func busyLoad(c *record.Cell, f Facts) *record.Reason {
	share := busy(c.Result) / float64(max(1, f.LoadCores))
	if interval(c) == 0 || share <= maxBusyLoad {
		return nil
	}
	return void("load-saturated", share, maxBusyLoad,
		"the load used %.0f %% of its cores, at most %.0f %% leaves its schedule true", 100*share,
		100*maxBusyLoad)
}

func loadWait(c *record.Cell, f Facts) *record.Reason {
	r := c.Result
	cpu, wait := float64(r.User+r.System), waited(c, f)
	if c.Duet {
		share := wait / float64(r.Window)
		if wait == 0 || share <= maxDuetWait || r.Latencies() == nil {
			return nil
		}
		return void("load-waited", share, maxDuetWait,
			"the load waited for its own core for %.0f %% of the time, at most %.0f %% leave "+
				"ratios what they are", 100*share, 100*maxDuetWait)
	}
	if cpu == 0 || wait <= maxLoadWait*cpu || wait <= minLoadWait*float64(r.Window) {
		return nil
	}
	return void("load-waited", wait/cpu, maxLoadWait,
		"the load waited for its own core for %.0f %% of its CPU time, at most %.0f %% is allowed",
		100*wait/cpu, 100*maxLoadWait)
}

// waited is how long a load with a schedule waited for a core of its own, besides what each waking
// takes.
func waited(c *record.Cell, f Facts) float64 {
	if !f.Pinned || interval(c) == 0 {
		return 0
	}
	return float64(max(0, c.Result.RunWait-time.Duration(c.Result.Runs)*wakeUp))
}

// littlesLaw holds the figures of a closed loop against each other: N requests in flight all the
// time, answered at rate X after R on average: N = X R. A request that was sent before the window
// counts whole, and one that is answered after it not at all: at each end, each of the N may bring
// in or leave out the longest time.
func littlesLaw(c *record.Cell, _ Facts) *record.Reason {
	r := c.Result
	if r.Part == nil || r.Window <= 0 {
		return nil
	}
	inFlight, took := r.Part.Loop(c.Load)
	if took == nil {
		return nil
	}
	n := float64(inFlight)
	xr := float64(r.Served()) / float64(r.Window) * took.Mean()
	allowed := maxLittle + float64(took.Max())/float64(r.Window)
	if c.Duet { // each stint begins and ends with nothing in flight
		allowed = maxLittle + float64(r.Lull)/float64(r.Window)
	}
	if off := math.Abs(n-xr) / n; off > allowed {
		return void("littles-law", off, allowed,
			"%.0f in flight, but rate times service time is %.1f: the figures contradict each "+
				"other",
			n, xr)
	}
	return nil
}

// marks are the samples at both ends of the window.
func marks(c *record.Cell) (ends [2]sample.Sample, ok bool) {
	if c.Server == nil {
		return ends, false
	}
	var ok0, ok1 bool
	ends[0], ok0 = c.Server.Mark(sample.MarkOpen)
	ends[1], ok1 = c.Server.Mark(sample.MarkClosed)
	return ends, ok0 && ok1 && ends[1].At > ends[0].At
}

// overloaded finds a load whose schedule the server cannot keep. A queue that grows in each stint,
// and is worked off after it, shows a part of the delays that it would come to.
func overloaded(c *record.Cell, _ Facts) *record.Reason {
	r := c.Result
	if !c.Duet || interval(c) == 0 || r.Window <= 0 {
		return nil
	}
	share := float64(r.Lull) / float64(r.Window)
	if share <= maxLull {
		return nil
	}
	return void("overloaded", share, maxLull,
		"the server answered what was due in its stints for another %.0f %% of their time, at "+
			"most %.0f %% leave latencies what they are without pauses", 100*share, 100*maxLull)
}

// resting finds servers that work while they rest.
func resting(_ *record.Cell, f Facts) *record.Reason {
	if f.Duet == nil {
		return nil
	}
	share := f.Duet.less(f.Duet.Waited).share(f.Duet.Resting, f)
	if share <= maxResting {
		return nil
	}
	return void("rest-cpu", share, maxResting,
		"the servers that rested used %.1f %% of the cores, at most %.0f %% is allowed", 100*share,
		100*maxResting)
}

func steal(c *record.Cell, f Facts) *record.Reason {
	if d := f.Duet; d != nil {
		share := d.share(d.Steal, f)
		if share <= maxDuetSteal {
			return nil
		}
		return void("steal", share, maxDuetSteal,
			"the hypervisor took %.0f %% of the machine's time, at most %.0f %% leave ratios what "+
				"they are", 100*share, 100*maxDuetSteal)
	}
	ends, ok := marks(c)
	if !ok {
		return nil
	}
	// a tick more may be what was stolen before the window
	stolen := max(0, ends[1].Steal-ends[0].Steal-tick)
	share := float64(stolen) / float64(ends[1].At-ends[0].At) / float64(f.Cores)
	if share <= maxSteal {
		return nil
	}
	return void("steal", share, maxSteal,
		"the hypervisor took %.1f %% of the machine's time or more, at most %.1f %% is allowed",
		100*share, 100*maxSteal)
}

// others is what processes that are neither server, load nor laboratory have used of the cores in a
// cell's window: what they are charged with, or where they cannot be seen what the cores have done
// besides, less what the wakings explain. ok is false where nothing was counted.
func others(c *record.Cell, f Facts) (share float64, ok bool) {
	ends, ok := marks(c)
	if !ok {
		return 0, false
	}
	a, b := ends[0], ends[1]
	wall := b.At - a.At
	if b.ForeignSeen && f.Duet == nil {
		used := max(0, b.Foreign-tick) // a tick may be what was used before the window
		return float64(used) / float64(wall) / float64(f.Cores), true
	}
	if f.Duet != nil {
		wall = f.Duet.Stints
	}
	if wall <= 0 {
		return 0, false
	}
	left := b.Sub(a).Others() - c.Result.User - c.Result.System -
		excused(wakings(c), f.WakeCost, wall*time.Duration(f.Cores))
	return float64(left) / float64(wall) / float64(f.Cores), true
}

// wakings are how often a thread of the server or of the load was woken in a cell's window.
func wakings(c *record.Cell) int64 {
	ends, ok := marks(c)
	if !ok || c.Result == nil {
		return 0
	}
	return ends[1].Voluntary - ends[0].Voluntary + c.Result.Runs
}

// excused is the time of the kernel that so many wakings explain, of all that the cores had.
func excused(wakings int64, cost, cores time.Duration) time.Duration {
	return min(cost*time.Duration(wakings), time.Duration(maxWaking*float64(cores)))
}

func foreign(c *record.Cell, f Facts) *record.Reason {
	share, ok := others(c, f)
	if !ok || share <= maxCrowd || f.Duet != nil && interval(c) > 0 {
		return nil
	}
	return void("foreign-cpu", share, maxCrowd,
		"other processes used %.1f %% of the cores, at most %.0f %% is allowed", 100*share,
		100*maxCrowd)
}

func clock(_ *record.Cell, f Facts) *record.Reason {
	if f.ClockStep.Abs() <= maxClockStep {
		return nil
	}
	return void("clock", f.ClockStep.Seconds(), maxClockStep.Seconds(),
		"the wall clock was set by %v during the cell", quantity.Round(f.ClockStep))
}

func dirty(_ *record.Cell, f Facts) *record.Reason {
	if f.Dirty == "" {
		return nil
	}
	return void("unclean-end", 0, 0, "the server %s", f.Dirty)
}

// unsteady compares the window's last quarter with its first.
func unsteady(r *load.Result) bool {
	if r == nil || len(r.Slices) < 2*steadySlices || r.Window < minSteadyTime {
		return false
	}
	quarter := len(r.Slices) / steadySlices
	first, last := sum(r.Slices[:quarter]), sum(r.Slices[len(r.Slices)-quarter:])
	return first == 0 || math.Abs(last/first-1) > maxUnsteady
}

func sum(x []int64) float64 {
	var s int64
	for _, v := range slices.All(x) {
		s += v
	}
	return float64(s)
}
