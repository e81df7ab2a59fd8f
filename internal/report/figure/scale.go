package figure

import (
	"math"
)

// A scale maps values to pixels.
type scale struct {
	low, high float64 // values at from and to
	from, to  float64 // pixels
	log       bool
}

// at is the pixel of a value; outside values are pressed to the edge.
func (s scale) at(v float64) float64 {
	v = min(max(v, s.low), s.high)
	share := 0.
	if s.log {
		share = math.Log(v/s.low) / math.Log(s.high/s.low)
	} else {
		share = (v - s.low) / (s.high - s.low)
	}
	if math.IsNaN(share) {
		share = .5
	}
	return s.from + share*(s.to-s.from)
}

func (s scale) inside(v float64) bool { return v >= s.low && v <= s.high }

// extent is the least and the greatest of finite values; for a log scale, of positive ones.
type extent struct {
	low, high float64
	log       bool
}

func newExtent(log bool) *extent { return &extent{math.Inf(1), math.Inf(-1), log} }

func (e *extent) add(values ...float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || e.log && v <= 0 {
			continue
		}
		e.low, e.high = min(e.low, v), max(e.high, v)
	}
}

func (e *extent) empty() bool { return e.low > e.high }

// scale leaves a margin on both sides: a share of the extent.
func (e *extent) scale(margin, from, to float64) scale {
	low, high := e.low, e.high
	switch {
	case e.empty() && e.log:
		low, high = .5, 2
	case e.empty():
		low, high = 0, 1
	}
	if e.log {
		room := math.Exp(max(margin*math.Log(high/low), .01))
		return scale{low / room, high * room, from, to, true}
	}
	room := margin * (high - low)
	if room == 0 {
		room = max(math.Abs(high)*.1, 1e-9)
	}
	return scale{low - room, high + room, from, to, false}
}

// fromZero is a linear scale that starts at 0 and ends a little above the highest value.
func (e *extent) fromZero(from, to float64) scale {
	high := e.high
	if e.empty() || high <= 0 {
		high = 1
	}
	return scale{0, high * 1.04, from, to, false}
}

// ticks are round values of a unit, about n of them.
func (s scale) ticks(n int, unit string) []float64 {
	size := 1.
	for unit == "bytes" && s.high/size > 1<<10 {
		size *= 1 << 10 // round in KiB, MiB ...
	}
	in := s // the scale in that size
	in.low, in.high = s.low/size, s.high/size
	var ticks []float64
	switch {
	case !s.log:
		ticks = linearTicks(in.low, in.high, n)
	case s.high/s.low < 6:
		ticks = nearTicks(in, n)
	case unit == "bytes":
		return binaryTicks(s.low, s.high, n)
	default:
		return decimalTicks(s, n)
	}
	for i := range ticks {
		ticks[i] *= size
	}
	return ticks
}

// binaryTicks are powers of two, each as far from the next: 256 KiB, 1 MiB, 4 MiB.
func binaryTicks(low, high float64, n int) []float64 {
	for every := 1; ; every++ {
		var ticks []float64
		for e := 0; math.Ldexp(1, e) <= high; e += every {
			if v := math.Ldexp(1, e); v >= low {
				ticks = append(ticks, v)
			}
		}
		if len(ticks) <= n+2 {
			return ticks
		}
	}
}

// decimalTicks are 1, 2 and 5 of each power of ten, or fewer where they would be too many.
func decimalTicks(s scale, n int) []float64 {
	for _, mantissas := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		ticks := logTicks(s.low, s.high, mantissas, 1)
		if len(ticks) <= n+2 {
			return ticks
		}
	}
	every := 2
	for len(logTicks(s.low, s.high, []float64{1}, every)) > n+2 {
		every++
	}
	return logTicks(s.low, s.high, []float64{1}, every)
}

// nearTicks are linear steps on a short log scale, without those that would touch.
func nearTicks(s scale, n int) []float64 {
	ticks := linearTicks(s.low, s.high, n)
	if s.high/s.low > 2.2 {
		ticks = nil
		for _, v := range []float64{.1, .15, .2, .25, .33, .5, .67, .8, 1, 1.25, 1.5, 2, 3, 4, 5, 6,
			8, 10} {
			if s.inside(v) {
				ticks = append(ticks, v)
			}
		}
		if len(ticks) < 3 {
			ticks = linearTicks(s.low, s.high, n)
		}
	}
	var kept []float64
	for _, v := range ticks {
		if v > 0 && (len(kept) == 0 || math.Abs(s.at(v)-s.at(kept[len(kept)-1])) >= 30) {
			kept = append(kept, v)
		}
	}
	return kept
}

func logTicks(low, high float64, mantissas []float64, every int) []float64 {
	var ticks []float64
	for e := int(math.Floor(math.Log10(low))); e <= int(math.Ceil(math.Log10(high))); e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range mantissas {
			v := m * math.Pow10(e)
			if e < 0 {
				v = m / math.Pow10(-e) // 3/10 is .3, 3*.1 is not
			}
			if v >= low && v <= high {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

func linearTicks(low, high float64, n int) []float64 {
	if !(high > low) || n < 1 || math.IsInf(high-low, 0) {
		return nil
	}
	raw := (high - low) / float64(n)
	power := math.Floor(math.Log10(raw))
	step := 0.
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		step = m * math.Pow(10, power)
		if step >= raw {
			break
		}
	}
	var ticks []float64
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		// Round away what multiplying leaves: .30000000000000004 is .3.
		scale := math.Pow(10, 2-power)
		ticks = append(ticks, math.Round(i*step*scale)/scale)
	}
	return ticks
}
