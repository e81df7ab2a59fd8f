package load

// Streams: what the engine counts and how late it finds texts, and that it sees what a
// server does wrong.

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

// A streamServer sends a greeting and then texts. Its fields are set before it serves.
type streamServer struct {
	head   string        // "": what should be
	greets time.Duration // so much after the request
	second time.Duration // 0: a second
	late   time.Duration // of each text
	// what is sent of the n-th text; nil: what should be
	frame   func(n int, text string) string
	write   func(c net.Conn, p string) error      // nil: at once
	instead func(c *net.TCPConn, r *http.Request) // of all this
}

const streamHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

func framed(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

func (s *streamServer) serve(c *net.TCPConn) {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	if s.instead != nil {
		s.instead(c, r)
		return
	}
	write := s.write
	if write == nil {
		write = func(c net.Conn, p string) error {
			_, err := io.WriteString(c, p)
			return err
		}
	}
	begin, second, head := time.Now(), s.second, s.head
	if second == 0 {
		second = time.Second
	}
	if head == "" {
		head = streamHead
	}
	time.Sleep(s.greets)
	if write(c, head+framed("Goconntest welcomes you! Your Id: "+r.RequestURI+"\n")) != nil {
		return
	}
	for n := 1; ; n++ {
		time.Sleep(time.Until(begin.Add(time.Duration(n)*second + s.late)))
		text := fmt.Sprintf("Chunk %d for id %s\n", n, r.RequestURI)
		p := framed(text)
		if s.frame != nil {
			p = s.frame(n, text)
		}
		if write(c, p) != nil {
			return
		}
	}
}

func streamPlan(addr netip.AddrPort, n int) Plan {
	p := plan(manifest.Stream, addr, manifest.Load{Shape: manifest.Streams, Connections: n,
		Rate: 1000})
	p.Sources = LoopbackSources(n)
	p.WarmUp, p.Window = 200*time.Millisecond, 2*time.Second
	p.Limit = patience
	return p
}

// The tests of streams wait for the clock: those of a table run at once.
func TestStreams(t *testing.T) {
	t.Parallel()
	var atOnce sync.WaitGroup
	defer atOnce.Wait()
	for _, test := range []struct {
		name   string
		server streamServer
		cpus   []int
	}{
		{"right", streamServer{}, nil},
		{"two threads", streamServer{}, []int{0, 0}},
		{"late greeting", streamServer{greets: 300 * time.Millisecond}, nil},
		{"in pieces", streamServer{write: func(c net.Conn, p string) error {
			for i := range len(p) {
				if _, err := io.WriteString(c, p[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}}, nil},
		{"capitals and zeros", streamServer{
			head: "HTTP/1.1 200\r\nDATE: today\r\nTRANSFER-ENCODING:  Chunked \r\n\r\n",
			frame: func(_ int, text string) string {
				return fmt.Sprintf("00%X\r\n%s\r\n", len(text), text)
			},
		}, nil},
	} {
		atOnce.Go(func() {
			t.Run(test.name, func(t *testing.T) {
				p := streamPlan(listen(t, test.server.serve), 20)
				p.CPUs = test.cpus
				r := runPlan(t, p)
				noErrors(t, r)
				got := of(r)
				var sum int64
				for _, n := range r.Slices {
					sum += n
				}
				if sum != got.Requests || got.Requests == 0 || got.Requests > got.Total {
					t.Errorf("got %d texts, %d in slices, %d in all", got.Requests, sum, got.Total)
				}
				if got.Offered < 20 || got.Offered > 60 ||
					int64(got.Latency.Count()) != got.Offered {
					t.Errorf("got %d latenesses of %d texts due, want one each, of about 40",
						got.Latency.Count(), got.Offered)
				}
				if got.Late.Count() == 0 || got.Late.Count() > uint64(got.Requests)*40 ||
					got.Late.Negative() > 0 {
					t.Errorf("the kernel told of %d arrivals, %d of them after their reading; "+
						"%d texts came", got.Late.Count(), got.Late.Negative(), got.Requests)
				}
				if got := got.Service.Count(); got != 20 {
					t.Errorf("got the time of %d greetings, want 20", got)
				}
			})
		})
	}
}

// TestStreamLateness holds the latenesses against a server that is late by a known time.
func TestStreamLateness(t *testing.T) {
	const late = 150 * time.Millisecond
	quietly(t, "the median lateness was the server's and up to 20 ms more", func() bool {
		r := runPlan(t, streamPlan(listen(t, (&streamServer{late: late}).serve), 10))
		noErrors(t, r)
		// The greeting is later than the server's clock by what it takes to come, which is well
		// below a millisecond.
		got := time.Duration(of(r).Latency.Quantile(.5))
		if got < late-10*time.Millisecond {
			t.Fatalf("got a median lateness of %v, less than the server's %v", got, late)
		}
		return got < late+20*time.Millisecond
	})
}

// TestLateReading holds the engine against one that lets a text wait for a known time. The first
// texts may come unstamped: the kernel begins to look at its clock some time after the first socket
// has asked for it.
func TestLateReading(t *testing.T) {
	const wait = 30 * time.Millisecond
	came := make(chan struct{})
	addr := listen(t, func(c *net.TCPConn) {
		defer close(came)
		for {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello")
			came <- struct{}{}
		}
	})
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	w := lone(t)
	w.measuring = true
	_ = raw.Control(func(fd uintptr) {
		w.conns[0].fd = int32(fd)
		if err := w.stamps.ask(&w.conns[0]); err != nil {
			t.Error(err)
		}
	})
	defer func() { w.conns[0].fd = -1 }()
	for begin := time.Now(); w.late.Count() == 0 && time.Since(begin) < patience; {
		if _, err := c.Write([]byte("?")); err != nil {
			t.Fatal(err)
		}
		<-came
		time.Sleep(wait)
		if n, e := w.receiveStamped(&w.conns[0]); e != 0 || string(w.in[:n]) != "hello" {
			t.Fatalf("read %q, %v", w.in[:n], e)
		}
	}
	if got := time.Duration(w.late.Min()); w.late.Count() != 1 || got < wait-time.Millisecond {
		t.Errorf("got %d waits, of %v, want one of %v at least", w.late.Count(), got, wait)
	}
}

// TestWrongStreams holds the engine against servers of which one text is wrong.
func TestWrongStreams(t *testing.T) {
	t.Parallel()
	var atOnce sync.WaitGroup
	defer atOnce.Wait()
	at := func(which int, then func(text string) string) func(int, string) string {
		return func(n int, text string) string {
			if n == which {
				return then(text)
			}
			return framed(text)
		}
	}
	for _, test := range []struct {
		name   string
		server streamServer
		kind   string
	}{
		{"leaves one out", streamServer{frame: at(2, func(string) string { return "" })},
			WrongReply},
		{"doubles one", streamServer{frame: at(2,
			func(s string) string { return framed(s) + framed(s) })}, WrongReply},
		{"wrong number", streamServer{frame: at(2,
			func(s string) string { return framed(strings.Replace(s, "2", "3", 1)) })}, WrongReply},
		{"wrong id", streamServer{frame: at(1, func(s string) string {
			return framed(strings.Replace(s, "/test/", "/test/1", 1))
		})}, WrongReply},
		{"joins two", streamServer{frame: at(1, func(s string) string {
			return framed(s + strings.Replace(s, "1", "2", 1))
		})}, WrongReply},
		{"joins two, in two writes", streamServer{frame: func(n int, s string) string {
			switch n {
			case 1:
				return fmt.Sprintf("%x\r\n%s", 2*len(s), s)
			case 2:
				return s + "\r\n"
			}
			return framed(s)
		}}, WrongReply},
		{"halves one", streamServer{frame: at(1,
			func(s string) string { return framed(s[:9]) + framed(s[9:]) })}, WrongReply},
		{"wrong size", streamServer{frame: at(1, func(s string) string {
			return fmt.Sprintf("%x\r\n%s\r\n", len(s)-1, s)
		})}, WrongReply},
		{"no end of line", streamServer{frame: at(1,
			func(s string) string { return framed(strings.TrimSuffix(s, "\n")) })}, WrongReply},
		{"no coding", streamServer{frame: at(1, func(s string) string { return s })}, WrongReply},
		{"ends in order", streamServer{frame: at(1, func(string) string { return "0\r\n\r\n" })},
			Ended},
		{"hurries", streamServer{second: 800 * time.Millisecond}, Early},
		{"falls silent", streamServer{frame: func(n int, s string) string {
			if n > 1 {
				return ""
			}
			return framed(s)
		}}, Timeout},
		{"refuses", streamServer{head: "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"}, Refused},
		{"other head", streamServer{head: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"},
			WrongReply},
		{"no HTTP", streamServer{head: "hello\r\n\r\n"}, WrongReply},
		{"endless head", streamServer{head: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70_000)},
			WrongReply},
		{"closes", streamServer{instead: func(*net.TCPConn, *http.Request) {}}, Ended},
		{"resets", streamServer{instead: func(c *net.TCPConn, _ *http.Request) {
			_ = c.SetLinger(0)
		}}, Reset},
		{"greets nobody", streamServer{instead: func(c *net.TCPConn, _ *http.Request) {
			_, _ = io.Copy(io.Discard, c)
		}}, "connect ETIMEDOUT"},
	} {
		atOnce.Go(func() {
			t.Run(test.name, func(t *testing.T) {
				finds(t, test.kind, func() (*Result, error) {
					p := streamPlan(listen(t, test.server.serve), 3)
					p.Drain = 0
					if test.kind == Timeout {
						p.Drain = time.Millisecond // what never comes is not waited for
					}
					return tryPlan(t, p)
				})
			})
		})
	}
}

func TestStreamPlans(t *testing.T) {
	for _, test := range []struct {
		change func(*Plan)
		want   string
	}{
		{func(*Plan) {}, ""},
		{func(p *Plan) { p.Load.Rate = 0 }, "rate is 0 connections a second"},
		{func(p *Plan) { p.Load.Rate = 1e7 }, "at most 1000000"},
		{func(p *Plan) { p.Load.Shape = manifest.Closed }, "protocol stream is loaded by stream"},
		{func(p *Plan) { p.Load.Requests = 5 }, "they have no requests"},
		{func(p *Plan) { p.Load.Pipeline = 2 }, "asked for once"},
		{func(p *Plan) { p.Protocol, p.Load.SizeBytes = "echo", 4 }, "protocol echo is loaded by"},
	} {
		p := streamPlan(netip.MustParseAddrPort("127.0.0.1:1"), 5)
		test.change(&p)
		err := p.Validate()
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// lone makes a thread of one connection that has asked, without a server.
func lone(t testing.TB) *streams {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	p := streamPlan(netip.MustParseAddrPort("127.0.0.1:1"), 1)
	w, err := newWorker(&shared{parts: 1, stopFD: fd, emit: func(Event) {},
		job: independent(newStreams)}, &p, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.poll.close)
	w.conns[0].state = connOpen
	return w.driver.(*streams)
}

// TestStreamDrain: a text that was due in the window and comes after it is waited for.
func TestStreamDrain(t *testing.T) {
	w := lone(t)
	c := &w.conns[0]
	text := func(at time.Duration, text string) {
		w.now = int64(at)
		w.arrived(c, []byte(text))
	}
	const late = 400 * time.Millisecond
	w.measuring, w.openAt, w.closeAt = true, int64(200*time.Millisecond),
		int64(2200*time.Millisecond)
	text(0, streamHead+framed("Goconntest welcomes you! Your Id: /test/0\n"))
	text(time.Second+late, framed("Chunk 1 for id /test/0\n"))
	w.now = w.closeAt
	w.abandon()
	if w.offered != 2 || w.latency.Count() != 1 || w.idle() {
		t.Errorf("at the window's end: got %d texts offered, %d that came, idle: %v; want 2, 1, "+
			"false", w.offered, w.latency.Count(), w.idle())
	}
	text(2*time.Second+late, framed("Chunk 2 for id /test/0\n"))
	if w.latency.Count() != 2 || w.latency.Min() != int64(late) || !w.idle() {
		t.Errorf("got %d latenesses from %v on, idle: %v; want 2 of %v, true", w.latency.Count(),
			time.Duration(w.latency.Min()), w.idle(), late)
	}
}

// TestStreamAllocations: nothing is allocated for a text while the window is open.
func TestStreamAllocations(t *testing.T) {
	w := lone(t)
	c := &w.conns[0]
	w.arrived(c, []byte(streamHead+framed("Goconntest welcomes you! Your Id: /test/0\n")))
	w.measuring, w.openAt, w.closeAt = true, 0, never
	texts := make([][]byte, 1001)
	for i := range texts {
		texts[i] = []byte(framed(fmt.Sprintf("Chunk %d for id /test/0\n", i+1)))
	}
	allocated := testing.AllocsPerRun(1000, func() {
		w.now += secondOfStream
		w.arrived(c, texts[0])
		texts = texts[1:]
	})
	if w.served != 1001 || w.latency.Count() != 1001 || len(w.faults.kinds) > 0 {
		t.Errorf("got %d texts and %d latenesses, want 1001; %v %s", w.served,
			w.latency.Count(), w.faults.kinds, w.faults.first)
	}
	if allocated != 0 {
		t.Errorf("got %v allocations for a text, want none", allocated)
	}
}

// FuzzStream gives what a server sends in parts, and then anything.
func FuzzStream(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add([]byte("17\r\nChunk 3 for id /test/0\n\r\n"), uint8(7))
	f.Add([]byte("0\r\n\r\n"), uint8(200))
	f.Fuzz(func(t *testing.T, more []byte, part uint8) {
		w := lone(t)
		c := &w.conns[0]
		give := func(p []byte) {
			for len(p) > 0 && c.state == connOpen {
				n := min(len(p), max(1, int(part)))
				w.now += 3 * secondOfStream
				w.arrived(c, p[:n])
				p = p[n:]
			}
		}
		give([]byte(streamHead + framed("Goconntest welcomes you! Your Id: /test/0\n") +
			framed("Chunk 1 for id /test/0\n") + framed("Chunk 2 for id /test/0\n")))
		if next := w.clients[0].next; next != 3 || c.state != connOpen {
			t.Fatalf("in parts of %d: text %d is next, want 3; %v %s", part, next, w.faults.kinds,
				w.faults.first)
		}
		give(more)
		if c.state != connOpen && w.faults.first == "" {
			t.Errorf("%q: given up without a fault", more)
		}
	})
}
