package eve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/eve/build"
)

// The sources of the core, and of the values that it uses for failures and their messages.
var (
	coreSources = strings.Fields(`
		cpus dump fake_time forkjoin futex_poller gate idle jump loan lock memory object profile recording root
		run_queue runtime saving scope task threads timer_heap trace watchdog worker
		buffer fail format hash instant output result sort string table value`)
	testSources = strings.Fields(`
		test/core test/core_check test/fake_time test/forkjoin test/gate test/loan test/memory
		test/scope test/task test/worker`)
	plain     = []string{"-O2"}
	model     = []string{"-O1", "-DEVE_MODEL"}
	sanitized = []string{"-O1", "-fsanitize=thread"}
	addressed = []string{"-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
)

// patience is a time limit that no compilation and no run comes near, however busy the machine is.
const patience = 5 * time.Minute

// parts compiles the files of the runtime's folder. Files that have not changed come from the
// cache.
var parts = build.Parts{Compiler: "g++", Dir: "runtime"}

// needCompiler skips the test if there is no g++.
func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("g++ is not in PATH")
	}
}

// output runs a command in the runtime's folder and returns its output and its error.
func output(env []string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "runtime"
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("no end after %v", patience)
	}
	return out.String(), err
}

// status is the exit status in an error of output; -1 if there is none.
func status(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// objects compiles sources with flags and returns the object of each.
func objects(t *testing.T, sources, flags []string) map[string]string {
	t.Helper()
	files := make([]string, len(sources))
	for i, source := range sources {
		files[i] = source + ".cpp"
	}
	all := slices.Concat([]string{"-fno-rtti"}, strict, flags)
	compiled, err := parts.Objects(t.Context(), all, files...)
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string]string)
	for i, source := range sources {
		made[source] = compiled[files[i]]
	}
	return made
}

// link makes a program from objects.
func link(t *testing.T, made map[string]string, flags []string) string {
	t.Helper()
	all := slices.Collect(maps.Values(made))
	program, err := parts.Program(t.Context(), append([]string{"-pthread"}, flags...), all...)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// succeed runs a program that must end with status 0.
func succeed(t *testing.T, program string) {
	t.Helper()
	out, err := output([]string{"TSAN_OPTIONS=halt_on_error=1"}, program)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log("\n" + out)
}

// withModel returns sources and those of the seeded scheduler.
func withModel(sources ...string) []string {
	return append(append([]string{"test/model"}, testSources...),
		append(sources, coreSources...)...)
}

func TestCore(t *testing.T) {
	needCompiler(t)
	all := append(append([]string{}, testSources...), coreSources...)
	for _, build := range []struct {
		name, sanitize string
		flags          []string
	}{
		{"plain", "", plain},
		{"address", "address", addressed},
	} {
		t.Run(build.name, func(t *testing.T) {
			needSanitize(t, build.sanitize)
			succeed(t, link(t, objects(t, all, build.flags), build.flags))
		})
	}
}

// A mutation is an error that is put into one file on purpose. The tests must find it.
type mutation struct {
	file, name, test string
}

// mutate compiles one file again, with the error in it, and runs a test of the program, which must
// fail.
func mutate(t *testing.T, made map[string]string, flags []string,
	m mutation) (program, out string) {
	t.Helper()
	changed := objects(t, []string{m.file}, append([]string{"-D" + m.name}, flags...))
	for source, object := range made {
		if source != m.file {
			changed[source] = object
		}
	}
	program = link(t, changed, flags)
	out, err := output([]string{"TSAN_OPTIONS=halt_on_error=1"}, program, m.test)
	if err == nil {
		t.Fatalf("no test failed with %s:\n%s", m.name, out)
	}
	return program, out
}

func TestCoreModel(t *testing.T) {
	needCompiler(t)
	needSanitize(t, "")
	made := objects(t, withModel(), model)
	t.Run("whole", func(t *testing.T) { succeed(t, link(t, made, model)) })
	for _, m := range []mutation{
		{"gate", "EVE_MUTATE_READERS", "task"}, // a writer ignores readers
		// queues are joined in the order of the list, not of addresses
		{"task", "EVE_MUTATE_ORDER", "task"},
		// the owner pops public frames without an atomic operation
		{"forkjoin", "EVE_MUTATE_TAKE", "forkjoin"},
		// a guest takes a poller whose owner is inside
		{"loan", "EVE_MUTATE_LOAN", "loan"},
		// a worker looks for work before it counts as asleep
		{"worker", "EVE_MUTATE_SLEEP", "worker"},
		// a worker does not see that a sleeper was woken while it looked at what is armed
		{"worker", "EVE_MUTATE_END", "worker"},
		// the fake clock jumps while a worker was just woken
		{"jump", "EVE_MUTATE_JUMP_WOKEN", "fake_time"},
		// while a call is under way
		{"jump", "EVE_MUTATE_JUMP_PENDING", "fake_time"},
		// while something waits that one worker has sent to another
		{"jump", "EVE_MUTATE_JUMP_SENT", "fake_time"},
	} {
		t.Run(m.name, func(t *testing.T) {
			program, out := mutate(t, made, model, m)
			t.Log(out)
			// found by trying all orders, or told by the runtime itself: without a seed
			if m.name == "EVE_MUTATE_TAKE" || m.name == "EVE_MUTATE_LOAN" ||
				m.name == "EVE_MUTATE_END" {
				return
			}
			replay(t, program, m.test, out)
		})
	}
}

// replay runs the failing seed alone, which must fail in the same way.
func replay(t *testing.T, program, test, out string) {
	t.Helper()
	seed := regexp.MustCompile(`EVE_SEED=\d+`).FindString(out)
	if seed == "" {
		t.Fatalf("no seed in %q", out)
	}
	again, err := output([]string{seed}, program, test)
	if err == nil || !strings.HasSuffix(again, lastLine(out)) {
		t.Errorf("%s again: got %q, want the message of %q", seed, again, out)
	}
}

func TestCoreThreadSanitizer(t *testing.T) {
	needCompiler(t)
	needSanitize(t, "thread")
	made := objects(t, append(append([]string{}, testSources...), coreSources...), sanitized)
	program := link(t, made, sanitized)
	if out, err := output(nil, program, "none"); err == nil || strings.Contains(out, "FATAL") {
		t.Skipf("programs with ThreadSanitizer do not run here: %s", out)
	}
	succeed(t, program)
	t.Run("EVE_MUTATE_PUBLISH", func(t *testing.T) { // frames are published without a release
		_, out := mutate(t, made, sanitized, mutation{"forkjoin", "EVE_MUTATE_PUBLISH", "forkjoin"})
		if !strings.Contains(out, "data race") {
			t.Errorf("got %q, want a data race", out)
		}
	})
}

func lastLine(out string) string {
	out = strings.TrimSuffix(out, "\n")
	return out[strings.LastIndexByte(out, '\n')+1:] + "\n"
}

// without returns the objects of all sources but these.
func without(made map[string]string, sources ...string) map[string]string {
	rest := maps.Clone(made)
	for _, s := range sources {
		delete(rest, s)
	}
	return rest
}

func TestCoreProcess(t *testing.T) {
	needCompiler(t)
	needSanitize(t, "")
	flags := plain
	made := objects(t, append([]string{"test/process", "bench/forkjoin", "bench/task"},
		coreSources...), flags)
	program := link(t, without(made, "bench/forkjoin", "bench/task"), flags)
	t.Run("bench", func(t *testing.T) { // only that they run, and reach the right result
		fib := link(t, without(made, "test/process", "bench/task"), flags)
		if out, err := output(nil, fib, "20", "1"); err != nil ||
			strings.Count(out, "fib = 6765") != 3 {
			t.Errorf("got %v and %q, want fib = 6765 three times", err, out)
		}
		task := link(t, without(made, "test/process", "bench/forkjoin"), flags)
		if out, err := output(nil, task, "1000", "1"); err != nil ||
			strings.Count(out, " ns\n") != 4 {
			t.Errorf("got %v and %q, want four lines", err, out)
		}
	})
	t.Run("narrow", func(t *testing.T) { // less address space than the stacks ask for
		out, err := output([]string{"EVE_WORKERS=3"}, "sh", "-c", "ulimit -v 400000; exec "+program+
			" workers")
		if err != nil || !strings.Contains(out, "3 workers") {
			t.Errorf("got %v and %q, want 3 workers", err, out)
		}
	})
	for _, c := range []struct {
		name   string
		env    string
		status int
		want   string // a regular expression
	}{
		{"loose", "", 1,
			`(?s)chat\.eve:12: no such room.*it held .*file 0x[0-9a-f]+ to write.*flushed`},
		{"contained", "", 0, `(?s)^file 1 closes\nand on with 1\nflushed\n$`},
		{"deep", "", 1, `^eve: stack overflow: a task calls itself too deeply\n$`},
		{"wide", "", 1, `^eve: too many tasks in one finish\n$`},
		{"long", "EVE_BUDGET=0.2", 1, `chat\.eve:12: the time budget of the task is used up`},
		{"stopped", "EVE_BUDGET=4", 0, `^in time\nflushed\n$`},
		{"trace", "EVE_TRACE=1", 0,
			`(?s)holds .*file 0x[0-9a-f]+ to write.*waits for .*file 0x[0-9a-f]+ to read`},
		{"workers", "EVE_WORKERS=3", 0, `3 workers`},
		{"leave", "", 7, `^flushed\n$`},
		{"inline", "", 0, `(?s)file 1\nfree: 1\nheld: 0\nfile 1\ngiven back: 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := output([]string{"EVE_WORKERS=2", c.env}, program, c.name)
			if status(err) != c.status || !regexp.MustCompile(c.want).MatchString(out) {
				t.Errorf("got %v and %q, want status %d and %s", err, out, c.status, c.want)
			}
		})
	}
}
