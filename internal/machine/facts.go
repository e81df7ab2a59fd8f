package machine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"interleave/internal/group"
	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// facts are the input of the doctor. A number of -1 is unknown here.
type facts struct {
	cores              int
	quota              float64 // cores' worth of time; 0: no limit
	threadsPerCore     bool    // some usable cores are two threads of one core
	memAvailable       int64
	cgroups            string
	noCgroup           error // why groups fall back
	files, filesHard   uint64
	processes          uint64 // RLIMIT_NPROC; it does not apply to root
	ports              int64
	somaxconn          int64
	synBacklog         int64
	pidMax, threadsMax int64
	maps               int64
	conntrack          int64
	tracked            int64   // connections that the packet filter follows now
	nrOpen             int64   // the largest value for filesHard
	raises             bool    // it may be
	steal, busy        float64 // shares of all cores over looked
	looked             time.Duration
	load               float64
	pressure           float64 // percent of the last 10 s
	diskDir            string
	disk               int64
	ioUring            error
	loopback           error
	tap                error // why there are no servers behind a tap
	autogroup          int64
	priority           bool          // processes may be run before those of others
	lineTrip           time.Duration // of a cache line between two cores; 0: not told
	hugePages          string
	aslr               int64
	clock              string
	governor           string
	virtual            string
}

// lookFor is the time for which the machine is watched for steal and for other programs. At 100
// ticks a second and core it resolves 1 % of a core.
const lookFor = time.Second

// observe reads all facts but those that need time to observe. dir is the folder of runs.
func observe(dir string) facts {
	f := facts{
		cores: len(UsableCPUs()), cgroups: group.CgroupKind(), noCgroup: group.Supported(),
		threadsPerCore: sharedCores(UsableCPUs()),
		ports:          portRange(text(root, "proc/sys/net/ipv4/ip_local_port_range")),
		somaxconn:      ask("net/core/somaxconn"), synBacklog: ask("net/ipv4/tcp_max_syn_backlog"),
		pidMax: ask("kernel/pid_max"), threadsMax: ask("kernel/threads-max"),
		maps:    ask("vm/max_map_count"),
		tracked: ask("net/netfilter/nf_conntrack_count"), nrOpen: ask("fs/nr_open"),
		raises:    has(field(root, "proc/self/status", "CapEff", ":"), unix.CAP_SYS_RESOURCE),
		conntrack: ask("net/netfilter/nf_conntrack_max"),
		autogroup: ask("kernel/sched_autogroup_enabled"),
		priority:  has(field(root, "proc/self/status", "CapEff", ":"), unix.CAP_SYS_NICE),
		aslr:      ask("kernel/randomize_va_space"),
		hugePages: chosen(text(root, "sys/kernel/mm/transparent_hugepage/enabled")),
		clock:     clockSource(root),
		governor:  text(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		virtual:   virtual(root), ioUring: tryIOUring(), loopback: tryLoopback(), memAvailable: -1,
		pressure: -1,
	}
	f.quota, _ = quota(root)
	f.files, f.filesHard = limit(unix.RLIMIT_NOFILE)
	f.processes, _ = limit(unix.RLIMIT_NPROC)
	if os.Getuid() == 0 {
		f.processes = unix.RLIM_INFINITY
	}
	var kib int64
	if _, err := fmt.Sscan(field(root, "proc/meminfo", "MemAvailable", ":"), &kib); err == nil {
		f.memAvailable = kib << 10
	}
	_, _ = fmt.Sscan(text(root, "proc/loadavg"), &f.load)
	if _, average, ok := strings.Cut(text(root, "proc/pressure/cpu"), "avg10="); ok {
		_, _ = fmt.Sscan(average, &f.pressure)
	}
	f.diskDir, f.disk = freeDisk(dir)
	return f
}

// has reads from the effective capabilities of a process (hexadecimal, capabilities(7)) whether one
// of them is there. Root in a container often lacks some.
func has(effective string, capability int) bool {
	caps, err := strconv.ParseUint(strings.TrimSpace(effective), 16, 64)
	return err == nil && caps&(1<<capability) != 0
}

// tryTap makes a tap, in a namespace of its own, and removes it.
func tryTap() error {
	pair, err := netns.New("doctor", manifest.Tap)
	return errors.Join(err, pair.Close())
}

// ask returns the number of a sysctl, or -1.
func ask(name string) int64 {
	if n, ok := number(root, "proc/sys/"+name); ok {
		return n
	}
	return -1
}

// chosen returns the word in brackets of a list such as "always [madvise] never".
func chosen(list string) string {
	_, rest, _ := strings.Cut(list, "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}

func portRange(text string) int64 {
	var from, to int64
	if n, _ := fmt.Sscan(text, &from, &to); n != 2 || to < from {
		return -1
	}
	return to - from + 1
}

func limit(which int) (soft, hard uint64) {
	var l unix.Rlimit
	if unix.Getrlimit(which, &l) != nil {
		return unix.RLIM_INFINITY, unix.RLIM_INFINITY
	}
	return l.Cur, l.Max
}

// sharedCores tells whether two of the cores are hardware threads of one.
func sharedCores(cpus []int) bool {
	seen := map[string]bool{}
	for _, c := range cpus {
		siblings := text(root,
			fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", c))
		if siblings != "" && seen[siblings] {
			return true
		}
		seen[siblings] = true
	}
	return false
}

// freeDisk asks for the folder, or for the nearest one above it that exists.
func freeDisk(dir string) (asked string, bytes int64) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", -1
	}
	for {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			return dir, int64(st.Bavail) * st.Bsize
		}
		if dir == filepath.Dir(dir) {
			return dir, -1
		}
		dir = filepath.Dir(dir)
	}
}

// watch returns which shares of the usable cores were in use and stolen.
func watch(d time.Duration) (busy, steal float64) {
	var r proc.Reader
	start := time.Now()
	before, ok0 := proc.ParseMachine(r.Path("/proc/stat"), proc.Cores())
	time.Sleep(d)
	after, ok1 := proc.ParseMachine(r.Path("/proc/stat"), proc.Cores())
	wall := time.Since(start)
	if !ok0 || !ok1 || after.Cores == 0 {
		return -1, -1
	}
	all := float64(wall) * float64(after.Cores)
	return max(0, float64(after.Busy(wall)-before.Busy(0))/all),
		float64(after.Steal-before.Steal) / all
}

// tryIOUring makes a ring and closes it: no file tells whether a seccomp filter forbids it.
func tryIOUring() error {
	var params [120]byte // struct io_uring_params, all zero
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// tryLoopback connects to itself.
func tryLoopback() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.DialTimeout("tcp4", l.Addr().String(), time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// RaiseLimits raises this process's soft limits of open files and processes to the hard ones, for
// itself and what it starts, and returns the new limit of open files. A limit that it may not raise
// is a finding of the doctor.
func RaiseLimits() (files uint64) {
	for _, which := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_NPROC} {
		var l syscall.Rlimit
		if syscall.Getrlimit(which, &l) == nil {
			// Go raises its own limit of files when it starts, and gives children the old one
			// unless the program sets it. So it is set here even if it is high enough already.
			l.Cur = l.Max
			_ = syscall.Setrlimit(which, &l)
		}
	}
	files, _ = limit(unix.RLIMIT_NOFILE)
	return files
}
