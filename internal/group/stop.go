package group

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Ended describes the end of a group.
type Ended struct {
	Early    bool             // the first process had ended before it was asked to
	ByItself bool             // it ended without SIGKILL
	State    *os.ProcessState // of the first process; nil if nothing was started
	// processes that outlived the first one and the time of grace, and were killed
	Strays []int
	Took   time.Duration // from the request to the first process's end
}

// Clean tells whether the first process ended when asked, with status 0, and left no process
// behind.
func (e Ended) Clean() bool {
	return !e.Early && e.ByItself && e.State != nil && e.State.ExitCode() == 0 && len(e.Strays) == 0
}

// killTime bounds the wait for killed processes to be gone. One that has much memory, or that
// sleeps in a disk or a driver, takes its time on a busy machine; more than this is a fault
// of the machine.
const killTime = time.Minute

// pollEvery is the interval at which an emptying group is looked at.
const pollEvery = 5 * time.Millisecond

// Stop sends SIGTERM to the first process, gives it and its descendants the time of grace, and then
// kills the rest. An error says that even that failed.
func (g *Group) Stop(grace time.Duration) (Ended, error) {
	var e Ended
	g.mu.Lock()
	started, closed := g.started, g.closed
	g.mu.Unlock()
	if !started || closed {
		return e, nil
	}
	start := time.Now()
	select {
	case <-g.exited:
		e.Early = true
	default:
		// The zombie keeps its number until Wait, so this cannot hit another process.
		if err := unix.Kill(g.cmd.Process.Pid, unix.SIGTERM); err != nil &&
			!errors.Is(err, unix.ESRCH) {
			return e, fmt.Errorf("stopping the group %s: %w", g.name, err)
		}
	}
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case <-g.exited:
		e.ByItself, e.Took = true, time.Since(start)
		e.Strays = g.emptied(start.Add(grace))
	case <-over.C:
		e.Took = grace
		for _, pid := range g.PIDs() {
			if pid != g.cmd.Process.Pid {
				e.Strays = append(e.Strays, pid)
			}
		}
	}
	if err := g.kill(); err != nil {
		return e, fmt.Errorf("stopping the group %s: %w", g.name, err)
	}
	_ = g.Wait() // the status is in State; a command that failed is no failure of Stop
	e.State = g.cmd.ProcessState
	return e, nil
}

// emptied waits until the group has no process, or until the time, and returns those that are left.
func (g *Group) emptied(until time.Time) []int {
	for {
		pids := g.PIDs()
		if len(pids) == 0 || !time.Now().Before(until) {
			return pids
		}
		time.Sleep(pollEvery)
	}
}

// kill ends every process of the group with SIGKILL. It repeats that until none is left, since a
// forking process may be ahead by a child.
func (g *Group) kill() error {
	until := time.Now().Add(killTime)
	for {
		left, err := g.killOnce()
		if err != nil || left == 0 {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d processes do not die of SIGKILL", left)
		}
		time.Sleep(pollEvery)
	}
}

func (g *Group) killOnce() (left int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, nil
	}
	if g.cgroup == nil {
		g.tree.scan()
		return g.tree.kill(), nil
	}
	if left = len(g.cgroup.pids(nil)); left > 0 {
		err = g.cgroup.kill()
	}
	return left, err
}
