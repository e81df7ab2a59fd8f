package main

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
)

// A jsonServer is a `papaya serve` each of whose lines on standard error must be an object.
type jsonServer struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	said  map[string]int // messages, and how often
}

// serveJSON starts a server in a folder.
func serveJSON(t *testing.T, program, dir string) *jsonServer {
	t.Helper()
	s := &jsonServer{t: t, lines: make(chan string, 1000), said: map[string]int{}}
	s.cmd = exec.Command(program, "serve", "--config", "papaya.toml")
	s.cmd.Dir = dir
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	go func() { // until the server ends
		defer close(s.lines)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			s.lines <- in.Text()
		}
	}()
	return s
}

// next takes the next line; false: the server has ended.
func (s *jsonServer) next() (message string, ok bool) {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			return "", false
		}
		var r struct {
			Time       time.Time
			Level, Msg string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Time.IsZero() ||
			r.Level == "" || r.Msg == "" {
			s.t.Errorf("a line of the log is %q, %v", line, err)
		}
		s.said[r.Msg]++
		return r.Msg, true
	case <-time.After(patience):
		s.t.Fatal("the server says nothing")
		return "", false
	}
}

// await waits for a message that begins with a text.
func (s *jsonServer) await(begin string) {
	s.t.Helper()
	for {
		message, ok := s.next()
		if !ok {
			s.t.Fatalf("the server has ended without %q", begin)
		}
		if strings.HasPrefix(message, begin) {
			return
		}
	}
}

// end takes what the server still says, and returns how it has ended.
func (s *jsonServer) end() error {
	s.t.Helper()
	for ok := true; ok; {
		_, ok = s.next()
	}
	return s.cmd.Wait()
}

// count returns how many messages begin with a text.
func (s *jsonServer) count(begin string) (n int) {
	for message, times := range s.said {
		if strings.HasPrefix(message, begin) {
			n += times
		}
	}
	return n
}

// TestLogOfJSON: with log.format = "json" each line is an object: at the start, of a handshake that
// fails, of a client that is refused, which is there once, of logins, around a kill, and why a
// server has ended.
func TestLogOfJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	dir := t.TempDir()
	at := func() string { return fmt.Sprintf("127.0.0.1:%d", freeport.For(t)) }
	n := &notified{t: t, dir: dir, program: link(t, dir)}
	irc, web, proxied := at(), at(), at()
	for name, text := range map[string]string{
		"papaya.toml": fmt.Sprintf("[listen]\nplain = []\ntls = [%q]\nweb = [%q]\nproxied = [%q]\n"+
			"trusted = [\"127.0.0.1\"]\n[tls]\ndomains = [\"127.0.0.1\"]\n", irc, web, proxied) +
			patient + "connections_per_address = 1\n[log]\nlevel = \"debug\"\nformat = \"json\"\n",
		"password": "the kettle is on\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := serveJSON(t, n.program, dir)
	s.await("certificate of its own")
	s.await("nobody has an account yet")
	s.await("ready")
	n.run("admin", "account", "add", "ann", "--password-file", "password")

	plain, err := net.Dial("tcp", web)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := io.WriteString(plain, "no record of TLS"); err != nil {
		t.Fatal(err)
	}
	s.await("http: TLS handshake error")
	// The address of a client of a proxy counts, and that of this machine would not.
	first, second := irctest.Dial(t, proxied), irctest.Dial(t, proxied)
	for i, c := range []*irctest.Client{first, second} {
		c.Send("PROXY TCP4 203.0.113.9 127.0.0.1 %d 6667\r\nCAP LS 302", 40000+i)
		if i == 0 {
			c.Expect("CAP * LS")
		}
	}
	second.Expect("ERROR :Too many connections")
	s.await("refused")
	loginOverTLS(t, irc)

	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.end()
	for _, begin := range []string{"nobody has an account yet", "ready",
		"http: TLS handshake error", "refused"} {
		if got := s.count(begin); got != 1 {
			t.Errorf("%q was said %d times, want once", begin, got)
		}
	}

	s = serveJSON(t, n.program, dir)
	s.await("ready")
	loginOverTLS(t, irc)
	other := serveJSON(t, n.program, dir)
	var exit *exec.ExitError
	if err := other.end(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("a second server in one folder has ended with %v", err)
	}
	if other.count("the server has ended") != 1 {
		t.Errorf("it has said %v", other.said)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.end(); err != nil || s.count("the server has ended") != 0 {
		t.Errorf("after SIGTERM: %v, and it has said %v", err, s.said)
	}
}

// loginOverTLS logs ann in.
func loginOverTLS(t *testing.T, at string) {
	t.Helper()
	c := irctest.DialTLS(t, at, &tls.Config{InsecureSkipVerify: true})
	c.Send("CAP REQ :sasl\r\nNICK ann\r\nUSER ann 0 * :Ann\r\nAUTHENTICATE PLAIN")
	c.Expect("AUTHENTICATE +")
	words := base64.StdEncoding.EncodeToString([]byte("\x00ann\x00the kettle is on"))
	c.Send("AUTHENTICATE %s", words)
	c.Expect(" 903 ")
	c.Send("CAP END")
	c.Expect(" 001 ")
}
