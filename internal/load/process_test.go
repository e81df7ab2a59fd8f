package load

// The engine as a process, its bounds, and what it must not do while it measures.

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

func loopback(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

func self() []string { return []string{os.Args[0], "load"} }

// TestProcess follows an engine through its stages.
func TestProcess(t *testing.T) {
	p := plan("echo", listen(t, serveEcho), manifest.Load{Shape: manifest.Closed, Connections: 4,
		SizeBytes: 16})
	p.Limit, p.CPUs = patience, []int{0}
	placed := 0
	e, err := Start(context.Background(), self(), p,
		func(c *exec.Cmd) error { placed++; return c.Start() })
	if err != nil {
		t.Fatal(err)
	}
	defer e.cmd.Wait() // whoever places a process waits for it
	defer e.Kill()
	var seen []Stage
	var last Event
	for last.At != Done && last.At != Failed {
		if last, err = e.Next(); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, last.At)
		if last.At == Connected {
			if err := e.Go(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []Stage{Connected, Opened, Closed, Done}
	for i := range want {
		if i >= len(seen) || seen[i] != want[i] {
			t.Fatalf("got stages %v, want %v", seen, want)
		}
	}
	if placed != 1 {
		t.Errorf("the caller's start was called %d times", placed)
	}
	noErrors(t, last.Result)
	e.Kill()
	if _, err := e.Next(); err == nil {
		t.Error("an engine that has ended has a next event")
	}
}

// TestStartFails covers what a controller can meet before any load.
func TestStartFails(t *testing.T) {
	p := goodPlan()
	p.Addr = listen(t, serveEcho)
	if _, err := Start(context.Background(), []string{"/nonexistent"}, p, nil); err == nil {
		t.Error("a command that does not exist was started")
	}
	if _, err := Start(context.Background(), nil, p, nil); err == nil {
		t.Error("no command was started")
	}
	bad := p
	bad.Protocol = ""
	if _, err := Start(context.Background(), self(), bad, nil); err == nil {
		t.Error("a bad plan was started")
	}
	e, err := Start(context.Background(),
		[]string{"/bin/sh", "-c", "read plan; echo trouble >&2; exit 3"}, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Next(); err == nil || !strings.Contains(err.Error(), "exit status 3: trouble") {
		t.Errorf("got %v, want the status and the last words", err)
	}
}

// TestNobodyListens gets the failure in words.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr).AddrPort()
	l.Close()
	for _, shape := range []manifest.Shape{manifest.Closed, manifest.Connect} {
		p := plan("echo", addr, manifest.Load{Shape: shape, Connections: 3, SizeBytes: 16})
		r, err := tryPlan(t, p)
		if r == nil {
			t.Fatal(err)
		}
		if n := r.Errors["connect ECONNREFUSED"]; n != 3 ||
			!strings.Contains(r.FirstFail, "refused") {
			t.Errorf("%s: got %v (%s), want 3 refusals", shape, r.Errors, r.FirstFail)
		}
		if (err != nil) != (shape == manifest.Closed) {
			t.Errorf("%s: got error %v", shape, err)
		}
	}
}

// TestControllerDies closes the engine's standard input, kills it by context, and by signal: it
// is gone at once.
func TestControllerDies(t *testing.T) {
	tests := []struct {
		name string
		die  func(*Engine, context.CancelFunc)
	}{
		{"end of input", func(e *Engine, _ context.CancelFunc) { e.stdin.Close() }},
		{"context", func(_ *Engine, cancel context.CancelFunc) { cancel() }},
		{"SIGTERM", func(e *Engine, _ context.CancelFunc) {
			unix.Kill(e.cmd.Process.Pid, unix.SIGTERM)
		}},
		{"Kill", func(e *Engine, _ context.CancelFunc) { e.Kill() }},
	}
	for _, begun := range []bool{false, true} {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				p := plan("echo", listen(t, serveEcho), manifest.Load{Shape: manifest.Closed,
					Connections: 4, SizeBytes: 16})
				p.Window, p.Limit = patience, 2*patience
				e, err := Start(ctx, self(), p, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer e.Kill()
				if ev, err := e.Next(); err != nil || ev.At != Connected {
					t.Fatal(ev, err)
				}
				if begun {
					e.Go()
					if ev, err := e.Next(); err != nil || ev.At != Opened {
						t.Fatal(ev, err)
					}
				}
				began := time.Now()
				test.die(e, cancel)
				for { // what it still says, until it is gone
					ev, err := e.Next()
					if err != nil {
						break
					}
					if ev.At == Done {
						t.Error("the load says it was done")
					}
				}
				if took := time.Since(began); took > p.Window {
					t.Errorf("the engine ended after %v", took)
				}
			})
		}
	}
}

// TestNoAllocation counts what is allocated while the window is open.
func TestNoAllocation(t *testing.T) {
	// the runtime allocates for each thread that it begins
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	drain := func(c *net.TCPConn) {
		for b := make([]byte, 64<<10); ; {
			if _, err := c.Read(b); err != nil {
				return
			}
		}
	}
	tests := []struct {
		protocol string
		load     manifest.Load
		serve    func(*net.TCPConn)
	}{
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 16, SizeBytes: 16, Pipeline: 4},
			nil},
		{"echo", manifest.Load{Shape: manifest.Open, Connections: 16, SizeBytes: 16, Rate: 20_000,
			Gaps: "exponential"}, nil},
		{"echo", manifest.Load{Shape: manifest.Connect, Connections: 4, SizeBytes: 16}, nil},
		{"sink", manifest.Load{Shape: manifest.Paced, Connections: 16, SizeBytes: 1000, Bits: 8e6},
			drain},
		{manifest.Ping, manifest.Load{Shape: manifest.Pings, Connections: 100, SizeBytes: 56,
			Interval: 5 * time.Millisecond}, nil},
		{manifest.Chat, manifest.Load{Shape: manifest.Fanout, Connections: 16, SizeBytes: 64,
			Members: 16, Senders: 4, Pipeline: 4}, nil},
		{manifest.Transfer, manifest.Load{Shape: manifest.Transfers, Connections: 4,
			SizeBytes: 4096}, nil},
		{manifest.Transfer, manifest.Load{Shape: manifest.Bulk, Connections: 4, Direction: "in"},
			nil},
		{manifest.Transfer, manifest.Load{Shape: manifest.Bulk, Connections: 4, Direction: "out"},
			nil},
	}
	for _, test := range tests {
		t.Run(string(test.load.Shape)+test.load.Direction, func(t *testing.T) {
			var addr netip.AddrPort
			switch {
			case test.serve != nil:
				addr = listen(t, test.serve)
			case test.protocol == manifest.Ping:
				if os.Getuid() != 0 {
					t.Skip("SKIP: a raw socket needs root")
				}
				addr = loopback(0)
			case test.protocol == manifest.Chat:
				addr = loopback(startServer(t, "chat-server"))
			case test.protocol == manifest.Transfer:
				addr = loopback(startServer(t, "transfer-server"))
			default:
				addr = loopback(startEcho(t))
			}
			p := plan(test.protocol, addr, test.load)
			p.Limit = patience
			if test.load.Shape == manifest.Bulk {
				// a request is many kilobytes, each of which is looked at: slow under
				// the race detector
				p.Window = time.Second
			}
			// The runtime and the test's own server allocate a little, whatever the
			// number of requests.
			const others = 50
			quietly(t, "there were a hundred requests", func() bool {
				n, requests := allocations(t, p)
				if n > others {
					t.Errorf("got %d allocations in %d requests, want none", n, requests)
				}
				return requests >= 100
			})
		})
	}
}

// allocations runs a plan and counts what was allocated in its window, and the requests.
func allocations(t *testing.T, p Plan) (mallocs uint64, requests int64) {
	t.Helper()
	var at [2]runtime.MemStats
	e, err := newEngine(p, func(ev Event) {
		switch ev.At {
		case Opened:
			runtime.ReadMemStats(&at[0])
		case Closed:
			runtime.ReadMemStats(&at[1])
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	start := make(chan struct{})
	close(start)
	r, err := e.run(start)
	if err != nil {
		t.Fatal(err)
	}
	noErrors(t, r)
	return at[1].Mallocs - at[0].Mallocs, of(r).Requests
}

// TestManyConnections opens ten thousand, more than a backlog holds, and gets an answer on each.
func TestManyConnections(t *testing.T) {
	const n = 10_000
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < n+100 {
		t.Skipf("needs %d descriptors for each process and the limit is %d: ulimit -n %d", n+100,
			limit.Cur, n+100)
	}
	p := plan("echo", loopback(startEcho(t)), manifest.Load{Shape: manifest.Closed, Connections: n,
		SizeBytes: 16, Requests: 2})
	p.Window, p.Limit, p.Sources = 0, patience, LoopbackSources(n)
	r := runProcess(t, p)
	noErrors(t, r)
	if of(r).Requests != 2*n {
		t.Errorf("got %d replies, want %d", of(r).Requests, 2*n)
	}
}

// TestTooManyConnections is told before any is opened.
func TestTooManyConnections(t *testing.T) {
	p := goodPlan()
	p.Load.Connections = 1 << 20
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur > 1<<20 {
		t.Skip("this machine allows a million descriptors")
	}
	_, err := newEngine(p, func(Event) {})
	if err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("got %v, want the command that raises the limit", err)
	}
}

// TestOverload offers more than the engine itself can send: it must still read, close its window in
// time, and say how much it was late.
func TestOverload(t *testing.T) {
	p := plan("echo", loopback(startEcho(t)), manifest.Load{Shape: manifest.Open, Connections: 64,
		SizeBytes: 16, Rate: 1e6})
	r := runSteady(t, p, runPlan)
	if float64(of(r).Requests) > .9*float64(of(r).Offered) {
		t.Errorf("answered %d of %d: is this machine that fast?", of(r).Requests, of(r).Offered)
	}
	if late := time.Duration(of(r).Late.Quantile(.9)); late < 5*time.Millisecond {
		t.Errorf("got a lateness of %v at p90, want it to show", late)
	}
	if r.Errors[Timeout]+r.Errors[Backlog] != 0 && r.FirstFail == "" {
		t.Errorf("got %v without words", r.Errors)
	}
}

// TestStall is the truth that most load generators miss: a server that stops for 50 of
// every 250 ms.
func TestStall(t *testing.T) {
	p := plan("echo", listen(t, stall(250*time.Millisecond, 50*time.Millisecond)), manifest.Load{
		Shape: manifest.Open, Connections: 32, SizeBytes: 16, Rate: 2000,
	})
	p.Window = time.Second
	quietly(t, "a tenth of the requests waited for less than 30 ms more", func() bool {
		r := runSteady(t, p, runPlan)
		noErrors(t, r)
		// A fifth of the requests wait, evenly from 0 to 50 ms: 10 % wait more than 25.
		p90 := time.Duration(of(r).Latency.Quantile(.9))
		if p90 < 21*time.Millisecond {
			t.Fatalf("got %v at p90, want 25 ms", p90) // what no busy machine explains
		}
		return p90 < 30*time.Millisecond
	})
}

func TestReadPlanBounds(t *testing.T) {
	for _, text := range []string{"", "{}", "x\n", strings.Repeat(" ", maxPlanBytes+10) + "\n",
		"{}\n"} {
		var out strings.Builder
		if got := Main(strings.NewReader(text), &out); got != 1 ||
			!strings.Contains(out.String(), `"at":"failed"`) {
			t.Errorf("%.10q: got status %d, %s", text, got, out.String())
		}
	}
	if got := Main(strings.NewReader("{}\n"), failingWriter{}); got != 1 {
		t.Errorf("a standard output that fails: got status %d", got)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
