package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// inside runs f in the network namespace of --netns, if there is one.
func (w *hostFlags) inside(f func() error) error {
	if w.netns == "" {
		return f()
	}
	return inNetns(w.netns, f)
}

// inNetns runs f in a network namespace: that of a process, by its number, or one of a path. The
// programs that f starts run there, too.
func inNetns(netns string, f func() error) error {
	file, err := openNetns(netns)
	if err != nil {
		return err
	}
	defer file.Close()
	return onNetns(file, f)
}

// openNetns opens a network namespace: that of a process, by its number, or one of a path.
func openNetns(netns string) (*os.File, error) {
	path := netns
	if pid, err := strconv.Atoi(netns); err == nil {
		path = fmt.Sprintf("/proc/%d/ns/net", pid)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--netns %s: %w", netns, err)
	}
	return file, nil
}

// onNetns runs f on a thread that is in a network namespace. f may move the thread to others.
//
// The thread is not unlocked: it ends with its goroutine, and neither runs another in that
// namespace nor keeps the namespace alive. It may not be allowed to return. The first thread of a
// process never ends, so it is not used.
func onNetns(file *os.File, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- onNetns(file, f) // on another thread, since this one waits here
			return
		}
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("--netns %s: setns: %w", file.Name(), err)
			return
		}
		done <- f()
	}()
	return <-done
}
