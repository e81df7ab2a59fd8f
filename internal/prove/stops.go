package prove

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/proc"
)

// A busy machine takes the cores from a process for seconds, at a moment that nobody chose. The
// stops do just that: a process that the runner has started stands still for a while. So they
// find within minutes what a machine that is only slow shows once a month.

// What the stops are like. Both are guesses: with them, about five processes stand still.
const (
	stopEvery = time.Second     // the longest time between two stops
	stopFor   = 5 * time.Second // the longest stop
)

// stops makes descendants of this process stand still until end is called. Each goes on then.
func stops() (end func() error) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		until := map[int]time.Time{} // the processes that stand still
		for {
			select {
			case <-quit:
				for pid := range until {
					_ = unix.Kill(pid, unix.SIGCONT) // it may have been killed
				}
				return
			case <-time.After(rand.N(stopEvery)):
			}
			now := time.Now()
			for pid, end := range until {
				if now.After(end) {
					_ = unix.Kill(pid, unix.SIGCONT)
					delete(until, pid)
				}
			}
			free := slices.DeleteFunc(descendants(os.Getpid()), func(pid int) bool {
				return !until[pid].IsZero()
			})
			if len(free) == 0 {
				continue
			}
			if pid := free[rand.N(len(free))]; unix.Kill(pid, unix.SIGSTOP) == nil {
				until[pid] = now.Add(rand.N(stopFor))
			}
		}
	}()
	return func() error {
		close(quit)
		<-done
		return nil
	}
}

// descendants returns the children of a process, their children, and so on.
func descendants(of int) (found []int) {
	children := map[int][]int{}
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if s, ok := proc.ParseStat(text); ok && err == nil {
			children[s.PPID] = append(children[s.PPID], pid)
		}
	}
	found = slices.Clone(children[of])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}
