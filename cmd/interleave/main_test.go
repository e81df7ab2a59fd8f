package main

import (
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
			"bad": bad, "await": await, "cells": cells, "clean": clean, "exits": exits,
			"begin": begin, "send": send, "end": end,
		},
	})
}

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

// await waits until a file matches a pattern: `await PATTERN FILE`. The file may be a glob.
func await(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		found, err := filepath.Glob(ts.MkAbs(args[1]))
		ts.Check(err)
		for _, name := range found {
			if data, err := os.ReadFile(name); err == nil && pattern.Match(data) {
				return
			}
		}
	}
	ts.Fatalf("%s does not match %q after %v", args[1], args[0], longest)
}

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

// A program that a script began and has not ended yet.
type program struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// begun are the programs of a script, and the numbers of those that have ended.
type begun struct {
	running *program
	pids    []int
}

// begin starts a program in the background; out.txt and err.txt take its output.
func begin(ts *testscript.TestScript, _ bool, args []string) {
	b := ts.Value(begunKey).(*begun)
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	p := &program{exec.Command(path, args[1:]...), make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Stdout, err = os.Create(ts.MkAbs("out.txt"))
	ts.Check(err)
	p.cmd.Stderr, err = os.Create(ts.MkAbs("err.txt"))
	ts.Check(err)
	ts.Check(p.cmd.Start())
	b.running, b.pids = p, append(b.pids, p.cmd.Process.Pid)
	go func() {
		_ = p.cmd.Wait() // the script's end command checks the status
		close(p.done)
	}()
	ts.Defer(func() {
		_ = p.cmd.Process.Kill() // ended already, unless the script failed
		<-p.done
	})
}

// send sends a signal to the program that runs: `send INT`.
func send(ts *testscript.TestScript, _ bool, args []string) {
	number := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM,
		"KILL": os.Kill}[args[0]]
	ts.Check(ts.Value(begunKey).(*begun).running.cmd.Process.Signal(number))
}

// end waits for the program and checks its exit status: `end 130`, `end killed`.
func end(ts *testscript.TestScript, _ bool, args []string) {
	p := ts.Value(begunKey).(*begun).running
	select {
	case <-p.done:
	case <-time.After(longest):
		ts.Fatalf("it did not end within %v", longest)
	}
	ts.Logf("%s%s", ts.ReadFile("out.txt"), ts.ReadFile("err.txt"))
	got := strconv.Itoa(p.cmd.ProcessState.ExitCode())
	if got == "-1" {
		got = "killed"
	}
	if got != args[0] {
		ts.Fatalf("it ended with %v, want %s", p.cmd.ProcessState, args[0])
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
