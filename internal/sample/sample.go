// Package sample measures what a server's process tree uses while it is under load: CPU, memory,
// threads, context switches, faults, time spent waiting for a core.
//
// The trade: the sampler runs on the machine that it measures. So it reads in three layers and
// keeps itself to a small share of a core. CPU, pressure and the machine's own figures are read at
// every tick; figures of each process (RSS, faults, threads) and of each thread (switches, waits,
// descriptors) are read at every tick as long as that is cheap, and otherwise less often, with the
// last value carried on. Every layer is read at a mark, and so are the proportional set sizes.
// Between two processes the sampler yields its core. Measured on two cores: 20 us for the first
// layer, 10 us for each process, 16 us for each thread, 20 us and up for each PSS. Figures "so far"
// include dead processes as far as they were seen: CPU completely with cgroups; faults through the
// parents that waited; switches and waits up to the last look at the thread. A thread that lives
// only between two looks is missed.
package sample

import "time"

// A Sample is the resources that a server's process tree has used since it started, and holds now.
type Sample struct {
	At          time.Duration `json:"at_ns"`     // since the sampler's start
	User        time.Duration `json:"user_ns"`   // CPU so far, dead children included
	System      time.Duration `json:"system_ns"` //
	RSS         int64         `json:"rss_bytes"`
	PSS         int64         `json:"pss_bytes,omitempty"` // read at marks only: it costs
	Processes   int           `json:"processes"`
	Threads     int           `json:"threads"`
	Descriptors int           `json:"descriptors"`
	Voluntary   int64         `json:"voluntary"`   // context switches so far
	Involuntary int64         `json:"involuntary"` //
	MinorFaults int64         `json:"minor_faults"`
	MajorFaults int64         `json:"major_faults"`
	// time that threads waited for a core so far
	RunWait time.Duration `json:"run_wait_ns"`
	// PSI cpu "some" so far; 0 without cgroup v2
	Pressure time.Duration `json:"pressure_ns"`
	// the machine: all cores' time not idle, from a time before the start
	Busy time.Duration `json:"busy_ns"`
	// the machine: time taken by the hypervisor so far
	Steal time.Duration `json:"steal_ns"`
	// CPU of the process that samples so far
	Self time.Duration `json:"self_ns"`
	// CPU of programs that are not ours, since the mark that opens the window; at the mark that
	// closes it, if all processes of the machine are seen
	Foreign     time.Duration `json:"foreign_ns,omitempty"`
	ForeignSeen bool          `json:"foreign_seen,omitempty"`
	// of the machine, read at marks: slab, stacks, page tables
	Kernel int64  `json:"kernel_bytes,omitempty"`
	Mark   string `json:"mark,omitempty"`
	// Ran is the CPU so far of each thread of Series.Traced, in order; only where they
	// were looked at.
	Ran []time.Duration `json:"ran_ns,omitempty"`
}

// A Thread is the CPU of one kernel thread over the window.
type Thread struct {
	PID  int           `json:"pid"`
	TID  int           `json:"tid"`
	Name string        `json:"name"`
	CPU  time.Duration `json:"cpu_ns"`
}

// A Series is a sampler's data of one server.
type Series struct {
	Source  string        `json:"source"`   // "cgroup2+proc" or "proc"
	Every   time.Duration `json:"every_ns"` // the interval asked for
	Samples []Sample      `json:"samples"`
	Threads []Thread      `json:"threads,omitempty"` // busiest first, at most 64
	// threads whose CPU is in the samples, too, in the order in which they came
	Traced []Thread `json:"traced,omitempty"`
}

// The marks that a run sets.
const (
	MarkIdle   = "idle"   // ready, nothing connected
	MarkRamp   = "ramp"   // the last connection of a ramp stands; only of streams
	MarkOpen   = "open"   // the measuring window opens
	MarkClosed = "closed" // the measuring window closed
)

// Mark returns the sample with this mark.
func (s *Series) Mark(mark string) (Sample, bool) {
	for _, m := range s.Samples {
		if m.Mark == mark {
			return m, true
		}
	}
	return Sample{}, false
}
