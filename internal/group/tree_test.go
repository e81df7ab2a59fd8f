package group

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAllAreStoppedBeforeOneIsKilled looks at the signals that members get, and at their order.
func TestAllAreStoppedBeforeOneIsKilled(t *testing.T) {
	group := newTree("test")
	for pid := range 20 {
		group.members[pid] = &member{pid: pid, dead: pid == 7}
	}
	var stopped, killed []int
	n := group.killBy(func(pid int, sig unix.Signal) error {
		switch {
		case sig == unix.SIGSTOP && len(killed) == 0:
			stopped = append(stopped, pid)
		case sig == unix.SIGKILL:
			killed = append(killed, pid)
		default:
			t.Errorf("process %d got %v after %d were killed", pid, sig, len(killed))
		}
		return unix.ESRCH // gone meanwhile, which is no reason to end
	})
	slices.Sort(stopped)
	slices.Sort(killed)
	if n != 19 || len(stopped) != 19 || slices.Contains(stopped, 7) ||
		!slices.Equal(stopped, killed) {
		t.Errorf("told of %d, stopped %v, killed %v; want the 19 that live", n, stopped, killed)
	}
}
