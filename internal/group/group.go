// Package group manages all processes of one role of one cell: the server, or the load, with all
// their descendants. It starts them, reports their usage, and ends every one of them.
//
// The trade: a process tree can only be watched from outside, and a daemon leaves its tree on
// purpose. A cgroup v2 directory is the kernel's own answer: a fork does not leave it, it counts
// the CPU of dead processes, and one write kills everything in it. If none can be made, the group
// falls back to reading all of /proc: parents, sessions and a mark in the environment identify its
// members, and the laboratory becomes the reaper of orphans so that they stay its descendants.
package group

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// Options say where and how a group's processes run. The zero value asks for nothing special.
type Options struct {
	CPUs      []int          // the cores they may use; nil: the caller's
	NetNS     string         // path of a network namespace to start in; "": the caller's
	Pdeathsig syscall.Signal // sent to the first process when the laboratory dies; 0: none
	NoCgroup  bool           // use the fall-back even where cgroups are there
	Priority  bool           // run before ordinary programs, as far as this user may
}

// A Group is the processes of one role. Its methods are for any goroutine.
type Group struct {
	name    string // unique on this machine: prefix, pid, start, role, count
	options Options
	cgroup  *cgroup // nil: the fall-back
	why     error   // why there is no cgroup
	mu      sync.Mutex
	tree    *tree // the fall-back; owned by mu
	cmd     *exec.Cmd
	started bool
	exited  chan struct{} // closed when the first process has ended, before it is reaped
	reap    sync.Once
	waitErr error
	closed  bool
}

// Usage is one look at a group.
type Usage struct {
	User, System time.Duration // CPU so far, dead processes included
	Pressure     time.Duration // PSI cpu "some" so far; 0 without cgroup v2
	PIDs         []int         // living processes, zombies left out
}

// prefix begins the name of every directory of ours.
const prefix = "interleave"

// pipeDelay bounds how long Wait reads on when a process that outlives the first one holds its
// output open. It is a guess: output from before the end is read in far less.
const pipeDelay = 2 * time.Second

var count atomic.Int64

// New makes an empty group; the name is its role, such as "server".
func New(name string, o Options) (*Group, error) {
	if name == "" || !plain(name) {
		return nil, fmt.Errorf("making a group: the name %q is not of letters, digits and hyphens",
			name)
	}
	g := &Group{name: Unique(name), options: o, exited: make(chan struct{})}
	if !o.NoCgroup {
		g.cgroup, g.why = newCgroup(g.name)
		if g.why == nil {
			return g, nil
		}
	} else {
		g.why = errors.New("the fall-back was asked for")
	}
	if err := adopt(); err != nil {
		return nil,
			fmt.Errorf("making the group %s without cgroups (%w): becoming the reaper of "+
				"orphans: %w", name, g.why, err)
	}
	g.tree = newTree(g.name)
	return g, nil
}

// adopt makes this process the parent of its orphaned descendants, for good.
var adopt = sync.OnceValue(func() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
})

func plain(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Unique makes a name for an object of this run, such as a group, that is unique on this machine:
// pid and start time together are never reused. A sweep sees from the name whether the run still
// lives.
func Unique(role string) string {
	return fmt.Sprintf("%s.%d.%d.%s.%d", prefix, os.Getpid(), self().Start, role, count.Add(1))
}

var self = sync.OnceValue(func() proc.Stat {
	var r proc.Reader
	s, _ := proc.ParseStat(r.File(os.Getpid(), "stat"))
	s.Comm = nil
	return s
})

// Source says where the figures come from: "cgroup2+proc" or "proc".
func (g *Group) Source() string {
	if g.cgroup != nil {
		return "cgroup2+proc"
	}
	return "proc"
}

// Why says why the group does without a cgroup; nil if it has one.
func (g *Group) Why() error { return g.why }

// Start starts the group's first process: in the group, in a session of its own, and with the
// group's cores and network. The group waits for it, so the caller calls Wait or Stop of the group
// and never of cmd. A group starts one command only.
func (g *Group) Start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started || g.closed {
		return fmt.Errorf("starting %s: the group %s has had its process", cmd.Path, g.name)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	cmd.SysProcAttr.Pdeathsig = g.options.Pdeathsig
	if g.cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = g.cgroup.dir
	}
	cmd.Env = append(cmd.Environ(), markName+"="+g.name)
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = pipeDelay
	}
	if err := launch(cmd, g.options); err != nil {
		return fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	g.cmd, g.started = cmd, true
	if g.options.Priority {
		g.prioritise(cmd.Process.Pid)
	}
	if g.tree != nil {
		g.tree.root = cmd.Process.Pid
		g.tree.scan()
	}
	go g.watch(cmd.Process.Pid)
	return nil
}

// watch sees the first process end; it leaves the zombie, for its figures and for cmd.Wait.
func (g *Group) watch(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	g.mu.Lock()
	if g.tree != nil && !g.closed {
		g.tree.scan() // the zombie's last figures
	}
	g.mu.Unlock()
	close(g.exited)
}

// PID returns the first process's number, or 0 before Start.
func (g *Group) PID() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.started {
		return 0
	}
	return g.cmd.Process.Pid
}

// Exited is closed when the first process has ended.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Alive tells whether the first process runs.
func (g *Group) Alive() bool {
	g.mu.Lock()
	started := g.started
	g.mu.Unlock()
	select {
	case <-g.exited:
		return false
	default:
		return started
	}
}

// Wait waits for the first process as cmd.Wait does and returns the same error; others of the group
// may live on. It may be called more than once.
func (g *Group) Wait() error {
	g.mu.Lock()
	cmd := g.cmd
	g.mu.Unlock()
	if cmd == nil {
		return fmt.Errorf("waiting for the group %s: nothing was started", g.name)
	}
	<-g.exited
	g.reap.Do(func() { g.waitErr = cmd.Wait() })
	return g.waitErr
}

// Look fills u, reusing its slice of processes.
func (g *Group) Look(u *Usage) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	u.PIDs = u.PIDs[:0]
	u.User, u.System, u.Pressure = 0, 0, 0
	if g.closed {
		return fmt.Errorf("looking at the group %s: it is closed", g.name)
	}
	if g.cgroup != nil {
		return g.cgroup.look(u)
	}
	g.tree.scan()
	g.tree.look(u)
	return nil
}

// PIDs returns the living processes.
func (g *Group) PIDs() []int {
	var u Usage
	if g.Look(&u) != nil {
		return nil
	}
	return u.PIDs
}

// CPU returns user and system time so far, that of dead processes included.
func (g *Group) CPU() (user, system time.Duration) {
	var u Usage
	if g.Look(&u) != nil {
		return 0, 0
	}
	return u.User, u.System
}

// Pressure returns for how long so far at least one of the group's threads waited for a core; 0
// in the fall-back.
func (g *Group) Pressure() time.Duration {
	var u Usage
	if g.Look(&u) != nil {
		return 0
	}
	return u.Pressure
}

// Close kills the remaining processes and removes the group's directory. A second call does
// nothing.
func (g *Group) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil
	}
	started := g.started
	g.mu.Unlock()
	err := g.kill()
	if started && err == nil {
		// An exit status is no failure of Close. The wait is bounded, since all processes that held
		// the pipes are gone.
		_ = g.Wait()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.cgroup != nil {
		err = errors.Join(err, g.cgroup.remove())
	}
	if err != nil {
		return fmt.Errorf("closing the group %s: %w", g.name, err)
	}
	return nil
}

// markOf returns the pid and start time in the name of a group, of this process or another.
func markOf(name string) (pid int, start uint64, ok bool) {
	var p, s string
	if p, s, ok = cutMark(name); !ok {
		return 0, 0, false
	}
	pid, err1 := strconv.Atoi(p)
	start, err2 := strconv.ParseUint(s, 10, 64)
	return pid, start, err1 == nil && err2 == nil && pid > 0
}
