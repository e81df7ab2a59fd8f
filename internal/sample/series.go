package sample

import "time"

// A Delta is what changed between two samples.
type Delta struct {
	Wall                   time.Duration
	User, System           time.Duration
	RunWait                time.Duration
	Pressure               time.Duration
	Busy, Steal, Self      time.Duration
	Voluntary, Involuntary int64
	MinorFaults            int64
	MajorFaults            int64
	RSS                    int64 // may be negative
}

// CPU is user and system time together.
func (d Delta) CPU() time.Duration { return d.User + d.System }

// Others is what the cores have done besides the group and the process that samples.
func (d Delta) Others() time.Duration { return d.Busy - d.CPU() - d.Self }

// Percent is the CPU in percent of one core; 0 for no time.
func (d Delta) Percent() float64 {
	if d.Wall <= 0 {
		return 0
	}
	return 100 * float64(d.CPU()) / float64(d.Wall)
}

// Sub returns what changed from an earlier sample to s.
func (s Sample) Sub(from Sample) Delta {
	return Delta{
		Wall: s.At - from.At,
		User: s.User - from.User, System: s.System - from.System,
		RunWait: s.RunWait - from.RunWait, Pressure: s.Pressure - from.Pressure,
		Busy: s.Busy - from.Busy, Steal: s.Steal - from.Steal, Self: s.Self - from.Self,
		Voluntary: s.Voluntary - from.Voluntary, Involuntary: s.Involuntary - from.Involuntary,
		MinorFaults: s.MinorFaults - from.MinorFaults,
		MajorFaults: s.MajorFaults - from.MajorFaults,
		RSS:         s.RSS - from.RSS,
	}
}

// Between returns what changed from the mark a to the mark b; false if one is missing.
func (s *Series) Between(a, b string) (Delta, bool) {
	from, ok1 := s.Mark(a)
	to, ok2 := s.Mark(b)
	if !ok1 || !ok2 {
		return Delta{}, false
	}
	return to.Sub(from), true
}

// CPUByInterval returns the CPU in percent of one core for each interval of the window that is as
// long as every, as nearly as the samples tell: where they lie closer, some that follow each other
// make one interval. One that is less than half as long (two ticks that came late and early, the
// rest before the end) is joined with the next one or left out.
func (s *Series) CPUByInterval(every time.Duration) []float64 {
	from, ok1 := s.Mark(MarkOpen)
	to, ok2 := s.Mark(MarkClosed)
	if !ok1 || !ok2 {
		return nil
	}
	var list []float64
	last := from.At
	for _, m := range s.Samples {
		if m.At <= last || m.At > to.At {
			continue
		}
		least := every - min(m.At-last, every)/2 // with one sample more it would be farther off
		last = m.At
		if d := m.Sub(from); d.Wall >= least {
			list = append(list, d.Percent())
			from = m
		}
	}
	return list
}
