package group

import (
	"bytes"
	"os"
	"slices"
	"time"

	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// A tree finds a group's processes without cgroups, by reading the stat file of every process of
// the machine: a child of a member, or a process in a member's session, is a member. A daemon
// leaves both. It becomes a child of the laboratory, the reaper of orphans, and is recognised by
// the mark in its environment.
//
// A stat file counts a process and the children that it has waited for, in ticks of 10 ms. So the
// CPU of the dead is mostly in their parents already. The CPU of a dead process that no parent took
// over is kept here. For living processes the tree reads their CPU clock, which counts nanoseconds.
type tree struct {
	mark    []byte // in the environment of every member
	root    int    // the first process
	lab     int    // this process
	members map[int]*member
	inside  map[int]bool   // the sessions of the members seen in this scan
	strange map[int]uint64 // children of this process that are not members, by start
	dead    cpu            // of members that no living one accounts for
	all     []seen
	pids    []int
	pass    int
	r       proc.Reader
}

type member struct {
	pid, ppid, session int
	start              uint64
	dead               bool          // a zombie
	pass               int           // of the last scan that saw it
	own                cpu           // its own and its waited-for children's
	kids               cpu           // the latter
	gained             time.Duration // by kids, in this scan
	// last seen on descendants that vanished, until kids account for it
	owed cpu
}

// seen is one process of the last look at /proc.
type seen struct {
	pid  int
	stat proc.Stat
}

type cpu struct{ user, system time.Duration }

func (c *cpu) add(d cpu) { c.user, c.system = c.user+d.user, c.system+d.system }

func (c *cpu) total() time.Duration { return c.user + c.system }

// take takes away as much of d as there is.
func (c *cpu) take(d time.Duration) {
	user := min(c.user, d)
	c.user -= user
	c.system -= min(c.system, d-user)
}

// markName is the variable that names a process's group in its environment.
const markName = "INTERLEAVE_GROUP"

func newTree(name string) *tree {
	return &tree{
		mark: []byte(markName + "=" + name), lab: os.Getpid(),
		members: map[int]*member{}, inside: map[int]bool{}, strange: map[int]uint64{},
	}
}

// look reports the last scan.
func (t *tree) look(u *Usage) {
	total := t.dead
	for _, m := range t.members {
		total.add(m.own)
		total.add(m.owed)
		if !m.dead {
			u.PIDs = append(u.PIDs, m.pid)
		}
	}
	slices.Sort(u.PIDs)
	u.User, u.System = total.user, total.system
}

// scan brings the members up to date and reaps orphans.
func (t *tree) scan() {
	t.pass++
	clear(t.inside)
	t.pids = t.r.PIDs(t.pids[:0])
	t.all = t.all[:0]
	for _, pid := range t.pids {
		if s, ok := proc.ParseStat(t.r.File(pid, "stat")); ok && pid != t.lab {
			s.Comm = nil // it points into a buffer that is used again
			t.all = append(t.all, seen{pid, s})
		}
	}
	// a child may be listed before its parent: repeat until none is found
	for grown := true; grown; {
		grown = false
		for i := range t.all {
			if t.meet(&t.all[i]) {
				grown = true
			}
		}
	}
	t.accountForVanished()
	t.reap()
}

// meet takes a process in as a member, or updates it, and tells whether that is news.
func (t *tree) meet(p *seen) bool {
	m := t.members[p.pid]
	if m != nil && m.start == p.stat.Start {
		if m.pass == t.pass {
			return false
		}
	} else {
		if !t.belongs(p) {
			return false
		}
		if m != nil {
			t.dead.add(m.own) // its number was given to a new process
			t.dead.add(m.owed)
		}
		m = &member{pid: p.pid, start: p.stat.Start}
		t.members[p.pid] = m
	}
	kids := cpu{p.stat.ChildUser, p.stat.ChildSystem}
	m.gained = max(0, kids.total()-m.kids.total())
	m.kids, m.own = kids, kids
	m.own.add(exact(p.pid, cpu{p.stat.User, p.stat.System}))
	m.ppid, m.session, m.dead, m.pass = p.stat.PPID, p.stat.Session, p.stat.Dead(), t.pass
	t.inside[m.session] = true
	return true
}

// exact returns the CPU of a process by its clock, split into user and system time in the
// proportion of its ticks. It returns the ticks themselves if the clock cannot be read.
func exact(pid int, ticks cpu) cpu {
	// The clock's number is made from the process's, as in clock_getcpuclockid(3): CPUCLOCK_SCHED
	// of the process.
	const sched = 2
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|sched), &ts) != nil {
		return ticks
	}
	used := time.Duration(ts.Nano())
	if ticks.system == 0 {
		return cpu{user: used}
	}
	system := time.Duration(float64(used) * float64(ticks.system) / float64(ticks.total()))
	return cpu{used - system, system}
}

// belongs tells whether an unknown process is a member. Only members seen in this scan count as
// relatives: while they live, their number and that of their session cannot be reused.
func (t *tree) belongs(p *seen) bool {
	if p.pid == t.root && p.stat.PPID == t.lab {
		return t.members[p.pid] == nil
	}
	if parent := t.members[p.stat.PPID]; parent != nil && parent.pass == t.pass {
		return true
	}
	if t.inside[p.stat.Session] {
		return true
	}
	if p.stat.PPID != t.lab || t.strange[p.pid] == p.stat.Start {
		return false
	}
	environ := t.r.File(p.pid, "environ")
	if marked(environ, t.mark) {
		return true
	}
	if len(environ) == 0 {
		// it may be in the middle of execve(2), when none can be read: the next scan looks again
		return false
	}
	if len(t.strange) > 1000 {
		clear(t.strange)
	}
	t.strange[p.pid] = p.stat.Start
	return false
}

// marked tells whether an environment, entries ended by zero bytes, holds an entry.
func marked(environ, entry []byte) bool {
	for len(environ) > 0 {
		one, rest, _ := bytes.Cut(environ, []byte{0})
		if bytes.Equal(one, entry) {
			return true
		}
		environ = rest
	}
	return false
}

// accountForVanished assigns the CPU of vanished members: their nearest living ancestor owes the
// CPU that was last seen on them, until the time of its waited-for children has grown by as much.
// That may show one look later, since a parent may have been read just before it waited. It never
// shows if no process waits (SIGCHLD ignored).
func (t *tree) accountForVanished() {
	for _, m := range t.members {
		if m.pass == t.pass {
			continue
		}
		last := m.own
		last.add(m.owed)
		if heir := t.heir(m); heir != nil {
			heir.owed.add(last)
		} else {
			t.dead.add(last)
		}
	}
	for pid, m := range t.members {
		if m.pass != t.pass {
			delete(t.members, pid)
			continue
		}
		m.owed.take(m.gained)
	}
}

// heir is the nearest ancestor seen in this scan.
func (t *tree) heir(m *member) *member {
	for range len(t.members) {
		parent := t.members[m.ppid]
		if parent == nil || parent.pass == t.pass {
			return parent
		}
		m = parent
	}
	return nil
}

// reap waits for dead members that became this process's children, and adds their exact usage. The
// first process is left to cmd.Wait.
func (t *tree) reap() {
	for pid, m := range t.members {
		if !m.dead || m.ppid != t.lab || pid == t.root {
			continue
		}
		var used unix.Rusage
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, &used)
		switch {
		case err == nil && got == pid:
			t.dead.add(cpu{time.Duration(used.Utime.Nano()), time.Duration(used.Stime.Nano())})
		case err == unix.ECHILD:
			t.dead.add(m.own)
		default:
			continue
		}
		t.dead.add(m.owed)
		delete(t.members, pid)
	}
}

// kill sends SIGKILL to every member once and returns how many there were. All are stopped before
// the first is killed: a parent that saw its child die would end in its own way, or start another.
func (t *tree) kill() int { return t.killBy(unix.Kill) }

// killBy is kill with the system call as an argument.
func (t *tree) killBy(kill func(pid int, sig unix.Signal) error) (n int) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		n = 0
		for pid, m := range t.members {
			if !m.dead {
				_ = kill(pid, sig) // gone already: fine
				n++
			}
		}
	}
	return n
}
