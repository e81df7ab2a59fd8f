package proc

import (
	"bytes"
	"time"
)

// A Stat is the content of /proc/PID/stat or /proc/PID/task/TID/stat.
type Stat struct {
	Comm                   []byte // points into the parsed bytes
	State                  byte   // R S D Z X ...
	PPID, Session          int
	MinorFaults            int64
	ChildMinorFaults       int64 // of children that were waited for
	MajorFaults            int64
	ChildMajorFaults       int64
	User, System           time.Duration
	ChildUser, ChildSystem time.Duration // of children that were waited for, and theirs
	Threads                int
	Start                  uint64 // ticks since boot: with the pid, names a process for good
	RSS                    int64  // pages
}

// Dead tells whether a process only waits to be reaped. A process whose first thread has ended
// looks like a zombie, too, but has other threads.
func (s *Stat) Dead() bool {
	return (s.State == 'Z' || s.State == 'X' || s.State == 'x') && s.Threads <= 1
}

// ParseStat reads a stat line. A command's name may hold spaces and parentheses: it ends at the
// last closing one, since only numbers follow.
func ParseStat(b []byte) (s Stat, ok bool) {
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if from < 0 || to < from || to+3 >= len(b) {
		return s, false
	}
	s.Comm, s.State = b[from+1:to], b[to+2]
	rest := b[to+3:]
	var f [25]int64 // by the field numbers of proc(5)
	for i := 4; i <= 24; i++ {
		if f[i], rest, ok = number(rest); !ok {
			return s, false
		}
	}
	s.PPID, s.Session = int(f[4]), int(f[6])
	s.MinorFaults, s.ChildMinorFaults, s.MajorFaults, s.ChildMajorFaults = f[10], f[11], f[12],
		f[13]
	s.User, s.System = time.Duration(f[14])*Tick, time.Duration(f[15])*Tick
	s.ChildUser, s.ChildSystem = time.Duration(f[16])*Tick, time.Duration(f[17])*Tick
	s.Threads, s.Start, s.RSS = int(f[20]), uint64(f[22]), f[24]
	return s, true
}

// ParseStatm returns the resident pages: the second figure of statm.
func ParseStatm(b []byte) (pages int64, ok bool) {
	_, rest, ok := number(b)
	if !ok {
		return 0, false
	}
	pages, _, ok = number(rest)
	return pages, ok
}

// ParseSchedstat returns how long a thread ran on a core and how long it waited for one.
func ParseSchedstat(b []byte) (ran, waited time.Duration, ok bool) {
	r, rest, ok := number(b)
	if !ok {
		return 0, 0, false
	}
	w, _, ok := number(rest)
	return time.Duration(r), time.Duration(w), ok
}

// ParseSwitches returns the context switches of a status file.
func ParseSwitches(b []byte) (voluntary, involuntary int64, ok bool) {
	// The two lines are among the last, and a name cannot hold a newline: search from the end.
	voluntary, ok1 := after(b, "\nvoluntary_ctxt_switches:")
	involuntary, ok2 := after(b, "\nnonvoluntary_ctxt_switches:")
	return voluntary, involuntary, ok1 && ok2
}

// ParseRollup returns resident and proportional bytes of a smaps_rollup file.
func ParseRollup(b []byte) (rss, pss int64, ok bool) {
	rss, ok1 := after(b, "\nRss:")
	pss, ok2 := after(b, "\nPss:")
	return rss << 10, pss << 10, ok1 && ok2
}

// ParseCPUStat returns the CPU of a cgroup's cpu.stat, dead processes included, to the microsecond.
func ParseCPUStat(b []byte) (user, system time.Duration, ok bool) {
	u, ok1 := after(b, "\nuser_usec")
	s, ok2 := after(b, "\nsystem_usec")
	return time.Duration(u) * time.Microsecond, time.Duration(s) * time.Microsecond, ok1 && ok2
}

// ParsePressure returns the total of a pressure file's "some" line: the time in which at least one
// task waited.
func ParsePressure(b []byte) (time.Duration, bool) {
	if !bytes.HasPrefix(b, some) {
		return 0, false
	}
	if end := bytes.IndexByte(b, '\n'); end >= 0 {
		b = b[:end]
	}
	total, ok := after(b, " total=")
	return time.Duration(total) * time.Microsecond, ok
}

var some = []byte("some ")

// A Machine is what some cores have done since they started. Idle includes waiting for a disk, and
// Steal is the hypervisor's.
type Machine struct {
	Idle, Steal time.Duration
	Cores       int
}

// Busy is the time in which the cores did something, up to a constant, at a time of a clock that
// rises. It is what the cores did not rest: the kernel knows to the microsecond how long a core has
// rested, but counts work by looking at its ticks, and a load with a schedule may fall on all of
// them or on none.
func (m Machine) Busy(at time.Duration) time.Duration {
	return at*time.Duration(m.Cores) - m.Idle - m.Steal
}

// ParseMachine reads /proc/stat. cores rise; nil is all of them, whose sums the kernel rounds once
// and not for each core.
func ParseMachine(b []byte, cores []int) (m Machine, ok bool) {
	if len(b) < 5 || string(b[:4]) != "cpu " {
		return m, false
	}
	if cores == nil {
		m.Cores = bytes.Count(b, coreLine)
		return m, m.add(b[4:])
	}
	m.Cores = len(cores)
	for len(cores) > 0 {
		next := bytes.IndexByte(b, '\n')
		if next < 0 || !bytes.HasPrefix(b[next:], coreLine) {
			return Machine{}, false // a missing core
		}
		b = b[next+1:]
		core, rest, found := number(b[3:])
		switch {
		case !found || core > int64(cores[0]):
			return Machine{}, false
		case core < int64(cores[0]):
			continue
		}
		if !m.add(rest) {
			return Machine{}, false
		}
		cores = cores[1:]
	}
	return m, true
}

var coreLine = []byte("\ncpu")

// add adds the times after the name in a line of /proc/stat.
func (m *Machine) add(rest []byte) (ok bool) {
	// user nice system idle iowait irq softirq steal
	var f [8]int64
	for i := range f {
		if f[i], rest, ok = number(rest); !ok {
			return false
		}
	}
	m.Idle += time.Duration(f[3]+f[4]) * Tick
	m.Steal += time.Duration(f[7]) * Tick
	return true
}

// ParseMemory returns the available and the total memory of /proc/meminfo, in bytes.
func ParseMemory(b []byte) (available, total int64, ok bool) {
	available, ok = after(b, "\nMemAvailable:")
	total, found := after(b, "\nMemTotal:")
	return available << 10, total << 10, ok && found
}

// ParseKernelMemory returns, from /proc/meminfo and in bytes, the kernel's memory that grows with
// sockets, processes and threads: slab, kernel stacks, page tables and memory for each core. It
// does not include buffers full of data.
func ParseKernelMemory(b []byte) (kernel int64, ok bool) {
	ok = true
	for _, key := range []string{"\nSlab:", "\nKernelStack:", "\nPageTables:", "\nPercpu:"} {
		n, found := after(b, key)
		kernel += n
		ok = ok && (found || key == "\nPercpu:") // since Linux 4.19
	}
	return kernel << 10, ok
}

// after returns the number that follows the last occurrence of key. A key that begins with a
// newline may also open the file.
func after(b []byte, key string) (int64, bool) {
	i := lastIndex(b, key)
	switch {
	case i >= 0:
		i += len(key)
	case key[0] == '\n' && len(b) >= len(key)-1 && string(b[:len(key)-1]) == key[1:]:
		i = len(key) - 1
	default:
		return 0, false
	}
	n, _, ok := number(b[i:])
	return n, ok
}

// lastIndex is bytes.LastIndex without a copy of the key.
func lastIndex(b []byte, key string) int {
	for i := len(b) - len(key); i >= 0; i-- {
		if b[i] == key[0] && string(b[i:i+len(key)]) == key {
			return i
		}
	}
	return -1
}

// number reads a decimal number after blanks. An overflow becomes the largest.
func number(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	negative := i < len(b) && b[i] == '-'
	if negative {
		i++
	}
	first := i
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		if n > (1<<63-10)/10 {
			n = 1<<63 - 1
			continue
		}
		n = n*10 + int64(b[i]-'0')
	}
	if negative {
		n = -n
	}
	return n, b[i:], i > first
}
