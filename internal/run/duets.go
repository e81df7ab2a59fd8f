package run

// Which blocks are measured as duets, and when each of their models runs.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"interleave/internal/load"
	"interleave/internal/manifest"
)

const (
	// stintTime is how long a model runs at a time. It is a hundred times what a change costs (the
	// caches of a core are full again after some .1 ms), and a hundredth of the shortest time for
	// which a host leaves two cores as they are.
	stintTime = 40 * time.Millisecond
	// leadTime is what a model runs before each stint that counts: caches, branch predictors and
	// the windows of connections that have rested are as they will be.
	leadTime = 4 * time.Millisecond
	// leastStints are in a window that is divided: with fewer, a change of the host between two of
	// them is no longer shared by all models.
	leastStints = 5
	// warmTime is how long a model warms up at a time. Models warm up in turn, so that no
	// connection rests for longer than servers allow: Node closes one after 5 s.
	warmTime = 250 * time.Millisecond
	// settleLook is how long a duet looks at its servers at a time to see whether all rest.
	settleLook = 50 * time.Millisecond
	// calmLook is how long it looks at a server that may work on after its stint.
	calmLook = 10 * time.Millisecond
	// mostTogether is how many clients of an image service may wait for it at once: a response
	// takes a millisecond of a core or more, and a stint must hold several of each client.
	mostTogether = 8
	// mostPings is how many pings a second are due of a duet. From some thousands on a stack's
	// queues may fill, and that takes longer than a stint.
	mostPings = 2000
)

// A whole is a kind of load that is not divided, with the reason.
type whole struct {
	load string // in the words of docs/method.md
	why  string
	is   func(b *Block, s *Spec) bool
}

// wholes are all of them. A block that has one is measured in cells.
var wholes = []whole{
	{"experiments that ask for cells", "their file has cells = true",
		func(b *Block, _ *Spec) bool { return b.Experiment != nil && b.Experiment.Cells }},
	{"programs (solve)", "a program times its own solutions, and each takes as long as it takes",
		func(_ *Block, s *Spec) bool { return s.Protocol == manifest.Program }},
	{"cold", "it is about the first requests of a server, which come once",
		func(_ *Block, s *Spec) bool { return s.Point.Load.Shape == manifest.Cold }},
	{"a number of requests", "it ends when all are answered, and not at a time",
		func(_ *Block, s *Spec) bool { return s.Window == 0 || s.Point.Load.Requests > 0 }},
	{"streams", "each connection hears one text a second",
		func(_ *Block, s *Spec) bool { return rampTime(s.Point.Load) > 0 }},
	{"bulk", "bytes are always under way, so no stint begins or ends with nothing",
		func(_ *Block, s *Spec) bool { return s.Point.Load.Shape == manifest.Bulk }},
	{"chats", "a burst for a whole room, or a sync of the disk, takes longer than a stint",
		func(_ *Block, s *Spec) bool { return s.Protocol == manifest.Chat }},
	{"chains of images", "each server waits for the next, and all of a chain belong to one model",
		func(_ *Block, s *Spec) bool { return s.Point.Load.Chain > 1 }},
	{fmt.Sprintf("images of more than %d clients", mostTogether),
		"a stint does not hold several responses of each client",
		func(_ *Block, s *Spec) bool {
			return s.Protocol == manifest.Images && s.Point.Load.Connections > mostTogether
		}},
	{"sinks that write to a file", "what a stint has written reaches the disk in another's",
		func(_ *Block, s *Spec) bool { return s.Point.Load.Output == manifest.OutputFile }},
	{fmt.Sprintf("pings without an interval, or more than %d a second", mostPings),
		"a ping is lost after a second, and a queue that overflows fills for longer than a stint",
		func(_ *Block, s *Spec) bool {
			l := s.Point.Load
			return s.Protocol == manifest.Ping && (l.Interval <= 0 ||
				float64(l.Connections)/l.Interval.Seconds() > mostPings)
		}},
	{"claims about memory or start-up", "servers that are up together share pages, and a heap " +
		"that rests is collected",
		func(b *Block, _ *Spec) bool { return claimsAlone(b) }},
	{fmt.Sprintf("windows under %v", leastStints*stintTime/2), "they hold too few stints",
		func(_ *Block, s *Spec) bool { return s.Window < leastStints*stintTime/2 }},
}

// aloneMetrics are the figures that a server has when no other is up.
var aloneMetrics = []manifest.Metric{manifest.PSS, manifest.ClientMemory, manifest.KernelMemory,
	manifest.MemoryGrowth, manifest.Settling, manifest.StartUp}

// claimsAlone tells whether a claim is about such a figure at the block's point.
func claimsAlone(b *Block) bool {
	if b.Experiment == nil {
		return false
	}
	swept := !math.IsNaN(b.Point.X)
	for i := range b.Experiment.Claims {
		c := &b.Experiment.Claims[i]
		if !slices.Contains(aloneMetrics, c.Metric) {
			continue
		}
		named := len(c.At) > 0 && !slices.Contains(c.At, "every") && !slices.Contains(c.At, "mean")
		if !named && swept || slices.Contains(c.At, b.Point.Name) ||
			c.Of.Point == b.Point.Name || c.Against.Point == b.Point.Name {
			return true
		}
	}
	return false
}

// Duets tells whether the cells of a block can be measured side by side; if not, why.
func Duets(b *Block) (can bool, why string) {
	if len(b.Specs) < 2 {
		return false, "there is nothing to compare"
	}
	for _, s := range b.Specs {
		for _, w := range wholes {
			if w.is(b, s) {
				return false, w.load + ": " + w.why
			}
		}
	}
	return true, ""
}

// divide divides a window into stints.
func divide(window time.Duration) (n int, each time.Duration) {
	n = max(leastStints, int((window+stintTime/2)/stintTime))
	return n, window / time.Duration(n)
}

// turns is the order in which the models run in a cycle: each once, drawn anew for each cycle.
func turns(seed uint64, cycle, models int) []int {
	return rand.New(rand.NewPCG(seed, uint64(cycle))).Perm(models)
}

// A warmUp says what one of several models has still to warm up.
type warmUp []time.Duration

// next is how long a model's next stint of the warm-up is: until all are warm, one that is warm
// already runs for a moment, for its connections.
func (w warmUp) next(i int) time.Duration {
	d := min(w[i], warmTime)
	w[i] -= d
	return max(d, leadTime)
}

// over tells whether all are warm.
func (w warmUp) over() bool { return slices.Max(w) <= 0 }

// together bounds how long the engine of one model of a duet lives: all models warm up and run, and
// each may keep the others waiting when it answers nothing, or works on after its stints.
func together(specs []*Spec) time.Duration {
	limit := slack
	for _, s := range specs {
		patience := max(time.Second, load.FamilyOf(s.Point.Load).Interval(s.Point.Load))
		limit += slack + 3*s.WarmUp + 3*s.Window + 10*patience
	}
	return limit
}
