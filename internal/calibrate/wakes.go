package calibrate

// The reference servers that wake cores. Each reads rates from its standard input, one a line, and
// wakes from then on so often a second. A core that is woken leaves its rest and goes back to it.
//
// Their threads call the kernel without telling Go's scheduler. It would wake other threads each
// time one of them blocks and returns, three or four for one that was asked for, which find the
// core awake.

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"interleave/internal/machine"
)

// maxWakes bounds a rate: a core does nothing but wake at some 100,000 a second.
const maxWakes = 100_000

// restRate is what a server of wakings begins with.
const restRate = 10

// wakes runs one way to wake cores at the rates that stdin asks for, and says when each is set.
func wakes(way func(rate *atomic.Int64) error, stdin io.Reader, stdout io.Writer) error {
	runtime.GOMAXPROCS(4)  // one for each thread of a way, and one for this function
	debug.SetGCPercent(-1) // a collection would wait for threads that block in the kernel
	var rate atomic.Int64
	rate.Store(restRate)
	failed := make(chan error, 1)
	go func() { failed <- way(&rate) }()
	if _, err := fmt.Fprintln(stdout, "ready 0"); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil || n < 1 || n > maxWakes {
			return fmt.Errorf("%q is no rate: want 1 to %d", lines.Text(), maxWakes)
		}
		select {
		case err := <-failed:
			return err
		default:
		}
		rate.Store(n)
		if _, err := fmt.Fprintln(stdout, "set"); err != nil {
			return err
		}
	}
	return lines.Err()
}

// A pacer sleeps from one due time to the next.
type pacer struct{ due time.Time }

// pace makes the caller's thread one that wakes in time.
func pace() (*pacer, error) {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("setting the timer slack: %w", err)
	}
	return &pacer{time.Now()}, nil
}

// next sleeps until it is due again. What is late is left out: a thread that catches up does not
// rest in between.
func (p *pacer) next(rate int64) {
	p.due = p.due.Add(time.Second / time.Duration(rate))
	left := time.Until(p.due)
	if left <= 0 {
		p.due = time.Now()
		return
	}
	ts := unix.NsecToTimespec(int64(left))
	// EINTR: it wakes once too early
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// sleeper is one thread that a timer wakes.
func sleeper(rate *atomic.Int64) error {
	p, err := pace()
	if err != nil {
		return err
	}
	for {
		p.next(rate.Load())
	}
}

// pair is two threads on two cores that wake each other as a load and a server do: a timer wakes
// the first, it sends a datagram over the loopback, and waits for the answer.
func pair(rate *atomic.Int64) error {
	ends, err := datagrams()
	if err != nil {
		return err
	}
	cpus := machine.UsableCPUs()
	failed := make(chan error, 2)
	go func() { failed <- answer(ends[1], cpus[0]) }()
	go func() { failed <- ask(ends[0], cpus[len(cpus)-1], rate) }()
	return <-failed
}

// datagrams are two sockets on the loopback that are connected with each other.
func datagrams() (ends [2]int, err error) {
	names := [2]unix.Sockaddr{}
	for i := range ends {
		ends[i], err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(ends[i], &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		}
		if err == nil {
			names[i], err = unix.Getsockname(ends[i])
		}
		if err != nil {
			return ends, fmt.Errorf("opening a socket: %w", err)
		}
	}
	for i := range ends {
		if err := unix.Connect(ends[i], names[1-i]); err != nil {
			return ends, fmt.Errorf("connecting a socket: %w", err)
		}
	}
	return ends, nil
}

// bind keeps the caller's thread to one core.
func bind(cpu int) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("binding a thread to core %d: %w", cpu, err)
	}
	return nil
}

func answer(fd, cpu int) error {
	if err := bind(cpu); err != nil {
		return err
	}
	for {
		if err := transfer(unix.SYS_READ, fd); err != nil {
			return fmt.Errorf("reading a datagram: %w", err)
		}
		if err := transfer(unix.SYS_WRITE, fd); err != nil {
			return fmt.Errorf("answering a datagram: %w", err)
		}
	}
}

func ask(fd, cpu int, rate *atomic.Int64) error {
	if err := bind(cpu); err != nil {
		return err
	}
	p, err := pace()
	if err != nil {
		return err
	}
	for {
		p.next(rate.Load())
		if err := transfer(unix.SYS_WRITE, fd); err != nil {
			return fmt.Errorf("sending a datagram: %w", err)
		}
		if err := transfer(unix.SYS_READ, fd); err != nil {
			return fmt.Errorf("reading an answer: %w", err)
		}
	}
}

// transfer reads or writes a datagram of one byte. A signal interrupts it, and it goes on.
func transfer(call uintptr, fd int) error {
	var b [1]byte
	for {
		_, _, err := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1)
		switch err {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return err
		}
	}
}
