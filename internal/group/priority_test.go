package group

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// niceOf is the nice value of a process; of 0 this thread's.
func niceOf(t *testing.T, pid int) int {
	t.Helper()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		t.Fatal(err)
	}
	return 20 - raw
}

// sessionNice is the nice value of a process' session, if the kernel has autogroup.
func sessionNice(t *testing.T, pid int) (nice int, ok bool) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if err != nil {
		return 0, false
	}
	_, after, _ := strings.Cut(string(text), "nice ")
	if _, err := fmt.Sscan(after, &nice); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return nice, true
}

// TestPriority raises one group between two that are not raised: the thread that starts them all
// must come back.
func TestPriority(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := niceOf(t, 0)
	raised := before
	if unix.Setpriority(unix.PRIO_PROCESS, 0, topNice) == nil { // this thread's, and only a try
		raised = topNice
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, before); err != nil {
			t.Fatal(err)
		}
	}
	both(t, func(t *testing.T, o Options) {
		for _, o.Priority = range []bool{false, true, false} {
			g := start(t, o, "sleep 300 & wait")
			until(t, "the shell's child", func() bool { return len(g.PIDs()) == 2 })
			want := before
			if o.Priority {
				want = raised
			}
			for _, pid := range g.PIDs() {
				if got := niceOf(t, pid); got != want {
					t.Errorf("priority %v: process %d has nice %d, want %d", o.Priority, pid, got,
						want)
				}
				got, ok := sessionNice(t, pid)
				if top := o.Priority && raised == topNice; ok && (got == topNice) != top {
					t.Errorf("priority %v: the session of %d has nice %d", o.Priority, pid, got)
				}
			}
		}
	})
}
