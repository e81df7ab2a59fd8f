package record

import (
	"math"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
	"interleave/internal/sample"
)

// minIntervals is the least number of sampling intervals that a coefficient of variation is given
// for: with 8 its own standard error is about a quarter of it.
const minIntervals = 8

// Metric returns a figure of a cell, and false if the cell cannot have it: it was not measured, its
// shape of load does not show it, or its window was too short for it.
func (c *Cell) Metric(m manifest.Metric) (float64, bool) {
	if c.Status != Measured || c.Result == nil {
		return 0, false
	}
	return c.Raw(m)
}

// Raw is Metric also of a void cell, for those who want to see what was voided.
func (c *Cell) Raw(m manifest.Metric) (float64, bool) {
	r := c.Result
	if r == nil || c.Load.Shape != "" && !c.Load.Shows(m) {
		return 0, false
	}
	switch m {
	case manifest.Throughput:
		return positive(float64(r.Requests) / r.Window.Seconds())
	case manifest.Deliveries:
		return positive(float64(r.Deliveries) / r.Window.Seconds())
	case manifest.AckP50:
		return micros(r.Acks, .5)
	case manifest.AckP99:
		return micros(r.Acks, .99)
	case manifest.LatencyP50:
		return c.latency(.5)
	case manifest.LatencyP99:
		return c.latency(.99)
	case manifest.Jitter:
		p50, ok := c.latency(.5)
		p99, ok99 := c.latency(.99)
		if !ok || !ok99 {
			return 0, false
		}
		return positive(p99 - p50)
	}
	switch m {
	case manifest.SolveTime:
		return c.solveTime()
	case manifest.BitRate:
		return c.bitRate()
	case manifest.Loss:
		asked := r.Requests + r.Lost
		return 100 * float64(r.Lost) / float64(asked), c.Load.Shape == manifest.Pings && asked > 0
	}
	if v, ok, known := c.imageFigure(m); known {
		return v, ok
	}
	if c.Server == nil {
		return 0, false
	}
	return c.sampled(m)
}

// carried is how many bytes went to the server, or came from it, in the window.
func (c *Cell) carried() float64 {
	switch {
	case c.Load.Shape == manifest.Transfers: // whole ones: what the server has read
		return float64(c.Result.Requests) * float64(c.Load.SizeBytes)
	case c.Load.Shape == manifest.Bulk && c.Load.Direction == "in":
		return float64(c.Result.BytesOut)
	case c.Load.Shape == manifest.Bulk:
		return float64(c.Result.BytesIn)
	case c.Load.Shape == manifest.Solve && c.Load.Kernel == manifest.KernelTransfer:
		return float64(c.Result.BytesIn)
	}
	return 0
}

// bitRate is in bits a second. A program's counts by the median of its rounds, for it does other
// things between them.
func (c *Cell) bitRate() (float64, bool) {
	r := c.Result
	took := r.Window
	if c.Load.Shape == manifest.Solve {
		if r.Service == nil || r.Requests == 0 {
			return 0, false
		}
		took = time.Duration(r.Service.Quantile(.5)) * time.Duration(r.Requests)
	}
	return positive(8 * c.carried() / took.Seconds())
}

// latency is a quantile in microseconds, and only of an open loop: in a closed one a slow server
// slows the questions.
func (c *Cell) latency(q float64) (float64, bool) { return micros(c.Result.Latency, q) }

// micros is a quantile in microseconds.
func micros(h *hist.Histogram, q float64) (float64, bool) {
	if h == nil || h.Count() == 0 {
		return 0, false
	}
	return float64(h.Quantile(q)) / float64(time.Microsecond), true
}

// solveTime is the median of the solutions in the window, in milliseconds.
func (c *Cell) solveTime() (float64, bool) {
	if c.Load.Shape != manifest.Solve || c.Result.Service == nil || c.Result.Service.Count() == 0 {
		return 0, false
	}
	return positive(float64(c.Result.Service.Quantile(.5)) / float64(time.Millisecond))
}

// sampled are the figures that come from the server's process tree.
func (c *Cell) sampled(m manifest.Metric) (float64, bool) {
	open, ok := c.Server.Mark(sample.MarkOpen)
	closed, ok2 := c.Server.Mark(sample.MarkClosed)
	if !ok || !ok2 || closed.At <= open.At {
		return 0, false
	}
	cpu := closed.User + closed.System - open.User - open.System
	requests := float64(c.Result.Requests)
	switch m {
	case manifest.CPU:
		return positive(100 * float64(cpu) / float64(closed.At-open.At))
	case manifest.CPUPerRequest:
		return positive(float64(cpu) / float64(time.Microsecond) / requests)
	case manifest.CPUPerDelivery:
		return positive(float64(cpu) / float64(time.Microsecond) / float64(c.Result.Deliveries))
	case manifest.ClientMemory:
		return c.clientMemory(closed)
	case manifest.KernelMemory:
		return c.kernelMemory(closed)
	case manifest.Settling:
		return c.settling()
	case manifest.CPUPerGB:
		return positive(cpu.Seconds() / c.carried() * 1e9)
	case manifest.MemoryGrowth:
		if open.PSS == 0 {
			return 0, false
		}
		return positive(float64(closed.PSS) / float64(open.PSS))
	case manifest.CPUVariation:
		return variation(c.Server.CPUByInterval())
	case manifest.PSS:
		return positive(float64(closed.PSS))
	case manifest.Threads:
		return positive(float64(max(open.Threads, closed.Threads)))
	case manifest.Switches:
		switches := closed.Voluntary + closed.Involuntary - open.Voluntary - open.Involuntary
		return float64(switches) / requests, requests > 0
	}
	return 0, false
}

// clientMemory is what the server's tree holds more than before its first client came,
// by their number.
func (c *Cell) clientMemory(closed sample.Sample) (float64, bool) {
	idle, ok := c.Server.Mark(sample.MarkIdle)
	if !ok || c.Load.Connections == 0 {
		return 0, false
	}
	return positive((float64(closed.PSS) - float64(idle.PSS)) / float64(c.Load.Connections))
}

// kernelMemory is what the kernel holds more than before the first client came, by their number:
// both ends of each connection are on this machine, and whatever else the kernel has come to
// hold meanwhile.
func (c *Cell) kernelMemory(closed sample.Sample) (float64, bool) {
	idle, ok := c.Server.Mark(sample.MarkIdle)
	if !ok || idle.Kernel == 0 || c.Load.Connections == 0 {
		return 0, false
	}
	return positive(float64(closed.Kernel-idle.Kernel) / float64(c.Load.Connections))
}

// positive refuses what no ratio can be formed of.
func positive(v float64) (float64, bool) {
	return v, v > 0 && !math.IsInf(v, 0) && !math.IsNaN(v)
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
	return positive(math.Sqrt(squares/float64(len(x)-1)) / mean)
}
