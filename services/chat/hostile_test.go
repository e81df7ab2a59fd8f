package chat

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/internal/probe/probetest"
)

var (
	hostileTime = flag.Duration("hostile", 1500*time.Millisecond,
		"how long TestHostileClients is at each model, at least")
	hostileSeed = flag.Uint64("seed", 0, "of what its clients say; 0: another each time")
)

// hostileClients is how many hostile clients there are at a time.
const hostileClients = 12

// A siege is a server with hostile clients.
type siege struct {
	t      *testing.T
	server *probetest.Server
	seed   uint64
	over   atomic.Bool
	came   atomic.Int64
	lines  atomic.Int64
}

// TestHostileClients: hostile clients send anything, and end in any way. The server must answer
// those that keep to the protocol, serve two other clients without a fault, write a log that can be
// read, and start again from its files.
func TestHostileClients(t *testing.T) {
	seed := *hostileSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	probetest.Each(t, "*", func(t *testing.T, m *probetest.Subject) {
		if !m.Whole() {
			t.Skip("it is not ours, and keeps no log")
		}
		t.Parallel()
		t.Logf("again: go test ./services/chat -run %s -args -seed=%d", t.Name(), seed)
		folder, _ := m.Folder(t, 0)
		s := &siege{t: t, server: m.Start(t, folder), seed: seed}
		ann, bob := enter(t, s.server, "ann"), enter(t, s.server, "bob")
		var clients sync.WaitGroup
		for w := range uint64(hostileClients) {
			clients.Go(func() {
				for script := uint64(0); !s.over.Load() && !t.Failed(); script++ {
					s.attack(w, script)
				}
			})
		}
		end := func() {
			s.over.Store(true)
			clients.Wait()
		}
		defer end()
		said := converse(t, ann, bob, *hostileTime)
		end()
		t.Logf("%d lines of %d clients; %d messages between two others", s.lines.Load(),
			s.came.Load(), said)
		bob.Send("QUIT")
		bob.Expect("ERROR :")
		ann.Send("PRIVMSG #tea :while bob is away\r\nPING away")
		ann.Expect("PONG chat :away")
		s.stop()
		readLog(t, filepath.Join(folder.Path, "log"), said)

		s.server = m.Start(t, folder)
		bob = visit(t, s.server, joinTea, "bob")
		bob.Expect("ann!u@127.0.0.1 PRIVMSG #tea :while bob is away")
		s.stop()
	})
}

func (s *siege) stop() {
	if err := s.server.Stop(); err != nil {
		s.t.Error(err)
	}
	for _, word := range []string{"Sanitizer", "runtime error", "DATA RACE", "panic:", "panicked",
		"CRASH REPORT"} {
		if strings.Contains(s.server.Tail(), word) {
			s.t.Errorf("the server said:\n%s", s.server.Tail())
		}
	}
}

// enter connects a client that is in #tea.
func enter(t *testing.T, server *probetest.Server, nick string) *irctest.Client {
	t.Helper()
	c := visit(t, server, joinTea, nick)
	c.Expect(" 366 ")
	return c
}

// converse makes two clients send messages by turns, each after it has received the other's.
// Neither may miss a message or receive one twice.
func converse(t *testing.T, a, b *irctest.Client, atLeast time.Duration) (said int) {
	t.Helper()
	for end := time.Now().Add(atLeast); time.Now().Before(end); a, b = b, a {
		said++
		a.Send("PRIVMSG #tea :turn %d", said)
		expectTurn(t, b, said)
	}
	return said
}

var turn = regexp.MustCompile(`^:(ann|bob)!u@127\.0\.0\.1 PRIVMSG #tea :turn (\d+)$`)

// expectTurn reads up to the other's next message, which must be this turn.
func expectTurn(t *testing.T, c *irctest.Client, want int) {
	t.Helper()
	lines := c.ExpectFunc(fmt.Sprintf("turn %d", want), turn.MatchString)
	line := lines[len(lines)-1]
	if found := turn.FindStringSubmatch(line); found[2] != strconv.Itoa(want) {
		t.Fatalf("waiting for turn %d: received %q", want, line)
	}
}

// attack is one hostile client. The seed and its numbers decide what it sends.
func (s *siege) attack(worker, script uint64) {
	n := fuzzer{rand.New(rand.NewPCG(s.seed, worker<<32|script))}
	c, err := net.Dial("tcp", address(s.server))
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	e := &receiver{Conn: c, name: fmt.Sprintf("client %d of worker %d", script, worker)}
	if s.came.Add(1); n.odd(5) {
		s.flood(n, e)
	} else {
		s.visit(n, e, worker, script)
	}
	for _, wrong := range e.wrong {
		s.t.Errorf("%s, seed %d: %s", e.name, s.seed, wrong)
	}
}

// flood is a client that sends anything, and expects no answer.
func (s *siege) flood(n fuzzer, e *receiver) {
	heard := e.listen()
	for range n.IntN(100) {
		s.lines.Add(1)
		if n.write(e, n.line()) != nil {
			break // it was disconnected, perhaps for a NUL
		}
	}
	if n.odd(2) {
		_ = e.Conn.(*net.TCPConn).SetLinger(0) // a reset
	}
	e.Close()
	<-heard
}

// visit is a client that registers and sends wrong lines, but none for which a connection is ended.
// It must get its last answer.
func (s *siege) visit(n fuzzer, e *receiver, worker, script uint64) {
	last := "PING still"
	e.want = ":chat PONG chat :still\r\n"
	switch n.IntN(4) {
	case 0:
		last, e.want = "QUIT", "ERROR :"
	case 1:
		last, e.want = "PRIVMSG #tea :a\x00b", "ERROR :"
	}
	heard := e.listen()
	_, err := fmt.Fprintf(e, "NICK h%d_%d\r\nUSER u 0 * :h\r\n", worker, script)
	for range n.IntN(100) {
		s.lines.Add(1)
		if err == nil {
			err = n.write(e, tame(n.line()))
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(e, "\r\n%s\r\n", last)
	}
	if err == nil && n.odd(2) { // it has nothing more to send
		err = e.Conn.(*net.TCPConn).CloseWrite()
	}
	<-heard
	if err != nil || !e.got {
		e.wrong = append(e.wrong, fmt.Sprintf("after %q (%v) it hears %q last, then %v", last, err,
			e.last, e.end))
	}
}

// write writes b in pieces of any size.
func (n fuzzer) write(w io.Writer, b []byte) error {
	for len(b) > 0 {
		some := len(b)
		if n.odd(3) {
			some = 1 + n.IntN(len(b))
		}
		if _, err := w.Write(b[:some]); err != nil {
			return err
		}
		b = b[some:]
	}
	return nil
}

// A receiver checks what a hostile client receives. Every line must be one of IRC, up to the line
// that it wants or the end of the connection.
type receiver struct {
	net.Conn
	name, want string
	got        bool
	last       []byte
	end        error // io.EOF: the connection has ended in order
	wrong      []string
}

func (e *receiver) listen() (done <-chan struct{}) {
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		lines := bufio.NewReader(e)
		for !e.got || e.want == "ERROR :" {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				if cut := len(line) > 0 && e.want != ""; cut ||
					errors.Is(err, os.ErrDeadlineExceeded) {
					e.wrong = append(e.wrong, fmt.Sprintf("%v after %q", err, line))
				}
				e.end = err
				return
			}
			e.look(line)
		}
	}()
	return heard
}

func (e *receiver) look(line []byte) {
	body := line
	if line[0] == '@' {
		_, body, _ = bytes.Cut(line, []byte(" "))
	}
	if len(body) > 512 || !bytes.HasSuffix(body, []byte("\r\n")) ||
		bytes.ContainsAny(body[:len(body)-2], "\r\x00") {
		e.wrong = append(e.wrong, fmt.Sprintf("a line of %d bytes: %q", len(body), body))
	}
	e.last = line
	e.got = e.want != "" && bytes.HasPrefix(line, []byte(e.want))
}

var logged = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z :[^ !]+![^ @]+@[^ ]+ (PRIVMSG|NOTICE|TOPIC) [^ ]+ :[^\r\x00]*\n$`)

// readLog checks the form of the log, and that it has each turn once and in order.
func readLog(t *testing.T, path string, turns int) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := 1
	for line := range bytes.Lines(text) {
		if !logged.Match(line) {
			t.Errorf("the log has the line %q", line)
		}
		if bytes.HasSuffix(line, fmt.Appendf(nil, "@127.0.0.1 PRIVMSG #tea :turn %d\n", next)) {
			next++
		}
	}
	if next != turns+1 {
		t.Errorf("the log has the turns to %d, want %d", next-1, turns)
	}
}
