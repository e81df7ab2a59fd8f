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

// connectFrom connects from an address, and sends nothing.
func connectFrom(t *testing.T, from, to string) *irctest.Client {
	t.Helper()
	local := &net.TCPAddr{IP: net.ParseIP(from)}
	c, err := (&net.Dialer{LocalAddr: local}).Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	return irctest.New(t, c)
}

// connectAdmitted connects a client again and again until it is admitted. The server may still
// count another client that has gone.
func connectAdmitted(t *testing.T, from, to, nick string) *irctest.Client {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		c := connectFrom(t, from, to)
		_, _ = fmt.Fprintf(c, joinTea+"\r\n", nick) // the server may have refused it
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

// expectRefusal connects a client that must be refused, with the reason and nothing else.
func expectRefusal(t *testing.T, from, to, why string) {
	t.Helper()
	heard, err := connectFrom(t, from, to).Rest()
	if want := "ERROR :Closing link: too many connections from " + why +
		"\r\n"; string(heard) != want || err != nil {
		t.Fatalf("one too many from %s hears %q, %v; want %q", from, heard, err, want)
	}
}

// childrenOf returns the server's processes that are not in before: RECV and SEND of a client that
// has connected since.
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

// TestOneAddressKeepsNobodyOut: clients of one address cannot exceed its limit, in whatever state
// they are. Clients of other addresses are admitted. A client that ends, in whatever way, makes
// room for another.
func TestOneAddressKeepsNobodyOut(t *testing.T) {
	m := probetest.One(t, "c-process")
	folder, _ := m.Folder(t, 0)
	server := m.Start(t, folder, "-c", "4") // the last -c counts; glibc takes options after words
	to := address(server)
	const many = "127.0.0.2"
	ann, bob := enter(t, server, "ann"), enter(t, server, "bob")
	open := descriptors(t, server)

	in := connectAdmitted(t, many, to, "in")
	said := connectFrom(t, many, to)
	said.Send("NICK said")
	mute := connectFrom(t, many, to)
	more := connectAdmitted(t, many, to, "more")
	expectRefusal(t, many, to, many)
	said.Send("USER u 0 * :said\r\nJOIN #tea") // an admitted client stays
	said.Expect(" 366 ")
	mute.Close()             // it has no process yet
	processes(t, server, 11) // main, and two for each client that has sent something
	before := server.Group.PIDs()
	last := connectAdmitted(t, many, to, "last")
	for range 50 {
		expectRefusal(t, many, to, many)
	}
	converse(t, ann, bob, 50*time.Millisecond)
	enter(t, server, "cid").Close()
	connectAdmitted(t, "127.0.0.3", to, "dan").Close()
	ann.Expect(":dan!u@127.0.0.3 QUIT")

	kill := func(pid int) {
		// Its process ends when the other one does.
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
		last = connectAdmitted(t, many, to, nick)
		expectRefusal(t, many, to, many)
		ann.Expect(fmt.Sprintf(":%s!u@%s JOIN", nick, many))
	}
	for _, g := range []*irctest.Client{in, said, more, last} {
		g.Send("QUIT")
		g.Expect("ERROR :")
	}
	waitDescriptors(t, server, open)
	converse(t, ann, bob, 50*time.Millisecond)
	(&siege{t: t, server: server}).stop()
	expectReports(t, server.Tail(), many, 4, 50+len(ways))
}

// expectReports checks the server's messages about refused clients. Their numbers must add up, in
// few lines: the first client is reported at once, the others at the end, unless the test takes
// minutes.
func expectReports(t *testing.T, log, from string, each, atLeast int) {
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

// startBare starts c-process without the arguments of its manifest, in the network namespace of
// this thread.
func startBare(t *testing.T, m *probetest.Subject, host string,
	words ...string) (to string, said *output, end func() error) {
	t.Helper()
	folder, _ := m.Folder(t, 0)
	path, port := program(t, m)
	cmd := exec.Command(path, append(words, port, host, folder.Path)...)
	said = &output{ready: make(chan struct{})}
	cmd.Stderr = said
	// The caller has locked its thread.
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

// program returns the path of the model's program, and a free port, which a server of it has had.
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

// output collects the output of a program. Any goroutine may use it.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{} // closed when the program is ready
	heard bool
}

func (q *output) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.text.Write(p)
	if !q.heard && strings.Contains(q.text.String(), "ready\n") {
		q.heard = true
		close(q.ready)
	}
	return len(p), nil
}

func (q *output) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.text.String()
}

// TestWithoutAWord: without -c, 64 clients of one address are admitted, as the man page says. A
// second address has a limit of its own.
func TestWithoutAWord(t *testing.T) {
	runtime.LockOSThread()
	const each = 64
	to, said, end := startBare(t, probetest.One(t, "c-process"), "127.0.0.1")
	for range each {
		connectFrom(t, "127.0.0.2", to)
	}
	expectRefusal(t, "127.0.0.2", to, "127.0.0.2")
	expectRefusal(t, "127.0.0.2", to, "127.0.0.2")
	connectAdmitted(t, "127.0.0.3", to, "ann")
	if err := end(); err != nil {
		t.Error(err)
	}
	expectReports(t, said.String(), "127.0.0.2", each, 2)
}

// TestOneNetworkKeepsNobodyOut: addresses of IPv6 in the same /64 network count as one.
func TestOneNetworkKeepsNobodyOut(t *testing.T) {
	runtime.LockOSThread() // and is never unlocked: the network namespace ends with the thread
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
	to, said, end := startBare(t, m, "::1", "-c", "2")
	connectAdmitted(t, "fd07:0:0:1::1", to, "ann")
	bob := connectAdmitted(t, "fd07:0:0:1:ffff::2", to, "bob")
	expectRefusal(t, "fd07:0:0:1::1", to, "fd07:0:0:1::/64")
	expectRefusal(t, "fd07:0:0:1:ffff::2", to, "fd07:0:0:1::/64")
	connectAdmitted(t, "fd07:0:0:2::1", to, "cid")
	connectAdmitted(t, "::1", to, "dan")
	bob.Send("QUIT")
	connectAdmitted(t, "fd07:0:0:1::1", to, "eve")
	if err := end(); err != nil {
		t.Error(err)
	}
	expectReports(t, said.String(), "fd07:0:0:1::/64", 2, 2)
}

// TestOptionsAreNumbers: an option that is no number must not count as 0, which is no limit.
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
