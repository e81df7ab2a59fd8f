package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"interleave/internal/group"
)

const (
	// A further package starts beside those that keep every core busy only if the cores were idle
	// for idleShare of the last idleTime.
	idleShare = 0.15
	idleTime  = time.Second
	// jobsPerCore bounds the packages at the same time: those that wait for clocks and servers must
	// not keep the others from the cores that they leave idle.
	jobsPerCore = 5
	// testsAtOnce is how many tests of one package run at the same time: most wait for a server.
	testsAtOnce = 4
)

// A runner runs jobs. The goroutine of run owns all but memory and watch.
type runner struct {
	Options
	table  *Rings
	memory *memory
	watch  *machine
	report *Report
	say    *speaker

	// the path of each package's program, without and with the race detector
	programs map[bool]map[string]string
	building map[bool]bool
	running  int
	cancel   map[*job]context.CancelCauseFunc // of the jobs that run
	last     *job                             // that was started last
	started  time.Time                        // when it was started; zero if it has ended
	failed   int                              // the order of the first ring in which a test failed
	tool     string                           // test2json
	goroot   string
}

// errLater stops the jobs of later rings when a test of an earlier one has failed.
var errLater = errors.New("a test of an earlier ring has failed")

// done is the message of a goroutine of the runner that ran a job, or built programs.
type done struct {
	job      *job
	result   *Result
	race     bool
	programs map[string]string
	err      error
}

// run runs the jobs and returns when all have ended.
func (r *runner) run(ctx context.Context, jobs []*job) error {
	goroot, err := goOutput(ctx, r.Root, "env", "GOROOT")
	if err != nil {
		return err
	}
	r.goroot = strings.TrimSpace(string(goroot))
	if r.tool, err = test2json(ctx, r.Root, r.goroot); err != nil {
		return err
	}
	r.programs, r.building = map[bool]map[string]string{}, map[bool]bool{}
	r.cancel, r.failed = map[*job]context.CancelCauseFunc{}, len(r.Rings)
	// A run that is stopped waits for its goroutines.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ends := make(chan done)
	var failure error
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	all := slices.Clone(jobs) // what is started is deleted from jobs
	for {
		if failure == nil {
			jobs = r.start(ctx, all, jobs, ends)
		}
		if r.running == 0 && (len(jobs) == 0 || failure != nil) {
			break
		}
		select {
		case d := <-ends:
			r.running--
			if err := r.ended(d); err != nil && failure == nil {
				failure = err
				cancel(err)
			}
			jobs = r.left(jobs)
		case <-tick.C:
		case <-ctx.Done():
			failure = errors.Join(failure, context.Cause(ctx))
			ctx = context.WithoutCancel(ctx)
		}
	}
	if failure == nil && r.failed < len(r.Rings) {
		failure = ErrFailed
	}
	return failure
}

// converters are the paths of test2json, by GOROOT.
var converters sync.Map

// test2json returns the path of the program that converts the output of tests. go builds it, or
// looks through its sources to see that it is built. So go is asked once in a process: `prove
// flakes` runs the rings many times.
func test2json(ctx context.Context, root, goroot string) (string, error) {
	if path, known := converters.Load(goroot); known {
		return path.(string), nil
	}
	out, err := goOutput(ctx, root, "tool", "-n", "test2json")
	if err != nil {
		return "", err
	}
	path := strings.TrimSpace(string(out))
	converters.Store(goroot, path)
	return path, nil
}

// left removes the jobs of rings after one in which a test has failed.
func (r *runner) left(jobs []*job) []*job {
	return slices.DeleteFunc(jobs, func(j *job) bool {
		if j.order > r.failed {
			r.report.NotRun = append(r.report.NotRun, j.ring+" "+j.pkg.dir)
		}
		return j.order > r.failed
	})
}

// start starts as many of the jobs as may run now, and returns the rest.
func (r *runner) start(ctx context.Context, all, jobs []*job, ends chan<- done) []*job {
	for n := 0; n < len(jobs) && r.room(); {
		j := jobs[n]
		switch {
		case r.programs[j.race] != nil && j.alone && r.running > 0:
			return jobs // those that run end first
		case r.programs[j.race] != nil:
			jobs = slices.Delete(jobs, n, n+1)
			r.begin(ctx, j, ends)
			n = 0
		case n == 0 && !r.building[j.race]: // a build keeps all cores busy: the next is later
			r.building[j.race] = true
			r.running++
			go r.build(ctx, all, j.race, ends)
			n++
		default:
			n++ // its program is being built, or will be
		}
	}
	return jobs
}

// room tells whether one more job should run: each core needs one, and more are useful while cores
// are idle. How busy the last one keeps them is seen only after a while.
func (r *runner) room() bool {
	switch {
	case r.running > 0 && r.last != nil && r.last.alone:
		return false
	case r.running < min(runtime.NumCPU(), r.AtOnce):
		return true
	case r.running >= r.AtOnce || time.Since(r.started) < idleTime:
		return false
	}
	return r.watch.idle(idleTime) > idleShare
}

// build builds the programs of all jobs with, or without, the race detector.
func (r *runner) build(ctx context.Context, jobs []*job, race bool, ends chan<- done) {
	built, err := programs(ctx, r.Options, packagesOf(jobs, race), race)
	ends <- done{race: race, programs: built, err: err}
}

// begin runs a job in a goroutine, or recalls its result.
func (r *runner) begin(ctx context.Context, j *job, ends chan<- done) {
	r.running++
	r.last, r.started = j, time.Now()
	program := r.programs[j.race][j.pkg.dir]
	ctx, r.cancel[j] = context.WithCancelCause(ctx)
	go func() {
		result, err := r.result(ctx, j, program)
		ends <- done{job: j, result: result, err: err}
	}()
}

// result recalls the result of a job, or runs it and remembers its result.
func (r *runner) result(ctx context.Context, j *job, program string) (*Result, error) {
	reads := r.table.reads(j.pkg.dir)
	key, err := r.memory.keyOf(j, program, reads)
	if err != nil {
		return nil, err
	}
	var changed []string
	if !r.Fresh {
		last, why := r.memory.recall(j, key)
		if last != nil {
			return last, nil
		}
		changed = why
	}
	result, log, err := r.execute(ctx, j, program)
	defer os.Remove(log)
	if err != nil {
		return nil, err
	}
	result.Why = changed
	if err := r.again(ctx, j, program, result); err != nil {
		return nil, err
	}
	if !result.steady() {
		return result, r.memory.remember(j, key, result)
	}
	result.Unlisted, err = r.memory.unlisted(log, j.pkg.dir, reads)
	if err == nil {
		result.Changed, err = r.memory.tree.changed(ctx, reads)
	}
	if err != nil {
		return result, fmt.Errorf("looking for what the tests of %s read: %w", j.pkg.dir, err)
	}
	if len(result.Unlisted)+len(result.Changed) > 0 {
		// Its key lacks files that it read, or has them as they were before: it must not be
		// remembered.
		return result, nil
	}
	return result, r.memory.remember(j, key, result)
}

// execute runs a job's program. The log lists the files that it opened.
func (r *runner) execute(ctx context.Context, j *job,
	program string) (result *Result, log string, err error) {
	file, err := os.CreateTemp(Out(r.Root), "log-*")
	if err != nil {
		return nil, "", err
	}
	file.Close()
	g, err := group.New("tests", group.Options{})
	if err != nil {
		return nil, file.Name(), err
	}
	result = &Result{Ring: j.ring, Package: j.pkg.dir, Tests: j.tests, Args: j.args,
		Began: time.Now()}
	read := &reader{j: j, result: result, watch: r.watch, output: map[string]*strings.Builder{}}
	cmd := r.command(j, program, file.Name())
	events, wait, err := r.events(cmd, j)
	if err != nil {
		return nil, file.Name(), errors.Join(err, g.Close())
	}
	failed := g.Start(cmd)
	cmd.Stdout.(*os.File).Close() // the program has its own
	if failed == nil {
		defer r.bound(ctx, g)()
	}
	broken := errors.Join(failed, read.read(events), wait())
	ended := g.Wait()
	result.User, result.System = g.CPU()
	if err := errors.Join(broken, g.Close()); err != nil {
		return nil, file.Name(), fmt.Errorf("running the tests of %s: %w", j.pkg.dir, err)
	}
	if ctx.Err() != nil {
		return nil, file.Name(), context.Cause(ctx)
	}
	read.finish(ended, result.Began)
	return result, file.Name(), nil
}

const (
	// stopTime is the time for a test program to end when it is told to.
	stopTime = 5 * time.Second
	// strayTime is the time for which a process that outlives its test program may hold the output
	// open.
	strayTime = 10 * time.Second
)

// bound ends a started test program when the run is stopped or long after its own limit, and its
// remaining children soon after its end. The caller calls stop when all output is read.
func (r *runner) bound(ctx context.Context, g *group.Group) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit+time.Minute)
	go func() {
		select {
		case <-g.Exited():
			select {
			case <-time.After(strayTime):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
		}
		_, _ = g.Stop(stopTime) // Close reports it if this fails
	}()
	return cancel
}

// command is the command that go test would run.
func (r *runner) command(j *job, program, log string) *exec.Cmd {
	args := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + r.Limit.String(),
		fmt.Sprintf("-test.parallel=%d", cmp.Or(j.parallel, testsAtOnce)), "-test.testlogfile=" +
			log}
	if j.tests != "" {
		args = append(args, "-test.run="+j.tests)
	}
	if j.skip != "" {
		args = append(args, "-test.skip="+j.skip)
	}
	cmd := exec.Command(program, append(args, j.args...)...)
	cmd.Dir = filepath.Join(r.Root, filepath.FromSlash(j.pkg.dir))
	// As in go test, a test that runs go runs the one that built it.
	cmd.Env = append(os.Environ(), "PWD="+cmd.Dir,
		"PATH="+filepath.Join(r.goroot, "bin")+":"+os.Getenv("PATH"))
	return cmd
}

// events converts a command's output to events by test2json, and returns them with a function that
// waits for the end of test2json. The caller closes the command's output when it has started.
func (r *runner) events(cmd *exec.Cmd, j *job) (events io.Reader, wait func() error, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	cmd.Stdout, cmd.Stderr = out, out
	convert := exec.Command(r.tool, "-t", "-p", j.pkg.path)
	convert.Stdin = in
	// A Ctrl-C is for the tests: their output is still read until they end.
	convert.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if events, err = convert.StdoutPipe(); err == nil {
		err = convert.Start()
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("starting test2json: %w", err), out.Close())
	}
	return events, convert.Wait, nil
}

// ended handles the message of a goroutine.
func (r *runner) ended(d done) error {
	if d.job != nil {
		r.cancel[d.job](nil)
		delete(r.cancel, d.job)
	}
	switch {
	case errors.Is(d.err, errLater):
		r.report.NotRun = append(r.report.NotRun, d.job.ring+" "+d.job.pkg.dir)
		return nil
	case d.err != nil:
		return d.err
	case d.job == nil:
		r.programs[d.race] = d.programs
		return nil
	}
	if d.job == r.last {
		r.started = time.Time{} // what it has used of the cores is free: the next need not wait
	}
	r.report.Results = append(r.report.Results, d.result)
	if d.result.Failed > 0 {
		r.failed = min(r.failed, d.job.order)
		for j, cancel := range r.cancel {
			if j.order > r.failed {
				cancel(errLater)
			}
		}
	}
	r.say.result(d.result)
	return nil
}
