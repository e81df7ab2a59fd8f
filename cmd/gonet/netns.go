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
	path := netns
	if pid, err := strconv.Atoi(netns); err == nil {
		path = fmt.Sprintf("/proc/%d/ns/net", pid)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--netns %s: %w", netns, err)
	}
	defer file.Close()
	done := make(chan error, 1)
	go func() {
		// The thread is not unlocked: it ends with this goroutine, and runs no other in that
		// namespace.
		runtime.LockOSThread()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("--netns %s: setns: %w", netns, err)
			return
		}
		done <- f()
	}()
	return <-done
}
