package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Clients that are slow in any part of an exchange are cut off: the head, the body, the next
// request, the reply. A handler that never replies is not waited for.
func TestHTTPTimes(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP(t, workers, "200", "600000")
		before := p.descriptors()
		for _, c := range []struct {
			name, input string
			status      int
		}{
			{"half a line", "GET /", 408},
			{"half a head", "GET / HTTP/1.1\r\nHost: h\r\n", 408},
			{"half a body", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab", 408},
			{"half a chunk", "POST /echo HTTP/1.1\r\nHost: h\r\n" +
				"Transfer-Encoding: chunked\r\n\r\n5", 408},
			{"no reply", "GET /held HTTP/1.1\r\nHost: h\r\n\r\n", 503},
		} {
			if a, text := replyTo(t, p, port, c.input, true); a.StatusCode != c.status ||
				text == "" {
				t.Errorf("%s: got %d %q, want %d", c.name, a.StatusCode, text, c.status)
			}
		}
		// byte by byte, each in time: the whole head is not
		drip := p.dial(port)
		sent := 0
		for ; sent < longestLine; sent++ {
			if _, err := drip.Write([]byte("x")); err != nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if sent == longestLine {
			t.Errorf("a slow head of %d bytes was taken", sent)
		}
		deaf := p.dial(port)
		if err := deaf.SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		deaf.say("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
		p.eventually("no connection is left", func() bool { return p.descriptors() <= before })
	})
}

// longestLine is what a head of one line may have, in bytes, before it is too long.
const longestLine = 8000

// Connections that are idle are closed, before a request and behind one.
func TestHTTPIdle(t *testing.T) {
	t.Parallel()
	p, port := serveHTTP(t, 2, "600000", "200")
	silent := p.dial(port)
	silent.mustEnd()
	p.eventually("a request comes in time and is answered", func() bool {
		kept := p.dial(port)
		kept.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		in := bufio.NewReader(kept)
		a, err := http.ReadResponse(in, nil)
		if err != nil {
			return false // on a busy machine it came too late
		}
		if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != 200 {
			t.Fatalf("got %d, %v", a.StatusCode, err)
		}
		if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
			t.Errorf("behind an idle connection: %q, %v", rest, err)
		}
		return true
	})
}

// A server that ends answers what it has begun, and takes nothing more. After its grace it does not
// wait.
func TestHTTPEnd(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP(t, workers)
		idle := p.dial(port)
		busy := p.dial(port)
		busy.say("GET /number/1 HTTP/1.1\r\nHost: h\r\n\r\n" +
			"GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
		in := bufio.NewReader(busy)
		for _, want := range []string{"2\n", "held\n"} {
			a, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(a.Body); string(text) != want || err != nil ||
				a.Close != (want == "held\n") {
				t.Errorf("got %q, %v, close %v, want %q", text, err, a.Close, want)
			}
			if want == "2\n" {
				p.holds(port, 1) // a request that is not under way would get no reply
				p.signal(syscall.SIGTERM)
				idle.mustEnd()
				p.signal(syscall.SIGHUP)
			}
		}
		busy.mustEnd()
		p.mustExit(0)
		if got := p.out.String(); got != "stopped\n" {
			t.Errorf("printed %q", got)
		}

		p, port = serveHTTP(t, workers)
		hung := p.dial(port)
		hung.say("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
		p.holds(port, 1)
		p.signal(syscall.SIGINT)
		p.mustExit(0)
		hung.mustEnd()
	})
}

// holds waits until the server has taken n requests for /held.
func (p *process) holds(port, n int) {
	p.t.Helper()
	want := fmt.Sprintln(n)
	p.eventually(fmt.Sprintf("%d requests are held", n), func() bool {
		_, text := replyTo(p.t, p, port,
			"GET /holding HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", true)
		return text == want
	})
}

// A port that is taken is an error value.
func TestHTTPPortTaken(t *testing.T) {
	t.Parallel()
	_, port := serveHTTP(t, 1)
	p := startWith(t, []string{compiled(t, "http-fixed.eve", onPort(httpServer)),
		fmt.Sprint(port)})
	p.mustExit(3)
	if got := p.err.String(); !strings.Contains(got, "Address already in use") {
		t.Errorf("it wrote %q", got)
	}
}
