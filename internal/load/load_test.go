package load

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"interleave/internal/manifest"
)

// TestMain lets the test binary be the engine's process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "load" {
		os.Exit(Main(os.Stdin, os.Stdout))
	}
	if len(os.Args) > 1 && os.Args[1] == "echo-server" {
		os.Exit(echoProcess())
	}
	if len(os.Args) > 1 && os.Args[1] == "transfer-server" {
		os.Exit(transferProcess())
	}
	if len(os.Args) > 1 && os.Args[1] == "chat-server" {
		os.Exit(chatProcess())
	}
	// An engine that waits keeps its processor of Go's scheduler. Here several are in one process
	// with their servers, whatever cores it has.
	runtime.GOMAXPROCS(32)
	os.Exit(m.Run())
}

// runPlan runs a plan in this process.
func runPlan(t testing.TB, p Plan) *Result {
	t.Helper()
	r, err := tryPlan(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// patience is a net: nothing that works comes near it, on any machine.
const patience = 5 * time.Minute

// quietly tries until one try succeeds: another program on the machine can only spoil a figure, and
// has moments in which it does not. A try itself reports errors that no busy machine explains.
func quietly(t testing.TB, want string, try func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end) && !t.Failed(); {
		if try() {
			return
		}
	}
	t.Errorf("in %v there was no try in which %s", patience, want)
}

// finds runs a load against a wrong server until the engine has counted such an error: on a busy
// machine a window may end before the server has done wrong.
func finds(t testing.TB, kind string, run func() (*Result, error)) {
	t.Helper()
	quietly(t, "the engine found "+kind, func() bool {
		r, err := run()
		if r == nil {
			t.Fatal(err)
		}
		found := r.Errors[kind] > 0
		if found && r.FirstFail == "" || !found && len(r.Errors) > 0 {
			t.Errorf("got %v (%q), want %s and its words", r.Errors, r.FirstFail, kind)
		}
		return found
	})
}

// runSteady runs a plan until the machine has let the engine have at least half of its window.
func runSteady(t testing.TB, p Plan, run func(testing.TB, Plan) *Result) *Result {
	t.Helper()
	var r *Result
	quietly(t, "the engine had half of its window", func() bool {
		r = run(t, p)
		return r.Window >= p.Window/2 && of(r).Requests > 0 || len(r.Errors) > 0
	})
	return r
}

func tryPlan(t testing.TB, p Plan) (*Result, error) {
	t.Helper()
	if p.Limit == 0 {
		p.Limit = patience
	}
	e, err := newEngine(p, func(Event) {})
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	start := make(chan struct{})
	close(start)
	return e.run(start)
}

// plan is a short load of a right server, which a busy machine may keep from answering in time.
func plan(protocol string, addr netip.AddrPort, l manifest.Load) Plan {
	p := wrongPlan(protocol, addr, l)
	p.Drain = patience
	return p
}

// wrongPlan is one of a server that may never answer.
func wrongPlan(protocol string, addr netip.AddrPort, l manifest.Load) Plan {
	return Plan{Protocol: protocol, Addr: addr, Load: l, Seed: 7, WarmUp: 20 * time.Millisecond,
		Window: 100 * time.Millisecond}
}

func noErrors(t *testing.T, r *Result) {
	t.Helper()
	if len(r.Errors) > 0 {
		t.Errorf("got errors %v (%s), want none", r.Errors, r.FirstFail)
	}
}

// TestShapes runs every shape that a protocol has against a right server.
func TestShapes(t *testing.T) {
	var value atomic.Uint64
	counterServer := func(t testing.TB) netip.AddrPort {
		value.Store(0)
		return listen(t, serveCounter(&value, countRight))
	}
	echoServer := func(t testing.TB) netip.AddrPort { return listen(t, serveEcho) }
	tests := []struct {
		protocol string
		load     manifest.Load
		cpus     []int
		window   time.Duration
	}{
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 1, SizeBytes: 1}, nil, 0},
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 8, SizeBytes: 16}, nil, 0},
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 8, SizeBytes: 17, Pipeline: 5},
			nil, 0},
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 3, SizeBytes: 1_000_003}, nil,
			0},
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 8, SizeBytes: 16},
			[]int{0, 0, 0}, 0},
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 5, SizeBytes: 16,
			Requests: 300}, nil, -1},
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 5, SizeBytes: 16, Requests: 300,
			Pipeline: 7}, []int{0, 0}, -1},
		{"echo", manifest.Load{Shape: manifest.Open, Connections: 8, SizeBytes: 16, Rate: 2000},
			nil, 0},
		{"echo", manifest.Load{Shape: manifest.Open, Connections: 8, SizeBytes: 16, Rate: 2000,
			Gaps: "exponential"}, []int{0, 0}, 0},
		{"echo", manifest.Load{Shape: manifest.Open, Connections: 1, SizeBytes: 16, Rate: 5000,
			Requests: 400}, nil, -1},
		{"echo", manifest.Load{Shape: manifest.Connect, Connections: 4, SizeBytes: 100}, nil, 0},
		{"echo", manifest.Load{Shape: manifest.Connect, Connections: 4, SizeBytes: 100,
			Requests: 20}, nil, -1},
		{"counter", manifest.Load{Shape: manifest.Closed, Connections: 8, ReadShare: .5}, nil, 0},
		{"counter", manifest.Load{Shape: manifest.Closed, Connections: 8, Pipeline: 16},
			[]int{0, 0}, 0},
		{"counter", manifest.Load{Shape: manifest.Closed, Connections: 2, ReadShare: 1}, nil, 0},
		{"counter", manifest.Load{Shape: manifest.Open, Connections: 2, ReadShare: .2, Rate: 1000},
			nil, 0},
		{"counter", manifest.Load{Shape: manifest.Connect, Connections: 2}, nil, 0},
	}
	for _, test := range tests {
		name := fmt.Sprintf("%s/%s/%dx%d/%d", test.protocol, test.load.Shape, test.load.Connections,
			test.load.SizeBytes, len(test.cpus))
		t.Run(name, func(t *testing.T) {
			server := echoServer
			if test.protocol == "counter" {
				server = counterServer
			}
			p := plan(test.protocol, netip.AddrPort{}, test.load)
			p.CPUs = test.cpus
			if test.window < 0 {
				p.Window = 0
			}
			p.Sources = LoopbackSources(1)
			r := runSteady(t, p, func(t testing.TB, p Plan) *Result {
				p.Addr = server(t)
				return runPlan(t, p)
			})
			noErrors(t, r)
			checkResult(t, &p, r)
		})
	}
}

// checkResult holds what must be true of every result without errors.
func checkResult(t *testing.T, p *Plan, r *Result) {
	t.Helper()
	if of(r).Requests == 0 || of(r).Total < of(r).Requests {
		t.Errorf("got %d requests of %d in all", of(r).Requests, of(r).Total)
	}
	if want := p.Load.Requests * int64(p.Load.Connections); want > 0 && of(r).Requests != want {
		t.Errorf("got %d requests, want %d", of(r).Requests, want)
	}
	var sum int64
	for _, n := range r.Slices {
		sum += n
	}
	if sum != of(r).Requests || len(r.Slices) != p.slices() {
		t.Errorf("got %d slices with %d requests, want %d with %d", len(r.Slices), sum, p.slices(),
			of(r).Requests)
	}
	if p.Window > 0 && r.Window < p.Window/2 {
		t.Errorf("got a window of %v, want %v", r.Window, p.Window)
	}
	if r.Threads != max(1, len(p.CPUs)) || r.User+r.System <= 0 {
		t.Errorf("got %d threads that used %v", r.Threads, r.User+r.System)
	}
	if p.Load.Shape == manifest.Open {
		checkOpen(t, p, r)
	}
	if got, want := of(r).Latency != nil, p.Load.Shape == manifest.Open; got != want {
		t.Errorf("got latency: %v, want %v", got, want)
	}
	if got, want := of(r).Late != nil && of(r).Offered > 0, p.Load.Shape == manifest.Open ||
		p.Load.Shape == manifest.Paced; got != want {
		t.Errorf("got lateness: %v, want %v", got, want)
	}
	if p.Load.Shape != manifest.Paced && of(r).Service.Count() == 0 {
		t.Error("got no service times")
	}
}

func checkOpen(t *testing.T, p *Plan, r *Result) {
	t.Helper()
	seen := of(r)
	if n := int64(seen.Latency.Count()); n != seen.Offered ||
		int64(seen.Late.Count()) != seen.Offered {
		t.Errorf("got %d latencies and %d latenesses, want the %d offered", n, seen.Late.Count(),
			seen.Offered)
	}
	want := p.Load.Rate * p.Window.Seconds()
	if p.Load.Requests > 0 {
		want = float64(p.Load.Requests * int64(p.Load.Connections))
	}
	slack := 2.0
	if p.Load.Gaps == "exponential" {
		slack = 6 * 20 // more than six standard deviations of a Poisson count of 200
	}
	if got := float64(seen.Offered); got < want-slack || got > want+slack {
		t.Errorf("got %v requests offered, want %v", got, want)
	}
}

// TestSink holds the bytes that a sink reads to what was sent: lines whole, in order, none lost.
func TestSink(t *testing.T) {
	for _, size := range []int{32, 128, 1250, 70_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var s *lineSink
			// 100/s each
			l := manifest.Load{Shape: manifest.Paced, Connections: 6, SizeBytes: size,
				Bits: float64(size) * 8 * 100}
			p := plan("sink", netip.AddrPort{}, l)
			r := runSteady(t, p, func(t testing.TB, p Plan) *Result {
				s = &lineSink{lines: make(map[string][]string)}
				p.Addr = listen(t, s.serve)
				return runPlan(t, p)
			})
			noErrors(t, r)
			checkResult(t, &p, r)
			if want := 6 * 100 * p.Window.Seconds(); float64(of(r).Offered) < want-1 ||
				float64(of(r).Offered) > want+1 {
				t.Errorf("got %d messages offered, want %v", of(r).Offered, want)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.bytes != of(r).Total*int64(size) {
				t.Errorf("got %d bytes, want %d messages of %d", s.bytes, of(r).Total, size)
			}
			ids := slices.Sorted(maps.Keys(s.lines))
			want := strings.Fields("00000000 00000001 00000002 00000003 00000004 00000005")
			if !slices.Equal(ids, want) {
				t.Errorf("got lines of %v, want %v", ids, want)
			}
			for id, lines := range s.lines {
				for i, line := range lines {
					if want := fmt.Sprintf("%s %012x ", id, i); !strings.HasPrefix(line, want) ||
						len(line) > 4096 {
						t.Fatalf("line %d is %.30q, want it to begin with %q", i, line, want)
					}
				}
			}
		})
	}
}
