package record

import (
	"math"
	"time"

	"interleave/internal/load"
	"interleave/internal/sample"
)

// When a server came to rest: the source of the streams plots its CPU and its memory over the
// logarithm of time, and says that one converges much later than the other.

const (
	// restsWithin is how near to its last value a figure must stay to have settled. Ticks of a
	// second make CPU rough.
	restsWithin = .10
	// restAverage smooths CPU: every stream ticks once in it.
	restAverage = time.Second
)

// settling is how long memory took to settle, by how long CPU did, both from the first connection
// on. The samples end with the window, so what has not settled then counts as settled at its end.
func (c *Cell) settling() (float64, bool) {
	idle, ok := c.Server.Mark(sample.MarkIdle)
	closed, ok2 := c.Server.Mark(sample.MarkClosed)
	if !ok || !ok2 {
		return 0, false
	}
	var at []time.Duration
	var memory, cpu []float64
	from := 0
	samples := c.Server.Samples
	for i, s := range samples {
		if s.At < idle.At || s.At > closed.At {
			continue
		}
		for from < i && s.At-samples[from].At > restAverage {
			from++
		}
		first := samples[max(0, from-1)]
		if s.At-first.At < restAverage/2 {
			continue // too short to be an average
		}
		at = append(at, s.At-idle.At)
		memory = append(memory, float64(s.RSS-idle.RSS))
		cpu = append(cpu, s.Sub(first).Percent())
	}
	whenMemory, ok := settled(at, memory)
	whenCPU, ok2 := settled(at, cpu)
	if !ok || !ok2 {
		return 0, false
	}
	return load.Positive(whenMemory.Seconds() / whenCPU.Seconds())
}

// settled is the time from which on a figure stays near to what it is at the end: the mean of
// its last quarter.
func settled(at []time.Duration, values []float64) (time.Duration, bool) {
	if len(values) < minIntervals {
		return 0, false
	}
	last := values[len(values)-(len(values)+3)/4:]
	end := 0.0
	for _, v := range last {
		end += v / float64(len(last))
	}
	if end <= 0 {
		return 0, false
	}
	for i := len(values) - 1; i > 0; i-- {
		if math.Abs(values[i-1]-end) > restsWithin*end {
			return at[i], true
		}
	}
	return at[0], true
}
