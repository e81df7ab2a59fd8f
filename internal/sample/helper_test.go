package sample

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/group"
	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// The tests measure this test binary itself, started again as a helper that burns CPU, allocates or
// makes threads on command, and reports its own usage by the kernel's accounting.

const helperName = "SAMPLE_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperName) == "" {
		os.Exit(m.Run())
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		n := 0
		if len(f) > 1 {
			n, _ = strconv.Atoi(f[1])
		}
		commands[f[0]](n)
		self, kids := rusage(unix.RUSAGE_SELF), rusage(unix.RUSAGE_CHILDREN)
		fmt.Println(self.Utime.Nano()+self.Stime.Nano(), kids.Utime.Nano()+kids.Stime.Nano(),
			self.Nvcsw+kids.Nvcsw, self.Minflt+kids.Minflt,
			len(new(proc.Reader).Tasks(os.Getpid(), nil)))
	}
}

var commands = map[string]func(n int){
	"nothing": func(int) {},
	"burn":    func(ms int) { burn(time.Duration(ms) * time.Millisecond) },
	"fork":    forkBurners,
	"memory":  func(mib int) { touch(mib, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1) },
	"spawn":   spawn,
	"shared":  shareMemory,
	"attach":  func(mib int) { touch(mib, unix.MAP_SHARED, 3) },
	"threads": burnThreads,
	"sleeps":  sleepOften,
}

func rusage(who int) (r unix.Rusage) {
	if err := unix.Getrusage(who, &r); err != nil {
		panic(err)
	}
	return r
}

// burn uses CPU on this thread, half of it in the kernel.
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sum := 0
	for end := clock(unix.CLOCK_THREAD_CPUTIME_ID) + d; clock(unix.CLOCK_THREAD_CPUTIME_ID) < end; {
		for i := range 1000 {
			sum += i
		}
	}
	runtime.KeepAlive(sum)
}

// forkBurners starts three children, each of which burns and ends, and one grandchild beneath each.
func forkBurners(ms int) {
	for range 3 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Stdin = strings.NewReader(fmt.Sprintf("burn %d\n", ms))
		if err := cmd.Run(); err != nil {
			panic(err)
		}
	}
}

var kept [][]byte

func touch(mib, flags, fd int) {
	b, err := unix.Mmap(fd, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	kept = append(kept, b)
}

// sibling is a child that holds the same pages of memory.
var sibling struct {
	fd  int
	in  io.Writer
	out *bufio.Reader
}

func spawn(mib int) {
	fd, err := unix.MemfdCreate("shared", unix.MFD_CLOEXEC)
	if err == nil {
		err = unix.Ftruncate(fd, int64(mib)<<20)
	}
	if err != nil {
		panic(err)
	}
	child := exec.Command("/proc/self/exe")
	child.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "shared")}
	in, err1 := child.StdinPipe()
	out, err2 := child.StdoutPipe()
	if err1 != nil || err2 != nil || child.Start() != nil {
		panic("the child does not start")
	}
	sibling.fd, sibling.in, sibling.out = fd, in, bufio.NewReader(out)
	ask("nothing")
}

func ask(command string) {
	fmt.Fprintln(sibling.in, command)
	if _, err := sibling.out.ReadString('\n'); err != nil {
		panic(err)
	}
}

// shareMemory lets parent and child hold all of the pages: half of them is each one's own part.
func shareMemory(mib int) {
	touch(mib, unix.MAP_SHARED, sibling.fd)
	ask(fmt.Sprintf("attach %d", mib))
}

// burnThreads makes threads that stay; number i of n is called worker-i and burns 10 ms and i more.
func burnThreads(n int) {
	var burnt sync.WaitGroup
	for i := range n {
		burnt.Add(1)
		go func() {
			runtime.LockOSThread()
			name := []byte(fmt.Sprintf("worker-%d) S 1 (\x00", i))
			if err := unix.Prctl(unix.PR_SET_NAME, uintptr(ptr(name)), 0, 0, 0); err != nil {
				panic(err)
			}
			burn(time.Duration(10+2*i) * time.Millisecond)
			burnt.Done()
			select {}
		}()
	}
	burnt.Wait()
}

func sleepOften(n int) {
	runtime.LockOSThread()
	for range n {
		ts := unix.NsecToTimespec(1000)
		unix.Nanosleep(&ts, nil)
	}
}

// A helper is the test's side of it.
type helper struct {
	t     *testing.T
	group *group.Group
	in    io.Writer
	out   *bufio.Reader
}

// truth is the helper's own report.
type truth struct {
	self, kids time.Duration // CPU
	voluntary  int64
	faults     int64
	threads    int
}

func startHelper(t *testing.T, o group.Options) *helper {
	t.Helper()
	g, err := group.New("test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(cmd.Environ(), helperName+"=1")
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := g.Start(cmd); err != nil {
		t.Fatal(err)
	}
	h := &helper{t, g, in, bufio.NewReader(out)}
	h.do("nothing")
	return h
}

func (h *helper) do(command string) (u truth) {
	h.t.Helper()
	fmt.Fprintln(h.in, command)
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatalf("%s: %v", command, err)
	}
	var self, kids int64
	if _, err := fmt.Sscan(line, &self, &kids, &u.voluntary, &u.faults, &u.threads); err != nil {
		h.t.Fatalf("%s: %q: %v", command, line, err)
	}
	u.self, u.kids = time.Duration(self), time.Duration(kids)
	return u
}

// both runs a test with each back end of the group that this machine has.
func both(t *testing.T, test func(t *testing.T, o group.Options)) {
	t.Helper()
	t.Run("cgroup", func(t *testing.T) {
		g, err := group.New("test", group.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if g.Why() != nil {
			t.Skip(g.Why())
		}
		test(t, group.Options{})
	})
	t.Run("proc", func(t *testing.T) { test(t, group.Options{NoCgroup: true}) })
}

func clockThread() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }
