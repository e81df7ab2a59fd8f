package load

// The instrument against its measure: a C client of a hundred lines, run in turns against
// the same server.

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

// echoProcess is an echo server in a process of its own: one epoll loop, on the first core if there
// is another for the client. It prints its port.
func echoProcess() int {
	runtime.LockOSThread()
	if err := tuneThread(min(0, runtime.NumCPU()-2)); err != nil {
		return fail(err)
	}
	poll, err := newPoller()
	if err != nil {
		return fail(err)
	}
	listener, err := unix.Socket(unix.AF_INET,
		unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	if err := unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fail(err)
	}
	if err := unix.Listen(listener, 4096); err != nil {
		return fail(err)
	}
	name, err := unix.Getsockname(listener)
	if err != nil {
		return fail(err)
	}
	fmt.Println(name.(*unix.SockaddrInet4).Port)
	poll.add(int32(listener), int32(listener), unix.EPOLLIN)
	buf := make([]byte, 64<<10)
	for {
		n, _ := poll.wait(int64(time.Minute))
		for _, ev := range poll.events[:n] {
			if ev.Fd == int32(listener) {
				if fd, _, err := unix.Accept4(listener,
					unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC); err == nil {
					unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
					poll.add(int32(fd), int32(fd), unix.EPOLLIN)
				}
				continue
			}
			m, e := rawRead(ev.Fd, buf)
			if e == 0 && m > 0 {
				_, e = rawWrite(ev.Fd, buf[:m])
			}
			if e != 0 && e != unix.EAGAIN || m == 0 {
				unix.Close(int(ev.Fd))
			}
		}
	}
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// startEcho starts echoProcess and gives its port.
func startEcho(t testing.TB) uint16 { return startServer(t, "echo-server") }

// startServer starts this program as a server that prints its port.
func startServer(t testing.TB, which string) uint16 {
	t.Helper()
	cmd := exec.Command(os.Args[0], which)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return uint16(port)
}

// figures are what is compared of two clients.
type figures struct {
	rate, cpu float64 // round trips/s, us of CPU for each
}

func median(all []figures) figures {
	at := func(of func(figures) float64) float64 {
		var v []float64
		for _, f := range all {
			v = append(v, of(f))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return figures{at(func(f figures) float64 { return f.rate }),
		at(func(f figures) float64 { return f.cpu })}
}

func buildCrosscheck(t testing.TB) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs cc: apt-get install gcc libc6-dev")
	}
	out := filepath.Join(t.TempDir(), "crosscheck")
	build := exec.Command(cc, "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wshadow",
		"-Wconversion", "-Werror",
		"-o", out, "testdata/crosscheck.c")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the C client: %v\n%s", err, text)
	}
	return out
}

const crosscheckWarmUp = 50 * time.Millisecond

func crosscheckC(t testing.TB, exe string, port uint16, connections int,
	window time.Duration) figures {
	t.Helper()
	args := []string{fmt.Sprint(port), fmt.Sprint(connections),
		fmt.Sprint(crosscheckWarmUp.Milliseconds()), fmt.Sprint(window.Milliseconds())}
	out, err := exec.Command(exe, args...).Output()
	if err != nil {
		t.Fatalf("the C client: %v", err)
	}
	var trips, cpu, took float64
	if _, err := fmt.Sscan(string(out), &trips, &cpu, &took); err != nil {
		t.Fatalf("the C client said %q: %v", out, err)
	}
	return figures{trips / took * 1e9, cpu / trips / 1000}
}

// runProcess runs a plan as the laboratory does, in a process of its own.
func runProcess(t testing.TB, p Plan) *Result {
	t.Helper()
	return runCommand(t, p, os.Args[0], "load")
}

func runCommand(t testing.TB, p Plan, command ...string) *Result {
	t.Helper()
	e, err := Start(context.Background(), command, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Kill()
	for {
		ev, err := e.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch ev.At {
		case Connected:
			if err := e.Go(); err != nil {
				t.Fatal(err)
			}
		case Done:
			return ev.Result
		case Failed:
			t.Fatal(ev.Error)
		}
	}
}

func crosscheckGo(t testing.TB, port uint16, connections int, window time.Duration) figures {
	t.Helper()
	p := plan("echo", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port), manifest.Load{
		Shape: manifest.Closed, Connections: connections, SizeBytes: 16,
	})
	p.WarmUp, p.Window, p.Limit = crosscheckWarmUp, window, patience
	r := runProcess(t, p)
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors, r.FirstFail)
	}
	n := float64(of(r).Requests)
	return figures{n / r.Window.Seconds(), float64(r.User+r.System) / n / 1000}
}

// TestCrosscheck asks for a factor of two.
// BenchmarkCrosscheck has the figures.
func TestCrosscheck(t *testing.T) {
	exe, port := buildCrosscheck(t), startEcho(t)
	quietly(t, "the figures were within a factor of two of C's", func() bool {
		var c, ours []figures
		for range 3 {
			c = append(c, crosscheckC(t, exe, port, 64, 100*time.Millisecond))
			ours = append(ours, crosscheckGo(t, port, 64, 100*time.Millisecond))
		}
		m, mc := median(ours), median(c)
		t.Logf("a round trip costs %.2f us here, %.2f us in C; %.0f/s here, %.0f/s in C", m.cpu,
			mc.cpu, m.rate, mc.rate)
		return m.cpu < 2*mc.cpu && m.rate > mc.rate/2
	})
}

// BenchmarkCrosscheck compares on two cores, server and client on their own, when run as
// go test -bench Crosscheck -benchtime 10x ./internal/load
func BenchmarkCrosscheck(b *testing.B) {
	exe, port := buildCrosscheck(b), startEcho(b)
	for _, connections := range []int{1, 64, 256, 1000} {
		b.Run(fmt.Sprint(connections), func(b *testing.B) {
			var c, ours []figures
			for b.Loop() {
				c = append(c, crosscheckC(b, exe, port, connections, 500*time.Millisecond))
				ours = append(ours, crosscheckGo(b, port, connections, 500*time.Millisecond))
			}
			m, mc := median(ours), median(c)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(m.cpu, "us/trip")
			b.ReportMetric(mc.cpu, "us/trip-C")
			b.ReportMetric(m.rate, "trips/s")
			b.ReportMetric(mc.rate, "trips/s-C")
		})
	}
}

// BenchmarkLateness shows how late the engine sends what is due, and what a request costs it
// at a fixed rate.
func BenchmarkLateness(b *testing.B) {
	port := startEcho(b)
	for _, rate := range []float64{2000, 5000, 40_000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			var cpu, p50, p99, service float64
			for b.Loop() {
				p := plan("echo", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"),
					port), manifest.Load{
					Shape: manifest.Open, Connections: 64, SizeBytes: 16, Rate: rate,
					Gaps: "constant",
				})
				p.WarmUp, p.Window, p.Limit = 200*time.Millisecond, time.Second, patience
				p.CPUs = []int{1 % runtime.NumCPU()}
				r := runProcess(b, p)
				cpu += float64(r.User+r.System) / float64(of(r).Requests) / 1000
				p50 += float64(of(r).Late.Quantile(.5)) / 1000
				p99 += float64(of(r).Late.Quantile(.99)) / 1000
				service += float64(of(r).Service.Quantile(.5)) / 1000
			}
			n := float64(b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(cpu/n, "us/request")
			b.ReportMetric(p50/n, "us-late-p50")
			b.ReportMetric(p99/n, "us-late-p99")
			b.ReportMetric(service/n, "us-service-p50")
		})
	}
}
