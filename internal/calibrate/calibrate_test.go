package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
)

// TestMain lets the test binary be the engine and the reference servers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		first()
		switch os.Args[1] {
		case "load":
			os.Exit(load.Main(os.Stdin, os.Stdout))
		case "reference":
			os.Exit(Main(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// first has the threads of this process, and those that they start, run before all threads of
// ordinary programs. The checks hold milliseconds against a known truth, and no instrument can
// measure one on cores that it has to wait for. It needs a privilege: without, a check is made
// again and again, and another program can spoil them all.
func first() {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	priority := int32(1) // struct sched_param of sched_setscheduler(2): the lowest of real time
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), unix.SCHED_RR,
			uintptr(unsafe.Pointer(&priority)))
	}
}

// patience is a net: nothing that works comes near it, on any machine.
const patience = 5 * time.Minute

// TestQuick makes the checks of the short form, whatever they find: TestTruths holds them to their
// truths.
func TestQuick(t *testing.T) {
	checks, err := Run(t.Context(), os.Args[0], false)
	if err != nil {
		t.Fatal(err)
	}
	var units []string
	for _, c := range checks {
		t.Logf("%s: %.5g %s, truth %.5g ± %.3g, ok: %v (%s)", c.Name, c.Measured, c.Unit, c.Truth,
			c.Tolerance, c.OK, c.Note)
		if ok := math.Abs(c.Measured-c.Truth) <= c.Tolerance; ok != c.OK {
			t.Errorf("%s: got %g, ok: %v", c.Name, c.Measured, c.OK)
		}
		units = append(units, c.Unit)
	}
	if want := []string{"ms", "ms", "% of a core", "MiB"}; !slices.Equal(units, want) {
		t.Errorf("got checks in %q, want %q", units, want)
	}
}

// TestTruths measures each kind of reference server until a figure is within its tolerance. Other
// programs can only spoil a figure. The burn is small, so that the server has its share of a core
// on a busy machine, too.
func TestTruths(t *testing.T) {
	for name, try := range map[string]check{
		"stall":  stallCheck(2 * stallEvery),
		"delay":  shortest(time.Millisecond),
		"burn":   burnCheck(.05, 2*time.Second),
		"memory": memoryCheck(16),
	} {
		t.Run(name, func(t *testing.T) {
			if c := quietly(t, try); !c.OK {
				t.Errorf("%s: got %.5g %s in the last try, want %.5g ± %.3g", c.Name, c.Measured,
					c.Unit, c.Truth, c.Tolerance)
			}
		})
	}
}

// shortest is delayCheck by the shortest replies of both servers in place of the middle ones: a
// server that loses its core in the middle of a delay moves a median, but no minimum.
func shortest(delay time.Duration) check {
	args := func(d time.Duration) []string { return []string{"delay", fmt.Sprint(int64(d))} }
	l := manifest.Load{Shape: manifest.Closed, Connections: 1}
	return with(args(delay), func(ctx context.Context, b bench,
		fast *server) (record.Check, error) {
		return with(args(2*delay), func(ctx context.Context, b bench,
			slow *server) (record.Check, error) {
			least := [2]int64{math.MaxInt64, math.MaxInt64}
			for range 10 {
				for i, s := range []*server{fast, slow} {
					_, r, err := b.offer(ctx, s, l, 0, 50*time.Millisecond)
					if err != nil {
						return record.Check{}, err
					}
					least[i] = min(least[i], r.Service.Min())
				}
			}
			return judge("injected delay, by the shortest replies", "ms", ms(int64(delay)),
				ms(least[1]-least[0]), .05*ms(int64(delay))), nil
		})(ctx, b)
	})
}

// quietly makes a check until it holds: another program on the machine can only spoil it.
func quietly(t *testing.T, try check) (c record.Check) {
	t.Helper()
	for end := time.Now().Add(patience); !c.OK && time.Now().Before(end); {
		var err error
		if c, err = try(t.Context(), newBench(os.Args[0])); err != nil &&
			!errors.Is(err, errSpoiled) {
			t.Fatal(err)
		}
	}
	return c
}

func TestSampler(t *testing.T) {
	c := quietly(t, samplerCheck(20))
	if c.Measured <= 0 || !c.OK {
		t.Errorf("got %.3g ms for a look at 20 processes, want at most %g", c.Measured,
			samplerLimit)
	}
}

func TestRoundTrip(t *testing.T) {
	c := quietly(t, roundTripCheck(100*time.Millisecond))
	if c.Measured <= 0 || !c.OK || !strings.Contains(c.Note, "round trips a second") {
		t.Errorf("got %+v", c)
	}
}

// TestTwice follows the second try.
func TestTwice(t *testing.T) {
	failed := errors.New("no port")
	tests := []struct {
		name     string
		measured []float64 // by try; NaN = an error
		tries    int
		ok, err  bool
		note     string
	}{
		{"right at once", []float64{1.01}, 1, true, false, ""},
		{"disturbed once", []float64{1.5, 1}, 2, true, false,
			"the first try gave 1.5 ms: the machine is not quiet"},
		{"wrong", []float64{1.5, 1.25}, 2, false, false, "the first try gave 1.5 ms"},
		{"failed once", []float64{math.NaN(), 1}, 2, true, false,
			"the first try failed: no port: the machine is not quiet"},
		{"failed", []float64{math.NaN(), math.NaN()}, 2, false, true, ""},
		{"off, then failed", []float64{2, math.NaN()}, 2, false, true, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tries := 0
			got, err := twice(t.Context(), bench{}, func(context.Context, bench) (record.Check,
				error) {
				tries++
				if m := test.measured[tries-1]; !math.IsNaN(m) {
					return judge("delay", "ms", 1, m, .02), nil
				}
				return record.Check{}, failed
			})
			if tries != test.tries || got.OK != test.ok || got.Note != test.note ||
				(err != nil) != test.err {
				t.Errorf("got %d tries, %+v, %v; want %d, ok %v, note %q, error %v", tries, got,
					err, test.tries, test.ok, test.note, test.err)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		measured float64
		want     bool
	}{{50, true}, {52, true}, {48, true}, {52.1, false}, {47.9, false}, {3, false},
		{math.NaN(), false}} {
		if c := judge("p95", "ms", 50, test.measured, 2); c.OK != test.want {
			t.Errorf("%v: got %v, want %v", test.measured, c.OK, test.want)
		}
	}
}

// TestLie measures a server that does not do what the check believes.
func TestLie(t *testing.T) {
	lie := with([]string{"memory", "32"}, func(_ context.Context, _ bench, s *server) (record.Check,
		error) {
		return memoryOf(s, 64)
	})
	c, err := twice(t.Context(), newBench(os.Args[0]), lie)
	if err != nil {
		t.Fatal(err)
	}
	if c.OK || math.Abs(c.Measured-32) > 1 || !strings.Contains(c.Note, "the first try") {
		t.Errorf("got %+v, want 32 MiB and a failure", c)
	}
}

func TestStartFails(t *testing.T) {
	tests := []struct {
		exe  string
		args []string
	}{
		{"/nonexistent", []string{"stall"}},
		{os.Args[0], []string{"nothing"}},
		{os.Args[0], []string{"burn", "2"}},
		{os.Args[0], []string{"delay", "-1"}},
	}
	for _, test := range tests {
		b := newBench(test.exe)
		s, err := b.start(test.args...)
		if err == nil {
			s.close()
			t.Errorf("%v started", test.args)
		}
	}
	if _, err := Run(t.Context(), "/nonexistent", false); err == nil ||
		!strings.Contains(err.Error(), "starting the reference server stall") {
		t.Errorf("got %v, want what could not be started", err)
	}
	if err := reference(nil, strings.NewReader(""), os.Stdout); err == nil {
		t.Error("a reference server without a name started")
	}
}

// TestInterrupted ends in time and leaves nothing behind.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(300*time.Millisecond, cancel)
	defer timer.Stop()
	began := time.Now()
	checks, err := Run(ctx, os.Args[0], true)
	if !errors.Is(err, context.Canceled) || len(checks) > 1 {
		t.Errorf("got %v after %d checks, want the interruption", err, len(checks))
	}
	if took := time.Since(began); took > patience {
		t.Errorf("the interruption took %v", took)
	}
}

// TestServerEnds closes a reference server's standard input: it ends by itself.
func TestServerEnds(t *testing.T) {
	for _, kind := range []string{"stall", "delay 0", "burn .1", "memory 1", "crowd 3", "sleeper",
		"pair"} {
		s, err := newBench(os.Args[0]).start(strings.Fields(kind)...)
		if err != nil {
			t.Fatal(err)
		}
		s.stdin.Close()
		select {
		case <-s.group.Exited():
		case <-time.After(patience):
			t.Errorf("%s lives on", kind)
		}
		if err := s.group.Wait(); err != nil {
			t.Errorf("%s ended with %v", kind, err)
		}
		if pids := s.group.PIDs(); len(pids) > 0 {
			t.Errorf("%s left %v", kind, pids)
		}
		s.group.Close()
		s.out.Close()
	}
}
