package load

// The system calls of the hot path, and the thread that makes them. A raw system call is not
// announced to the Go scheduler: that is right for calls that cannot block (non-blocking sockets),
// and saves about 25 ns each; waiting is announced, so that the collector and signals of other
// threads never wait for us.

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const maxCPU = 1024 // of a unix.CPUSet

const never = math.MaxInt64 // a time that does not come

var clockBase = time.Now()

// nanotime is CLOCK_MONOTONIC in nanoseconds from the program's start. time.Since reads nothing
// but that clock, by vDSO, and allocates nothing: 44 ns here, where unix.ClockGettime is a
// system call of 218.
func nanotime() int64 { return int64(time.Since(clockBase)) }

// rawRead and rawWrite are one system call each, repeated after a signal: callers never see EINTR.
func rawRead(fd int32, p []byte) (int, syscall.Errno) {
	for {
		n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		if e != unix.EINTR {
			return int(n), e
		}
	}
}

func rawWrite(fd int32, p []byte) (int, syscall.Errno) {
	for {
		n, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		if e != unix.EINTR {
			return int(n), e
		}
	}
}

// A poller is an epoll instance and the room for what it reports.
type poller struct {
	fd      int32
	events  [256]unix.EpollEvent
	timeout unix.Timespec
}

// edge is what each connection is watched for, edge-triggered: one registration serves for its
// life, for a read that fills less than its buffer has emptied the socket, and a write that would
// block is told when it no longer would.
const edge = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("creating an epoll instance: %w", err)
	}
	return &poller{fd: int32(fd)}, nil
}

func (p *poller) add(fd, tag int32, events uint32) syscall.Errno {
	ev := unix.EpollEvent{Events: events, Fd: tag}
	_, _, e := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), unix.EPOLL_CTL_ADD, uintptr(fd),
		uintptr(unsafe.Pointer(&ev)), 0, 0)
	return e
}

// longestWait is how long Go's scheduler may take a worker that waits for one that computes.
const longestWait = 10 * time.Millisecond

// wait returns the number of events; 0 after ns nanoseconds, longestWait or a signal. ns <=
// 0 does not wait.
//
// The scheduler is not told of the call. If it were, its monitor would wake every 70 us to see
// whether to give the processor of a waiting worker away, on the worker's own core: a tenth of it,
// and up to 10 us of what is measured.
func (p *poller) wait(ns int64) (int, syscall.Errno) {
	p.timeout = unix.NsecToTimespec(max(0, min(ns, int64(longestWait))))
	n, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd),
		uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&p.timeout)), 0, 0)
	switch e {
	case 0:
		return int(n), 0
	case unix.EINTR:
		return 0, 0
	}
	return 0, e
}

// longestRest is how long a worker that rests sleeps at once: it is woken by an event.
const longestRest = time.Second

// rest is wait for a worker that rests. The scheduler is told, and may give its processor away, so
// that it sleeps without waking every 10 ms.
func (p *poller) rest(ns int64) (int, syscall.Errno) {
	p.timeout = unix.NsecToTimespec(max(0, min(ns, int64(longestRest))))
	n, _, e := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd),
		uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&p.timeout)), 0, 0)
	switch e {
	case 0:
		return int(n), 0
	case unix.EINTR:
		return 0, 0
	}
	return 0, e
}

func (p *poller) close() { unix.Close(int(p.fd)) }

// A bell is an eventfd that wakes one worker.
type bell struct{ fd int }

func newBell() (bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return bell{}, fmt.Errorf("creating an eventfd: %w", err)
	}
	return bell{fd}, nil
}

// ring wakes the worker that watches the bell. Any goroutine may call it.
func (b bell) ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(b.fd, one[:])
}

// take has the bell be silent until it is rung again.
func (b bell) take() {
	var n [8]byte
	_, _ = unix.Read(b.fd, n[:])
}

func (b bell) close() { unix.Close(b.fd) }

// connectFrom opens a non-blocking socket and begins to connect. done tells that the connection
// stands already, as it mostly does over loopback.
func connectFrom(source, to unix.Sockaddr) (fd int32, done bool, err error) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, false, err
	}
	err = unix.SetsockoptInt(s, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err == nil && source != nil {
		// The port is chosen when connecting, so that it need be free for this destination only.
		err = unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
		if err == nil {
			err = unix.Bind(s, source)
		}
	}
	if err == nil {
		err = unix.Connect(s, to)
	}
	switch err {
	case nil:
		return int32(s), true, nil
	case unix.EINPROGRESS, unix.EINTR:
		return int32(s), false, nil
	}
	unix.Close(s)
	return -1, false, err
}

var quick int32 = 1

// ackAtOnce has the kernel acknowledge what comes next to a connection without delay, until it
// sends again. A server that leaves Nagle's algorithm on (ngircd does) would else wait 40 ms
// for the delayed ACK of each client that speaks and listens, and a saturated load would
// measure that wait.
func ackAtOnce(fd int32) {
	_, _, _ = unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP,
		unix.TCP_QUICKACK,
		uintptr(unsafe.Pointer(&quick)), unsafe.Sizeof(quick), 0)
}

// connectError is how a connection attempt that was under way has ended.
func connectError(fd int32) error {
	e, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if e != 0 {
		return syscall.Errno(e)
	}
	return nil
}

// tuneThread makes the calling thread, which must be locked, wake in time and stay on its core; cpu
// < 0 leaves it free.
func tuneThread(cpu int) error {
	// The default lets the kernel wake us 50 us late to save power.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting the timer slack to 1 ns: %w", err)
	}
	if cpu < 0 {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning a thread to cpu %d: %w", cpu, err)
	}
	return nil
}

// threadUse is the CPU time that a thread has used since it began.
type threadUse struct {
	user, system, runWait time.Duration
	runs                  int64
}

// readThreadUse reads the calling thread's use. schedstat is its /proc/thread-self/schedstat,
// opened before, or nil where the kernel has none.
func readThreadUse(schedstat *os.File, buf []byte) threadUse {
	var use threadUse
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &r) == nil {
		use.user = time.Duration(r.Utime.Nano())
		use.system = time.Duration(r.Stime.Nano())
	}
	if schedstat == nil {
		return use
	}
	n, _ := schedstat.ReadAt(buf, 0)
	use.runWait, use.runs = waits(buf[:n])
	return use
}

// waits are the second and third number in schedstat: the time of waiting for a core, and how often
// that ended on one.
func waits(line []byte) (waited time.Duration, runs int64) {
	var numbers [3]int64
	field := 0
	for _, b := range line {
		switch {
		case b == ' ':
			field++
		case field < len(numbers) && b >= '0' && b <= '9':
			numbers[field] = numbers[field]*10 + int64(b-'0')
		}
	}
	return time.Duration(numbers[1]), numbers[2]
}

func (u threadUse) minus(v threadUse) threadUse {
	return threadUse{u.user - v.user, u.system - v.system, u.runWait - v.runWait, u.runs - v.runs}
}

func (u threadUse) plus(v threadUse) threadUse {
	return threadUse{u.user + v.user, u.system + v.system, u.runWait + v.runWait, u.runs + v.runs}
}
