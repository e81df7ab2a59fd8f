package chat

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/probe/probetest"
)

var (
	slowClients = flag.Int("slow", 900, "how many clients TestSlowClients has, a third of each kind")
	slowForReal = flag.Bool("clock", false, "let TestSlowClients wait for the clock, 4 min for each model, and ask those whose clock cannot be moved")
)

// The protocol's times, and some seconds for servers that look at the clock now and then.
const (
	toRegister = 32 * time.Second
	toSpeak    = 92 * time.Second
	toAnswer   = 32 * time.Second
)

// TestSlowClients: many who say nothing, drip a byte now and then, or do not read, cost others nothing and the server little, and are gone when their
// time is over.
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
			folder, _ := m.Folder(t, 0)
			surround(t, m.Start(t, folder), *slowClients/3, pass)
		})
	}
}

// surround opens so many clients of each kind around two who talk.
func surround(t *testing.T, server *probetest.Server, each int, pass func(time.Duration)) {
	ann, bob := enter(t, server, "ann"), enter(t, server, "bob")
	talk := func() { converse(ann, bob, 300*time.Millisecond) }
	before, open := memory(t, server), descriptors(t, server)
	began := time.Now()
	mute, drip := crowd(t, server, each, ""), crowd(t, server, each, "NICK ")
	crowd(t, server, each, enters) // and will not read
	t.Logf("%d clients came in %v", 3*each, time.Since(began).Round(time.Millisecond))
	talk()
	drip.say("x")
	for n := range 1500 { // more than a socket holds, and less than what cuts a client off
		ann.say("PRIVMSG #tea :%0400d", n)
	}
	talk()
	t.Logf("each takes %.1f KB of memory", float64(memory(t, server)-before)/float64(3*each)/1e3)
	pass(toRegister)
	drip.say("x")
	talk()
	for kind, c := range map[string]*band{"mute": mute, "drips": drip} {
		if left := c.left("ERROR :"); left > 0 {
			t.Errorf("%d of %d clients are there that had not registered in time: %s", left, each, kind)
		}
	}
	pass(toSpeak - toRegister)
	talk()        // and answer, as the deaf do not
	for range 3 { // a leap of the clock wakes nobody: who sees it late is asked late
		pass(toAnswer)
		talk()
	}
	for end := time.Now().Add(patience / 4); descriptors(t, server) > open; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d descriptors are open, and %d were before; some clients are there that have not read for %v", descriptors(t, server), open, toSpeak+toAnswer)
			break
		}
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// A band is many clients of one kind.
type band struct {
	t     *testing.T
	conns []net.Conn
}

// crowd connects so many, who say something first.
func crowd(t *testing.T, server *probetest.Server, many int, first string) *band {
	b := &band{t: t}
	for n := range many {
		c, err := net.Dial("tcp", net.JoinHostPort(server.Host, strconv.Itoa(server.Port)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		b.conns = append(b.conns, c)
		if first == enters {
			_ = c.(*net.TCPConn).SetReadBuffer(4096)
			_, err = fmt.Fprintf(c, enters+"\r\n", fmt.Sprintf("deaf%d", n))
		} else {
			_, err = io.WriteString(c, first)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *band) say(text string) {
	for _, c := range b.conns {
		_, _ = io.WriteString(c, text) // it may have been ended
	}
}

// left counts those who are not at their end within a moment, or do not hear why.
func (b *band) left(why string) (n int) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	end := time.Now().Add(patience / 4)
	for _, c := range b.conns {
		wait.Go(func() {
			_ = c.SetReadDeadline(end)
			heard, err := io.ReadAll(c)
			if errors.Is(err, os.ErrDeadlineExceeded) || err == nil && !bytes.Contains(heard, []byte(why)) {
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return n
}

// memory is what the server's processes have, each page once.
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
