package servers_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// servePause starts testdata/server/pause.eve, and returns the ports of its two servers.
func servePause(t *testing.T, settings ...string) (p *process, lines, messages int) {
	t.Helper()
	p = start(t, example(t, "pause"), append(settings, "EVE_WORKERS=2")...)
	p.eventually("it is ready", func() bool {
		p.mustRun()
		n, _ := fmt.Sscanf(p.out.String(), "ready %d %d\n", &lines, &messages)
		return n == 2
	})
	return p, lines, messages
}

// mostMemory is the largest resident set that a process has had, in KiB.
func (p *process) mostMemory() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	if found == nil {
		p.t.Fatalf("no size in %q", status)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// A socket that is paused is read no more and still written to: the next line, and the end behind
// it, come when the program goes on.
func TestPause(t *testing.T) {
	t.Parallel()
	eachReactor(t, func(t *testing.T, reactor string) {
		p, port, _ := servePause(t, reactor)
		c := p.dial(port)
		c.say("one\npause\ntwo\nthree\n")
		c.mustHear("one\npause\n")
		for range 3 {
			p.signal(syscall.SIGINT)
			c.mustHear("still\n")
		}
		p.signal(syscall.SIGHUP)
		c.mustHear("on\ntwo\nthree\n")
		c.say("pause\nlast\nwithout an end")
		c.mustHear("pause\n")
		c.CloseWrite()
		p.signal(syscall.SIGINT)
		c.mustHear("still\n")
		p.signal(syscall.SIGHUP)
		c.mustHear("on\nlast\nwithout an end\n")
		c.mustEnd()
		p.eventually("it knows", func() bool {
			return strings.HasSuffix(p.out.String(), "closed\n")
		})

		// One that has gone is noticed when it is written to.
		c = p.dial(port)
		c.say("pause\nmore\n")
		c.mustHear("pause\n")
		if err := c.SetLinger(0); err != nil {
			t.Fatal(err)
		}
		c.Close()
		p.eventually("it knows of that one", func() bool {
			p.signal(syscall.SIGINT)
			time.Sleep(time.Millisecond)
			return strings.Count(p.out.String(), "closed\n") == 2
		})
		p.signal(syscall.SIGTERM)
		p.mustExit(0)
	})
}

// stuck waits until a number grows no more: its writer waits for its reader.
func (p *process) stuck(written *atomic.Int64) {
	p.t.Helper()
	last, same := int64(0), 0
	p.eventually("the writer waits", func() bool {
		now := written.Load()
		if same++; now != last || now == 0 {
			last, same = now, 0
		}
		return same == 20
	})
}

// A client that writes much to a paused socket waits, and the memory of the program stays small.
// Nothing is lost.
func TestPauseHoldsBack(t *testing.T) {
	t.Parallel()
	eachReactor(t, func(t *testing.T, reactor string) {
		p, port, _ := servePause(t, reactor)
		before := p.mostMemory()
		c := p.dial(port)
		c.say("pause\n")
		c.mustHear("pause\n")
		const size, count = 16 << 10, 4 << 10 // 64 MiB
		line := strings.Repeat("x", size-1) + "\n"
		var written atomic.Int64
		sent := make(chan error, 1)
		go func() {
			for range count {
				n, err := io.WriteString(c, line)
				written.Add(int64(n))
				if err != nil {
					sent <- err
					return
				}
			}
			sent <- c.CloseWrite()
		}()
		p.stuck(&written)
		p.signal(syscall.SIGINT)
		c.mustHear("still\n")
		if got := p.mostMemory() - before; *sanitize == "" && got > 8<<10 {
			t.Errorf("paused, it takes %d KiB more for the %d that a client has sent", got,
				written.Load()>>10)
		}
		p.signal(syscall.SIGHUP)
		c.mustHear("on\n")
		in := bufio.NewReaderSize(c, size)
		for i := range count {
			if got, err := in.ReadString('\n'); err != nil || got != line {
				t.Fatalf("line %d: %v, %q", i, err, head(got))
			}
		}
		if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("behind the last line: %v", err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

// The same with the messages of a WebSocket.
func TestPauseWebSocket(t *testing.T) {
	t.Parallel()
	p, _, port := servePause(t)
	before := p.mostMemory()
	c := dialWebSocket(t, port, "/socket")
	text := func(want string) {
		t.Helper()
		mustReceive(t, c, websocket.MessageText, want)
	}
	sendMessage(t, c, websocket.MessageText, "pause")
	text("pause")
	const size, count = 64 << 10, 512 // 32 MiB
	message := strings.Repeat("x", size)
	var written atomic.Int64
	sent := make(chan error, 1)
	go func() {
		for range count {
			if err := c.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
				sent <- err
				return
			}
			written.Add(size)
		}
		sent <- nil
	}()
	p.stuck(&written)
	p.signal(syscall.SIGINT)
	text("still")
	if got := p.mostMemory() - before; *sanitize == "" && got > 8<<10 {
		t.Errorf("paused, it takes %d KiB more for the %d that a client has sent", got,
			written.Load()>>10)
	}
	p.signal(syscall.SIGHUP)
	text("on")
	for range count {
		text(message)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	sendMessage(t, c, websocket.MessageText, "end") // which closes while it is paused
	text("end")
	mustBeClosed(t, c, websocket.StatusNormalClosure, "")
	p.eventually("it knows", func() bool {
		return strings.Contains(p.out.String(), "closed 1000 ")
	})
}

// The silence of a peer is nobody's fault while the program reads nothing.
func TestPauseSilent(t *testing.T) {
	t.Parallel()
	p, _, port := servePause(t)
	c := dialWebSocket(t, port, "/silent")
	p.eventually("it is open and paused", func() bool {
		return strings.HasSuffix(p.out.String(), "paused\n")
	})
	for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); {
		p.signal(syscall.SIGINT)
		mustReceive(t, c, websocket.MessageText, "still")
		time.Sleep(20 * time.Millisecond)
	}
}
