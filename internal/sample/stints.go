package sample

// Sampling a server that runs in turn with others. Its samples are those of a server that had run
// all the time: what it has used in the stints that count is added up, and what it has used between
// them is not in it. So a figure is computed of a window of stints as of any other.
//
// Both ends of a stint are read while nothing is under way. A thread that runs is known to the
// kernel's counters only up to its last tick (4 ms at 250 Hz); one that waits, to the nanosecond.

import "time"

// Stints samples one server. The goroutine that calls it owns it: it reads only when it is called.
type Stints struct {
	sampler *Sampler
	begun   Sample // the last reading: when a stint began, or ended
	sum     Sample // as of a server that had run in nothing but counted stints
	opened  time.Duration
	resting time.Duration // CPU at rest
	spent   time.Duration // from the beginnings of stints to their ends, by the clock
}

// NewStints begins to sample a group. The interval is the one of figures over intervals.
func NewStints(g Group, every time.Duration) *Stints {
	s := &Stints{sampler: New(g, every)}
	s.sampler.start = time.Now()
	return s
}

// Idle takes the sample of a server that is ready, with nothing connected.
func (s *Stints) Idle() { s.sampler.look(MarkIdle) }

// Open opens the window. The server rests.
func (s *Stints) Open() {
	s.sum = s.sampler.look(MarkOpen)
	s.begun, s.opened = s.sum, s.sum.At
}

// Rested reads what the server has used since it last ran, or since it was last asked.
func (s *Stints) Rested() time.Duration {
	if s.sampler.group.Look(&s.sampler.usage) != nil {
		return 0
	}
	u := &s.sampler.usage
	used := max(0, u.User+u.System-s.begun.User-s.begun.System)
	s.resting += used
	s.begun.User, s.begun.System = u.User, u.System
	return used
}

// Calm reads the server's counters: what it has used since the last reading has disturbed nobody.
// It is of no stint, and was not used at rest.
func (s *Stints) Calm() {
	if now, ok := s.sampler.take("", false, true); ok {
		s.begun = now
	}
}

// Begin reads the server's counters: a stint that counts begins.
func (s *Stints) Begin() {
	if now, ok := s.sampler.take("", true, true); ok {
		s.begun = now
	}
}

// End adds what the server has used since Begin. window is the time of all stints so far.
func (s *Stints) End(window time.Duration) {
	now, ok := s.sampler.take("", false, true)
	if !ok {
		return
	}
	s.add(now.Sub(s.begun))
	s.spent += now.At - s.begun.At
	s.begun = now
	s.sum.At = s.opened + window
	s.sum.RSS, s.sum.PSS, s.sum.Kernel, s.sum.Mark, s.sum.Ran = now.RSS, 0, 0, "", nil
	s.sum.Processes, s.sum.Threads = now.Processes, now.Threads
	s.sum.Descriptors = now.Descriptors
	if len(s.sampler.series.Samples) < maxSamples {
		s.sampler.series.Samples = append(s.sampler.series.Samples, s.sum)
	}
}

// add adds what a stint has used to the sum of all.
func (s *Stints) add(d Delta) {
	t := &s.sum
	t.User, t.System = t.User+d.User, t.System+d.System
	t.RunWait, t.Pressure = t.RunWait+d.RunWait, t.Pressure+d.Pressure
	t.Busy, t.Steal, t.Self = t.Busy+d.Busy, t.Steal+d.Steal, t.Self+d.Self
	t.Voluntary, t.Involuntary = t.Voluntary+d.Voluntary, t.Involuntary+d.Involuntary
	t.MinorFaults, t.MajorFaults = t.MinorFaults+d.MinorFaults, t.MajorFaults+d.MajorFaults
}

// Close closes the window: its last sample has the memory as it is then.
func (s *Stints) Close() {
	now, ok := s.sampler.take(MarkClosed, false, true)
	if !ok {
		return
	}
	s.sum.Mark, s.sum.RSS, s.sum.PSS, s.sum.Kernel = MarkClosed, now.RSS, now.PSS, now.Kernel
	s.sampler.series.Samples = append(s.sampler.series.Samples, s.sum)
}

// Resting is the CPU that the server has used since the window opened while others ran.
func (s *Stints) Resting() time.Duration { return s.resting }

// Spent is the time between Begin and End of all stints: somewhat more than they were, for it is
// what the machine's counters are about.
func (s *Stints) Spent() time.Duration { return s.spent }

// Series returns the data.
func (s *Stints) Series() Series {
	s.sampler.series.Threads = s.sampler.table.busiest()
	return s.sampler.series
}
