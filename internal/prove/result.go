package prove

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Result is the outcome of one package's tests in one ring.
type Result struct {
	Ring, Package string
	Tests         string // the pattern of the tests that were chosen; "": all
	Args          []string
	Passed        int
	Failed        int
	Skips         []Skip // the tests that were skipped
	Failures      []Failure
	Unsteady      []Failure     // of tests that have passed since, each time that they ran again
	Longest       string        // the test, or part of one, that took longest
	LongestTook   time.Duration // and its time
	Built         []string      // builds of the tests, as they report them
	Wall          time.Duration
	User, System  time.Duration // of the test program and all its children
	Began         time.Time
	Remembered    bool
	Why           []string // the parts of the key for which an earlier result did not count
	Unlisted      []string // files that the tests opened and rings.toml does not list
	Changed       []string // files that the tests may read and that were changed meanwhile
}

// steady tells whether every test passed at once, or was skipped.
func (r *Result) steady() bool {
	return r.Failed == 0 && len(r.Failures) == 0 && len(r.Unsteady) == 0
}

// A Skip is a test that could not run here.
type Skip struct{ Test, Reason string }

// A Failure is a test that failed, or, without a test's name, a test program that failed.
type Failure struct {
	Test      string
	Output    string
	Took      time.Duration
	Meanwhile Meanwhile
	Again     string // the line that repeats it
}

// An event is one line of test2json's output: see `go doc test2json`.
type event struct {
	Time    time.Time
	Action  string
	Test    string
	Elapsed float64 // in seconds
	Output  string
}

// maxOutput bounds the output that is kept of one test. More is cut from its middle.
const maxOutput = 64 << 10

// A reader makes a result of the events of one test program.
type reader struct {
	j      *job
	result *Result
	watch  *machine
	output map[string]*strings.Builder // of tests that have not ended; "" is the program's own
	last   string
}

// built matches a test's message that it had to build something.
var built = regexp.MustCompile(`\bbuilt (\S+) in ([0-9.]+m?s)`)

// read reads events to the end. Other lines are the program's output.
func (r *reader) read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadString('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				e = event{Action: "output", Output: line, Time: time.Now()}
			}
			r.take(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *reader) take(e event) {
	switch e.Action {
	case "output":
		r.keep(e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			return // the program's end says the same
		}
		r.end(e)
	}
}

func (r *reader) keep(e event) {
	if found := built.FindStringSubmatch(e.Output); found != nil {
		r.result.Built = append(r.result.Built, found[1]+" "+found[2])
	}
	if frame(e.Output) {
		return
	}
	b := r.output[e.Test]
	if b == nil {
		b = &strings.Builder{}
		r.output[e.Test] = b
	}
	if b.Len() < maxOutput {
		b.WriteString(e.Output)
	} else if e.Output != "" {
		r.last = e.Output
	}
}

// frame tells whether a line says only that a test begins, goes on or ends.
func frame(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "--- PASS: ",
		"--- FAIL: ", "--- SKIP: "} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return false
}

func (r *reader) end(e event) {
	took := time.Duration(e.Elapsed * float64(time.Second))
	// go counts no time for a test while it waits for its parallel parts, so they count, too.
	if took > r.result.LongestTook || r.result.Longest == "" {
		r.result.Longest, r.result.LongestTook = e.Test, took
	}
	said := ""
	if b := r.output[e.Test]; b != nil {
		said = b.String()
	}
	delete(r.output, e.Test)
	switch e.Action {
	case "pass":
		r.result.Passed++
	case "skip":
		if why := reason(said); !strings.HasPrefix(why, elsewhere) {
			r.result.Skips = append(r.result.Skips, Skip{e.Test, why})
		}
	case "fail":
		r.result.Failed++
		if strings.TrimSpace(said) == "" && r.has(e.Test+"/") {
			return // its parts say it
		}
		r.result.Failures = append(r.result.Failures, Failure{Test: e.Test, Output: said,
			Took:      took,
			Meanwhile: r.watch.between(e.Time.Add(-took), e.Time), Again: r.j.repeat(e.Test)})
	}
}

// has tells whether a test whose name begins so has failed.
func (r *reader) has(prefix string) bool {
	return slices.ContainsFunc(r.result.Failures,
		func(f Failure) bool { return strings.HasPrefix(f.Test, prefix) })
}

var (
	// place is where a test's message comes from.
	place = regexp.MustCompile(`^\s*\w+\.go:\d+: `)
	// scripted matches testscript's message that a script is skipped.
	scripted = regexp.MustCompile(`^> (?:\[[^\]]*\] )?skip '(.*)'$`)
)

// reason is the last line that a skipped test said.
func reason(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	line := strings.TrimSpace(place.ReplaceAllString(lines[len(lines)-1], ""))
	line = scripted.ReplaceAllString(line, "$1")
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "SKIP:"), "SKIP"))
}

// elsewhere begins the reason of a test that is skipped because another ring has it.
const elsewhere = "part of make "

// finish adds how the program ended: with nil, or an error that is not of its tests alone.
func (r *reader) finish(ended error, began time.Time) {
	r.result.Wall = time.Since(began)
	failures := r.result.Failures
	status, exited := errors.AsType[*exec.ExitError](ended)
	if ended == nil || exited && status.ExitCode() == testsFailed && len(failures) > 0 {
		return
	}
	text := fmt.Sprintf("the test program ended with %v\n", ended)
	if len(failures) > 0 {
		last := &failures[len(failures)-1]
		last.Output += text
		return
	}
	own := ""
	for _, test := range slices.Sorted(maps.Keys(r.output)) {
		own += r.output[test].String()
	}
	r.result.Failed++
	r.result.Failures = append(failures, Failure{Output: own + r.last + text, Took: r.result.Wall,
		Meanwhile: r.watch.between(began, time.Now()), Again: r.j.repeat("")})
}

// testsFailed is the status of a test program of which some tests failed, and nothing worse.
const testsFailed = 1
