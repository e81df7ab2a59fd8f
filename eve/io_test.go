package eve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"interleave/eve/build"
	"interleave/eve/emit"
)

// A server is one of the programs of runtime/test/io_*.cpp under test.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	said  chan string
	err   words
	addr  string
	exact bool // its memory use is not changed by a sanitizer
}

// words collects the standard error of a program.
type words struct {
	mu   sync.Mutex
	text []byte
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	return len(p), nil
}

// last is the end of it.
func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%q", w.text[max(0, len(w.text)-3000):])
}

// buildProgram compiles runtime/test/NAME.cpp as the compiler's output is compiled. Files that
// have not changed come from the cache.
func buildProgram(t *testing.T, name, sanitize string) string {
	t.Helper()
	check, err := os.ReadFile("runtime/test/io_check.hpp")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("runtime/test", name+".cpp"))
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Replace(string(text), "#include \"io_check.hpp\"\n",
		strings.TrimPrefix(string(check), "#pragma once\n"), 1)
	program, err := build.Build(context.Background(),
		[]emit.Unit{{Module: name, Name: name + ".cpp", Text: whole}},
		build.Options{Optimise: true, Sanitize: sanitize})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// start runs a program, which is ended with the test.
func start(t *testing.T, program string, env []string, args ...string) *server {
	t.Helper()
	s := &server{t: t, cmd: exec.Command(program, args...), said: make(chan string, 100000)}
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Stderr = &s.err
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		if said := s.err.last(); t.Failed() && said != `""` {
			t.Logf("%s wrote %s", program, said)
		}
	})
	go func() {
		defer close(s.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.said <- lines.Text()
		}
	}()
	return s
}

// serve starts a server and waits for its port.
func serve(t *testing.T, program string, env []string, args ...string) *server {
	t.Helper()
	if len(args) == 0 {
		args = []string{"0"}
	}
	s := start(t, program, env, args...)
	port, ok := strings.CutPrefix(s.next(), "port ")
	if !ok {
		t.Fatalf("%s did not say its port; its last words: %s", program, s.err.last())
	}
	s.addr = "127.0.0.1:" + port
	return s
}

// next is the next line of the program's output; "" at its end.
func (s *server) next() string {
	s.t.Helper()
	select {
	case line := <-s.said:
		return line
	case <-time.After(patience):
		s.t.Fatalf("the server says nothing for %v; its last words: %s", patience, s.err.last())
		return ""
	}
}

func (s *server) expect(want string) {
	s.t.Helper()
	if got := s.next(); got != want {
		s.t.Fatalf("the server said %q, want %q; its last words: %s", got, want, s.err.last())
	}
}

func (s *server) dial() *net.TCPConn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// terminate sends SIGTERM to the server and holds that it ends with status 0.
func (s *server) terminate() {
	s.t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.exit(0)
}

// exit waits for the end of the program.
func (s *server) exit(want int) {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case err := <-done:
		var status *exec.ExitError
		if err != nil && !errors.As(err, &status) {
			s.t.Fatal(err)
		}
		if got := s.cmd.ProcessState.ExitCode(); got != want {
			s.t.Fatalf("the server ended with %v, want status %d; its last words: %s",
				s.cmd.ProcessState, want, s.err.last())
		}
	case <-time.After(patience):
		s.t.Fatalf("the server does not end in %v; its last words: %s", patience, s.err.last())
	}
}

// descriptors is the number of open descriptors of the server.
func (s *server) descriptors() int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(entries)
}

// residentKiB is the resident memory of the server.
func (s *server) residentKiB() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	s.t.Fatal("no VmRSS")
	return 0
}

// busy is the processor time that the server has used.
func (s *server) busy() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// mustNotSpin holds that the server uses at most half of a processor for a moment. A busy machine
// makes it use less.
func (s *server) mustNotSpin(when string) {
	s.t.Helper()
	before := s.busy()
	time.Sleep(50 * time.Millisecond)
	if used := s.busy() - before; used > 30*time.Millisecond {
		s.t.Errorf("%s it used %v of 50ms", when, used)
	}
}

// sleeps says whether no thread of the server is running or runnable.
func (s *server) sleeps() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		state := string(text[strings.LastIndexByte(string(text), ')')+1:])
		if err == nil && !strings.HasPrefix(state, " S ") {
			return false
		}
	}
	return true
}

// eventually waits until the condition holds.
func (s *server) eventually(what string, so func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("in %v it did not come to this: %s; the server's last words: %s", patience,
				what, s.err.last())
		}
	}
}

func mustWrite(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("got %q (%v), want %q", got[:n], err, want)
	}
}

// mustEnd holds that the input ends without further bytes.
func mustEnd(t *testing.T, r io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Fatalf("got %q (%v), want the end", rest, err)
	}
}

// An ioMode is one way to build and run the programs.
type ioMode struct {
	name     string
	sanitize string
	env      []string
}

// ioModes returns all modes: each reactor on two workers, and on one if no sanitizer was asked
// for.
func ioModes(t *testing.T) []ioMode {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("the runtime's tests are C++, and there is no g++ here")
	}
	reactors := []string{"epoll"}
	if haveRing(t) {
		reactors = append(reactors, "uring")
	}
	var modes []ioMode
	with := *sanitize
	if with == "address" {
		with = "address,undefined"
	}
	for _, reactor := range reactors {
		name := strings.Trim(reactor+"-"+*sanitize, "-")
		env := []string{"EVE_IO=" + reactor, "EVE_WORKERS=2", "UBSAN_OPTIONS=halt_on_error=1"}
		modes = append(modes, ioMode{name, with, env})
		if with == "" {
			modes = append(modes, ioMode{name + "-alone", with, []string{"EVE_IO=" + reactor,
				"EVE_WORKERS=1"}})
		}
	}
	return modes
}

// haveRing says whether io_uring is available.
func haveRing(t *testing.T) bool {
	cmd := exec.Command(buildProgram(t, "io_parts", ""), "after")
	cmd.Env = append(os.Environ(), "EVE_IO=uring")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("only epoll: %s", out)
		return false
	}
	return true
}

// eachMode runs body in all modes, with the program built for each.
func eachMode(t *testing.T, program string, body func(t *testing.T, m ioMode, path string)) {
	for _, m := range ioModes(t) {
		t.Run(m.name, func(t *testing.T) { body(t, m, buildProgram(t, program, m.sanitize)) })
	}
}
