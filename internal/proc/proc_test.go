package proc

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadsOurselves(t *testing.T) {
	var r Reader
	pid := os.Getpid()
	s, ok := ParseStat(r.File(pid, "stat"))
	if !ok || s.PPID != os.Getppid() || s.Dead() {
		t.Errorf("got %+v, %v, want parent %d", s, ok, os.Getppid())
	}
	if !slices.Contains(r.PIDs(nil), pid) {
		t.Error("we are not among the processes")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tids := r.Tasks(pid, nil)
	if !slices.Contains(tids, unix.Gettid()) {
		t.Errorf("thread %d is not among %v", unix.Gettid(), tids)
	}
	if _, _, ok := ParseSchedstat(r.TaskFile(pid, unix.Gettid(), "schedstat")); !ok {
		t.Error("our thread's schedstat does not answer")
	}
	if _, _, ok := ParseSwitches(r.TaskFile(pid, unix.Gettid(), "status")); !ok {
		t.Error("our thread's status does not answer")
	}
	if _, pss, ok := ParseRollup(r.File(pid, "smaps_rollup")); !ok || pss == 0 {
		t.Error("our smaps_rollup does not answer")
	}
}

func TestDescriptors(t *testing.T) {
	var r Reader
	before := r.Descriptors(os.Getpid())
	for range 20 { // not os.Open: its first call may open an epoll instance, too
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
	}
	if got := r.Descriptors(os.Getpid()) - before; got != 20 {
		t.Errorf("got %d more descriptors, want 20", got)
	}
}

func TestGone(t *testing.T) {
	var r Reader
	const nobody = 1 << 30 // beyond any pid_max
	if r.File(nobody, "stat") != nil || r.Tasks(nobody, nil) != nil || r.Descriptors(nobody) != 0 ||
		r.Path("/no/such/file") != nil || r.FD(-1) != nil {
		t.Error("a process that is gone answered")
	}
}

// TestLongFile reads files longer than the first buffer, by name and by descriptor, twice.
func TestLongFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long")
	want := strings.Repeat("0123456789abcde\n", 10*bufBytes/16)
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r Reader
	for range 2 {
		if got := string(r.FD(int(f.Fd()))); got != want {
			t.Errorf("by descriptor: got %d bytes, want %d", len(got), len(want))
		}
		if got := string(r.Path(path)); got != want {
			t.Errorf("by name: got %d bytes, want %d", len(got), len(want))
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var r Reader
	pid := os.Getpid()
	pids := r.PIDs(nil)
	tids := r.Tasks(pid, nil)
	look := func() {
		pids = r.PIDs(pids[:0])
		tids = r.Tasks(pid, tids[:0])
		ParseStat(r.File(pid, "stat"))
		ParseSwitches(r.TaskFile(pid, pid, "status"))
		r.Descriptors(pid)
	}
	look()
	// Lists may grow while others start processes. A function that allocates at each call gives at
	// least 1.
	if got := testing.AllocsPerRun(100, look); got >= 1 {
		t.Errorf("got %v allocations a look, want none", got)
	}
}
