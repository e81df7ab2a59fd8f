package group

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// both runs a test with each back end that this machine has.
func both(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	t.Run("cgroup", func(t *testing.T) {
		if _, err := home(); err != nil {
			t.Skip(err)
		}
		test(t, Options{})
	})
	t.Run("proc", func(t *testing.T) { test(t, Options{NoCgroup: true}) })
}

func start(t *testing.T, o Options, script string) *Group {
	t.Helper()
	g, err := New("test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	if got, want := g.cgroup == nil, o.NoCgroup; got != want {
		t.Fatalf("fall-back: got %v, want %v (%v)", got, want, g.Why())
	}
	if err := g.Start(exec.Command("sh", "-c", script)); err != nil {
		t.Fatal(err)
	}
	return g
}

// patience is a net: nothing that works comes near it, on any machine.
const patience = 5 * time.Minute

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

func gone(pid int) bool {
	var r proc.Reader
	s, ok := proc.ParseStat(r.File(pid, "stat"))
	return !ok || s.Dead()
}

func TestStopClean(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		g := start(t, o, `trap 'exit 0' TERM; echo ready >&2; while :; do sleep 0.01; done`)
		if !g.Alive() || g.PID() == 0 {
			t.Fatal("not alive after Start")
		}
		until(t, "the shell to set its trap", func() bool { return len(g.PIDs()) == 2 })
		e, err := g.Stop(patience)
		if err != nil {
			t.Fatal(err)
		}
		if !e.Clean() || g.Alive() {
			t.Errorf("got %+v (%v), want a clean end", e, e.State)
		}
		if again, err := g.Stop(time.Second); err != nil || !again.Early || again.State != e.State {
			t.Errorf("second Stop: got %+v, %v", again, err)
		}
	})
}

func TestStopStatus(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		g := start(t, o, `exit 3`)
		<-g.Exited()
		e, err := g.Stop(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if !e.Early || e.Clean() || e.State.ExitCode() != 3 {
			t.Errorf("got %+v, want an early end with status 3", e)
		}
		if err := g.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("Wait: got %v, want exit status 3", err)
		}
	})
}

func TestStopIgnored(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		g := start(t, o, `trap '' TERM; sleep 300 & sleep 300`)
		until(t, "three processes", func() bool { return len(g.PIDs()) == 3 })
		pids := g.PIDs()
		e, err := g.Stop(50 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if e.ByItself || e.Early || e.Clean() || len(e.Strays) != 2 {
			t.Errorf("got %+v, want killed with 2 strays", e)
		}
		if ws, ok := e.State.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
			t.Errorf("got %v, want killed", e.State)
		}
		for _, pid := range pids {
			until(t, "process "+strconv.Itoa(pid)+" to be gone", func() bool { return gone(pid) })
		}
	})
}

// TestDaemon starts a process that leaves its parent, session and group behind, twice forked.
func TestDaemon(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		var daemon []int
		var e Ended
		// The daemon makes Stop wait for all of the grace. A busy shell needs a longer one.
		for grace := 100 * time.Millisecond; !e.ByItself && grace < patience; grace *= 4 {
			g := start(t, o,
				`trap 'exit 0' TERM; (setsid sh -c 'sleep 301 & sleep 302' &); while :; do sleep 0.01; done`)
			until(t, "the daemon",
				func() bool { daemon = find(t, g, "sleep\x0030"); return len(daemon) == 2 })
			var err error
			if e, err = g.Stop(grace); err != nil {
				t.Fatal(err)
			}
		}
		if !e.ByItself || e.Clean() {
			t.Errorf("got %+v, want ended by itself but not clean", e)
		}
		for _, pid := range daemon {
			if !slices.Contains(e.Strays, pid) {
				t.Errorf("process %d of the daemon is not among the strays %v", pid, e.Strays)
			}
			until(t, "the daemon to be gone", func() bool { return gone(pid) })
		}
	})
}

// find returns the members whose command line begins so.
func find(t *testing.T, g *Group, cmdline string) (pids []int) {
	t.Helper()
	var r proc.Reader
	for _, pid := range g.PIDs() {
		if bytes.HasPrefix(r.File(pid, "cmdline"), []byte(cmdline)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestForkBomb ends 127 processes that each start two more to a depth of six, while
// they still fork.
func TestForkBomb(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		bomb := `b() { if [ $1 -gt 0 ]; then b $(($1-1)) & b $(($1-1)) & fi; sleep 303; }; b 6`
		g := start(t, o, bomb)
		until(t, "30 processes", func() bool { return len(g.PIDs()) >= 30 })
		if _, err := g.Stop(0); err != nil {
			t.Fatal(err)
		}
		if left := g.PIDs(); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		var r proc.Reader
		for _, pid := range r.PIDs(nil) {
			if value(r.File(pid, "environ")) == g.name && !gone(pid) {
				t.Errorf("process %d bears the mark and lives", pid)
			}
		}
	})
}

// TestComet ends a process that forks a successor and dies, over and over: no look can catch it,
// but a cgroup is killed as one.
func TestComet(t *testing.T) {
	if _, err := home(); err != nil {
		t.Skip(err)
	}
	g := start(t, Options{}, `c() { if [ $1 -gt 0 ]; then c $(($1-1)) & fi; exit 0; }; c 5000`)
	var u Usage
	until(t, "the comet to fly",
		func() bool { return g.Look(&u) == nil && u.User+u.System > 20*time.Millisecond })
	if _, err := g.Stop(0); err != nil {
		t.Fatal(err)
	}
	if left := g.PIDs(); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestDeadCPU burns in children that are waited for, that stay zombies, that vanish, and that were
// orphaned. Each prints its own usage at its end, by the kernel's account.
func TestDeadCPU(t *testing.T) {
	const burn = `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; read s </proc/self/stat; echo "$s" >>SPENT`
	scripts := []struct {
		name, script string
		shells       int // that are left in the end
	}{
		{"waited for", `(` + burn + `); (` + burn + `); sleep 304`, 1},
		{"unreaped", `(` + burn + `) & (` + burn + `) & exec sleep 304`, 0},
		{"nobody waits", `trap '' CHLD; (` + burn + `) & (` + burn + `) & exec sleep 304`, 0},
		{"daemon", `(setsid sh -c '` + burn + `' & setsid sh -c '` + burn + `' &); sleep 304`, 1},
	}
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			both(t, func(t *testing.T, o Options) {
				spent := filepath.Join(t.TempDir(), "spent")
				g := start(t, o, strings.ReplaceAll(s.script, "SPENT", spent))
				until(t, "the children to end", func() bool {
					return len(find(t, g, "sleep\x00304")) == 1 && len(g.PIDs()) == 1+s.shells &&
						len(find(t, g, "sh\x00")) == s.shells
				})
				user, system := g.CPU()
				// The shells use a little besides, and the last part of a vanished child's CPU may
				// be missed.
				if got, want := user+system, took(t, spent, 2); got < want*6/10 ||
					got > want*5/4+50*time.Millisecond {
					t.Errorf("got %v, want about %v", got, want)
				}
			})
		})
	}
}

// took adds up the usage that so many processes printed, a line of /proc/PID/stat each.
func took(t *testing.T, file string, processes int) (sum time.Duration) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		stat, ok := proc.ParseStat([]byte(line))
		if !ok {
			t.Fatalf("got %q, want a line of /proc/PID/stat", line)
		}
		sum += stat.User + stat.System
		n++
	}
	if n != processes {
		t.Fatalf("%d processes have said what they took, want %d", n, processes)
	}
	return sum
}

func TestCPUMonotonic(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		g := start(t, o,
			`for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (j=0; while [ $j -lt 5000 ]; do j=$((j+1)); done); done`)
		var last time.Duration
		for g.Alive() {
			user, system := g.CPU()
			// A tick may be taken back where a child's last look and its parent's account
			// round differently.
			if now := user + system; now < last-2*proc.Tick {
				t.Fatalf("CPU fell from %v to %v", last, now)
			} else {
				last = now
			}
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		state := g.cmd.ProcessState
		truth := state.UserTime() + state.SystemTime()
		user, system := g.CPU()
		if got := user + system; got < truth-3*proc.Tick || got > truth+3*proc.Tick {
			t.Errorf("got %v, want %v by getrusage", got, truth)
		}
	})
}

func TestCores(t *testing.T) {
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		t.Fatal(err)
	}
	last := -1
	for c := range 1024 {
		if usable.IsSet(c) {
			last = c
		}
	}
	both(t, func(t *testing.T, o Options) {
		o.CPUs = []int{last}
		g := start(t, o, `exec sleep 305`)
		var got unix.CPUSet
		if err := unix.SchedGetaffinity(g.PID(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Count() != 1 || !got.IsSet(last) {
			t.Errorf("got %v, want core %d only", got, last)
		}
		free := start(t, Options{NoCgroup: o.NoCgroup}, `exec sleep 305`)
		if err := unix.SchedGetaffinity(free.PID(), &got); err != nil {
			t.Fatal(err)
		}
		if got != usable {
			t.Errorf("the next command got %d cores, want %d: the thread was not restored",
				got.Count(), usable.Count())
		}
	})
	g, err := New("test", Options{CPUs: []int{1023}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Start(exec.Command("true")); err == nil ||
		!strings.Contains(err.Error(), "core 1023 is not usable") {
		t.Errorf("got %v, want that core 1023 is not usable", err)
	}
}

func TestNetNS(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	both(t, func(t *testing.T, o Options) {
		holder := exec.Command("sleep", "306")
		holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if err := holder.Start(); err != nil {
			t.Skip(err)
		}
		defer func() { holder.Process.Kill(); holder.Wait() }()
		o.NetNS = filepath.Join("/proc", strconv.Itoa(holder.Process.Pid), "ns/net")
		g := start(t, o, `exec sleep 306`)
		want, _ := os.Readlink(o.NetNS)
		if got, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(g.PID()),
			"ns/net")); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		here, _ := os.Readlink("/proc/self/ns/net")
		free := start(t, Options{NoCgroup: o.NoCgroup}, `exec sleep 306`)
		if got, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(free.PID()),
			"ns/net")); got != here {
			t.Errorf("the next command got %s, want %s: the thread was not restored", got, here)
		}
	})
}

// TestPdeathsig starts many with a death signal from goroutines whose threads end:
// none may die of it.
func TestPdeathsig(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		o.Pdeathsig = syscall.SIGKILL
		groups := make(chan *Group, 8)
		for range cap(groups) {
			go func() {
				runtime.LockOSThread() // and end without unlocking: the thread ends too
				g, err := New("test", o)
				if err == nil {
					err = g.Start(exec.Command("sleep", "307"))
				}
				if err != nil {
					t.Error(err)
				}
				groups <- g
			}()
		}
		for range cap(groups) {
			g := <-groups
			if e, err := g.Stop(time.Second); err != nil || e.Early {
				t.Errorf("got %+v, %v, want alive until asked to end", e, err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestStartTwice(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		g := start(t, o, `exit 0`)
		if err := g.Start(exec.Command("true")); err == nil {
			t.Error("a second Start was accepted")
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if err := g.Close(); err != nil {
			t.Error("second Close:", err)
		}
		if err := g.Start(exec.Command("true")); err == nil {
			t.Error("Start after Close was accepted")
		}
		var u Usage
		if err := g.Look(&u); err == nil {
			t.Error("Look after Close gave no error")
		}
	})
}

func TestNewFails(t *testing.T) {
	for _, name := range []string{"", "a/b", "..", "a.b"} {
		if _, err := New(name, Options{}); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
	g, err := New("test", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(exec.Command("/no/such/command")); err == nil {
		t.Error("a command that does not exist was started")
	}
	if e, err := g.Stop(time.Second); err != nil || e.State != nil {
		t.Errorf("Stop of nothing: %+v, %v", e, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if g.cgroup != nil && exists(g.cgroup.path) {
		t.Errorf("%s is left", g.cgroup.path)
	}
}
