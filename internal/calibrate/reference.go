package calibrate

// The reference servers: processes with a known truth, because they do nothing else. Each is a
// hidden subcommand that prints one line when it is ready and ends when its standard input does.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	stallEvery = time.Second
	stallFor   = 100 * time.Millisecond
	// burnEvery is a guess: short enough that a window's edge cuts off little, long enough that
	// waking costs little.
	burnEvery = 2 * time.Millisecond
)

// Main is the hidden subcommand: stall; delay NANOSECONDS; burn SHARE; memory MIB; crowd PROCESSES;
// sleeper; pair. It returns the exit status.
func Main(args []string) int {
	if err := reference(args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reference server:", err)
		return 1
	}
	return 0
}

func reference(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New("which one is not said")
	}
	var value float64
	if len(args) > 1 {
		var err error
		if value, err = strconv.ParseFloat(args[1], 64); err != nil || value < 0 {
			return fmt.Errorf("%s: %q is not a positive number", args[0], args[1])
		}
	}
	// One thread for the work, one for the runtime.
	runtime.GOMAXPROCS(2)
	switch args[0] {
	case "stall":
		go endWith(stdin)
		began := time.Now()
		return serveEcho(stdout, func() { stall(began) })
	case "delay":
		go endWith(stdin)
		delay := time.Duration(value)
		return serveEcho(stdout, func() { spin(delay) })
	case "burn":
		go endWith(stdin)
		return burn(value, stdout)
	case "memory":
		return memory(int(value), stdin, stdout)
	case "crowd":
		return crowd(int(value), stdin, stdout)
	case "sleeper":
		return wakes(sleeper, stdin, stdout)
	case "pair":
		return wakes(pair, stdin, stdout)
	}
	return fmt.Errorf("there is none called %q", args[0])
}

// endWith ends the process when standard input ends: its parent is gone, or has closed it.
func endWith(stdin io.Reader) {
	_, _ = io.Copy(io.Discard, stdin)
	os.Exit(0)
}

// stall sleeps to the end of the part of the period that nothing is done in.
func stall(began time.Time) {
	for {
		in := time.Since(began) % stallEvery
		if in >= stallFor {
			return
		}
		left := unix.NsecToTimespec(int64(stallFor - in))
		_ = unix.Nanosleep(&left, nil) // EINTR: the loop looks again
	}
}

// spin keeps the core busy for a time of the wall clock.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// serveEcho is an echo server in one thread: one epoll loop. It calls before ahead of each read.
func serveEcho(stdout io.Writer, before func()) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting the timer slack: %w", err)
	}
	listener, port, err := listen()
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("creating an epoll instance: %w", err)
	}
	if err := watch(poll, listener); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "ready", port); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	var events [128]unix.EpollEvent
	for {
		n, err := unix.EpollWait(poll, events[:], -1)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("waiting for events: %w", err)
		}
		for _, ev := range events[:max(0, n)] {
			if int(ev.Fd) == listener {
				if err := accept(poll, listener); err != nil {
					return err
				}
				continue
			}
			before()
			echoOnce(int(ev.Fd), buf)
		}
	}
}

func listen() (fd, port int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(fd, 4096)
	}
	if err != nil {
		return fd, 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return fd, 0, err
	}
	return fd, name.(*unix.SockaddrInet4).Port, nil
}

func watch(poll, fd int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("watching a socket: %w", err)
	}
	return nil
}

func accept(poll, listener int) error {
	fd, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	switch err {
	case nil:
	case unix.EAGAIN, unix.EINTR, unix.ECONNABORTED:
		return nil
	default:
		return fmt.Errorf("accepting: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("accepting: %w", err)
	}
	return watch(poll, fd)
}

// echoOnce answers what has arrived on a connection. The messages of a calibration are small: a
// write that does not take all at once is a fault, and the engine will say so.
func echoOnce(fd int, buf []byte) {
	n, err := unix.Read(fd, buf)
	if n > 0 {
		_, err = unix.Write(fd, buf[:n])
	}
	if n == 0 || err != nil && err != unix.EAGAIN && err != unix.EINTR {
		unix.Close(fd)
	}
}

// burn uses a share of one core, by its own CPU clock, so that a shared core does not change the
// truth. The clock is the process's, since the Go runtime's monitor thread uses a hundredth of a
// core.
func burn(share float64, stdout io.Writer) error {
	if share >= 1 {
		return fmt.Errorf("burn: a share of %v is more than one thread can use", share)
	}
	runtime.LockOSThread()
	if _, err := fmt.Fprintln(stdout, "ready 0"); err != nil {
		return err
	}
	began, used := time.Now(), ownCPU()
	for tick := time.Duration(1); ; tick++ {
		until := time.Duration(share * float64(tick*burnEvery))
		for ownCPU()-used < until {
		}
		left := tick*burnEvery - time.Since(began)
		if left <= 0 {
			continue
		}
		ts := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&ts, nil)
	}
}

func ownCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// memory touches so many MiB when it reads a line, and says so.
func memory(mib int, stdin io.Reader, stdout io.Writer) error {
	if _, err := fmt.Fprintln(stdout, "ready 0"); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		region, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return fmt.Errorf("mapping %d MiB: %w", mib, err)
		}
		for i := 0; i < len(region); i += os.Getpagesize() {
			region[i] = 1
		}
		if _, err := fmt.Fprintln(stdout, "touched"); err != nil {
			return err
		}
	}
	return lines.Err()
}

// crowd is so many processes, itself included, that do nothing.
func crowd(processes int, stdin io.Reader, stdout io.Writer) error {
	for range processes - 1 {
		c := exec.Command("sleep", "600")
		if err := c.Start(); err != nil {
			return fmt.Errorf("making a crowd of %d: %w", processes, err)
		}
		defer func() {
			c.Process.Kill()
			_ = c.Wait()
		}()
	}
	if _, err := fmt.Fprintln(stdout, "ready 0"); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, stdin)
	return err
}
