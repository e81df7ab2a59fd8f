package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/interp"
	"interleave/eve/ir"
)

// testTimeout is the time limit of one test. A test that needs a minute is not a unit test any
// more.
const testTimeout = time.Minute

// A result is the outcome of one test.
type result struct {
	output string
	err    error
}

// A tester runs the tests of one program.
type tester struct {
	c       *call
	program *ir.Program
	folder  string // of the program, for golden files
	update  bool   // golden files are written
	pick    []int  // the tests to run, by their place in program.Tests
}

// Variables of the environment that testing.golden of std/util/testing.eve reads.
const (
	goldenFolder = "EVE_GOLDEN_FOLDER"
	goldenUpdate = "EVE_GOLDEN_UPDATE"
)

// A choice says which tests are run, and how.
type choice struct {
	wanted    *regexp.Regexp // matches their names
	schedules []uint64       // of the interpreter; none: they are compiled
	list      bool           // they are only named
	update    bool           // golden files are written
}

func runTest(c *call) error {
	seeds, seed := 0, -1
	var pattern string
	var list, update bool
	err := c.spread(func(f *flag.FlagSet) {
		f.IntVar(&seeds, "seeds", seeds, "run each test in the interpreter under `N` schedules")
		f.IntVar(&seed, "seed", seed,
			"run each test in the interpreter under schedule `N` only, as a failure names it")
		f.StringVar(&pattern, "run", pattern, "run the tests whose names match `REGEXP`")
		f.BoolVar(&list, "list", list, "name the tests, and run none")
		f.BoolVar(&update, "update", update,
			"write the golden files that the tests compare texts with")
	})
	if err != nil {
		return err
	}
	if len(c.args) == 0 {
		return usage("name a file")
	}
	if seeds < 0 {
		return usage("--seeds is a number of schedules")
	}
	if seed < -1 {
		return usage("--seed is the number of a schedule, from 0")
	}
	if list && (seeds > 0 || seed >= 0) {
		return usage("--list runs no tests: leave out --seeds and --seed")
	}
	if list && update {
		return usage("--list runs no tests: leave out --update")
	}
	schedules := make([]uint64, seeds)
	for i := range schedules {
		schedules[i] = uint64(i)
	}
	if seed >= 0 {
		schedules = []uint64{uint64(seed)}
	}
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return usage("--run: " + err.Error())
	}
	run, failed := 0, 0
	for _, name := range c.args {
		n, bad, err := c.testFile(name, choice{wanted, schedules, list, update})
		if err != nil {
			return err
		}
		run, failed = run+n, failed+bad
	}
	switch {
	case run == 0:
		fmt.Fprintln(c.stdout, "no tests")
	case list:
	case failed > 0:
		fmt.Fprintf(c.stdout, "%d of %d tests failed\n", failed, run)
		return status(exitWrong)
	default:
		fmt.Fprintf(c.stdout, "%d passed\n", run)
	}
	return nil
}

func (c *call) testFile(name string, how choice) (run, failed int, err error) {
	p, err := c.load(name)
	if err != nil {
		return 0, 0, err
	}
	folder, err := filepath.Abs(filepath.Dir(name)) // standard input: the working directory
	if err != nil {
		return 0, 0, err
	}
	t := &tester{c: c, program: p, folder: folder, update: how.update}
	for i, f := range p.Tests {
		if how.wanted.MatchString(f.Test) {
			t.pick = append(t.pick, i)
		}
	}
	switch {
	case len(t.pick) == 0:
		return 0, 0, nil
	case how.list:
		for _, n := range t.pick {
			test := p.Tests[n]
			fmt.Fprintf(c.stdout, "%s:%d: %s\n", name, test.Span.Line(), test.Test)
		}
	case len(how.schedules) > 0:
		failed = t.explore(how.schedules)
	default:
		failed, err = t.native()
	}
	return len(t.pick), failed, err
}

// native compiles the program and starts it once for each test, so that no test can affect
// another.
func (t *tester) native() (failed int, err error) {
	units, err := emit.Program(t.program, emit.Options{Checked: true, Test: true, Debug: true})
	if err != nil {
		return 0, err
	}
	program, err := build.Build(t.c.ctx, units, build.Options{Note: t.c.note()})
	if err != nil {
		return 0, err
	}
	results := make([]result, len(t.pick))
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i, n := range t.pick {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = runOne(t.c.ctx, program, n, t.settings(t.update))
		})
	}
	wg.Wait()
	for i, n := range t.pick {
		if !t.report(t.program.Tests[n], results[i]) {
			failed++
		}
	}
	return failed, t.c.ctx.Err()
}

// explore runs each test in the interpreter under the schedules. It names the failing schedule, so
// that it can be repeated.
func (t *tester) explore(schedules []uint64) (failed int) {
	for _, n := range t.pick {
		test := t.program.Tests[n]
		var r result
		for i, seed := range schedules {
			var out strings.Builder
			// The first schedule writes the golden files, and the others compare with them.
			end := interp.Test(t.program, test, interp.Options{Seed: seed, Stdout: &out,
				Stderr: &out, Env: t.lookup(t.update && i == 0)})
			if end.Status != 0 {
				r = result{output: out.String() + end.Trace,
					err: fmt.Errorf("under schedule %d: --seed %d repeats it", seed, seed)}
				break
			}
			if t.c.ctx.Err() != nil {
				return failed
			}
		}
		if !t.report(test, r) {
			failed++
		}
	}
	return failed
}

// settings are the variables of a test's environment, beside those of this process.
func (t *tester) settings(update bool) []string {
	flag := "0"
	if update {
		flag = "1"
	}
	return []string{goldenFolder + "=" + t.folder, goldenUpdate + "=" + flag}
}

// lookup is the environment of a test in the interpreter: the one that a compiled test has.
func (t *tester) lookup(update bool) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, s := range t.settings(update) {
			if value, is := strings.CutPrefix(s, name+"="); is {
				return value, true
			}
		}
		return os.LookupEnv(name)
	}
}

func runOne(ctx context.Context, program string, n int, settings []string) result {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, strconv.Itoa(n))
	cmd.Env = append(os.Environ(), settings...)
	out, err := cmd.CombinedOutput()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("still running after %v", testTimeout)
	}
	return result{string(out), err}
}

// report writes one line for a test that passed, and the output of one that failed. A failure in
// the library, as of testing.table, does not name the program: the line of the test is added.
func (t *tester) report(test *ir.Func, r result) bool {
	if r.err == nil {
		fmt.Fprintf(t.c.stdout, "ok    %s\n", test.Test)
		return true
	}
	fmt.Fprintf(t.c.stdout, "FAIL  %s\n", test.Test)
	inLibrary := false
	for line := range strings.Lines(r.output) {
		fmt.Fprintf(t.c.stdout, "      %s\n", strings.TrimRight(line, "\n"))
		inLibrary = inLibrary || strings.HasPrefix(line, "std/")
	}
	if inLibrary {
		fmt.Fprintf(t.c.stdout, "          in the test of %s:%d\n", test.Span.File.Name,
			test.Span.Line())
	}
	var exit *exec.ExitError
	if !errors.As(r.err, &exit) || exit.ExitCode() != 1 {
		fmt.Fprintf(t.c.stdout, "      %v\n", r.err)
	}
	return false
}
