package prove

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A Report has the results of all packages of a run.
type Report struct {
	Began   time.Time
	Took    time.Duration
	Results []*Result
	NotRun  []string // jobs that were left out, for a test of an earlier ring had failed
	// Meanwhile is the load of the machine from the beginning to the end.
	Meanwhile Meanwhile
}

// Passed counts the tests that passed, those of remembered results too.
func (r *Report) Passed() (n int) {
	for _, result := range r.Results {
		n += result.Passed
	}
	return n
}

// Failed counts the tests that failed.
func (r *Report) Failed() (n int) {
	for _, result := range r.Results {
		n += result.Failed
	}
	return n
}

// Skipped counts the tests that could not run here.
func (r *Report) Skipped() (n int) {
	for _, result := range r.Results {
		n += len(result.Skips)
	}
	return n
}

// print ends a run's output: the skipped tests, the failures once more, and the count.
func (r *Report) print(say *speaker) {
	reasons := map[string][]string{}
	for _, result := range r.Results {
		for _, s := range result.Skips {
			reasons[s.Reason] = append(reasons[s.Reason], result.Package+" "+s.Test)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		tests := reasons[why]
		slices.Sort(tests)
		more := ""
		if len(tests) > 1 {
			more = fmt.Sprintf(" and %d more", len(tests)-1)
		}
		say.line("SKIP %s%s: %s", tests[0], more, cmp.Or(why, "no reason given"))
	}
	var recalled int
	var cpu time.Duration
	for _, result := range r.Results {
		if result.Remembered {
			recalled++
			continue
		}
		cpu += result.User + result.System
		for _, f := range result.Failures {
			say.line("FAIL %s %s", result.Package, cmp.Or(f.Test, "(the test program)"))
		}
		for _, f := range result.Unsteady {
			say.line("UNSTEADY %s %s: it failed, and passed when it ran again; mend it",
				result.Package, f.Test)
		}
	}
	if len(r.NotRun) > 0 {
		say.line("not run, for a test of an earlier ring failed: %d packages", len(r.NotRun))
	}
	say.line("%d packages in %v, %v of CPU time, cores busy %.0f %%; %d more had passed and have "+
		"not changed", len(r.Results)-recalled, r.Took.Round(time.Second), cpu.Round(time.Second),
		100*r.Meanwhile.Busy, recalled)
	say.line("%d passed, %d failed, %d skipped", r.Passed(), r.Failed(), r.Skipped())
}

// timesFile keeps the last durations of jobs: those of a checkout, or those of all that share a
// folder.
func timesFile(dir string) string { return filepath.Join(dir, "times.json") }

// Times are the last results of jobs, without their failures, by the jobs' names.
type Times map[string]*Result

// loadTimes reads the times in a folder; a file that is not there or is broken has none.
func loadTimes(dir string) Times {
	times := Times{}
	text, err := os.ReadFile(timesFile(dir))
	if err != nil || json.Unmarshal(text, &times) != nil {
		return Times{}
	}
	return times
}

// of returns the last duration of a job; 0 if it has not run.
func (t Times) of(j *job) time.Duration {
	if last := t[j.name()]; last != nil {
		return last.Wall
	}
	return 0
}

// save adds the times of this run to those of earlier ones in a folder.
func (r *Report) save(dir string) error {
	times := loadTimes(dir)
	for _, result := range r.Results {
		if result.Remembered {
			continue
		}
		kept := *result
		kept.Failures, kept.Unsteady, kept.Skips = nil, nil, nil
		j := job{ring: result.Ring, pkg: testPackage{dir: result.Package}, tests: result.Tests,
			args: result.Args}
		times[j.name()] = &kept
	}
	return writeJSON(timesFile(dir), times)
}

// PrintTimes writes the table of a checkout's last times, in the order of their CPU time: for each
// package its duration, its CPU time, for how long it waits, and its builds.
func PrintTimes(root string, rings []string, w io.Writer) error {
	times := loadTimes(Out(root))
	var rows []*Result
	for _, t := range times {
		if len(rings) == 0 || slices.Contains(rings, t.Ring) {
			rows = append(rows, t)
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("no times of rings %v: run the tests first", rings)
	}
	slices.SortFunc(rows, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(b.User+b.System, a.User+a.System),
			cmp.Compare(a.Package, b.Package))
	})
	const form = "%-8s %-34s %8s %8s %8s %8s %8s  %-34s %s\n"
	var user, system time.Duration
	if _, err := fmt.Fprintf(w, form, "ring", "package", "wall s", "CPU s", "user s", "system s",
		"waits s", "longest test", "built"); err != nil {
		return err
	}
	for _, t := range rows {
		user, system = user+t.User, system+t.System
		name := t.Package
		if len(t.Args) > 0 {
			name += " " + strings.Join(t.Args, " ")
		}
		_, err := fmt.Fprintf(w, form, t.Ring, name, seconds(t.Wall), seconds(t.User+t.System),
			seconds(t.User), seconds(t.System), seconds(t.waits(runtime.NumCPU())),
			fmt.Sprintf("%s (%s)", t.Longest, seconds(t.LongestTook)), builds(t.Built))
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, form, "", "all", "", seconds(user+system), seconds(user),
		seconds(system), "", "", "")
	return err
}

// waits returns the part of a package's duration that its CPU time does not explain, even if that
// took all cores at once: it waits for clocks, for servers, or for packages beside it.
func (r *Result) waits(cores int) time.Duration {
	return max(0, r.Wall-(r.User+r.System)/time.Duration(cores))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

// builds names the first few builds.
func builds(built []string) string {
	const most = 4
	if len(built) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(built[:most], ", "), len(built)-most)
	}
	return strings.Join(built, ", ")
}
