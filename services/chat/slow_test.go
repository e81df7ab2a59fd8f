package chat

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/internal/probe/probetest"
)

var (
	slowClients = flag.Int("slow", 900,
		"how many clients TestSlowClients has, a third of each kind")
	slowForReal = flag.Bool("clock", false,
		"let TestSlowClients wait for the clock, 4 min for each model and what it takes to "+
			"build, and ask those whose clock cannot be moved")
)

// The protocol's times, with some seconds more, since servers look at the clock now and then.
const (
	toRegister = 32 * time.Second
	toSpeak    = 92 * time.Second
	toAnswer   = 32 * time.Second
)

// The memory that a client may cost a server, in bytes. Promise 7 of the protocol gives the
// numbers. They include serving any client: a line with its tags, what is being sent, one or two
// stacks, and for c-process the pages of two processes (73 KiB, see its design.md).
const (
	aStranger = 128 << 10
	aDeafOne  = aStranger + 1<<20
)

// places is how many clients a model admits, if it has a limit.
var places = map[string]int{"c-process": 4096, "go-goroutine": 10_000}

// TestSlowClients: many clients send nothing, send a byte now and then, or do not read. They must
// not disturb others, must cost little memory, and must be disconnected in time.
func TestSlowClients(t *testing.T) {
	models := []string{"c-process", "c-epoll"}
	if *slowForReal {
		models = []string{"*"}
	}
	for _, pattern := range models {
		pass := func(d time.Duration) { time.Sleep(d) }
		if !*slowForReal {
			s := newScarce(t)
			s.set(naps, 100)
			pass = func(d time.Duration) { s.set(passed, s.get(passed)+int64(d/time.Second)) }
		}
		probetest.Each(t, pattern, func(t *testing.T, m *probetest.Subject) {
			if !m.Whole() {
				t.Skip("it is not ours")
			}
			if *slowForReal {
				t.Parallel()
			}
			many := *slowClients
			if room, ok := places[filepath.Base(t.Name())]; ok {
				many = min(many, room*63/64) // c-process admits no more that are not registered
			}
			folder, _ := m.Folder(t, 0)
			surround(t, m.Start(t, folder), many/3, pass)
		})
	}
}

// surround connects many clients of each kind around two that talk.
func surround(t *testing.T, server *probetest.Server, each int, pass func(time.Duration)) {
	ann, bob := enter(t, server, "ann"), enter(t, server, "bob")
	talk := func() { converse(t, ann, bob, 300*time.Millisecond) }
	talk()
	open := descriptors(t, server)
	costs := func(kind string, most int64, connect func()) {
		began, before := time.Now(), memory(t, server)
		connect()
		waitAccepted(t, server)
		all, end := before, time.Now().Add(patience)
		for more := before; more > all/100; { // until all are served
			if time.Now().After(end) {
				t.Errorf("%s: memory has not settled after %v: %d KiB, %d of them in the last "+
					"moment", kind, patience, all>>10, more>>10)
				break
			}
			talk()
			now := memory(t, server)
			more, all = now-all, now
		}
		one := (all - before) / int64(each)
		t.Logf("%s: %d, each of whom takes %.1f KiB; after %v", kind, each, float64(one)/1024,
			time.Since(began).Round(time.Millisecond))
		if one > most && flag.Lookup("sanitize").Value.String() == "" {
			t.Errorf("%s: each takes %d bytes of memory, want %d at most", kind, one, most)
		}
	}
	for kind, first := range map[string]string{"mute": "", "drips": "NICK "} {
		var b *group
		costs(kind, aStranger, func() { b = crowd(t, server, each, first) })
		b.end()
		waitDescriptors(t, server, open)
	}
	costs("deaf", aDeafOne, func() {
		crowd(t, server, each, joinTea)
		for range each {
			ann.Expect(" JOIN #tea")
			bob.Expect(" JOIN #tea")
		}
		for n := range 1500 { // more than a socket takes, and less than cuts a client off
			ann.Send("PRIVMSG #tea :%0400d", n)
		}
	})
	mute, drip := crowd(t, server, each, ""), crowd(t, server, each, "NICK ")
	waitAccepted(t, server)
	drip.say("x")
	pass(toRegister)
	drip.say("x")
	talk()
	for kind, c := range map[string]*group{"mute": mute, "drips": drip} {
		if left := c.left("ERROR :"); left > 0 {
			t.Errorf("%d of %d clients are there that had not registered in time: %s", left, each,
				kind)
		}
	}
	pass(toSpeak - toRegister)
	talk()        // these two answer PING, but deaf clients do not
	for range 3 { // the clock's leap wakes no server, so one may be late with its PING
		pass(toAnswer)
		talk()
	}
	waitDescriptors(t, server, open)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// TestWhoIsCutOffIsGone: a client that does not read is cut off. Its place and its descriptor must
// be free, even if its last lines can never be sent.
func TestWhoIsCutOffIsGone(t *testing.T) {
	probetest.Each(t, "*", func(t *testing.T, m *probetest.Subject) {
		if !m.Whole() {
			t.Skip("it is not ours")
		}
		if filepath.Base(t.Name()) == "c-epoll" && !*slowForReal {
			t.Skip("it gives such a client 30 s to read; TestSlowClients moves its clock")
		}
		t.Parallel()
		folder, _ := m.Folder(t, 0)
		server := m.Start(t, folder)
		ann := enter(t, server, "ann")
		open := descriptors(t, server)
		crowd(t, server, 1, joinTea)
		ann.Expect(":deaf0!u@127.0.0.1 JOIN")
		// 8 MB at most: the kernel may keep 4 MiB of what a server sends
		over, sent := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(sent)
			for n := range 20_000 {
				select {
				case <-over:
					return
				default:
					if _, err := fmt.Fprintf(ann, "PRIVMSG #tea :%0400d\r\n", n); err != nil {
						return // what Expect sees says why
					}
				}
			}
		}()
		ann.Expect(":deaf0!u@127.0.0.1 QUIT")
		close(over)
		<-sent
		waitDescriptors(t, server, open)
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// waitAccepted waits until all connections are accepted, by one that comes after them.
func waitAccepted(t *testing.T, server *probetest.Server) {
	last := visit(t, server, "JOIN #tea")
	last.Expect(" 451 ")
	last.Close()
}

// waitDescriptors waits until the server has no more descriptors open than before.
func waitDescriptors(t *testing.T, server *probetest.Server, open int) {
	t.Helper()
	for end := time.Now().Add(patience); descriptors(t,
		server) > open; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d descriptors are open, and %d were before some came who are gone",
				descriptors(t, server), open)
			return
		}
	}
}

// TestStrangersKeepNobodyOut: if all places are taken, a new client gets the place of the oldest
// client that is not registered.
func TestStrangersKeepNobodyOut(t *testing.T) {
	m := probetest.One(t, "c-process")
	folder, _ := m.Folder(t, 0)
	server := m.Start(t, folder)
	ann := enter(t, server, "ann")
	drip := crowd(t, server, 10, "NICK ")
	mute := crowd(t, server, places["c-process"]+100, "")
	bob := enter(t, server, "bob")
	ann.Expect(":bob!u@127.0.0.1 JOIN #tea")
	early := &group{t: t, conns: mute.conns[:90]}
	for kind, b := range map[string]*group{"dripped": drip, "said nothing": early} {
		if left := b.left("ERROR :"); left > 0 {
			t.Errorf("%d of %d that have %s are there, and came first", left, len(b.conns), kind)
		}
	}
	last := mute.conns[len(mute.conns)-1]
	late := irctest.New(t, last)
	late.Send(joinTea, "late")
	late.Expect(" 366 ")
	converse(t, ann, bob, 100*time.Millisecond)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// A group is many clients of one kind.
type group struct {
	t     *testing.T
	conns []net.Conn
}

// crowd connects many clients, which send something first.
func crowd(t *testing.T, server *probetest.Server, many int, first string) *group {
	b := &group{t: t}
	var dialer net.Dialer
	if first == joinTea {
		dialer.Control = smallBuffers
	}
	for n := range many {
		c, err := dialer.Dial("tcp", address(server))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		b.conns = append(b.conns, c)
		if first == joinTea {
			_, err = fmt.Fprintf(c, joinTea+"\r\n", fmt.Sprintf("deaf%d", n))
		} else {
			_, err = io.WriteString(c, first)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// smallBuffers makes the kernel hold little that is sent to a client. With segments of 64 KiB, as
// loopback has them, it would take some megabytes from a server.
func smallBuffers(_, _ string, c syscall.RawConn) (err error) {
	failed := c.Control(func(fd uintptr) {
		err = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096),
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536))
	})
	return errors.Join(failed, err)
}

func (b *group) say(text string) {
	for _, c := range b.conns {
		_, _ = io.WriteString(c, text) // the server may have ended it
	}
}

func (b *group) end() {
	for _, c := range b.conns {
		c.Close()
	}
}

// left returns how many clients are not disconnected in time, or without the reason.
func (b *group) left(why string) (n int) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	end := time.Now().Add(patience / 4)
	for _, c := range b.conns {
		wait.Go(func() {
			_ = c.SetReadDeadline(end)
			heard, err := io.ReadAll(c)
			if errors.Is(err, os.ErrDeadlineExceeded) ||
				err == nil && !bytes.Contains(heard, []byte(why)) {
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return n
}

// memory returns the memory of the server's processes. Shared pages count once (Pss).
func memory(t *testing.T, server *probetest.Server) (bytes int64) {
	for _, pid := range server.Group.PIDs() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // it has ended
		}
		var kb int64
		if _, rest, ok := strings.Cut(string(text), "\nPss:"); ok {
			_, _ = fmt.Sscan(rest, &kb)
		}
		bytes += kb << 10
	}
	if bytes == 0 {
		t.Fatal("the server has no memory")
	}
	return bytes
}
