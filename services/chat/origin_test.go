package chat

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/internal/probe/probetest"
)

// come connects from an address, and sends nothing.
func come(t *testing.T, from, to string) *irctest.Client {
	t.Helper()
	local := &net.TCPAddr{IP: net.ParseIP(from)}
	c, err := (&net.Dialer{LocalAddr: local}).Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	return irctest.New(t, c)
}

// admitted has a client come until it is let in: who has gone may be there for a moment.
func admitted(t *testing.T, from, to, nick string) *irctest.Client {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		c := come(t, from, to)
		_, _ = fmt.Fprintf(c, enters+"\r\n", nick) // the server may have refused it
		if _, err := c.Await(func(line string) bool {
			return strings.Contains(line, " 366 ")
		}); err == nil {
			return c
		}
		c.Close()
	}
	t.Fatalf("%s is not let in from %s", nick, from)
	return nil
}

// sentAway has a client come that is told why it may not, and nothing else.
func sentAway(t *testing.T, from, to, why string) {
	t.Helper()
	heard, err := come(t, from, to).Rest()
	if want := "ERROR :Closing link: too many connections from " + why +
		"\r\n"; string(heard) != want || err != nil {
		t.Fatalf("one too many from %s hears %q, %v; want %q", from, heard, err, want)
	}
}

// childrenOf are the processes that the server has beside those of before: of one who has come
// since, RECV and SEND.
func childrenOf(t *testing.T, server *probetest.Server, before []int) (recv, send int) {
	t.Helper()
	for _, pid := range server.Group.PIDs() {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		switch {
		case err != nil || slices.Contains(before, pid):
		case string(name) == "chat: recv\n":
			recv = pid
		case string(name) == "chat: send\n":
			send = pid
		}
	}
	if recv == 0 || send == 0 {
		t.Fatalf("the last client has the processes %d and %d", recv, send)
	}
	return recv, send
}

// TestOneAddressKeepsNobodyOut: no more come from one address than its bound, whatever they have
// said so far; all others come in, and whoever goes, in whatever way, leaves its place to the next.
func TestOneAddressKeepsNobodyOut(t *testing.T) {
	m := probetest.One(t, "c-process")
	folder, _ := m.Folder(t, 0)
	server := m.Start(t, folder, "-c", "4") // the last -c counts; glibc takes options after words
	to := address(server)
	const many = "127.0.0.2"
	ann, bob := enter(t, server, "ann"), enter(t, server, "bob")
	open := descriptors(t, server)

	in := admitted(t, many, to, "in")
	said := come(t, many, to)
	said.Send("NICK said")
	mute := come(t, many, to)
	more := admitted(t, many, to, "more")
	sentAway(t, many, to, many)
	said.Send("USER u 0 * :said\r\nJOIN #tea") // who is in stays, and goes on
	said.Expect(" 366 ")
	mute.Close()             // it has no process
	processes(t, server, 11) // main, and two of each who has said something
	before := server.Group.PIDs()
	last := admitted(t, many, to, "last")
	for range 50 {
		sentAway(t, many, to, many)
	}
	converse(t, ann, bob, 50*time.Millisecond)
	enter(t, server, "cid").Close()
	admitted(t, "127.0.0.3", to, "dan").Close()
	ann.Expect(":dan!u@127.0.0.3 QUIT")

	kill := func(pid int) {
		// it goes when the other does
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	ways := []struct {
		name string
		end  func(g *irctest.Client, recv, send int)
	}{
		{"QUIT", func(g *irctest.Client, _, _ int) { g.Send("QUIT") }},
		{"close", func(g *irctest.Client, _, _ int) { g.Close() }},
		{"reset", func(g *irctest.Client, _, _ int) {
			_ = g.Conn.Conn.(*net.TCPConn).SetLinger(0)
			g.Close()
		}},
		{"RECV killed", func(_ *irctest.Client, recv, _ int) { kill(recv) }},
		{"SEND killed", func(_ *irctest.Client, _, send int) { kill(send) }},
		{"both killed", func(_ *irctest.Client, recv, send int) { kill(send); kill(recv) }},
		{"RECV killed while SEND is stopped", func(_ *irctest.Client, recv, send int) {
			if err := syscall.Kill(send, syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			kill(recv)
		}},
	}
	for n, way := range ways {
		processes(t, server, 13)
		recv, send := childrenOf(t, server, before)
		t.Log("the last to come goes: " + way.name)
		way.end(last, recv, send)
		nick := fmt.Sprintf("n%d", n)
		last = admitted(t, many, to, nick)
		sentAway(t, many, to, many)
		ann.Expect(fmt.Sprintf(":%s!u@%s JOIN", nick, many))
	}
	for _, g := range []*irctest.Client{in, said, more, last} {
		g.Send("QUIT")
		g.Expect("ERROR :")
	}
	gone(t, server, open)
	converse(t, ann, bob, 50*time.Millisecond)
	(&siege{t: t, server: server}).stop()
	tellsOfAll(t, server.Tail(), many, 4, 50+len(ways))
}

// tellsOfAll wants lines about those who were sent away that name all of them, and two lines at
// most: the first is told of at once, the others with the end, unless the test takes minutes.
func tellsOfAll(t *testing.T, log, from string, each, atLeast int) {
	t.Helper()
	told := regexp.MustCompile(`(?m)^chat: `+
		regexp.QuoteMeta(from)+fmt.Sprintf(` has %d clients, as many as -c allows: (\d+) sent away$`, each)).FindAllStringSubmatch(log, -1)
	sum := 0
	for _, line := range told {
		n, _ := strconv.Atoi(line[1])
		sum += n
	}
	if sum < atLeast || len(told) < 2 || len(told) > 10 || told[0][1] != "1" {
		t.Errorf("the server tells of %d who were sent away in %d lines, want one of 1 and then "+
			"%d at least, in few:\n%s", sum, len(told), atLeast-1, log)
	}
}

// bare starts c-process as somebody types it, without what its manifest adds, in the network
// of this thread.
func bare(t *testing.T, m *probetest.Subject, host string,
	words ...string) (to string, said *quoted, end func() error) {
	t.Helper()
	folder, _ := m.Folder(t, 0)
	path, port := program(t, m)
	cmd := exec.Command(path, append(words, port, host, folder.Path)...)
	said = &quoted{ready: make(chan struct{})}
	cmd.Stderr = said
	// the caller has locked its thread
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceValue(func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		dead := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer dead.Stop()
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = end() })
	select {
	case <-said.ready:
	case <-time.After(patience):
		t.Fatalf("the server is not ready:\n%s", said)
	}
	return net.JoinHostPort(host, port), said, end
}

// program is where the model's program was built, and a port that is free: what a server of it had.
func program(t *testing.T, m *probetest.Subject) (path, port string) {
	t.Helper()
	folder, _ := m.Folder(t, 0)
	server := m.Start(t, folder)
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", server.Group.PID()))
	if err := errors.Join(err, server.Stop()); err != nil {
		t.Fatal(err)
	}
	return path, strconv.Itoa(server.Port)
}

// quoted is what a program says. Any goroutine may use it.
type quoted struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{} // closed when it says so
	heard bool
}

func (q *quoted) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.text.Write(p)
	if !q.heard && strings.Contains(q.text.String(), "ready\n") {
		q.heard = true
		close(q.ready)
	}
	return len(p), nil
}

func (q *quoted) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.text.String()
}

// TestWithoutAWord: as the man page says, 64 come from one address where nobody has said how many,
// and a second address has places of its own.
func TestWithoutAWord(t *testing.T) {
	runtime.LockOSThread()
	const each = 64
	to, said, end := bare(t, probetest.One(t, "c-process"), "127.0.0.1")
	for range each {
		come(t, "127.0.0.2", to)
	}
	sentAway(t, "127.0.0.2", to, "127.0.0.2")
	sentAway(t, "127.0.0.2", to, "127.0.0.2")
	admitted(t, "127.0.0.3", to, "ann")
	if err := end(); err != nil {
		t.Error(err)
	}
	tellsOfAll(t, said.String(), "127.0.0.2", each, 2)
}

// TestOneNetworkKeepsNobodyOut: of IPv6, a home has 64 bits of addresses, which count as one.
func TestOneNetworkKeepsNobodyOut(t *testing.T) {
	runtime.LockOSThread() // and never back: the thread's network goes with it
	m := probetest.One(t, "c-process")
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		t.Skip("SKIP: run it as root for a network with addresses of IPv6:", err)
	}
	batch := "link set lo up\n"
	for _, a := range []string{"fd07:0:0:1::1", "fd07:0:0:1:ffff::2", "fd07:0:0:2::1"} {
		batch += "address add " + a + "/128 dev lo\n"
	}
	ip := exec.Command("ip", "-batch", "-")
	ip.Stdin = strings.NewReader(batch)
	out, err := ip.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("SKIP: install iproute2 for a network with addresses of IPv6")
	}
	if _, none := os.Stat("/proc/net/if_inet6"); none != nil {
		t.Skip("SKIP: the system has no IPv6")
	}
	if err != nil {
		t.Fatalf("ip: %v\n%s", err, out)
	}
	to, said, end := bare(t, m, "::1", "-c", "2")
	admitted(t, "fd07:0:0:1::1", to, "ann")
	bob := admitted(t, "fd07:0:0:1:ffff::2", to, "bob")
	sentAway(t, "fd07:0:0:1::1", to, "fd07:0:0:1::/64")
	sentAway(t, "fd07:0:0:1:ffff::2", to, "fd07:0:0:1::/64")
	admitted(t, "fd07:0:0:2::1", to, "cid")
	admitted(t, "::1", to, "dan")
	bob.Send("QUIT")
	admitted(t, "fd07:0:0:1::1", to, "eve")
	if err := end(); err != nil {
		t.Error(err)
	}
	tellsOfAll(t, said.String(), "fd07:0:0:1::/64", 2, 2)
}

// TestOptionsAreNumbers: what is not one is not taken for 0, which would lift the bound.
func TestOptionsAreNumbers(t *testing.T) {
	path, _ := program(t, probetest.One(t, "c-process"))
	for _, word := range []string{"", "x", "-1", "+1", " 1", "1x", "99999999999999999999"} {
		out, err := exec.Command(path, "-c", word, "1", "127.0.0.1", t.TempDir()).CombinedOutput()
		want := fmt.Sprintf("chat: -c %s: not a number of clients\n", word)
		if failed := new(exec.ExitError); !errors.As(err, &failed) || failed.ExitCode() != 1 ||
			string(out) != want {
			t.Errorf("chat -c %q says %q, %v; want %q and status 1", word, out, err, want)
		}
	}
}
