package record

import (
	"math"
	"slices"
	"strings"
	"time"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/sample"
)

// minIntervals is the least number of intervals that a coefficient of variation is given for: with
// 8 its own standard error is about a quarter of it.
const minIntervals = 8

// varies is the interval of the values of which the variation of CPU is told: that at which the
// chat paper took them (section V). Over a shorter one a server is less steady, and in another way.
const varies = 500 * time.Millisecond

// LeastVariation is the shortest window that has a coefficient of variation of CPU.
const LeastVariation = minIntervals * varies

// Metric returns a figure of a cell, and false if the cell cannot have it: it was not measured, its
// shape of load does not show it, its window was too short for it, or the machine too busy.
func (c *Cell) Metric(m manifest.Metric) (float64, bool) {
	if !c.Counts(m) || c.Result == nil || c.Spoilt(m) ||
		tail(m) && slices.Contains(c.Labels, Disturbed) {
		return 0, false
	}
	return c.Raw(m)
}

// late are the gates that say when something happened, and not what: the load read or sent later
// than it should, or somebody else had the cores.
var late = []string{"late", "load-waited", "steal", "foreign-cpu"}

// Counts says whether a cell counts for a metric: it passed the gates, or it was measured alone and
// failed only such as memory and threads do not depend on.
func (c *Cell) Counts(m manifest.Metric) bool {
	return c.Status == Measured || c.Status == Void && !c.Duet && Still(m) &&
		!slices.ContainsFunc(c.Reasons,
			func(why Reason) bool { return !slices.Contains(late, why.Gate) })
}

// Spoilt says whether a cell was measured alone on a machine that was not quiet, and so has no such
// figure.
func (c *Cell) Spoilt(m manifest.Metric) bool {
	return !c.Duet && slices.Contains(c.Labels, Disturbed) && !Still(m)
}

// Still tells the metrics that other programs on the machine do not move: memory and threads are
// what they are, however soon the server gets the processor.
func Still(m manifest.Metric) bool {
	switch m {
	case manifest.PSS, manifest.ClientMemory, manifest.KernelMemory, manifest.MemoryGrowth,
		manifest.Threads:
		return true
	}
	return false
}

// growth tells the metrics that compare the memory of two times. While a duet starts, other servers
// come and share pages.
func growth(m manifest.Metric) bool {
	switch m {
	case manifest.ClientMemory, manifest.KernelMemory, manifest.MemoryGrowth, manifest.Settling:
		return true
	}
	return false
}

// tail tells the metrics that are about the longest of many times. They are those of the machine
// where it was not quiet, and so are their ratios.
func tail(m manifest.Metric) bool {
	return m == manifest.Jitter || strings.HasSuffix(string(m), "-p99")
}

// Raw is Metric also of a void cell, for a reader who wants to see the figures that do not count.
func (c *Cell) Raw(m manifest.Metric) (float64, bool) {
	r := c.Result
	if r == nil || c.Load.Shape != "" && !c.Load.Shows(m) || c.Duet && growth(m) {
		return 0, false
	}
	switch m {
	case manifest.Throughput:
		return load.Positive(float64(r.Served()) / r.Window.Seconds())
	case manifest.LatencyP50:
		return latency(r, .5)
	case manifest.LatencyP99:
		return latency(r, .99)
	case manifest.Jitter:
		p50, ok := latency(r, .5)
		p99, ok99 := latency(r, .99)
		if !ok || !ok99 {
			return 0, false
		}
		return load.Positive(p99 - p50)
	case manifest.StartUp:
		return load.Positive(float64(c.StartUp) / float64(time.Millisecond))
	}
	if r.Part != nil {
		if v, ok := r.Part.Figure(m, c.Load, r.Window); ok {
			return v, true
		}
	}
	if c.Server == nil {
		return 0, false
	}
	return c.sampled(m)
}

// latency is a quantile in microseconds, and only of loads whose requests are due at times: in
// others a slow server slows the questions.
func latency(r *load.Result, q float64) (float64, bool) {
	h := r.Latencies()
	if h == nil || h.Count() == 0 {
		return 0, false
	}
	return float64(h.Quantile(q)) / float64(time.Microsecond), true
}

// sampled are the figures that come from the server's process tree.
func (c *Cell) sampled(m manifest.Metric) (float64, bool) {
	open, ok := c.Server.Mark(sample.MarkOpen)
	closed, ok2 := c.Server.Mark(sample.MarkClosed)
	if !ok || !ok2 || closed.At <= open.At {
		return 0, false
	}
	cpu := closed.User + closed.System - open.User - open.System
	requests := float64(c.Result.Served())
	if !c.meet(open, closed) && perRequest(m) {
		return 0, false
	}
	switch m {
	case manifest.CPU:
		return load.Positive(100 * float64(cpu) / float64(closed.At-open.At))
	case manifest.CPUPerRequest:
		return load.Positive(float64(cpu) / float64(time.Microsecond) / requests)
	case manifest.ClientMemory:
		return c.clientMemory(closed)
	case manifest.KernelMemory:
		return c.kernelMemory(closed)
	case manifest.Settling:
		return c.settling()
	case manifest.MemoryGrowth:
		if open.PSS == 0 {
			return 0, false
		}
		return load.Positive(float64(closed.PSS) / float64(open.PSS))
	case manifest.CPUVariation:
		if c.Server.Every > varies {
			return 0, false
		}
		return variation(c.Server.CPUByInterval(varies))
	case manifest.PSS:
		return load.Positive(float64(closed.PSS))
	case manifest.Threads:
		return load.Positive(float64(max(open.Threads, closed.Threads)))
	case manifest.Switches:
		switches := closed.Voluntary + closed.Involuntary - open.Voluntary - open.Involuntary
		return float64(switches) / requests, requests > 0
	}
	if c.Result.Part == nil {
		return 0, false
	}
	return c.Result.Part.Cost(m, c.Load, cpu)
}

// perRequest tells the metrics that divide the server's counters by what the load has counted.
func perRequest(m manifest.Metric) bool {
	switch m {
	case manifest.CPUPerRequest, manifest.CPUPerDelivery, manifest.CPUPerGB, manifest.Switches:
		return true
	}
	return false
}

// misread is the part of a window by which the reading of the server's counters may be longer or
// shorter, as a window may itself (gate cut-short).
const misread = .1

// meet tells whether the server's counters are those of the load's window. Where server and load
// leave the laboratory no core, it may read them too late. A duet reads them between its stints.
func (c *Cell) meet(open, closed sample.Sample) bool {
	window := c.Result.Window
	return c.Duet || window == 0 ||
		(closed.At-open.At-window).Abs() <= time.Duration(misread*float64(window))
}

// clientMemory is the growth of the memory of the server's tree since before its first client, by
// their number.
func (c *Cell) clientMemory(closed sample.Sample) (float64, bool) {
	idle, ok := c.Server.Mark(sample.MarkIdle)
	if !ok || c.Load.Connections == 0 {
		return 0, false
	}
	return load.Positive((float64(closed.PSS) - float64(idle.PSS)) / float64(c.Load.Connections))
}

// kernelMemory is the growth of the kernel's memory since before the first client, by their number.
// Both ends of each connection are on this machine. Memory that the kernel has taken meanwhile for
// other things counts too.
func (c *Cell) kernelMemory(closed sample.Sample) (float64, bool) {
	idle, ok := c.Server.Mark(sample.MarkIdle)
	if !ok || idle.Kernel == 0 || c.Load.Connections == 0 {
		return 0, false
	}
	return load.Positive(float64(closed.Kernel-idle.Kernel) / float64(c.Load.Connections))
}

// variation is the standard deviation of x by its mean, as the chat paper defines it (section VI).
func variation(x []float64) (float64, bool) {
	if len(x) < minIntervals {
		return 0, false
	}
	var sum, squares float64
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return load.Positive(math.Sqrt(squares/float64(len(x)-1)) / mean)
}
