package sample

import (
	"os"
	"runtime"
	"sync"
	"time"

	"interleave/internal/group"
	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// A Group is the object of a sampler: one group, or several together.
type Group interface {
	Look(u *group.Usage) error
	Source() string
}

// A Sampler looks at a group at an interval. Make it with New, then Start, any number
// of Mark, Stop.
type Sampler struct {
	group Group
	every time.Duration
	marks chan markRequest
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	// The goroutine sample owns the fields below from Start until ended is closed.
	start   time.Time
	series  Series
	usage   group.Usage
	reader  proc.Reader
	table   table
	process layer
	detail  layer
	last    Sample // for values that are carried over between two looks
	counts  bool   // the CPU of programs that are not ours
	census  proc.Census
}

// A markRequest has the cheap figures already, which its caller has read.
type markRequest struct {
	name  string
	now   Sample
	ok    bool
	reply chan<- Sample
}

// share is the part of a core that a layer of figures may cost. A layer that costs more is read
// less often. Two layers at 2 % each correspond to the 5 ms for a sample of 100 processes at 100
// ms. The number is a choice: well below the 5 % of foreign CPU at which a round is void.
const share = 0.02

// maxSamples bounds a series: at 100 ms it is nearly three hours. Marks are kept beyond it.
const maxSamples = 100_000

// New makes a sampler for a group that looks every so often.
func New(g Group, every time.Duration) *Sampler {
	return &Sampler{
		group: g, every: every,
		marks: make(chan markRequest), stop: make(chan struct{}), ended: make(chan struct{}),
		table:  newTable(),
		series: Series{Source: g.Source(), Every: every, Samples: make([]Sample, 0, 256)},
	}
}

// Trace adds the CPU of threads to each sample, for the first threads that are seen. Call it before
// Start.
func (s *Sampler) Trace() { s.table.slots = map[int]int{} }

// CountForeign adds the CPU of programs that are not ours to the sample that closes the window.
// Ours are the group, this process, and all that it has started. Call it before Start.
func (s *Sampler) CountForeign() { s.counts = true }

// Start begins to look.
func (s *Sampler) Start() {
	s.start = time.Now()
	go s.sample()
}

// Mark takes a sample now, complete with PSS, and returns it. The following ticks count from here.
// Its counters are those of the call.
// After Stop it returns an empty sample.
func (s *Sampler) Mark(name string) Sample {
	reply := make(chan Sample, 1)
	m := markRequest{name: name, reply: reply}
	// not by the sampler's thread, which may be reading the memory of thousands of processes
	runtime.LockOSThread()
	m.now, m.ok = s.shallow(&group.Usage{}, &proc.Reader{})
	runtime.UnlockOSThread()
	select {
	case s.marks <- m:
		return <-reply
	case <-s.ended:
		return Sample{Mark: name}
	}
}

// Stop ends the sampling and returns its data. It may be called again.
func (s *Sampler) Stop() Series {
	s.once.Do(func() { close(s.stop) })
	<-s.ended
	return s.series
}

// sample owns the series and the tables. It ends when stop is closed. It keeps to one thread, so
// that the thread's clock measures the cost of a look.
func (s *Sampler) sample() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.ended)
	ticks := time.NewTicker(s.every)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if len(s.series.Samples) < maxSamples {
				s.look("")
			}
		case m := <-s.marks:
			m.reply <- s.marked(&m)
			ticks.Reset(s.every)
		case <-s.stop:
			s.series.Threads, s.series.Traced = s.table.busiest(), s.table.traced
			return
		}
	}
}

// look takes one sample and keeps it.
func (s *Sampler) look(mark string) Sample {
	now, ok := s.take(mark, false, mark != "")
	if ok {
		s.series.Samples = append(s.series.Samples, now)
	}
	return now
}

// marked completes a sample that was begun by the caller of Mark, and keeps it. A look at the
// interval that came between the two is left out: its figures of processes are the older ones.
func (s *Sampler) marked(m *markRequest) Sample {
	if !m.ok || s.group.Look(&s.usage) != nil {
		return Sample{Mark: m.name}
	}
	now := s.complete(m.name, m.now, false, true)
	list := s.series.Samples
	for n := len(list); n > 0 && list[n-1].At > now.At && list[n-1].Mark == ""; n-- {
		list = list[:n-1]
	}
	s.series.Samples = append(list, now)
	return now
}

// take takes one sample. The costly layers are read before the clock if they come first: before a
// stint, while nothing is under way. Else they are read after it, at the mark that opens a window
// too: the load works already, and its requests count from then on, so the CPU must. The memory of
// 2,000 processes takes 0.4 to 0.7 s to read. Unless they must be read, they are if they are due.
func (s *Sampler) take(mark string, first, must bool) (Sample, bool) {
	if first {
		if s.group.Look(&s.usage) == nil {
			s.deep(mark, must)
		}
	}
	now, ok := s.shallow(&s.usage, &s.reader)
	if !ok {
		return Sample{Mark: mark}, false
	}
	return s.complete(mark, now, first, must), true
}

// complete adds the costly figures to the cheap ones.
func (s *Sampler) complete(mark string, now Sample, first, must bool) Sample {
	if s.counts && mark == MarkOpen {
		s.census = s.others()
	}
	if s.counts && mark == MarkClosed && s.census != nil {
		if others := s.others(); others != nil {
			now.Foreign, now.ForeignSeen = others.Since(s.census), true
		}
	}
	if !first {
		s.deep(mark, must)
	}
	s.table.fill(&s.last)
	now.RSS, now.PSS = s.last.RSS, s.last.PSS
	now.Threads, now.Descriptors = s.last.Threads, s.last.Descriptors
	now.Voluntary, now.Involuntary, now.RunWait = s.last.Voluntary, s.last.Involuntary,
		s.last.RunWait
	now.MinorFaults, now.MajorFaults = s.last.MinorFaults, s.last.MajorFaults
	now.Mark = mark
	now.Kernel, now.Ran = s.last.Kernel, s.last.Ran
	s.last.PSS, s.last.Kernel, s.last.Ran = 0, 0, nil
	return now
}

// others counts the programs that are not ours; nil if they cannot all be seen.
func (s *Sampler) others() proc.Census {
	census, _ := proc.Count(&s.reader, append([]int{os.Getpid()}, s.usage.PIDs...))
	return census
}

// shallowTries bounds how often the first layer is read again because the sampler lost its core
// between the clock and the figures.
const shallowTries = 3

// shallow reads the clock and the cheap figures, close together.
func (s *Sampler) shallow(u *group.Usage, r *proc.Reader) (now Sample, ok bool) {
	for range shallowTries {
		before, ran := time.Since(s.start), clock(unix.CLOCK_THREAD_CPUTIME_ID)
		if s.group.Look(u) != nil {
			return now, false
		}
		took := time.Since(s.start) - before
		now.At = before + took/2
		if away := took - (clock(unix.CLOCK_THREAD_CPUTIME_ID) - ran); away < s.every/100 {
			break
		}
	}
	now.User, now.System, now.Pressure = u.User, u.System, u.Pressure
	now.Processes = len(u.PIDs)
	if m, ok := proc.ParseMachine(r.Path("/proc/stat"), proc.Cores()); ok {
		now.Busy, now.Steal = m.Busy(time.Since(s.start)), m.Steal
	}
	now.Self = clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	return now, true
}

// deep reads the figures of processes and threads, each layer if it is due or must be read, and at
// a mark those of memory.
func (s *Sampler) deep(mark string, must bool) {
	s.process.run(must, func() { s.table.processes(&s.reader, s.usage.PIDs) })
	s.detail.run(must, func() {
		s.table.threads(&s.reader, mark)
		s.last.Ran = s.table.trace()
	})
	if mark != "" {
		s.last.PSS = s.table.pss(&s.reader)
		s.last.Kernel, _ = proc.ParseKernelMemory(s.reader.Path("/proc/meminfo"))
	}
}

// A layer is a set of figures that is read together, with the cost of reading it.
type layer struct {
	cost time.Duration // of the thread's CPU, at the last look
	at   time.Time     // of the last look
}

// run reads if it must, or if the last cost, spread over the time since, stays within the share.
func (l *layer) run(must bool, read func()) {
	now := time.Now()
	if !must && float64(l.cost) > share*float64(now.Sub(l.at)) {
		return
	}
	before := clock(unix.CLOCK_THREAD_CPUTIME_ID)
	read()
	l.cost, l.at = clock(unix.CLOCK_THREAD_CPUTIME_ID)-before, now
}

// clock reads a clock of CPU time; the two that are asked for always answer.
func clock(id int32) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(id, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
