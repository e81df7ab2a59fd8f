package sample

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"time"

	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// A table keeps each process and thread of a group, so that the usage of dead ones is not lost.
type table struct {
	pass     int
	known    map[int]*process
	tasks    map[int]*task
	tids     []int
	dead     faults // of processes whose parent did not take them over
	gone     waits  // of threads that ended
	slots    map[int]int
	traced   []Thread        // by slot; nil slots: none is traced
	ran      []time.Duration // of each, so far
	pageSize int64
}

type process struct {
	pid, ppid   int
	start       uint64
	pass        int
	rss         int64
	threads     int
	descriptors int
	own         faults // its own and its waited-for children's
	kids        faults // the latter
	gained      faults // by kids, since the look before
	owed        faults // last seen on children that vanished, until its kids account for it
}

type faults struct{ minor, major int64 }

func (f *faults) add(d faults) { f.minor, f.major = f.minor+d.minor, f.major+d.major }

type task struct {
	pid, tid int
	pass     int
	name     string
	ran      time.Duration
	opened   time.Duration // its CPU when the window opened
	used     time.Duration // its CPU in the window that has closed
	waits
}

type waits struct {
	voluntary, involuntary int64
	runWait                time.Duration
}

func (w *waits) add(d waits) {
	w.voluntary += d.voluntary
	w.involuntary += d.involuntary
	w.runWait += d.runWait
}

func newTable() table {
	return table{known: map[int]*process{}, tasks: map[int]*task{},
		pageSize: int64(os.Getpagesize())}
}

// yield lets waiting threads run on this core first. Without it a look at a hundred processes kept
// the load from its core for 3 ms, and answers waited meanwhile.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// processes looks at each living process: 10 us each.
func (t *table) processes(r *proc.Reader, pids []int) {
	t.pass++
	for _, pid := range pids {
		st, ok := proc.ParseStat(r.File(pid, "stat"))
		if !ok {
			continue // it died since the list was read
		}
		p := t.known[pid]
		if p == nil || p.start != st.Start {
			if p != nil {
				t.dead.add(p.own)
				t.dead.add(p.owed)
			}
			p = &process{pid: pid, start: st.Start}
			t.known[pid] = p
		}
		kids := faults{st.ChildMinorFaults, st.ChildMajorFaults}
		p.gained = faults{kids.minor - p.kids.minor, kids.major - p.kids.major}
		p.kids, p.own = kids, kids
		p.own.add(faults{st.MinorFaults, st.MajorFaults})
		p.ppid, p.threads, p.pass = st.PPID, st.Threads, t.pass
		// The resident pages in stat are an estimate, off by 64 and more for each
		// core; statm sums up.
		if pages, ok := proc.ParseStatm(r.File(pid, "statm")); ok {
			p.rss = pages * t.pageSize
		}
		yield()
	}
	t.bury()
}

// bury removes the processes that vanished. Their parent owes their faults until it has waited,
// which may show in this look or in the next one. Without a parent the table keeps them.
func (t *table) bury() {
	for _, p := range t.known {
		if p.pass == t.pass {
			continue
		}
		last := p.own
		last.add(p.owed)
		if heir := t.heir(p); heir != nil {
			heir.owed.add(last)
		} else {
			t.dead.add(last)
		}
	}
	for pid, p := range t.known {
		if p.pass != t.pass {
			delete(t.known, pid)
			continue
		}
		p.owed.minor -= min(p.owed.minor, p.gained.minor)
		p.owed.major -= min(p.owed.major, p.gained.major)
	}
}

// heir is the nearest ancestor that lives.
func (t *table) heir(p *process) *process {
	for range len(t.known) {
		parent := t.known[p.ppid]
		if parent == nil || parent.pass == t.pass {
			return parent
		}
		p = parent
	}
	return nil
}

// threads looks at each thread of the processes seen last, and at their descriptors: 16 us each.
func (t *table) threads(r *proc.Reader, mark string) {
	for _, p := range t.known {
		p.descriptors = r.Descriptors(p.pid)
		t.tids = append(t.tids[:0], p.pid)
		if p.threads > 1 {
			t.tids = r.Tasks(p.pid, t.tids[:0])
		}
		for _, tid := range t.tids {
			t.task(r, p.pid, tid, mark)
			yield()
		}
	}
	for tid, k := range t.tasks {
		if k.pass == t.pass {
			continue
		}
		t.gone.add(k.waits)
		k.waits = waits{}
		// A thread that ran in the window is kept until the window has closed, since it may be
		// among the busiest.
		if mark == MarkClosed {
			k.used = max(k.used, k.ran-k.opened)
		}
		if mark == MarkOpen || k.ran == k.opened {
			delete(t.tasks, tid)
		}
	}
	t.prune()
}

// maxDeadTasks bounds the ended threads that are kept for the list of the busiest.
const maxDeadTasks = 4096

// prune removes the ended threads that ran least, if there are too many.
func (t *table) prune() {
	var ended []*task
	for _, k := range t.tasks {
		if k.pass != t.pass {
			ended = append(ended, k)
		}
	}
	if len(ended) <= maxDeadTasks {
		return
	}
	slices.SortFunc(ended,
		func(a, b *task) int { return cmp.Compare(a.ran-a.opened, b.ran-b.opened) })
	for _, k := range ended[:len(ended)-maxDeadTasks/2] {
		delete(t.tasks, k.tid)
	}
}

func (t *table) task(r *proc.Reader, pid, tid int, mark string) {
	ran, waited, ok := proc.ParseSchedstat(r.TaskFile(pid, tid, "schedstat"))
	if !ok {
		return // it ended since the list was read
	}
	voluntary, involuntary, ok := proc.ParseSwitches(r.TaskFile(pid, tid, "status"))
	if !ok {
		return
	}
	k := t.tasks[tid]
	if k == nil || k.pid != pid || ran < k.ran { // new, or its number was given again
		if k != nil {
			t.gone.add(k.waits)
		}
		k = &task{pid: pid, tid: tid}
		t.tasks[tid] = k
	}
	k.ran, k.pass = ran, t.pass
	k.waits = waits{voluntary, involuntary, waited}
	if k.name == "" || mark == MarkClosed { // a thread may rename itself; the last name counts
		if name := bytes.TrimSuffix(r.TaskFile(pid, tid, "comm"), newline); len(name) > 0 &&
			string(name) != k.name {
			k.name = string(name)
		}
	}
	switch mark {
	case MarkOpen:
		k.opened, k.used = ran, 0
	case MarkClosed:
		k.used = ran - k.opened
	}
}

var newline = []byte{'\n'}

// pss sums the proportional set sizes of all processes: memory that they share counts once.
func (t *table) pss(r *proc.Reader) (bytes int64) {
	for pid := range t.known {
		_, pss, _ := proc.ParseRollup(r.File(pid, "smaps_rollup"))
		bytes += pss
		yield()
	}
	return bytes
}

// fill writes the sums of the last looks.
func (t *table) fill(s *Sample) {
	s.RSS, s.Threads, s.Descriptors = 0, 0, 0
	total := t.dead
	for _, p := range t.known {
		s.RSS += p.rss
		s.Threads += p.threads
		s.Descriptors += p.descriptors
		total.add(p.own)
		total.add(p.owed)
	}
	s.MinorFaults, s.MajorFaults = total.minor, total.major
	w := t.gone
	for _, k := range t.tasks {
		w.add(k.waits)
	}
	s.Voluntary, s.Involuntary, s.RunWait = w.voluntary, w.involuntary, w.runWait
}

// maxTraced is the number of traced threads: all of a server with few threads, and the first of a
// server with a thread for each client. The rest is reported as one.
const maxTraced = 16

// trace is the CPU so far of the traced threads. An ended one keeps its last value.
func (t *table) trace() []time.Duration {
	if t.slots == nil {
		return nil
	}
	for tid, k := range t.tasks {
		slot, found := t.slots[tid]
		if !found && len(t.traced) < maxTraced {
			slot, found = len(t.traced), true
			t.slots[tid] = slot
			t.traced, t.ran = append(t.traced, Thread{PID: k.pid, TID: tid}), append(t.ran, 0)
		}
		if found && t.traced[slot].PID == k.pid {
			t.traced[slot].Name = k.name
			t.ran[slot] = max(t.ran[slot], k.ran)
		}
	}
	return slices.Clone(t.ran)
}

// maxThreads is how many threads a series names.
const maxThreads = 64

// busiest returns the threads by the CPU that they used between the marks open and closed.
func (t *table) busiest() []Thread {
	var list []Thread
	for _, k := range t.tasks {
		if k.used > 0 {
			list = append(list, Thread{PID: k.pid, TID: k.tid, Name: k.name, CPU: k.used})
		}
	}
	slices.SortFunc(list, func(a, b Thread) int {
		if c := cmp.Compare(b.CPU, a.CPU); c != 0 {
			return c
		}
		return cmp.Compare(a.TID, b.TID)
	})
	return list[:min(len(list), maxThreads)]
}
