package group

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// Swept is what Sweep removed.
type Swept struct {
	Directories []string // cgroups of dead runs
	PIDs        []int    // processes of dead runs that were killed
}

// Sweep removes the remains of runs that were killed: processes that bear the mark of a dead
// laboratory, and its cgroups. It leaves living runs alone.
func Sweep() (Swept, error) {
	var s Swept
	err := s.directories()
	for range 5 { // a process that forks may be ahead by a child
		if s.marked() == 0 {
			break
		}
		time.Sleep(pollEvery)
	}
	return s, err
}

func (s *Swept) directories() error {
	dir, none := Directory()
	if none != nil {
		return nil //nolint:nilerr // no cgroup v2: nothing was made
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var failed error
	var r proc.Reader
	for _, e := range entries {
		if !e.IsDir() || !Dead(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		for field := range strings.FieldsSeq(string(r.Path(filepath.Join(path, "cgroup.procs")))) {
			if n := atoi(field); n > 0 {
				s.PIDs = append(s.PIDs, n)
			}
		}
		err := killDir(path)
		if err == nil {
			err = removeDir(path)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		s.Directories = append(s.Directories, path)
	}
	return failed
}

// marked kills the processes that bear the mark of a dead run and returns how many there were.
// This process and its ancestors are spared: a laboratory may have been started by another.
func (s *Swept) marked() (n int) {
	var r proc.Reader
	spared := ancestors(&r)
	for _, pid := range r.PIDs(nil) {
		if spared[pid] {
			continue
		}
		if !Dead(value(r.File(pid, "environ"))) {
			continue
		}
		if unix.Kill(pid, unix.SIGKILL) == nil {
			if !slices.Contains(s.PIDs, pid) {
				s.PIDs = append(s.PIDs, pid)
			}
			n++
		}
	}
	return n
}

// Dead tells whether a name was made by Unique in a run that has ended.
func Dead(name string) bool {
	pid, start, ok := markOf(name)
	return ok && !runs(new(proc.Reader), pid, start)
}

// runs tells whether the process that bore this number at this start still lives.
func runs(r *proc.Reader, pid int, start uint64) bool {
	st, ok := proc.ParseStat(r.File(pid, "stat"))
	return ok && st.Start == start && !st.Dead()
}

func ancestors(r *proc.Reader) map[int]bool {
	pids := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !pids[pid]; {
		pids[pid] = true
		st, ok := proc.ParseStat(r.File(pid, "stat"))
		if !ok {
			break
		}
		pid = st.PPID
	}
	return pids
}

// value returns the mark's value in an environment, or "". The last entry counts, as in a shell.
func value(environ []byte) string {
	found := ""
	for len(environ) > 0 {
		one, rest, _ := bytes.Cut(environ, []byte{0})
		if v, ok := bytes.CutPrefix(one, []byte(markName+"=")); ok {
			found = string(v)
		}
		environ = rest
	}
	return found
}

// cutMark takes pid and start out of the name of a group.
func cutMark(name string) (pid, start string, ok bool) {
	f := strings.Split(name, ".") // prefix, pid, start, role, count
	if len(f) != 5 || f[0] != prefix {
		return "", "", false
	}
	return f[1], f[2], true
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
