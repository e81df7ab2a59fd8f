package servers_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const childrenText = `type keeper:
    kept: vector<process.child@>

all: keeper@

# Starts a program, says its number, and keeps it or lets it go.
begin: (words: vector<string>, keep: bool) void:
    begun <- process.start(words.copy()) [=keep, +all, +stdout]
    match begun:
        error(e): fail e
        ok(c):
            if keep: all.kept.push(c)
            @ [c, +stdout]:
                print("pid %d\n", c.pid())
                stdout.flush()

# Reads of an endless output, then lets it go.
endless: () void:
    begun <- process.start(["yes"])
    match begun:
        error(e): fail e
        ok(c): swallow(c, 0)

swallow: (c: process.child@, sum: int) void:
    part <- c.read() [-c, =sum, +stdout]
    match part:
        error(e): fail e
        ok(b):
            if sum < 4_000_000: swallow(c, sum + b.size())
            else:
                print("enough\n")
                stdout.flush()

main: () void:
    how: string = process.args()[0]
    if how == "drop":
        for (_ in 0..5): begin(["sleep", "600"], false)
    else if how == "unwaited":
        for (_ in 0..5): begin(["true"], true)
    else if how == "endless":
        for (_ in 0..3): endless()
    else:
        for (_ in 0..5): begin(["sleep", "600"], true)
    on stdin line [+stdout]:
        if line.text == "exit": process.exit(7)
        if line.text == "fail": fail "as told"
`

// pids are the numbers of the programs that it has started.
func (p *process) pids(n int) []int {
	p.t.Helper()
	var all []int
	p.eventually(fmt.Sprint(n, " programs are started"), func() bool {
		p.mustRun()
		all = nil
		for line := range strings.Lines(p.out.String()) {
			pid := 0
			if k, _ := fmt.Sscanf(line, "pid %d\n", &pid); k == 1 {
				all = append(all, pid)
			}
		}
		return len(all) == n
	})
	return all
}

// gone says whether no process has the number, not even a zombie of the program's.
func gone(pid int) bool {
	_, err := os.Stat(fmt.Sprint("/proc/", pid))
	return errors.Is(err, fs.ErrNotExist)
}

// over says whether a process has ended. A zombie of nobody may be left where no process reaps.
func over(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

// startChildren starts the program with a pipe to its standard input.
func startChildren(t *testing.T, how, loop string, workers int) (*process, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	cmd := exec.Command(compiled(t, "children.eve", childrenText), how)
	cmd.Stdin = r
	p := begin(t, cmd, "EVE_IO="+loop, fmt.Sprint("EVE_WORKERS=", workers))
	r.Close()
	return p, w
}

// Programs whose handles are gone are ended, those that end by themselves leave no zombie, and no
// end of the process leaves one that runs.
func TestChildrenEnd(t *testing.T) {
	t.Parallel()
	for _, loop := range []string{"epoll", ""} {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s-%d-workers", loop, workers), func(t *testing.T) {
				t.Parallel()
				for _, how := range []string{"drop", "unwaited"} {
					p, in := startChildren(t, how, loop, workers)
					for _, pid := range p.pids(5) {
						p.eventually("it has gone", func() bool { return gone(pid) })
					}
					p.mustRun()
					in.Close()
					p.mustExit(0)
				}
				for word, status := range map[string]int{"end": 0, "exit": 7, "fail": 1} {
					p, in := startChildren(t, "keep", loop, workers)
					all := p.pids(5)
					if over(all[0]) {
						t.Errorf("%s: %d has ended already", word, all[0])
					}
					fmt.Fprintln(in, word)
					in.Close()
					p.mustExit(status)
					for _, pid := range all {
						p.eventually("it has ended", func() bool { return over(pid) })
					}
				}
				p, in := startChildren(t, "endless", loop, workers)
				p.eventually("they have read enough", func() bool {
					return strings.Count(p.out.String(), "enough\n") == 3
				})
				in.Close()
				p.mustExit(0)
			})
		}
	}
}
