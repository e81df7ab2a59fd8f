package chat

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
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

	"interleave/internal/irctest"
	"interleave/internal/probe/probetest"
)

// patience bounds every wait.
const patience = irctest.Patience

// A scarce machine has too little of something. testdata/scarce.c makes the servers of a test see
// such a machine.
type scarce struct {
	t    *testing.T
	file *os.File
}

// The things that may be scarce, in the order of struct scarce.
const (
	forks = iota
	pairs
	clock // the error of the clock in seconds
	refused
	maps
	passed // seconds that the clocks are advanced
	naps   // the longest wait in milliseconds; 0: no limit
	reads  // reads of a file at an offset
	sends  // messages between processes, without waiting
)

const plenty = -1

// scarceFolder is the folder of the library; empty if no test has built it.
var scarceFolder string

// scarceLibrary builds testdata/scarce.c, once for all tests.
var scarceLibrary = sync.OnceValues(func() (path string, err error) {
	if scarceFolder, err = os.MkdirTemp("", "scarce-"); err != nil {
		return "", err
	}
	path = filepath.Join(scarceFolder, "scarce.so")
	if out, err := exec.Command("cc", "-std=c11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra",
		"-Werror", "-o", path, "testdata/scarce.c", "-ldl").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building testdata/scarce.c: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if scarceFolder != "" {
		_ = os.RemoveAll(scarceFolder)
	}
	os.Exit(code)
}

func newScarce(t *testing.T) *scarce {
	if f := flag.Lookup("sanitize"); f.Value.String() != "" {
		t.Skip("SKIP: a sanitizer wants to stand before the C library itself")
	}
	library, err := scarceLibrary()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("SKIP: install gcc for servers that lack processes and have a wrong clock")
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "scarce"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	s := &scarce{t, file}
	for _, what := range []int64{refused, clock, passed, naps} {
		s.set(what, 0)
	}
	for _, what := range []int64{forks, pairs, maps, reads, sends} {
		s.set(what, plenty)
	}
	t.Setenv("SCARCE", file.Name())
	t.Setenv("LD_PRELOAD", library)
	return s
}

func (s *scarce) set(what, value int64) {
	if _, err := s.file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(value)),
		8*what); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scarce) get(what int64) int64 {
	var word [8]byte
	if _, err := s.file.ReadAt(word[:], 8*what); err != nil {
		s.t.Fatal(err)
	}
	return int64(binary.NativeEndian.Uint64(word[:]))
}

// address returns the address of a server.
func address(server *probetest.Server) string {
	return net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
}

// visit connects a client to a server, and sends its first lines.
func visit(t *testing.T, server *probetest.Server, format string, words ...any) *irctest.Client {
	t.Helper()
	c := irctest.Dial(t, address(server))
	c.Send(format, words...)
	return c
}

const joinTea = "NICK %[1]s\r\nUSER u 0 * :%[1]s\r\nJOIN #tea"

// processes waits until the server has that many processes.
func processes(t *testing.T, server *probetest.Server, want int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got := server.Group.PIDs()
		if len(got) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server has the processes %v, want %d", got, want)
		}
	}
}

func descriptors(t *testing.T, server *probetest.Server) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", server.Group.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// startScarce starts c-process on a scarce machine, with ann in #tea.
func startScarce(t *testing.T) (*scarce, *probetest.Server, *irctest.Client) {
	s := newScarce(t)
	m := probetest.One(t, "c-process")
	folder, _ := m.Folder(t, 0)
	server := m.Start(t, folder)
	return s, server, enter(t, server, "ann")
}

// signal sends a signal to every process of the server that has this name.
func signal(t *testing.T, server *probetest.Server, name string, which syscall.Signal) {
	for _, pid := range server.Group.PIDs() {
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil &&
			string(comm) == name+"\n" {
			if err := syscall.Kill(pid, which); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWithoutProcesses: a client that gets no process or no sockets is told so. The others go on,
// and later there is room again.
func TestWithoutProcesses(t *testing.T) {
	s, server, ann := startScarce(t)
	processes(t, server, 3)
	open := descriptors(t, server)
	wants := []struct {
		name       string
		what, left int64
		clients    int
	}{
		{"no process for RECV", forks, 0, 1}, {"none for SEND", forks, 1, 1},
		{"no sockets to RECV", pairs, 0, 1}, {"none to SEND", pairs, 1, 1},
		{"a crowd", forks, 0, 50},
	}
	for n, w := range wants {
		before := s.get(refused)
		s.set(w.what, w.left)
		var crowd []*irctest.Client
		for i := range w.clients {
			crowd = append(crowd, visit(t, server, joinTea, fmt.Sprintf("bob%d", i)))
		}
		for _, bob := range crowd {
			all, err := bob.Rest()
			if err != nil || !strings.HasPrefix(string(all), "ERROR :") ||
				strings.Count(string(all), "\n") != 1 {
				t.Errorf("%s: a client hears %q, %v; want ERROR and the end", w.name, all, err)
			}
		}
		if got := s.get(refused) - before; got != int64(w.clients) {
			t.Errorf("%s: %d were refused, want %d", w.name, got, w.clients)
		}
		ann.Send("PRIVMSG #tea :still here, %s\r\nPING %d", w.name, n)
		ann.Expect(fmt.Sprintf("PONG chat :%d", n))
		s.set(w.what, plenty)
	}
	processes(t, server, 3)
	if got := descriptors(t, server); got != open {
		t.Errorf("main has %d descriptors open, and had %d before anybody was refused", got, open)
	}
	bob := visit(t, server, joinTea, "bob0")
	bob.Expect(" 366 ")
	ann.Expect("bob0!u@127.0.0.1 JOIN #tea")
	bob.Send("PRIVMSG #tea :at last")
	ann.Expect(":at last")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// TestWithoutMemory: main keeps messages that do not fit into the socket to a client's process. If
// there is no memory for them, only that client is disconnected.
func TestWithoutMemory(t *testing.T) {
	s, server, ann := startScarce(t)
	signal(t, server, "chat: send", syscall.SIGSTOP)
	bob := visit(t, server, joinTea, "bob")
	bob.Expect(" 366 ")
	s.set(maps, 0)
	for n := 0; s.get(refused) == 0; n++ {
		if n == 10_000 { // half a megabyte for ann's SEND, which is stopped
			t.Fatal("main has asked for no memory")
		}
		bob.Send("NICK bob%d", n)
		bob.ExpectFunc("the new nick", func(line string) bool {
			return strings.HasSuffix(line, fmt.Sprintf("NICK :bob%d", n))
		})
	}
	ann.ExpectEnd()
	bob.Expect("ann!u@127.0.0.1 QUIT")
	bob.Send("PRIVMSG #tea :alone\r\nPING alone")
	bob.Expect("PONG chat :alone")
	processes(t, server, 3)
	s.set(maps, plenty)
	ann = visit(t, server, joinTea, "ann")
	ann.Expect("PRIVMSG #tea :alone")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// TestReadsFail: if the log cannot be read for a moment, clients wait only for that moment.
func TestReadsFail(t *testing.T) {
	s, server, ann := startScarce(t)
	bob := enter(t, server, "bob")
	s.set(reads, 0)
	ann.Send("PRIVMSG #tea :hello\r\nPING 1")
	for end := time.Now().Add(patience); s.get(refused) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the log was not read")
		}
	}
	s.set(reads, plenty)
	bob.Expect(":hello")
	ann.Expect("PONG chat :1")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// TestSendsFail: RECV waits for main's reply and does not ask again. A client whose reply cannot be
// sent for want of memory is disconnected. Messages of main to other processes wait and are sent
// later.
func TestSendsFail(t *testing.T) {
	s, server, ann := startScarce(t)
	bob := enter(t, server, "bob")
	s.set(sends, 0)
	bob.Send("TOPIC #tea")
	bob.ExpectEnd() // its reply is lost
	s.set(sends, plenty)
	ann.Expect("bob!u@127.0.0.1 QUIT")
	ann.Send("PRIVMSG #tea :still here\r\nPING 1")
	ann.Expect("PONG chat :1")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// TestStoodStill: what a client has said while the server stood still counts, though its time to
// register is over when the server reads it.
func TestStoodStill(t *testing.T) {
	for _, model := range []string{"c-process", "c-epoll"} {
		t.Run(model, func(t *testing.T) {
			s := newScarce(t)
			s.set(naps, 10)
			m := probetest.One(t, model)
			folder, _ := m.Folder(t, 0)
			server := m.Start(t, folder)
			ann := irctest.Dial(t, address(server))
			waitAccepted(t, server)
			pids := server.Group.PIDs()
			signalAll(t, pids, syscall.SIGSTOP)
			for _, pid := range pids {
				waitStopped(t, pid)
			}
			ann.Send(joinTea, "ann")
			s.set(passed, 31)
			signalAll(t, pids, syscall.SIGCONT)
			ann.Expect(" 366 ")
			if err := server.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// signalAll sends a signal to processes. One that has ended meanwhile, such as one of a client that
// has left, needs none.
func signalAll(t *testing.T, pids []int, which syscall.Signal) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, which); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("sending %v to process %d: %v", which, pid, err)
		}
	}
}

// waitStopped waits until a process that was sent SIGSTOP runs no more: it is stopped, or it has
// ended. A parent that is stopped waits for none of its children, so these stay zombies.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) ||
			strings.Contains(string(stat), ") T ") || strings.Contains(string(stat), ") Z ") {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("process %d has not stopped: %q, %v", pid, stat, err)
		}
	}
}

// TestWaitStopped: a process that has ended is not waited for, whether its parent has noticed it or
// not.
func TestWaitStopped(t *testing.T) {
	cmd := exec.Command("cat")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := []int{cmd.Process.Pid}
	signalAll(t, pids, syscall.SIGSTOP)
	waitStopped(t, pids[0])
	signalAll(t, pids, syscall.SIGCONT)
	input.Close()
	waitStopped(t, pids[0]) // it becomes a zombie
	signalAll(t, pids, syscall.SIGSTOP)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	waitStopped(t, pids[0])
	signalAll(t, pids, syscall.SIGCONT)
}

// TestCutOffComesBack: a client that SEND has cut off sees the end of its connection only when main
// has freed its nick.
func TestCutOffComesBack(t *testing.T) {
	s, server, ann := startScarce(t)
	s.set(naps, 10)
	bob := visit(t, server, "NICK bob\r\nPING 1")
	bob.Expect("PONG")
	signal(t, server, "chat: recv", syscall.SIGSTOP)
	s.set(passed, 31)
	bob.Expect("no registration in time")
	visit(t, server, "NICK carl\r\nPING 1").Expect("PONG") // main goes on
	_ = bob.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := bob.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("bob's connection ended before the server let him go: %v", err)
	}
	signal(t, server, "chat: recv", syscall.SIGCONT)
	bob.ExpectEnd()
	again := enter(t, server, "bob")
	again.Send("PRIVMSG #tea :back\r\nPING 2")
	ann.Expect(":back")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// TestClockIsSet: the system's clock gives the times of messages, and nothing else. Setting it
// disconnects no client and loses no message.
func TestClockIsSet(t *testing.T) {
	const hour, year = 3600, 365 * 24 * 3600
	for _, model := range []string{"c-process", "c-epoll"} {
		t.Run(model, func(t *testing.T) {
			s := newScarce(t)
			m := probetest.One(t, model)
			folder, _ := m.Folder(t, 0)
			server := m.Start(t, folder)
			ann, bob := visit(t, server, joinTea, "ann"), visit(t, server, joinTea, "bob")
			bob.Expect(" 366 ")
			ann.Expect(" 366 ")
			s.set(naps, 10)
			begin, mute := time.Now(), visit(t, server, "NICK mute") // it has 30 s to register
			set := []int64{0, hour, 0, year, 0, -hour, -year, 0}
			for n, wrong := range set {
				s.set(clock, wrong)
				if wrong == year || wrong == -year {
					// Servers look for timeouts once a second.
					s.set(passed, s.get(passed)+2)
					time.Sleep(50 * time.Millisecond)
				}
				ann.Send("PRIVMSG #tea :%d\r\nPING %[1]d", n)
				ann.Expect(fmt.Sprintf("PONG chat :%d", n))
				bob.Expect(fmt.Sprintf("PRIVMSG #tea :%d", n))
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Logf("mute was not asked: the machine was too busy, %v", took)
			} else {
				mute.Send("USER u 0 * :mute")
				mute.Expect(" 001 ")
			}
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
			lines, err := os.ReadFile(filepath.Join(folder.Path, "log"))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range strings.Lines(string(lines)) {
				said, rest, _ := strings.Cut(line, " ")
				at, err := time.Parse("2006-01-02T15:04:05.000Z", said)
				if !strings.HasSuffix(rest, fmt.Sprintf(":%d\n", n)) || err != nil {
					t.Fatalf("line %d of the log is %q (%v)", n, line, err)
				}
				off := time.Until(at.Add(-time.Duration(set[n]) * time.Second)).Abs()
				if off > patience {
					t.Errorf("the clock was wrong by %d s: a message has the time %s, off by %v",
						set[n], said, off)
				}
				n++
			}
			if n != len(set) {
				t.Errorf("the log has %d lines, want %d", n, len(set))
			}
		})
	}
}
