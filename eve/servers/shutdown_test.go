package servers_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A server that lines tell how to end; `hold` keeps a handler until SIGHUP.
const ending = `import io.socket.*
` + meeting + `main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) bool:
            client: socket@ = c()
            on client line:
                client.write("%s\n", line.text)
                if line.text == "hold": client.write("held %d\n", hold(1))
                if line.text == "end soon": process.shutdown(100ms)
                if line.text == "end less":
                    process.shutdown(600s)
                    process.shutdown(100ms)
                if line.text == "end more":
                    process.shutdown(100ms)
                    process.shutdown(600s)
                if line.text == "end and hold":
                    process.shutdown(100ms)
                    hold(1)
            on client close [+stdout]: stdout.write("closed\n")
            return true
    on process.signals reload: release()
    on process.signals terminate [+stdout]:
        stdout.write("ending\n")
        stdout.flush()
        process.shutdown(600s)
`

// Signals are handled while any worker is busy, and the clients in hand are served to the end.
func TestShutdownWaitsForHandlers(t *testing.T) {
	t.Parallel()
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			t.Parallel()
			needReactor(t, reactor)
			exe := compiled(t, "ending.eve", ending)
			for range 4 { // it is chance which worker is busy
				shutDownHeld(t, exe, reactor)
			}
		})
	}
}

func shutDownHeld(t *testing.T, exe, reactor string) {
	p := startServer(t, exe, reactor)
	port := p.port()
	client, idle := p.dial(port), p.dial(port)
	idle.say("hello\n")
	idle.mustHear("hello\n")
	client.say("hold\nqueued\n")
	p.mustHold(1)
	p.signal(syscall.SIGTERM)
	p.eventually("it is told", func() bool { return strings.Contains(p.out.String(), "ending\n") })
	p.mustRun()
	p.signal(syscall.SIGHUP)
	idle.mustEnd()
	client.mustHear("hold\nheld 1\n")
	if rest, err := io.ReadAll(client); err != nil || string(rest) != "" &&
		string(rest) != "queued\n" {
		t.Errorf("heard %q, %v, want whole replies and the end", rest, err)
	}
	p.mustExit(0)
	p.mustBeClean()
	if got := p.out.String(); got != "ending\nclosed\nclosed\n" {
		t.Errorf("printed %q", got)
	}
}

// mustHold waits until n bodies are in `hold`.
func (p *process) mustHold(n int) {
	p.t.Helper()
	p.eventually("a body holds",
		func() bool { return strings.Count(p.err.String(), "holding\n") >= n })
}

// When the grace is over the process ends, whichever clients are still being served, and though no
// worker is free to notice.
func TestShutdownEndsAfterItsGrace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, say, workers string
	}{
		// the loop of one of them may be that of the busy worker
		{"a handler goes on", "hold\n|end soon\n|end soon\n", "2"},
		{"all workers are busy", "end and hold\n", "1"},
		{"a second call with less", "hold\n|end less\n|end less\n", "2"},
		{"a second call with more", "hold\n|end more\n|end more\n", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, compiled(t, "ending.eve", ending), "EVE_WORKERS="+c.workers,
				"EVE_BUDGET=0")
			port := p.port()
			var all []peer
			for range strings.Split(c.say, "|") {
				all = append(all, p.dial(port))
			}
			for i, said := range strings.Split(c.say, "|") {
				all[i].Write([]byte(said)) // a client that is written to late may be gone already
				p.mustHold(1)
			}
			p.mustExit(0) // the handlers hold for ten minutes, and the longer grace is as long
		})
	}
}

// Clients that write as fast as they can are cut off in order: each gets a prefix of its own
// output.
func TestTerminateDuringFlood(t *testing.T) {
	t.Parallel()
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			t.Parallel()
			needReactor(t, reactor)
			p := startServer(t, example(t, "echo",
				"    on process.signals terminate: process.shutdown(600s)\n"), reactor)
			port := p.port()
			block := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
			var all sync.WaitGroup
			for range 20 {
				c := p.dial(port)
				all.Go(func() {
					for {
						if _, err := c.Write(block); err != nil {
							return
						}
					}
				})
				all.Go(func() {
					buffer := make([]byte, 1<<16)
					for at := 0; ; {
						n, err := c.Read(buffer)
						for _, b := range buffer[:n] {
							if b != block[at%16] {
								t.Errorf("byte %d came back as %q", at, b)
								return
							}
							at++
						}
						if err != nil {
							return
						}
					}
				})
			}
			late := p.dial(port)
			late.say("in")
			late.mustHear("in")
			p.signal(syscall.SIGTERM)
			p.mustExit(0)
			p.mustBeClean()
			all.Wait()
		})
	}
}

// A server whose address is in use says so in one line.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	first := start(t, example(t, "echo"))
	port := first.port()
	second := startWith(t, []string{compiled(t, "echo.eve", onPort(exampleText(t, "echo"))),
		fmt.Sprint(port)})
	second.mustExit(1)
	want := fmt.Sprintf(": cannot listen on 127.0.0.1:%d: Address already in use\n", port)
	if said := second.err.String(); !strings.HasSuffix(said, want) ||
		strings.Count(said, "\n") != 1 {
		t.Errorf("said %q, want one line that ends with %q", said, want)
	}
	c := first.dial(port)
	c.say("still there")
	c.mustHear("still there")
}

// A server with a handler for its listener's `error` gets the event, and ends when it has no other
// work.
func TestAddressInUseHandled(t *testing.T) {
	t.Parallel()
	first := start(t, example(t, "echo"))
	port := first.port()
	second := startWith(t, []string{compiled(t, "broadcast.eve",
		onPort(exampleText(t, "broadcast"))), fmt.Sprint(port)})
	second.mustExit(0)
	want := fmt.Sprintf("Failed to start server: cannot listen on 127.0.0.1:%d: Address already "+
		"in use", port)
	if said := second.err.String(); said != want {
		t.Errorf("said %q, want %q", said, want)
	}
}

// Two listeners of one process are independent: one closes, the other goes on.
func TestTwoListeners(t *testing.T) {
	t.Parallel()
	const text = `import io.socket.*
serve: (name: string) void:
    l: tcp_socket@ = tcp_socket.listen(8080)
    on l listening [+stdout, =name]: stdout.write("%s %d\n", name, listening.port)
    on l connection = [-l, =name] (c: connection&) bool:
        client: socket@ = c()
        on client line [+client, -l, =name]:
            if line.text == "close":
                @ [+l]: l.close()
            client.write("%s: %s\n", name, line.text)
        return true
main: () void:
    serve("one")
    serve("two")
`
	p := start(t, compiled(t, "two.eve", text), "EVE_WORKERS=2", "ASAN_OPTIONS=atexit=1")
	ports := map[string]int{}
	p.eventually("both listen", func() bool {
		for line := range strings.Lines(p.out.String()) {
			var name string
			var port int
			if n, _ := fmt.Sscanf(line, "%s %d\n", &name, &port); n == 2 {
				ports[name] = port
			}
		}
		return len(ports) == 2
	})
	one, two := p.dial(ports["one"]), p.dial(ports["two"])
	two.say("hello\n")
	two.mustHear("two: hello\n")
	one.say("close\n")
	one.mustHear("one: close\n")
	p.eventually("the first listens no more", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports["one"]))
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	one.say("still in\n")
	one.mustHear("one: still in\n")
	three := p.dial(ports["two"])
	three.say("new\nclose\n")
	three.mustHear("two: new\ntwo: close\n")
	for _, c := range []peer{one, two, three} {
		c.Close()
	}
	p.mustExit(0)
	p.mustBeClean()
}

// Out of descriptors a server serves the clients that it has, and accepts others as soon as it
// can.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			t.Parallel()
			needReactor(t, reactor)
			exe := example(t, "echo", "    on process.signals terminate: process.shutdown(600s)\n")
			cmd := exec.Command("sh", "-c", "ulimit -n 40; exec "+exe)
			p := begin(t, cmd, "EVE_IO="+reactor, "EVE_WORKERS=2", "ASAN_OPTIONS=atexit=1")
			port := p.port()
			for range 3 {
				var all []peer
				for range 60 {
					all = append(all, p.dial(port))
				}
				all[0].say("in")
				all[0].mustHear("in")
				p.eventually("no descriptor is left", func() bool { return p.descriptors() >= 40 })
				all[59].say("waits")
				all[1].say("in too")
				all[1].mustHear("in too")
				for _, c := range all[:50] {
					c.Close()
				}
				all[59].mustHear("waits")
				for _, c := range all[50:] {
					c.Close()
				}
			}
			p.mustEndClean()
		})
	}
}

// At most `max` clients are accepted. A waiting client is accepted when another one has left, in
// whatever way.
func TestListenMax(t *testing.T) {
	t.Parallel()
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			t.Parallel()
			needReactor(t, reactor)
			text := strings.Replace(exampleText(t, "echo"), "8080", "8080, max = 3", 1) +
				"    on process.signals terminate: process.shutdown(600s)\n"
			p := startServer(t, compiled(t, "max.eve", text), reactor)
			port := p.port()
			before := p.descriptors()
			var all []peer
			for i := range 12 {
				all = append(all, p.dial(port))
				all[i].say(fmt.Sprintf("%02d", i))
			}
			for i, c := range all {
				c.mustHear(fmt.Sprintf("%02d", i)) // in the order in which they came
				if in := p.descriptors() - before; in > 3 {
					t.Errorf("%d clients are in", in)
				}
				if i < 2 {
					continue
				}
				if i%2 == 0 {
					all[i-2].SetLinger(0)
				}
				all[i-2].Close()
			}
			p.mustEndClean()
		})
	}
}
