package servers_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A short soak is one of the normal tests; `make soak` runs a long one.
var (
	soakTime = flag.Duration("soak", 0,
		"how long clients come and go at each server, at least")
	soakConnections = flag.Int("connections", 0, "how many connections each server sees, at "+
		"least; 0: 2000, whose memory shows what grows, or 600 with a sanitizer, which sees each "+
		"leak and each race by itself")
)

const (
	// visitors is the number of clients at a time.
	visitors = 16
	// sampleEvery is the number of connections between two samples of a server's memory.
	sampleEvery = 50
)

// A subject is a server to soak: its program and how its clients talk.
type subject struct {
	name string
	file string // below eve/
	talk func(v *visit) error
	ask  []byte // a request for more output than a leaving client will read
}

var subjects = []subject{
	{"echo", "../services/echo/eve-task/echo.eve", talkEcho, repeat(".", 64<<10)},
	{"broadcast", "testdata/server/broadcast.eve", talkBroadcast, repeat(".", 8<<10)},
	{"counter", "../services/counter/eve-task/counter.eve", talkCounter, repeat("\x01\x00", 1<<9)},
	{"rooms", "testdata/server/rooms.eve", talkRooms, repeat("all\n....\n", 1<<10)},
	{"http", "testdata/server/http.eve", talkHTTP,
		[]byte(get("/large") + get("/large") + get("/events"))},
	{"websocket", "testdata/server/websocket.eve", talkWebSocket, []byte(handshake("/") +
		strings.Repeat(masked(last|opText, strings.Repeat("x", 8<<10)), 64))},
}

// Clients come and go, many at a time, and leave in all the ways there are. Meanwhile the server's
// memory does not grow. Afterwards it has no descriptor too many, still serves, ends by SIGTERM
// with status 0 and, with -sanitize=address, has no leak.
func TestSoak(t *testing.T) {
	for _, s := range subjects {
		for _, reactor := range []string{"epoll", "uring"} {
			t.Run(s.name+"-"+reactor, func(t *testing.T) {
				t.Parallel()
				soak(t, s, reactor)
			})
		}
	}
}

func soak(t *testing.T, s subject, reactor string) {
	needReactor(t, reactor)
	exe := optimised(t, s.name+".eve", withEnd(readText(t, s.file)))
	p := startServer(t, exe, reactor)
	h := &house{subject: s, port: p.port()}
	before := p.descriptors()
	memory := h.fill(t, p)

	last := &visit{house: h}
	left := 0
	p.eventually("no descriptor is left over", func() bool {
		// a message to all shows the server which clients have vanished
		if err := last.stay(leaveByEnd); err != nil {
			t.Fatalf("a client after all others, with %d descriptors left over: %v", left, err)
		}
		left = p.descriptors() - before
		return left <= 0
	})
	p.mustEndClean()
	t.Logf("%d connections in %v: %v", h.seen.Load(), memory.span().Round(time.Millisecond), memory)
	if *sanitize == "" {
		memory.mustBeFlat(t)
	}
}

// leaky is a server that leaks two objects with each connection, whose handles form a cycle.
const leaky = `import io.socket.*
type link:
    to: vector<link@>
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) void:
            client: socket@ = c()
            on client data: client.write_buffer(client.read_buffer())
            a, b: link@
            a.to.push(b)
            b.to.push(a)
`

// The soak finds leaks: by the sanitizer at the end, or else in the memory.
func TestSoakNotices(t *testing.T) {
	t.Parallel()
	p := startServer(t, optimised(t, "leaky.eve", withEnd(leaky)), "epoll")
	h := &house{subject: subjects[0], port: p.port()}
	memory := h.fill(t, p)
	if *sanitize == "" {
		if grown, allowed := memory.growth(); grown < float64(memory.seen())*64/1024 {
			t.Errorf("two objects for each of %d connections look like %.0f KiB (%.0f are allowed)",
				memory.seen(), grown, allowed)
		}
	}
	p.signal(syscall.SIGTERM)
	if *sanitize == "address" {
		p.mustExit(1)
		if !strings.Contains(p.err.String(), "LeakSanitizer: detected memory leaks") {
			t.Errorf("it said %q", p.err.String())
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var mainBody = regexp.MustCompile(`(?m)^main:.*\n( +)`)

var limited = regexp.MustCompile(`process\.shutdown\(\d+s\)`)

// withEnd makes the server end in order when it is told to. Those of the services do so already,
// but give up after the contract's second, which a busy machine may not give them. These ten
// minutes are longer than patience.
func withEnd(text string) string {
	if strings.Contains(text, "on process.signals terminate") {
		return limited.ReplaceAllLiteralString(text, "process.shutdown(600s)")
	}
	indent := mainBody.FindStringSubmatch(text)[1]
	return text + "\n" + indent + "on process.signals terminate: process.shutdown(600s)\n"
}

// A house is a server with all its clients.
type house struct {
	subject
	port   int
	seen   atomic.Int64 // connections so far
	tokens atomic.Int64
	sites  atomic.Int64
}

// enough is the number of connections that each server sees, at least. With a sanitizer each
// visitor leaves in each of the ways about four times.
func enough() int64 {
	switch {
	case *soakConnections > 0:
		return int64(*soakConnections)
	case *sanitize != "":
		return 600
	}
	return 2000
}

// fill makes clients come and go until time and number are reached, and returns the server's
// memory over time.
func (h *house) fill(t *testing.T, p *process) *memory {
	m, enough := &memory{begun: time.Now()}, enough()
	left := make(chan struct{}, visitors)
	var all, watch sync.WaitGroup
	var failed atomic.Bool
	for i := range visitors {
		all.Go(func() {
			v := &visit{house: h, number: i}
			for turn := i; !failed.Load() && !(h.seen.Load() >= enough &&
				time.Since(m.begun) >= *soakTime); turn++ {
				leave := leaves[turn%len(leaves)]
				if err := v.stay(leave); err != nil {
					failed.Store(true)
					t.Errorf("a client that leaves by %s, connection %d: %v", leave.name,
						h.seen.Load(), err)
				}
				left <- struct{}{}
			}
		})
	}
	watch.Go(func() {
		n := 0
		for range left {
			if n++; n%sampleEvery == 0 {
				m.add(h.seen.Load(), p.resident())
			}
		}
	})
	all.Wait()
	close(left)
	watch.Wait()
	if failed.Load() {
		t.FailNow()
	}
	return m
}

// startServer runs a server of two workers, which with -sanitize=address reports that it has
// reached the check for leaks.
func startServer(t *testing.T, exe, reactor string, settings ...string) *process {
	t.Helper()
	settings = append([]string{"EVE_IO=" + reactor, "EVE_WORKERS=2",
		"ASAN_OPTIONS=detect_leaks=1 atexit=1"}, settings...)
	return startWith(t, []string{exe, "0"}, settings...)
}

// atExit is the sanitizer's output when a program reaches its check for leaks.
const atExit = "AddressSanitizer exit stats:"

// mustEndClean ends a server by SIGTERM, and checks that it leaks nothing.
func (p *process) mustEndClean() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
	p.mustBeClean()
}

// mustBeClean checks that a program that has ended looked for leaks, if it was built so.
func (p *process) mustBeClean() {
	p.t.Helper()
	said := p.err.String()
	if *sanitize == "address" && !strings.Contains(said, atExit) {
		p.t.Errorf("it ended without a look for leaks: %s", said)
	}
	if strings.Contains(said, "ERROR: ") || strings.Contains(said, "WARNING: ") {
		p.t.Error(said)
	}
}

// reactors are those that a test has asked for, with the reason why one is not available; empty if
// it is.
var reactors = struct {
	sync.Mutex
	missing map[string]string
}{missing: map[string]string{}}

// needReactor skips a test of io_uring if it is not available.
func needReactor(t *testing.T, reactor string) {
	t.Helper()
	reactors.Lock()
	defer reactors.Unlock()
	why, known := reactors.missing[reactor]
	if !known {
		p := start(t, optimised(t, "empty.eve", "main: () void: pass\n"), "EVE_IO="+reactor)
		<-p.ended
		if !p.cmd.ProcessState.Success() {
			why = fmt.Sprintf("%v: %s", p.cmd.ProcessState, strings.TrimSpace(p.err.String()))
		}
		reactors.missing[reactor] = why
	}
	if why != "" {
		t.Skip(why)
	}
}

// descriptors is the number of open descriptors of the program.
func (p *process) descriptors() int {
	p.t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(entries)
}

// resident is the program's memory in KiB, or 0 when it has ended.
func (p *process) resident() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(f[1])
	return pages * os.Getpagesize() / 1024
}
