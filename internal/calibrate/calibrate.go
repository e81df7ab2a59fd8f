// Package calibrate measures reference servers with a known truth, with the same load engine,
// groups and samplers that measure the others. It reports the laboratory's error on this machine,
// at this time. The trade: a calibration before each run costs eleven seconds. Without it, nothing
// shows that the instrument works here.
package calibrate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"interleave/internal/group"
	"interleave/internal/machine"
	"interleave/internal/record"
)

// A bench is where the checks are made.
type bench struct {
	exe    string // this program: the engine and the reference servers
	server []int  // cores; nil leaves a process where it is
	load   []int
}

func newBench(exe string) bench {
	cpus := machine.UsableCPUs()
	if len(cpus) < 2 {
		return bench{exe: exe}
	}
	last := len(cpus) - 1
	return bench{exe: exe, server: cpus[last-1 : last], load: cpus[last:]}
}

// A check measures one truth. A retry is a second one, made when the first is off.
type check func(ctx context.Context, b bench) (record.Check, error)

// Run makes all checks: the full form, of about half a minute, or the form of seven seconds. A
// check that is off is made once more, for a machine may be disturbed for a moment, and its note
// says so. The error says that a check could not be made at all; the checks' own OK says which
// truth was missed.
func Run(ctx context.Context, exe string, full bool) ([]record.Check, error) {
	checks := []check{
		stallCheck(2 * stallEvery),
		delayCheck(time.Millisecond, 20, 50*time.Millisecond),
		burnCheck(.3, 600*time.Millisecond),
		memoryCheck(64),
	}
	if full {
		checks = []check{
			stallCheck(5 * stallEvery),
			delayCheck(time.Millisecond, 50, 100*time.Millisecond),
			burnCheck(.1, 2*time.Second),
			burnCheck(.3, 2*time.Second),
			burnCheck(.9, 2*time.Second),
			memoryCheck(16),
			memoryCheck(256),
			samplerCheck(100),
			roundTripCheck(time.Second),
		}
	}
	b := newBench(exe)
	done := make([]record.Check, 0, len(checks))
	for _, c := range checks {
		result, err := twice(ctx, b, c)
		if err != nil {
			return done, err
		}
		done = append(done, result)
	}
	return done, nil
}

// twice makes a check, and makes it again if it is off.
func twice(ctx context.Context, b bench, c check) (record.Check, error) {
	first, err := c(ctx, b)
	if ctx.Err() != nil {
		return first, ctx.Err()
	}
	if err == nil && first.OK {
		return first, nil
	}
	second, again := c(ctx, b)
	if ctx.Err() != nil {
		return second, ctx.Err()
	}
	if again != nil {
		return second, again
	}
	what := fmt.Sprintf("the first try gave %.5g %s", first.Measured, first.Unit)
	if err != nil {
		what = "the first try failed: " + err.Error()
	}
	if second.OK {
		what += ": the machine is not quiet"
	}
	second.Note = join(second.Note, what)
	return second, nil
}

func join(notes ...string) string {
	var said []string
	for _, n := range notes {
		if n != "" {
			said = append(said, n)
		}
	}
	return strings.Join(said, "; ")
}

// judge makes the record of a check.
func judge(name, unit string, truth, measured, tolerance float64) record.Check {
	return record.Check{
		Name: name, Unit: unit, Truth: truth, Measured: measured, Tolerance: tolerance,
		OK: math.Abs(measured-truth) <= tolerance,
	}
}

// A server is a reference server that runs.
type server struct {
	group *group.Group
	stdin *os.File
	lines *bufio.Reader
	out   *os.File
	port  uint16
}

// startTime bounds the start of a reference server and its answers. It is a guess: they take some
// milliseconds.
const startTime = 10 * time.Second

// start runs one reference server in a group and waits until it is ready.
func (b bench) start(args ...string) (*server, error) {
	s, err := b.launch(args)
	if err != nil {
		return nil, fmt.Errorf("starting the reference server %s: %w", strings.Join(args, " "), err)
	}
	word, number, _ := strings.Cut(s.say(), " ")
	port, err := strconv.ParseUint(number, 10, 16)
	if word != "ready" || err != nil {
		_ = s.close()
		return nil, fmt.Errorf("the reference server %s did not become ready",
			strings.Join(args, " "))
	}
	s.port = uint16(port)
	return s, nil
}

func (b bench) launch(args []string) (*server, error) {
	g, err := group.New("reference", group.Options{CPUs: b.server, Priority: true})
	if err != nil {
		return nil, err
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	defer stdin.Close()
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), g.Close())
	}
	defer stdout.Close()
	cmd := exec.Command(b.exe, append([]string{"reference"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
	if err := g.Start(cmd); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close(), g.Close())
	}
	return &server{group: g, stdin: in, out: out, lines: bufio.NewReader(out)}, nil
}

// say gives the next line that the server prints; "" if it has ended or takes too long.
func (s *server) say() string {
	if s.out.SetReadDeadline(time.Now().Add(startTime)) != nil {
		return ""
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		return ""
	}
	return strings.TrimSpace(line)
}

// with makes a check from a function that uses one reference server.
func with(args []string, do func(context.Context, bench, *server) (record.Check, error)) check {
	return func(ctx context.Context, b bench) (c record.Check, err error) {
		s, err := b.start(args...)
		if err != nil {
			return c, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		return do(ctx, b, s)
	}
}

func (s *server) close() error {
	return errors.Join(s.stdin.Close(), s.group.Close(), s.out.Close())
}
