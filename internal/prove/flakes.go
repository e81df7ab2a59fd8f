package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"interleave/internal/group"
)

// Beside is the other work of the machine while tests run again and again.
type Beside string

// The kinds of work that the tests run beside.
const (
	Nothing Beside = "nothing"
	Busy    Beside = "busy"  // a loop for each core, as nice as the tests
	IO      Beside = "io"    // memory and disks: stress-ng --vm 1 --io 2
	Stops   Beside = "stops" // processes of the tests stand still for seconds
)

// start starts the work; end ends it, with all its processes.
func (b Beside) start() (end func() error, err error) {
	var commands [][]string
	switch b {
	case Nothing, "":
	case Stops:
		return stops(), nil
	case Busy:
		for range runtime.NumCPU() {
			commands = append(commands, []string{"sh", "-c", "while :; do :; done"})
		}
	case IO:
		commands = [][]string{{"stress-ng", "--quiet", "--vm", "1", "--io", "2"}}
	default:
		return nil, fmt.Errorf("beside %q: expected %s, %s, %s or %s", b, Nothing, Busy, IO, Stops)
	}
	var groups []*group.Group
	end = func() (err error) {
		for _, g := range groups {
			err = errors.Join(err, g.Close())
		}
		return err
	}
	for _, words := range commands {
		path, err := exec.LookPath(words[0])
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: apt-get install %s", err, words[0]), end())
		}
		g, err := group.New("beside", group.Options{Pdeathsig: 9})
		if err != nil {
			return nil, errors.Join(err, end())
		}
		groups = append(groups, g)
		cmd := exec.Command(path, words[1:]...)
		cmd.Dir = os.TempDir()
		if err := g.Start(cmd); err != nil {
			return nil, errors.Join(err, end())
		}
	}
	return end, nil
}

// A Flake is a test that failed in some of the runs.
type Flake struct {
	Package, Test string
	Failed        int
	Log           string // of the first run in which it failed
	Again         string
}

// Flakes runs everything n times beside some work and counts the failures of each test. The whole
// output of each failed run is kept in a file. The error is ErrFailed if any run failed.
func Flakes(ctx context.Context, o Options, n int, beside Beside) error {
	o.Fresh, o.Again = true, 0
	folder := filepath.Join(Out(o.Root), "flakes", time.Now().UTC().Format("20060102T150405Z"))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	end, err := beside.start()
	if err != nil {
		return err
	}
	found := map[string]*Flake{}
	green, runs := 0, 0
	out := o.Out
	for runs < n && ctx.Err() == nil {
		runs++
		log := filepath.Join(folder, fmt.Sprintf("%d.log", runs))
		var text bytes.Buffer
		o.Out = &text
		report, failed := Run(ctx, o)
		if ctx.Err() != nil {
			runs--
			break
		}
		if err := os.WriteFile(log, text.Bytes(), 0o644); err != nil {
			return errors.Join(err, end())
		}
		if failed != nil && !errors.Is(failed, ErrFailed) {
			return errors.Join(failed, end())
		}
		if failed == nil {
			green++
		}
		collect(found, report, log)
		fmt.Fprintf(out,
			"run %d of %d beside %s: %d passed, %d failed in %s; %d of %d runs green\n",
			runs, n, beside, report.Passed(), report.Failed(), age(report.Took), green, runs)
	}
	printFlakes(out, found, runs)
	err = errors.Join(context.Cause(ctx), end())
	if err == nil && green < runs {
		err = ErrFailed
	}
	return err
}

// collect counts the failures of a run.
func collect(found map[string]*Flake, report *Report, log string) {
	for _, result := range report.Results {
		for _, f := range result.Failures {
			name := result.Ring + " " + result.Package + " " + f.Test
			if found[name] == nil {
				found[name] = &Flake{Package: result.Package, Test: f.Test, Log: log,
					Again: f.Again}
			}
			found[name].Failed++
		}
	}
}

func printFlakes(w io.Writer, found map[string]*Flake, runs int) {
	var all []*Flake
	for _, f := range found {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *Flake) int { return b.Failed - a.Failed })
	for _, f := range all {
		fmt.Fprintf(w, "%3d of %d  %s %s\n            %s\n            %s\n", f.Failed, runs,
			f.Package, f.Test, f.Again, f.Log)
	}
}
