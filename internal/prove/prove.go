// Package prove runs the project's tests: it chooses them by rings, builds each package's test
// program once, runs several at a time with the longest first, remembers successes, and shows with
// a failure the machine's load meanwhile and how to repeat it. rings.toml alone assigns tests to
// rings. docs/testing.md lists the parts of a remembered result's key.
package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Options select the tests, and how they run. The zero value of each field is a sound choice.
type Options struct {
	Root     string        // the checkout
	Rings    []string      // in this order
	Packages []string      // patterns of paths from the root; none: all
	Fresh    bool          // run everything, remembered or not
	Limit    time.Duration // of one package's tests; 0: 30 minutes
	AtOnce   int           // packages at the same time, at most; 0: 5 for each core
	Out      io.Writer     // progress and failures
	Again    int           // how often a failed test runs again, and must pass, to be unsteady
	Shared   string        // the folder of programs and times that checkouts share; empty: none are

	host *host // nil: this one
}

// packageLimit ends tests that hang. No package takes a tenth of it on an idle machine.
const packageLimit = 30 * time.Minute

// ErrFailed says that a test failed. The failures were written to Options.Out.
var ErrFailed = errors.New("tests failed")

// Out returns the folder of test programs, of the memory and of the last times, below the
// checkout's root.
func Out(root string) string { return filepath.Join(root, "out", "tests") }

// Run runs the rings and returns the result of each package. The error is ErrFailed if a test
// failed, the context's cause if the run was stopped, or says why nothing could be run.
func Run(ctx context.Context, o Options) (*Report, error) {
	table, err := LoadRings(filepath.Join(o.Root, RingsFile))
	if err != nil {
		return nil, err
	}
	jobs, err := plan(ctx, o, table)
	if err != nil {
		return nil, err
	}
	if o.Limit == 0 {
		o.Limit = packageLimit
	}
	if o.AtOnce == 0 {
		o.AtOnce = jobsPerCore * runtime.NumCPU()
	}
	r := &runner{Options: o, table: table, report: &Report{Began: time.Now()},
		say: &speaker{w: o.Out}}
	if o.host == nil {
		if o.host, err = thisHost(); err != nil {
			return nil, err
		}
	}
	if r.memory, err = openMemory(ctx, o.Root, o.host); err != nil {
		return nil, err
	}
	if r.watch, err = watchMachine(); err != nil {
		return nil, err
	}
	defer r.watch.end()
	err = r.run(ctx, jobs)
	r.report.Took = time.Since(r.report.Began)
	r.report.Meanwhile = r.watch.between(r.report.Began, time.Now())
	r.report.print(r.say)
	if o.Shared != "" {
		_ = r.report.save(o.Shared) // without it, a new checkout only begins in a worse order
	}
	return r.report, errors.Join(err, r.report.save(Out(o.Root)))
}

// Build builds the test programs of the rings, so that a later Run finds them built.
func Build(ctx context.Context, o Options) error {
	table, err := LoadRings(filepath.Join(o.Root, RingsFile))
	if err != nil {
		return err
	}
	jobs, err := plan(ctx, o, table)
	if err != nil {
		return err
	}
	for _, race := range []bool{false, true} {
		if _, err := programs(ctx, o, packagesOf(jobs, race), race); err != nil {
			return err
		}
	}
	return nil
}

// packagesOf are the packages whose programs the jobs need with, or without, the race detector.
func packagesOf(jobs []*job, race bool) (packages []testPackage) {
	for _, j := range jobs {
		if j.race == race && !slices.Contains(packages, j.pkg) {
			packages = append(packages, j.pkg)
		}
	}
	return packages
}

// plan lists the jobs of the rings in the order in which they start.
func plan(ctx context.Context, o Options, table *Rings) ([]*job, error) {
	packages, err := listPackages(ctx, o.Root)
	if err != nil {
		return nil, err
	}
	times := loadTimes(Out(o.Root))
	others := Times{}
	if o.Shared != "" {
		others = loadTimes(o.Shared)
	}
	look := &inspector{root: o.Root, known: map[string]bool{}}
	var jobs []*job
	for n, ring := range o.Rings {
		if table.ring(ring) == nil {
			return nil, fmt.Errorf("no ring %q: expected one of %v", ring, table.names())
		}
		of, err := look.without(table.jobs(ring, packages))
		if err != nil {
			return nil, err
		}
		for _, j := range of {
			j.order, j.expected = n, cmp.Or(times.of(j), others.of(j), table.expected(j))
		}
		jobs = append(jobs, of...)
	}
	sortJobs(jobs, table.Ring[0].Name)
	if len(o.Packages) > 0 {
		jobs = slices.DeleteFunc(jobs, func(j *job) bool { return !matches(o.Packages, j.pkg.dir) })
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no tests in rings %v of packages %v", o.Rings, o.Packages)
	}
	return jobs, nil
}

// sortJobs sorts jobs in the order in which they start. Those of the first ring are before those of
// all others, since they fail early. The longest of each of these two groups is first: a long job
// that starts late keeps one core busy, or none, when all others have ended. Jobs that run alone
// are last, so that the others need not stop for them.
func sortJobs(jobs []*job, first string) {
	slices.SortStableFunc(jobs, func(a, b *job) int {
		return cmp.Or(falseFirst(a.alone, b.alone), falseFirst(a.ring != first, b.ring != first),
			cmp.Compare(b.expected, a.expected))
	})
}

// falseFirst compares two values, of which false is the smaller.
func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
