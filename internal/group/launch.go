package group

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Cores and network namespace belong to a thread and are inherited by its children. All commands
// are forked by one thread that does nothing else: it changes itself, forks, and changes back. It
// is never given back to the Go runtime, for a process with Pdeathsig is signalled when the
// *thread* that forked it ends (golang/go #27505).
var launcher = struct {
	sync.Mutex
	jobs chan job // nil: no thread, or the last one is spoilt
}{}

type job struct {
	cmd     *exec.Cmd
	options Options
	done    chan error
}

func launch(cmd *exec.Cmd, o Options) error {
	launcher.Lock()
	defer launcher.Unlock()
	if launcher.jobs == nil {
		launcher.jobs = make(chan job)
		go fork(launcher.jobs)
	}
	j := job{cmd, o, make(chan error, 1)}
	launcher.jobs <- j
	err := <-j.done
	if s, ok := errors.AsType[spoilt](err); ok {
		launcher.jobs = nil // fork has parked the thread; the next command gets a new one
		err = s.start
	}
	return err
}

// A spoilt error says that the thread could not be changed back. The command itself
// may have started.
type spoilt struct{ start, back error }

func (s spoilt) Error() string { return fmt.Sprintf("restoring the launching thread: %v", s.back) }

// fork owns the launching thread. It never ends: a thread that could not be restored is parked,
// as its end would kill the processes that it forked.
func fork(jobs <-chan job) {
	runtime.LockOSThread()
	for j := range jobs {
		err := forkWith(j.cmd, j.options)
		j.done <- err
		if _, ok := errors.AsType[spoilt](err); ok {
			select {}
		}
	}
}

func forkWith(cmd *exec.Cmd, o Options) (err error) {
	if len(o.CPUs) > 0 {
		back, failed := pin(o.CPUs)
		if failed != nil {
			return failed
		}
		defer func() { err = restored(err, back()) }()
	}
	if o.Priority {
		back := raiseNice()
		defer func() { err = restored(err, back()) }()
	}
	if o.NetNS != "" {
		back, failed := enter(o.NetNS)
		if failed != nil {
			return failed
		}
		defer func() { err = restored(err, back()) }()
	}
	return cmd.Start()
}

// restored joins the start's error with that of changing the thread back. The first failure to
// change it back is kept.
func restored(start, back error) error {
	if _, ok := errors.AsType[spoilt](start); ok || back == nil {
		return start
	}
	return spoilt{start, back}
}

// pin moves this thread to the cores and returns a function that moves it back.
func pin(cpus []int) (back func() error, err error) {
	var old, set, got unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return nil, fmt.Errorf("reading the usable cores: %w", err)
	}
	for _, c := range cpus {
		if c < 0 || c >= 1024 || !old.IsSet(c) {
			return nil, fmt.Errorf("core %d is not usable here", c)
		}
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("moving to the cores %v: %w", cpus, err)
	}
	back = func() error { return unix.SchedSetaffinity(0, &old) }
	// The kernel silently drops cores that a cpuset forbids.
	if err := unix.SchedGetaffinity(0, &got); err != nil || got != set {
		return nil, restored(fmt.Errorf("moving to the cores %v: not all are usable here", cpus),
			back())
	}
	return back, nil
}

// enter moves this thread to a network namespace and returns a function that moves it back.
func enter(path string) (back func() error, err error) {
	old, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening our network namespace: %w", err)
	}
	ns, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(old)
		return nil, fmt.Errorf("opening the network namespace %s: %w", path, err)
	}
	defer unix.Close(ns)
	if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
		unix.Close(old)
		return nil, fmt.Errorf("entering the network namespace %s: %w", path, err)
	}
	return func() error {
		defer unix.Close(old)
		return unix.Setns(old, unix.CLONE_NEWNET)
	}, nil
}
