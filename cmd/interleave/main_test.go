package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"interleave/internal/group"
	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/record"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"interleave": main})
}

// TestScripts plays testdata/script/*.txtar. Each script stands in a laboratory of its own, a copy
// of testdata/lab with two models of this checkout; $REPO is the checkout.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			for _, name := range caching {
				if value, set := os.LookupEnv(name); set {
					env.Setenv(name, value)
				}
			}
			env.Values[begunKey] = &begun{}
			return errors.Join(
				os.CopyFS(env.WorkDir, os.DirFS("testdata/lab")),
				os.CopyFS(filepath.Join(env.WorkDir, "services/echo/c-epoll"),
					os.DirFS(filepath.Join(repo, "services/echo/c-epoll"))),
				os.CopyFS(filepath.Join(env.WorkDir, "services/echo/c-thread"),
					os.DirFS(filepath.Join(repo, "services/echo/c-thread"))),
			)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "netns": // unavailable without root, and in most containers
				return netns.Able(manifest.NetNS) == nil, nil
			case "tap":
				return netns.Able(manifest.Tap) == nil, nil
			case "mount":
				return exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none",
					"/mnt").Run() == nil, nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bad": bad, "cells": cells, "clean": clean, "exits": exits, "interrupt": interrupt,
		},
	})
}

// caching are the variables that tell a build where its caches are, and what its keys are made of.
// Package testscript gives a script another home, in which every server, and all of Go's library,
// would be compiled again.
var caching = []string{"HOME", "XDG_CACHE_HOME", "GOCACHE", "GOFLAGS", "GOMODCACHE", "GOPATH",
	"GOPROXY", "GOTOOLCHAIN"}

// bad makes models of bad.c: `bad silent early` adds c-thread-silent and c-thread-early.
func bad(ts *testscript.TestScript, neg bool, args []string) {
	for _, fault := range args {
		dir := ts.MkAbs("services/echo/c-thread-" + fault)
		ts.Check(os.MkdirAll(dir, 0o755))
		source, err := os.ReadFile(ts.MkAbs("bad.c"))
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, "echo.c"), source, 0o644))
		ts.Check(os.WriteFile(filepath.Join(dir, "model.toml"), fmt.Appendf(nil, `language = "c"
model    = "thread"
summary  = "a server that is %s"
needs    = ["cc"]
build    = ["cc", "-O1", "-o", "{out}/echo", "echo.c", "-lpthread"]
run      = ["{out}/echo", "{port}", "{host}", %q]
`, fault, fault), 0o644))
	}
}

// longest is a net for every wait of these scripts.
const longest = 5 * time.Minute

// cells counts the cells of the newest run: `cells N [MODEL [REGEXP of status and reasons]]`; N may
// end in +, for at least.
func cells(ts *testscript.TestScript, neg bool, args []string) {
	dir, err := record.Find(ts.MkAbs("out/runs"), "last")
	ts.Check(err)
	run, err := record.Read(dir)
	ts.Check(err)
	pattern := regexp.MustCompile("")
	if len(args) > 2 {
		pattern = regexp.MustCompile(args[2])
	}
	n, all := 0, []string{}
	for _, c := range run.Cells {
		if len(args) > 1 && args[1] != "all" && c.Model != args[1] {
			continue
		}
		text := string(c.Status)
		for _, r := range c.Reasons {
			text += " " + r.Gate + ": " + r.Text
		}
		text += " " + c.Tail
		all = append(all, fmt.Sprintf("%s round %d attempt %d: %s", c.Model, c.Round, c.Attempt,
			text))
		if pattern.MatchString(text) {
			n++
		}
	}
	want, atLeast := strings.CutSuffix(args[0], "+")
	number, err := strconv.Atoi(want)
	ts.Check(err)
	if n != number && !(atLeast && n > number) {
		ts.Fatalf("%d cells of %d, want %s:\n%s", n, len(all), args[0], strings.Join(all, "\n"))
	}
}

// clean fails if anything is left of this script's runs: a process with a working directory or a
// program in its folder, or a cgroup of a run that the script began.
func clean(ts *testscript.TestScript, _ bool, _ []string) {
	var left []string
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if left = append(leftIn(ts.MkAbs(".")),
			groupsOf(ts.Value(begunKey).(*begun).pids)...); len(left) == 0 {
			return
		}
	}
	ts.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
}

// groupsOf are the cgroups and network namespaces whose names bear one of these processes' numbers.
func groupsOf(pids []int) (left []string) {
	dirs := []string{"/run/netns"}
	if dir, err := group.Directory(); err == nil { // otherwise there is no cgroup v2
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // no folder: nothing in it
		for _, e := range entries {
			for _, pid := range pids {
				if strings.Contains(e.Name(), fmt.Sprintf(".%d.", pid)) {
					left = append(left, filepath.Join(dir, e.Name()))
				}
			}
		}
	}
	return left
}

// leftIn are the processes that run a program of a folder or work in it.
func leftIn(dir string) (left []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		exe, _ := os.Readlink(filepath.Join(p, "exe"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		if strings.HasPrefix(exe, dir+"/") || strings.HasPrefix(cwd, dir) {
			left = append(left, p+" "+exe)
		}
	}
	return left
}

// A program that a script began.
type program struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// begun are the numbers of the programs that a script began.
type begun struct{ pids []int }

// interrupt begins a program, waits until a file matches a pattern, sends the program a signal, and
// checks its exit status: `interrupt INT 130 PATTERN FILE PROGRAM...`, `interrupt KILL killed ...`.
// The file may be a glob. With -hosts the program must have a network namespace then, too, and with
// -stints it must be in the stints of a duet. out.txt and err.txt take its output. A program that
// was finished before the signal came, on a busy machine, is begun again, without the run that it
// has recorded.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	hosts, stints := args[0] == "-hosts", args[0] == "-stints"
	if hosts || stints {
		args = args[1:]
	}
	number := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM,
		"KILL": os.Kill}[args[0]]
	status, pattern, file := args[1], regexp.MustCompile(args[2]), ts.MkAbs(args[3])
	before := runsIn(ts)
	for end := time.Now().Add(longest); time.Now().Before(end); {
		p := begin(ts, args[4:])
		p.await(ts, func() bool {
			own, err := filepath.Glob(fmt.Sprintf("/run/netns/*.%d.*", p.cmd.Process.Pid))
			ts.Check(err)
			return matches(ts, file, pattern) && (!hosts || len(own) > 0) &&
				(!stints || inStints(p.cmd.Process.Pid))
		})
		_ = p.cmd.Process.Signal(number) // it may have ended
		p.await(ts, func() bool { return false })
		ts.Logf("%s%s", ts.ReadFile("out.txt"), ts.ReadFile("err.txt"))
		got := strconv.Itoa(p.cmd.ProcessState.ExitCode())
		if got == "-1" {
			got = "killed"
		}
		switch {
		case got == status:
			return
		case !slices.Contains([]string{"0", strconv.Itoa(exitRefused),
			strconv.Itoa(exitNonconform)}, got):
			ts.Fatalf("it ended with %v, want %s", p.cmd.ProcessState, status)
		}
		for _, run := range runsIn(ts) {
			if !slices.Contains(before, run) {
				ts.Check(os.RemoveAll(run))
			}
		}
	}
	ts.Fatalf("it was never interrupted in %v", longest)
}

// inStints tells whether two load engines of a program are up and have both been woken so often
// that each has had a stint: a load of its own alone has no second engine beside it.
func inStints(parent int) bool {
	const enough = 60 // connecting and warming up take a dozen
	engines := 0
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline")) // it may have ended
		stat, _ := os.ReadFile(filepath.Join(p, "stat"))
		_, stat, _ = bytes.Cut(stat, []byte(") "))
		fields := bytes.Fields(stat)
		if bytes.HasSuffix(line, []byte("\x00load\x00")) && len(fields) > 1 &&
			string(fields[1]) == strconv.Itoa(parent) && wakings(p) > enough {
			engines++
		}
	}
	return engines > 1
}

// wakings counts how often the threads of a process have waited.
func wakings(proc string) (n int) {
	threads, _ := filepath.Glob(filepath.Join(proc, "task/*/status"))
	for _, name := range threads {
		status, _ := os.ReadFile(name)
		if _, rest, found := strings.Cut(string(status), "\nvoluntary_ctxt_switches:"); found {
			count, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
			k, _ := strconv.Atoi(count)
			n += k
		}
	}
	return n
}

func runsIn(ts *testscript.TestScript) []string {
	found, err := filepath.Glob(ts.MkAbs("out/runs/*"))
	ts.Check(err)
	return found
}

// matches says whether one of the files of a glob matches a pattern.
func matches(ts *testscript.TestScript, glob string, pattern *regexp.Regexp) bool {
	found, err := filepath.Glob(glob)
	ts.Check(err)
	return slices.ContainsFunc(found, func(name string) bool {
		data, err := os.ReadFile(name)
		return err == nil && pattern.Match(data)
	})
}

func begin(ts *testscript.TestScript, words []string) *program {
	b := ts.Value(begunKey).(*begun)
	path, err := exec.LookPath(words[0])
	ts.Check(err)
	p := &program{exec.Command(path, words[1:]...), make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Stdout, err = os.Create(ts.MkAbs("out.txt"))
	ts.Check(err)
	p.cmd.Stderr, err = os.Create(ts.MkAbs("err.txt"))
	ts.Check(err)
	ts.Check(p.cmd.Start())
	b.pids = append(b.pids, p.cmd.Process.Pid)
	go func() {
		_ = p.cmd.Wait() // interrupt checks the status
		close(p.done)
	}()
	ts.Defer(func() {
		_ = p.cmd.Process.Kill() // ended already, unless the script failed
		<-p.done
	})
	return p
}

// await waits until a condition holds or the program has ended.
func (p *program) await(ts *testscript.TestScript, so func() bool) {
	for end := time.Now().Add(longest); !so(); {
		select {
		case <-p.done:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			ts.Fatalf("it goes on after %v:\n%s%s", longest, ts.ReadFile("out.txt"),
				ts.ReadFile("err.txt"))
		}
	}
}

// begunKey is the key of a script's programs.
type key int

const begunKey key = 0

// exits runs a command and checks its exit status: `exits 2 interleave run nothing`; `exits 0,3`
// takes either.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if status, ok := errors.AsType[*exec.ExitError](err); ok {
		got = status.ExitCode()
	} else {
		ts.Check(err)
	}
	if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}
