package servers_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/ir"
	"interleave/eve/trial"
)

var sanitize = flag.String("sanitize", "",
	"build the programs with this sanitizer: address or thread")

// patience is a time limit that no step of a program comes near, however busy the machine is.
const patience = 5 * time.Minute

// compiled builds the program of a text as `eve run` does. Every fixed port becomes any free one.
func compiled(t testing.TB, name, text string) string {
	t.Helper()
	return made(t, source{name: name, text: text})
}

// onPort makes a program listen on the port that is its first argument. A program with a port in
// its text would be compiled for each.
func onPort(text string) string {
	return strings.ReplaceAll(text, "8080", "(process.args()[0].to_int() else 0)")
}

// optimised builds it as `eve build` does.
func optimised(t *testing.T, name, text string) string {
	t.Helper()
	return made(t, source{name, text, true})
}

// A source is what a program is built from.
type source struct {
	name, text string
	optimised  bool
}

// A program is one that several tests may want. The first of them builds it.
type program struct {
	sync.Mutex
	exe string // empty: nobody has built it so far
}

var programs sync.Map // *program by source

func made(t testing.TB, s source) string {
	t.Helper()
	known, _ := programs.LoadOrStore(s, new(program))
	p := known.(*program)
	p.Lock()
	defer p.Unlock()
	if p.exe == "" { // else the next test tries again, if this one fails here
		checked := trial.Check(t, s.name, strings.ReplaceAll(s.text, "8080", "0"))
		p.exe = trial.Build(t, checked,
			emit.Options{Checked: !s.optimised, Debug: !s.optimised},
			build.Options{Optimise: s.optimised, Sanitize: *sanitize})
	}
	return p.exe
}

// interpreted checks a program that its test runs in the interpreter. There is no sanitizer in it,
// so a run with one leaves the test out.
func interpreted(t testing.TB, name, text string) *ir.Program {
	t.Helper()
	if *sanitize != "" {
		t.Skip("nothing in it is built with a sanitizer: a run without one has this test")
	}
	return trial.Check(t, name, text)
}

// example builds a program of testdata/server, with more statements at the end of its last
// function.
func example(t testing.TB, name string, more ...string) string {
	t.Helper()
	return compiled(t, name+".eve", exampleText(t, name)+strings.Join(more, ""))
}

func exampleText(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../testdata/server", name+".eve"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A process is a running program.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   said
	err   said
	ended chan struct{}
}

// said collects the output of a program.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// start runs a program, which is ended with the test. settings are environment variables.
func start(t *testing.T, exe string, settings ...string) *process {
	t.Helper()
	return begin(t, exec.Command(exe), settings...)
}

// startWith runs a program with arguments.
func startWith(t *testing.T, words []string, settings ...string) *process {
	t.Helper()
	return begin(t, exec.Command(words[0], words[1:]...), settings...)
}

func begin(t *testing.T, cmd *exec.Cmd, settings ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	cmd.Env = append(append(os.Environ(), "TSAN_OPTIONS=halt_on_error=1 exitcode=66"), settings...)
	if cmd.Stdout == nil {
		cmd.Stdout = &p.out
	}
	cmd.Stderr = &p.err
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			out := p.out.String()
			t.Logf("the program's last words: %q, and on standard error:\n%s",
				out[max(0, len(out)-lastWords):], p.err.String())
		}
	})
	return p
}

// lastWords is how many bytes of a program's output a failure shows.
const lastWords = 4 << 10

// mustExit waits for the end and checks the status.
func (p *process) mustExit(status int) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the program does not end; it printed %q", p.out.String())
	}
	if got := p.cmd.ProcessState; got.ExitCode() != status {
		p.t.Fatalf("the program ended with %v, want status %d; it printed %q and %q", got, status,
			p.out.String(), p.err.String())
	}
}

// mustRun checks that the program is still running.
func (p *process) mustRun() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatalf("the program ended: %v, %q", p.cmd.ProcessState, p.err.String())
	default:
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// eventually waits until the condition holds.
func (p *process) eventually(what string, so func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("it did not come to this: %s; the program printed %q and %q", what,
				p.out.String(), p.err.String())
		}
	}
}

// port is the port on which the program listens.
func (p *process) port() int {
	p.t.Helper()
	port := 0
	p.eventually("the program listens", func() bool {
		p.mustRun()
		port = listening(p.t, p.cmd.Process.Pid)
		return port != 0
	})
	// A server listens before it has opened all its descriptors, so they are counted when it is
	// idle.
	p.eventually("the program rests", func() bool {
		p.mustRun()
		return asleep(p.cmd.Process.Pid)
	})
	return port
}

// asleep says whether all threads of a process are waiting.
func asleep(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/stat", pid))
	for _, file := range threads {
		text, _ := os.ReadFile(file)
		// The name in parentheses may contain anything; the state follows it, proc(5).
		_, state, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
		if !strings.HasPrefix(state, "S") {
			return false
		}
	}
	return len(threads) > 0
}

// A peer is a client of the program.
type peer struct {
	*net.TCPConn
	t *testing.T
}

func (p *process) dial(port int) peer {
	p.t.Helper()
	return p.dialBy(net.Dialer{}, port)
}

func (p *process) dialBy(d net.Dialer, port int) peer {
	p.t.Helper()
	c, err := d.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return peer{c.(*net.TCPConn), p.t}
}

func (c peer) say(text string) {
	c.t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// hear reads n bytes.
func (c peer) hear(n int) string {
	c.t.Helper()
	got := make([]byte, n)
	for have := 0; have < n; {
		k, err := c.Read(got[have:])
		if have += k; err != nil {
			c.t.Fatalf("heard %d of %d bytes (%q): %v", have, n, head(string(got[:have])), err)
		}
	}
	return string(got)
}

func (c peer) mustHear(want string) {
	c.t.Helper()
	if got := c.hear(len(want)); got != want {
		c.t.Fatalf("heard %q, want %q", head(got), head(want))
	}
}

// mustEnd checks that the program ends the connection without further output.
func (c peer) mustEnd() {
	c.t.Helper()
	n, err := c.Read(make([]byte, 1))
	if n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("read %d bytes, %v, want the end", n, err)
	}
}

func head(text string) string {
	if len(text) > 200 {
		return text[:200] + "..."
	}
	return text
}
