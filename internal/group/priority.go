package group

// Processes that are measured should not wait for others. The kernel divides a core in two steps:
// first between groups of processes, then within each group. The groups are cgroups where the
// controller "cpu" is in use, otherwise sessions (autogroup in sched(7)). With autogroup, which is
// the default of most distributions, a nice value counts only within its session: a server at nice
// -20 gets half of a core beside a compiler at nice 19 in another terminal. So a group with
// priority raises all three: the nice value of its processes, that of its session, and the weight
// of its cgroup. Server and load are raised alike, so they share a core with each other as before.
//
// A process that makes a session of its own leaves the raised one, and keeps its nice value.

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	topNice   = -20   // sched(7): the share of a core is then 86 times that of nice 0
	topWeight = 10000 // cpu.weight of cgroup v2, where 100 is the default
)

// prioritise raises the session of a process and its cgroup. What this user may not raise, and what
// this kernel does not have, stays.
func (g *Group) prioritise(pid int) {
	write := func(path string, n int) { _ = os.WriteFile(path, []byte(strconv.Itoa(n)), 0) }
	write(filepath.Join("/proc", strconv.Itoa(pid), "autogroup"), topNice)
	if g.cgroup != nil {
		write(filepath.Join(g.cgroup.path, "cpu.weight"), topWeight)
	}
}

// raiseNice gives this thread the highest priority of ordinary threads, which its children inherit,
// and returns the way back. Without the privilege it changes nothing.
func raiseNice() (back func() error) {
	old, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the nice value
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, 0, topNice) != nil {
		return func() error { return nil }
	}
	return func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 20-old) }
}
