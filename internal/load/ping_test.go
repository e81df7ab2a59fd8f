package load

// Pings against the kernel, and in a network namespace whose kernel does not answer against a host
// that answers wrongly.

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

func pingPlan(l manifest.Load) Plan {
	l.Shape = manifest.Pings
	p := wrongPlan(manifest.Ping, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0), l)
	p.Limit = patience
	return p
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIP: a raw socket, and a network namespace, need root")
	}
}

func TestPings(t *testing.T) {
	needRoot(t)
	for _, test := range []struct {
		load manifest.Load
		cpus []int
	}{
		{manifest.Load{Connections: 1, SizeBytes: 56}, nil},
		{manifest.Load{Connections: 50, SizeBytes: 1}, []int{0, 0, 0}},
		{manifest.Load{Connections: 5, SizeBytes: 2000, Requests: 50}, []int{0, 0}},
		{manifest.Load{Connections: 1, SizeBytes: 56, Interval: 5 * time.Millisecond}, nil},
		{manifest.Load{Connections: 300, SizeBytes: 57, Interval: 50 * time.Millisecond},
			[]int{0, 0}},
		{manifest.Load{Connections: 300, SizeBytes: 56, Interval: 20 * time.Millisecond,
			Requests: 5}, nil},
	} {
		t.Run(fmt.Sprintf("%dx%d every %v", test.load.Connections, test.load.SizeBytes,
			test.load.Interval), func(t *testing.T) {
			p := pingPlan(test.load)
			p.CPUs = test.cpus
			if test.load.Requests > 0 {
				p.Window = 0
			}
			r := runSteady(t, p, func(t testing.TB, p Plan) *Result { return runPlan(t, p) })
			noErrors(t, r)
			n := of(r)
			if n.Lost != 0 || n.Requests == 0 || n.Total < n.Requests || n.Service.Count() == 0 {
				t.Errorf("got %d of %d requests, %d lost", n.Requests, n.Total, n.Lost)
			}
			if want := test.load.Requests * int64(test.load.Connections); want > 0 &&
				n.Requests != want {
				t.Errorf("got %d requests, want %d", n.Requests, want)
			}
			if test.load.Interval == 0 {
				if n.Latency != nil || n.Late != nil || n.Offered != 0 {
					t.Error("a flood has a schedule")
				}
				return
			}
			if int64(n.Latency.Count()) != n.Offered || int64(n.Late.Count()) != n.Offered {
				t.Errorf("got %d latencies and %d latenesses, want %d", n.Latency.Count(),
					n.Late.Count(), n.Offered)
			}
			if want := p.pingRate() * p.Window.Seconds(); p.Window > 0 &&
				(float64(n.Offered) < want-2 || float64(n.Offered) > want+2) {
				t.Errorf("got %d pings offered, want %v", n.Offered, want)
			}
		})
	}
}

// island moves the test to a network namespace of its own, in which the kernel does not
// answer pings but answer does: it is given each echo request, after the header of IP, and
// sends what it likes.
func island(t *testing.T, answer func(n int, m []byte, send func([]byte))) {
	t.Helper()
	needRoot(t)
	// never unlocked: the thread and its namespace end with the test's goroutine
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("SKIP: no network namespace to be had: %v", err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIP: install iproute2 for the ip command")
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/icmp_echo_ignore_all", []byte("1"), 0); err != nil {
		t.Skipf("SKIP: the kernel's answers cannot be turned off: %v", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20); err != nil {
		t.Fatal(err)
	}
	tick := unix.Timeval{Usec: 1000}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tick); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	open := true
	// by timers, too, which may go off when the descriptor is another test's
	send := func(m []byte) {
		mu.Lock()
		defer mu.Unlock()
		if open {
			m[0] = echoReply
			unix.Sendto(fd, m, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		}
	}
	go func() {
		defer close(stopped)
		serveIsland(fd, stop, func(n int, m []byte) { answer(n, m, send) })
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		mu.Lock()
		defer mu.Unlock()
		open = false
		unix.Close(fd)
	})
}

func serveIsland(fd int, stop <-chan struct{}, answer func(n int, m []byte)) {
	buf := make([]byte, 2048)
	for n := 0; ; {
		select {
		case <-stop:
			return
		default:
		}
		got, err := unix.Read(fd, buf)
		if err != nil || got < ipv4Header+icmpHeader || buf[ipv4Header] != echoRequest {
			continue
		}
		m := append([]byte(nil), buf[ipv4Header:got]...)
		answer(n, m)
		n++
	}
}

// sum writes the checksum anew.
func sum(m []byte) []byte {
	m[0], m[2], m[3] = echoReply, 0, 0
	binary.BigEndian.PutUint16(m[2:], ^onesSum(m))
	return m
}

// TestWrongPings holds each fault to its kind. One in a hundred answers is wrong.
func TestWrongPings(t *testing.T) {
	l := manifest.Load{Connections: 10, SizeBytes: 56, Interval: 10 * time.Millisecond}
	tests := []struct {
		name  string
		wrong func(m []byte, send func([]byte))
		kind  string // none if empty
	}{
		{"right", func(m []byte, send func([]byte)) { send(sum(m)) }, ""},
		{"a wrong checksum", func(m []byte, send func([]byte)) { sum(m)[3]++; send(m) },
			WrongReply},
		{"a wrong byte", func(m []byte, send func([]byte)) { m[40]++; send(sum(m)) }, WrongReply},
		{"too short", func(m []byte, send func([]byte)) { send(sum(m[:40])) }, WrongReply},
		{"twice", func(m []byte, send func([]byte)) { send(sum(m)); send(m) }, Extra},
		{"a number that nobody sent",
			func(m []byte, send func([]byte)) { m[6] += 90; send(sum(m)) }, Extra},
		{"somebody else's", func(m []byte, send func([]byte)) {
			send(sum(m))
			m[4] += 90 // of an identifier: the filter drops it
			send(sum(m))
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			island(t, func(n int, m []byte, send func([]byte)) {
				if n%100 == 99 {
					test.wrong(m, send)
				} else {
					send(sum(m))
				}
			})
			p := pingPlan(l)
			p.Window = 300 * time.Millisecond
			if test.kind != "" {
				finds(t, test.kind, func() (*Result, error) { return runProcess(t, p), nil })
				return
			}
			noErrors(t, runProcess(t, p))
		})
	}
}

// TestLostPings drops one in ten: they are counted, take a second each, and are no errors.
func TestLostPings(t *testing.T) {
	for _, interval := range []time.Duration{0, 10 * time.Millisecond} {
		t.Run(interval.String(), func(t *testing.T) {
			island(t, func(n int, m []byte, send func([]byte)) {
				if n%10 != 9 {
					send(sum(m))
				}
			})
			p := pingPlan(manifest.Load{Connections: 20, SizeBytes: 56, Interval: interval})
			p.Window = 2500 * time.Millisecond
			// A host that gets no core for a second loses more.
			quietly(t, "a tenth was lost, at a second", func() bool {
				result := runProcess(t, p)
				noErrors(t, result)
				r := of(result)
				told := r.Lost + r.Requests
				share := float64(r.Lost) / float64(told)
				if interval == 0 {
					// Without a schedule, the window may end while every pinger waits out the
					// second of a lost ping that is not told yet.
					if outstanding := int64(p.Load.Connections); r.Lost+outstanding < told/10 {
						t.Errorf("got %d lost of %d, want a tenth of them and of at most %d more",
							r.Lost, told, outstanding)
					}
					return r.Lost > 0
				}
				if share < .08 {
					t.Errorf("got %d lost of %d, want a tenth", r.Lost, told)
				}
				if p95 := time.Duration(r.Latency.Quantile(.95)); p95 < 990*time.Millisecond {
					t.Errorf("got %v at 95 %%, want the lost tenth at a second", p95)
				}
				if int64(r.Latency.Count()) != r.Offered {
					t.Errorf("got %d latencies, want one for each of the %d pings that were due",
						r.Latency.Count(), r.Offered)
				}
				return share <= .12 &&
					time.Duration(r.Latency.Quantile(.5)) <= 900*time.Millisecond
			})
		})
	}
}

// TestLatePings answers after more than lostTime: the answers come, and are no news.
func TestLatePings(t *testing.T) {
	island(t, func(n int, m []byte, send func([]byte)) {
		if n%50 != 49 {
			send(sum(m))
			return
		}
		time.AfterFunc(1300*time.Millisecond, func() { send(sum(m)) })
	})
	p := pingPlan(manifest.Load{Connections: 5, SizeBytes: 56, Interval: 20 * time.Millisecond})
	p.Window = 2 * time.Second
	r := runProcess(t, p)
	noErrors(t, r)
	if of(r).Lost == 0 {
		t.Error("what came after more than a second was not lost")
	}
}

// TestKnownDelay measures a host that answers after 20 ms.
func TestKnownDelay(t *testing.T) {
	const delay = 20 * time.Millisecond
	island(t, func(_ int, m []byte,
		send func([]byte)) {
		time.AfterFunc(delay, func() { send(sum(m)) })
	})
	p := pingPlan(manifest.Load{Connections: 10, SizeBytes: 56, Interval: 50 * time.Millisecond})
	p.Window = 500 * time.Millisecond
	quietly(t, "the median was less than a quarter above the known delay", func() bool {
		r := runProcess(t, p)
		noErrors(t, r)
		p50 := time.Duration(of(r).Latency.Quantile(.5))
		if p50 < delay {
			t.Fatalf("got a median of %v, less than the %v that the host waits", p50, delay)
		}
		return p50 < delay*5/4
	})
}

func TestNobodyIsPinged(t *testing.T) {
	island(t, func(int, []byte, func([]byte)) {})
	p := pingPlan(manifest.Load{Connections: 1, SizeBytes: 56})
	p.Limit = 300 * time.Millisecond
	e, err := Start(t.Context(), []string{os.Args[0], "load"}, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Kill()
	ev, err := e.Next()
	if err != nil || ev.At != Failed || ev.Result == nil ||
		ev.Result.Errors["connect ETIMEDOUT"] != 1 {
		t.Errorf("got %+v, %v; want that nobody answers", ev, err)
	}
}

func TestOnesSum(t *testing.T) {
	m := make([]byte, 100)
	for i := range m {
		m[i] = byte(i * 37)
	}
	for n := range len(m) {
		var want uint32
		for i, b := range m[:n] {
			want += uint32(b) << (8 * (1 - i%2))
		}
		for want>>16 != 0 {
			want = want&0xffff + want>>16
		}
		if got := onesSum(m[:n]); uint32(got) != want {
			t.Errorf("of %d bytes: got %x, want %x", n, got, want)
		}
	}
}

// FuzzReply holds the parser to what comes from the wire: no packet makes it read beyond its end,
// and what it takes has a right checksum.
func FuzzReply(f *testing.F) {
	g := newEchoes(&Plan{Seed: 0x1234, Load: manifest.Load{SizeBytes: 8}}, 0, 1)
	c := &conn{id: 3}
	g.compose(c)
	f.Add(append([]byte{0x45, 19: 0}, sum(append([]byte(nil), g.packet...))...))
	f.Add(append([]byte{0x46, 23: 0}, sum(append([]byte(nil), g.packet...))...))
	f.Add([]byte{0x4f, 27: 0})
	f.Fuzz(func(t *testing.T, p []byte) {
		r, ok := g.parseReply(p)
		if ok && onesSum(p[len(p)-len(r.payload)-icmpHeader:]) != 0xffff {
			t.Error("a wrong checksum was taken")
		}
	})
}
