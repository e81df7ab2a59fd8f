package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// TestMain lets the test binary be the engine and the servers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "load":
			os.Exit(load.Main(os.Stdin, os.Stdout))
		case "duet-server":
			os.Exit(duetServer(os.Args[2], os.Args[3]))
		}
	}
	os.Exit(m.Run())
}

// duetServer is an echo server that does something besides: "good" nothing, "slow" computes .2 ms
// for each request, "mortal" ends when it has rested for a moment, "restless" computes while it
// rests, "compiles" so for .15 s of CPU after 150 requests, "lingers" computes for 30 ms after each
// twentieth, beside what it is asked then, "dumb" stops answering after a while,
// "rude" ignores that it is told to end.
func duetServer(kind, port string) int {
	l, err := net.Listen("tcp4", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	var last atomic.Int64
	var served atomic.Int64
	began := time.Now()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go duetClient(c, kind, began, &last, &served)
		}
	}()
	go func() {
		for left := 150; ; {
			at := time.Duration(last.Load())
			rests := at > 0 && time.Since(began)-at > 20*time.Millisecond
			switch {
			case kind == "mortal" && rests && served.Load() > 500:
				os.Exit(3)
			case kind == "restless" && rests, kind == "compiles" && rests && left > 0 &&
				served.Load() > 150:
				spin(time.Millisecond)
				left--
			default:
				time.Sleep(5 * time.Millisecond)
			}
		}
	}()
	fmt.Fprintln(os.Stderr, "ready")
	<-stop
	return map[string]int{"rude": 9}[kind]
}

func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

func duetClient(c net.Conn, kind string, began time.Time, last, served *atomic.Int64) {
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if kind == "slow" {
			spin(200 * time.Microsecond)
		}
		if kind == "dumb" && served.Load() > 200 {
			continue
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
		if served.Add(1)%20 == 0 && kind == "lingers" {
			go spin(30 * time.Millisecond)
		}
		last.Store(int64(time.Since(began)))
	}
}

// aDuet makes a bench, and a block of servers of these kinds.
func aDuet(t *testing.T, l manifest.Load, kinds ...string) (*Local, []*Spec) {
	t.Helper()
	bench := &Local{Exe: []string{os.Args[0], "load"},
		Built: map[*manifest.Model]*toolchain.Built{}}
	l.SizeBytes, l.Pipeline = 16, 1
	var specs []*Spec
	for _, kind := range kinds {
		m := &manifest.Model{Name: kind, Service: "echo", Language: "go", Dir: t.TempDir(),
			Ready: manifest.ReadyLine, Run: []string{os.Args[0], "duet-server", kind, "{port}"}}
		bench.Built[m] = &toolchain.Built{Model: m, Env: os.Environ(), Out: t.TempDir()}
		specs = append(specs, &Spec{Point: manifest.Point{Name: "p", X: math.NaN(), Load: l},
			Protocol: "echo", Model: m, Condition: manifest.Shared, WarmUp: 20 * time.Millisecond,
			Window: 200 * time.Millisecond, Sample: 50 * time.Millisecond})
	}
	return bench, specs
}

// playDuet measures a duet and gives the cells by their model.
func playDuet(t *testing.T, bench *Local, specs []*Spec) map[string]*record.Cell {
	t.Helper()
	var events []bool
	cells, err := bench.Round(t.Context(), specs, 7,
		func(open bool) { events = append(events, open) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(events, []bool{true, false}) || len(cells) != len(specs) {
		t.Fatalf("got windows %v and %d cells", events, len(cells))
	}
	of := map[string]*record.Cell{}
	for i, c := range cells {
		if !c.Duet {
			t.Errorf("the cell of %s does not say that it is of a duet", specs[i].Model.Name)
		}
		of[specs[i].Model.Name] = c
	}
	return of
}

// playAgain is playDuet, again while a right server was too slow for the limits of a load or of a
// stop, as on a machine that gives it no core for a second or two.
func playAgain(t *testing.T, bench *Local, specs []*Spec, right ...string) map[string]*record.Cell {
	t.Helper()
	for end := time.Now().Add(serve.UnhurriedLimit); ; {
		cells := playDuet(t, bench, specs)
		late := func(name string) bool {
			return slices.ContainsFunc(cells[name].Reasons, func(r record.Reason) bool {
				return r.Gate == "errors" && strings.Contains(r.Text, "timeout") ||
					r.Gate == "unclean-end" && strings.Contains(r.Text, "did not end within")
			})
		}
		if !slices.ContainsFunc(right, late) || time.Now().After(end) {
			return cells
		}
	}
}

// instrument leaves out the reasons that a busy machine gives a cell.
func instrument(c *record.Cell) (gates []string) {
	for _, r := range c.Reasons {
		if !slices.Contains(machineGates, r.Gate) && !slices.Contains(consequences, r.Gate) &&
			r.Gate != "rest-cpu" && r.Gate != "overloaded" {
			gates = append(gates, r.Gate+": "+r.Text)
		}
	}
	return gates
}

// unspoilt fails the test if a cell is broken, or void for a reason that no busy machine gives.
func unspoilt(t *testing.T, name string, c *record.Cell) {
	t.Helper()
	if bad := instrument(c); len(bad) > 0 || c.Status == record.Broken {
		t.Errorf("%s: %s %q", name, c.Status, bad)
	}
}

func TestDuet(t *testing.T) {
	bench, specs := aDuet(t, manifest.Load{Shape: manifest.Closed, Connections: 4}, "good", "slow")
	cells := playAgain(t, bench, specs, "good", "slow")
	for name, c := range cells {
		unspoilt(t, name, c)
		if c.Result.Window < 200*time.Millisecond || c.StartUp <= 0 {
			t.Errorf("%s: a window of %v, started in %v", name, c.Result.Window, c.StartUp)
		}
		ends, ok := marks(c)
		if !ok || ends[1].At-ends[0].At != c.Result.Window {
			t.Errorf("%s: the samples are of %v, the window is %v", name, ends[1].At-ends[0].At,
				c.Result.Window)
		}
		if _, ok := c.Server.Mark(sample.MarkIdle); !ok {
			t.Errorf("%s: there is no sample of the idle server", name)
		}
	}
	// .2 ms of a core for each request, whatever else runs
	cpu, ok := cells["slow"].Raw(manifest.CPUPerRequest)
	if !ok || cpu < 150 || cpu > 400 {
		t.Errorf("the slow server is said to use %v µs for each request, want 200 and some", cpu)
	}
	good, _ := cells["good"].Raw(manifest.CPUPerRequest)
	if ratio := cpu / good; !(ratio > 3) {
		t.Errorf("the slow server uses %.2f times the CPU of the good one for each request", ratio)
	}
}

// TestRestDoesNotCount: what a server uses at rest is no cost of its requests. A server that gets
// no core for as long as a rest takes it for one, and computes in its own turn. So one duet of a
// few must show it; were rests counted, all of them would show the contrary.
func TestRestDoesNotCount(t *testing.T) {
	var ratios []float64
	for range 8 {
		bench, specs := aDuet(t, manifest.Load{Shape: manifest.Closed, Connections: 4}, "good",
			"good too", "restless")
		cells := playAgain(t, bench, specs, "good", "good too", "restless")
		for name, c := range cells {
			unspoilt(t, name, c)
		}
		good, _ := cells["good"].Raw(manifest.CPUPerRequest)
		restless, _ := cells["restless"].Raw(manifest.CPUPerRequest)
		if restless < 2*good {
			return
		}
		ratios = append(ratios, restless/good)
	}
	t.Errorf("what a server uses at rest counts for its requests: %.2f times the good one's",
		ratios)
}

// TestRestCPU: a server that works while it rests voids the cells of the others, and not its own.
func TestRestCPU(t *testing.T) {
	bench, specs := aDuet(t, manifest.Load{Shape: manifest.Open, Connections: 2, Rate: 500}, "good",
		"restless")
	cells := playDuet(t, bench, specs)
	found := func(name string) bool {
		return slices.ContainsFunc(cells[name].Reasons,
			func(r record.Reason) bool { return r.Gate == "rest-cpu" })
	}
	if !found("good") || found("restless") {
		t.Errorf("the gates say %v of the server beside a restless one, and %v of that",
			cells["good"].Reasons, cells["restless"].Reasons)
	}
}

// TestSettle: a server that works on after its warm-up, and then rests, is waited for.
func TestSettle(t *testing.T) {
	undisturbedBy(t, "compiles", 400*time.Millisecond, 200*time.Millisecond)
}

// TestCalm: a server that works on after each of its stints is waited for, and takes no time from
// the one beside it.
func TestCalm(t *testing.T) {
	undisturbedBy(t, "lingers", 600*time.Millisecond, 400*time.Millisecond)
}

// undisturbedBy wants a server that works on to take no time from the one beside it. On a busy
// machine it may work for longer, so one duet of a few must show it.
func undisturbedBy(t *testing.T, kind string, warmUp, window time.Duration) {
	t.Helper()
	var reasons []record.Reason
	for range 8 {
		bench, specs := aDuet(t, manifest.Load{Shape: manifest.Open, Connections: 2, Rate: 500},
			"good", kind)
		for _, s := range specs {
			s.WarmUp, s.Window = warmUp, window
		}
		cells := playDuet(t, bench, specs)
		if !slices.ContainsFunc(cells["good"].Reasons,
			func(r record.Reason) bool { return r.Gate == "rest-cpu" }) {
			return
		}
		reasons = append(reasons, cells["good"].Reasons...)
	}
	t.Errorf("the gates say of the server beside one that %s: %v", kind, reasons)
}

// TestDeathInADuet: servers that die at rest, or stop answering, or do not end as they should, lose
// their own cells and no other.
func TestDeathInADuet(t *testing.T) {
	bench, specs := aDuet(t, manifest.Load{Shape: manifest.Closed, Connections: 4}, "good",
		"mortal", "dumb", "rude")
	cells := playAgain(t, bench, specs, "good")
	unspoilt(t, "good", cells["good"])
	for name, want := range map[string]string{"mortal": "died", "dumb": "errors",
		"rude": "unclean-end"} {
		c := cells[name]
		has := slices.ContainsFunc(c.Reasons, func(r record.Reason) bool { return r.Gate == want })
		if !has || c.Status == record.Measured {
			t.Errorf("%s: %s %v, want the gate %s", name, c.Status, c.Reasons, want)
		}
	}
	if text := cells["mortal"].Reasons[0].Text; !strings.Contains(text, "ended with") {
		t.Errorf("a server that died: %q", text)
	}
}

// TestDeathAtRest: a server that ends while others have their turn is told to have rested. One that
// gets no core in its own turn ends there, so one duet of a few must show it.
func TestDeathAtRest(t *testing.T) {
	var texts []string
	for range 8 {
		bench, specs := aDuet(t, manifest.Load{Shape: manifest.Closed, Connections: 4}, "good",
			"mortal")
		c := playDuet(t, bench, specs)["mortal"]
		for _, r := range c.Reasons {
			if c.Status == record.Broken && r == (record.Reason{Gate: "died", Text: "the server " +
				"ended with exit status 3 while it should serve, at rest between its stints"}) {
				return
			}
			texts = append(texts, r.Gate+": "+r.Text)
		}
	}
	t.Errorf("the death of a server at rest is told as %q", texts)
}

// TestServersThatDoNotStart and a load that is not there: no cell is lost but theirs.
func TestServersThatDoNotStart(t *testing.T) {
	bench, specs := aDuet(t, manifest.Load{Shape: manifest.Closed, Connections: 1}, "good", "none",
		"good too")
	bench.Built[specs[1].Model].Model.Run = []string{"/bin/false"}
	cells := playAgain(t, bench, specs, "good", "good too")
	if c := cells["none"]; c.Status != record.Broken {
		t.Errorf("a server that does not start: %s %v", c.Status, c.Reasons)
	}
	for _, name := range []string{"good", "good too"} {
		unspoilt(t, name, cells[name])
	}
	bench.Exe = []string{"/bin/false"}
	for name, c := range playDuet(t, bench, specs) {
		if c.Status != record.Broken {
			t.Errorf("%s without a load: %s %v", name, c.Status, c.Reasons)
		}
	}
}

// TestDuetIsInterrupted ends in time, and leaves no process.
func TestDuetIsInterrupted(t *testing.T) {
	bench, specs := aDuet(t, manifest.Load{Shape: manifest.Closed, Connections: 2}, "good", "slow")
	for _, s := range specs {
		s.Window = time.Hour
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := bench.Round(ctx, specs, 1, func(open bool) {
		if open {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interruption", err)
	}
}
