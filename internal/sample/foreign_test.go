package sample

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/group"
	"interleave/internal/proc"
)

// orphan starts a busy loop whose parent has ended, so that nothing shows that it is ours.
func orphan(t *testing.T) (pid int) {
	t.Helper()
	const script = "sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!"
	out, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// TestCountForeign: the sample that closes the window has what another program has used in it, and
// nothing of what this process and its children have.
func TestCountForeign(t *testing.T) {
	h := startHelper(t, group.Options{})
	s := New(h.group, never)
	s.CountForeign()
	s.Start()
	defer s.Stop()
	var reader proc.Reader
	other := orphan(t)
	ran := func() time.Duration {
		stat, ok := proc.ParseStat(reader.File(other, "stat"))
		if !ok {
			t.Fatal("the other program has gone")
		}
		return stat.User + stat.System
	}
	opened := s.Mark(MarkOpen)
	before := ran()
	for end := time.Now().Add(time.Minute); ran()-before < 10*proc.Tick; {
		if time.Now().After(end) {
			t.Fatal("the other program was not let run for a minute")
		}
	}
	least := ran() - before
	closed := s.Mark(MarkClosed)
	if !closed.ForeignSeen {
		t.Skip("SKIP: not all processes of this machine are seen: run it outside a container")
	}
	if opened.ForeignSeen || closed.Foreign < least-proc.Tick {
		t.Errorf("%v of another program, which used %v; at the opening %v", closed.Foreign, least,
			opened.ForeignSeen)
	}
	s.Stop()
	if _, there := s.census[other]; !there {
		t.Error("the other program was not counted")
	}
	for _, pid := range append(h.group.PIDs(), os.Getpid()) {
		if _, there := s.census[pid]; there {
			t.Errorf("process %d is ours and counts as another program", pid)
		}
	}
}

// TestForeignIsNotCountedUnasked: other samplers do not read all processes.
func TestForeignIsNotCountedUnasked(t *testing.T) {
	h := startHelper(t, group.Options{})
	s := New(h.group, never)
	s.Start()
	defer s.Stop()
	s.Mark(MarkOpen)
	if closed := s.Mark(MarkClosed); closed.ForeignSeen {
		t.Errorf("%v was counted", closed.Foreign)
	}
}
