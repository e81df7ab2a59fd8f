package netns

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Do runs f on a thread that is in the network namespace of a path: sockets that f makes belong to
// it, and so do the processes that it starts. An empty path is the caller's namespace. Goroutines
// that f starts are outside.
func Do(path string, f func() error) (err error) {
	if path == "" {
		return f()
	}
	runtime.LockOSThread()
	back := false // a thread that is not moved back ends with its goroutine
	defer func() {
		if back {
			runtime.UnlockOSThread()
		}
	}()
	old, err := open("/proc/thread-self/ns/net")
	if err != nil {
		back = true
		return err
	}
	defer unix.Close(old)
	ns, err := open(path)
	if err != nil {
		back = true
		return err
	}
	defer unix.Close(ns)
	if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
		back = true
		return fmt.Errorf("entering the network namespace %s: %w", path, err)
	}
	err = f()
	back = unix.Setns(old, unix.CLONE_NEWNET) == nil
	return err
}

func open(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening the network namespace %s: %w", path, err)
	}
	return fd, nil
}
