package servers_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server with a route of every kind. Its arguments are its time limits in milliseconds: that of
// idle connections is the second, that of replies the third, or else the first. Without them no
// step comes near one.
const httpServer = `import io.http
import io.message

served: int@
holding: int@

ticks: (s: http.stream@) void:
    t: timer@ = timer.every(2ms)
    n: int@
    on t fired [+n, -s]:
        n += 1
        @ [n, +s]: s.send(f"tick\n{n}", "tick", f"{n}")
    on s close [-t, +stdout]:
        print("gone\n")
        stdout.flush()
        @ [+t]: t.stop()

pour: (s: http.stream@, name: string) void:
    block: string = "0123456789abcdef".repeat(4096)
    left: int@ = 400
    t: timer@ = timer.every(1ms)
    held: bool@
    on t fired [+left, held, -s, =block]:
        if held || left == 0: return
        left -= 1
        @ [+s, =block]: s.write(block)
        if left == 0:
            @ [+s]: s.end()
    on s overflow [+held, +stdout]:
        held = true
        print("overflow\n")
        stdout.flush()
    on s drained [+held]: held = false
    on s close [+stdout, -t, =name]:
        print("%s closed\n", name)
        stdout.flush()
        @ [+t]: t.stop()

routes: () http.routes:
    r: http.routes
    r.get("/"):
        run = [+served] (x: http.exchange) void:
            served += 1
            x.respond(200, f"hello {served}\n")
    r.get("/hello/{name}"):
        run = [] (x: http.exchange) void: x.respond(200, "hello, " + x.param("name") + "\n")
    r.get("/number/{n:int}"):
        run = [] (x: http.exchange) void: x.respond(200, f"{x.number("n") + 1}\n")
    r.get("/files/{path...}"):
        run = [] (x: http.exchange) void: x.respond(200, x.param("path") + "\n")
    r.get("/urls/{url:any}/{part}"):
        run = [] (x: http.exchange) void: x.respond(200, f"{x.param("url")} {x.param("part")}\n")
    r.post("/echo"):
        run = [] (x: http.exchange) void: x.respond(201, x.request.body.text(), "text/x-echo")
    r.put("/echo"):
        run = [] (x: http.exchange) void: x.send(message.reply(204))
    r.get("/slow/{ms:int}"):
        run = [] (x: http.exchange) void:
            _ <- sleep(1ms * x.number("ms")) [=x]
            x.respond(200, "slow\n")
    r.get("/held"):
        run = [+holding] (x: http.exchange) void:
            holding += 1
            on process.signals reload [=x]: x.respond(200, "held\n")
    r.get("/holding"):
        run = [+holding] (x: http.exchange) void: x.respond(200, f"{holding}\n")
    r.get("/forgets"):
        run = [] (x: http.exchange) void: pass
    r.get("/fails"):
        run = [] (x: http.exchange) void:
            _ <- sleep(1ms) [=x]
            assert x.request.path.empty(), "a mistake"
            x.respond(200, "not reached")
    r.get("/twice"):
        run = [] (x: http.exchange) void:
            x.respond(200, "first\n")
            x.respond(200, "second\n")
    r.get("/split"):
        run = [] (x: http.exchange) void:
            a: message.reply = http.text(200, "split\n")
            a.headers.add("x-a", "b\r\nx-evil: c")
            a.headers.add("x-bad\r\n", "d")
            a.headers.add("content-length", "1000")
            x.send(a)
    r.get("/parts/{n:int}"):
        run = [] (x: http.exchange) void:
            s: http.stream@ = x.stream(200, "text/plain")
            for (i in 0..x.number("n")):
                @ [+s, =i]: s.write(f"part {i}\n")
            @ [+s]: s.end()
    r.get("/events"):
        run = [] (x: http.exchange) void: ticks(x.events())
    r.get("/pour"):
        run = [] (x: http.exchange) void: pour(x.stream(200, "text/plain"), "pour")
    r.get("/patient"):
        run = [] (x: http.exchange) void: pour(x.stream(200, "text/plain", true), "patient")
    r.get("/large"):
        run = [] (x: http.exchange) void: x.respond(200, "0123456789abcdef".repeat(300_000))
    return r

main: [+stderr] () void:
    sizes: message.limits = message.limits(head = 4kib, body = 64kib)
    bounds: http.limits = http.limits(sizes, 0, 600s, 600s, 600s, 600s, 600s)
    args: vector<string> = process.args()
    if args.size() > 1:
        limit: duration = 1ms * (args[0].to_int() else 0)
        idle: duration = 1ms * (args[1].to_int() else 0)
        reply: duration = limit
        if args.size() > 2: reply = 1ms * (args[2].to_int() else 0)
        bounds = http.limits(sizes, 0, limit, limit, reply, idle, limit)
    started <- http.listen(8080, routes(), bounds = bounds) [+stderr]
    match started:
        ok(s):
            on process.signals terminate [+s]: http.stop(s, 600s)
            on process.signals interrupt [+s]: http.stop(s, 10ms)
            on s stopped [+stdout]: print("stopped\n")
        error(e):
            stderr.write("%s\n", e)
            process.exit(3)
`

// serveHTTP starts that server. words are its arguments.
func serveHTTP(t *testing.T, workers int, words ...string) (*process, int) {
	t.Helper()
	exe := compiled(t, "http.eve", httpServer)
	p := startWith(t, append([]string{exe}, words...), fmt.Sprint("EVE_WORKERS=", workers))
	return p, p.port()
}

// eachWorkers runs a test on one worker and on two.
func eachWorkers(t *testing.T, body func(t *testing.T, workers int)) {
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint(n, "-workers"), func(t *testing.T) {
			t.Parallel()
			body(t, n)
		})
	}
}

// A browser is a client of net/http for one test.
type browser struct {
	*http.Client
	t    *testing.T
	base string
}

func newBrowser(t *testing.T, port int) browser {
	b := browser{&http.Client{Timeout: patience,
		Transport: &http.Transport{ExpectContinueTimeout: patience},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}, t, fmt.Sprint("http://127.0.0.1:", port)}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// ask sends a request and returns the reply with its whole body.
func (b browser) ask(method, path string, body io.Reader, headers ...string) (*http.Response,
	string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := b.Do(r)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		b.t.Fatalf("%s %s: the body: %v", method, path, err)
	}
	return a, string(text)
}

func (b browser) must(method, path string, body io.Reader, status int, want string) *http.Response {
	b.t.Helper()
	a, text := b.ask(method, path, body)
	if a.StatusCode != status || text != want {
		b.t.Errorf("%s %s: got %d %q, want %d %q", method, path, a.StatusCode, head(text), status,
			head(want))
	}
	return a
}

// mustFindRoutes asks for routes of httpServer whose replies are the same in each version of HTTP.
func (b browser) mustFindRoutes() {
	b.t.Helper()
	b.must("GET", "/hello/ann%20b%C3%A4?x=1", nil, 200, "hello, ann b\u00e4\n")
	b.must("GET", "/hello/a%2Fb", nil, 404, "there is nothing here\n")
	b.must("GET", "/number/41", nil, 200, "42\n")
	b.must("GET", "/files/a/%2e%2e/b/./c/", nil, 200, "b/c/\n")
	a := b.must("DELETE", "/echo", nil, 405, "this method is not for this path\n")
	if got := a.Header.Get("Allow"); got != "POST, PUT" {
		b.t.Errorf("Allow: %q", got)
	}
	a = b.must("PUT", "/echo", strings.NewReader("x"), 204, "")
	if _, there := a.Header["Content-Length"]; there {
		b.t.Errorf("204 has a length: %v", a.Header)
	}
	b.must("GET", "/twice", nil, 200, "first\n")
	b.must("GET", "/forgets", nil, 500, "there is no reply\n")
	b.must("GET", "/fails", nil, 500, "there is no reply\n")
	a = b.must("GET", "/split", nil, 200, "split\n")
	if got := a.Header.Get("X-A"); got != "b  x-evil: c" || a.Header.Get("X-Evil") != "" {
		b.t.Errorf("the header was split: %v", a.Header)
	}
}

// mustEcho sends bodies, with a length and without, and waits for status 100 with some. It returns
// the largest one that httpServer takes.
func (b browser) mustEcho() (full string) {
	b.t.Helper()
	full = strings.Repeat("0123456789abcdef", 4096)
	for _, body := range []string{"", "x", full} {
		b.must("POST", "/echo", strings.NewReader(body), 201, body)
		b.must("POST", "/echo", struct{ io.Reader }{strings.NewReader(body)}, 201, body)
		a, text := b.ask("POST", "/echo", strings.NewReader(body), "Expect", "100-continue")
		if a.StatusCode != 201 || text != body {
			b.t.Errorf("with Expect: got %d and %d bytes", a.StatusCode, len(text))
		}
	}
	return full
}

// Routes and their parameters, as net/http sees them; the connection is kept.
func TestHTTPRoutes(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP(t, workers)
		b := newBrowser(t, port)
		a := b.must("GET", "/", nil, 200, "hello 1\n")
		if at, err := http.ParseTime(a.Header.Get("Date")); err != nil ||
			time.Since(at).Abs() > patience {
			t.Errorf("Date: %q, %v", a.Header.Get("Date"), err)
		}
		if got := a.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("Content-Type: %q", got)
		}
		a = b.must("HEAD", "/", nil, 200, "")
		if a.ContentLength != int64(len("hello 2\n")) {
			t.Errorf("HEAD: Content-Length: %d", a.ContentLength)
		}
		b.must("GET", "/hello/", nil, 404, "there is nothing here\n")
		b.must("GET", "/number/4x", nil, 404, "there is nothing here\n")
		b.must("GET", "/files/a/b/c", nil, 200, "a/b/c\n")
		b.must("GET", "/nothing", nil, 404, "there is nothing here\n")
		b.must("GET", "/urls/http:%2F%2Fa%2F..%2Fb%5cc/d", nil, 200, "http://a/../b\\c d\n")
		for _, path := range []string{"/hello%2Fa", "/files/a/..%2f..%2fetc/b",
			"/files/..%5c..%5cetc", "/files/a%00", "/number/4%2F1", "/urls/a%2Fb/c%2Fd"} {
			b.must("GET", path, nil, 404, "there is nothing here\n")
		}
		b.must("DELETE", "/hello/a%2Fb", nil, 404, "there is nothing here\n")
		b.mustFindRoutes()
		a = b.must("PUT", "/", nil, 405, "this method is not for this path\n")
		if got := a.Header.Get("Allow"); got != "GET, HEAD" {
			t.Errorf("Allow: %q", got)
		}
		p.eventually("the failure is reported", func() bool {
			return strings.Contains(p.err.String(), "a mistake") &&
				strings.Contains(p.err.String(), "the program goes on")
		})
		reused := false
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(),
			&httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}),
			"GET", b.base+"/number/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := b.Do(r); err != nil || !reused {
			t.Errorf("another connection was made: %v", err)
		} else {
			a.Body.Close()
		}
		p.signal(syscall.SIGTERM)
		p.mustExit(0)
	})
}

// Bodies with a length and in chunks, up to the limit; the client may wait for `100 Continue`.
func TestHTTPBodies(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		_, port := serveHTTP(t, workers)
		b := newBrowser(t, port)
		full := b.mustEcho()
		a, text := b.ask("POST", "/echo", strings.NewReader(full+"x"), "Expect", "100-continue")
		if a.StatusCode != 413 || text != "the body is too large\n" {
			t.Errorf("a body above the limit: %d %q", a.StatusCode, text)
		}
	})
}

// replyTo sends raw input and returns the reply. ends says that the server must close behind it.
func replyTo(t *testing.T, p *process, port int, input string, ends bool) (*http.Response, string) {
	t.Helper()
	c := p.dial(port)
	c.say(input)
	in := bufio.NewReader(c)
	a, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("%q: %v", head(input), err)
	}
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatalf("%q: %v", head(input), err)
	}
	if ends {
		if rest, err := io.ReadAll(in); len(rest) > 0 ||
			err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%q: behind the reply: %q, %v", head(input), rest, err)
		}
	}
	return a, string(text)
}

// Input that may be an attempt at smuggling, or is too large, is answered with an error, and
// nothing behind it is read as a request.
func TestHTTPRefusals(t *testing.T) {
	t.Parallel()
	p, port := serveHTTP(t, 2)
	const h = "Host: h\r\n"
	const next = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	for _, c := range []struct {
		input  string
		status int
	}{
		{"POST /echo HTTP/1.1\r\n" + h + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"0\r\n\r\n" + next, 400},
		{"POST /echo HTTP/1.1\r\n" + h + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + next,
			400},
		{"POST /echo HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"0;a\r\n\r\n" + next, 400},
		{"POST /echo HTTP/1.1\r\n" + h + "Transfer-Encoding: x\r\n\r\n" + next, 400},
		{"GET / HTTP/1.1\nHost: h\n\n" + next, 400},
		{"GET / HTTP/1.1\r\n" + h + "A: b\r\n c\r\n\r\n" + next, 400},
		{"GET / HTTP/1.1\r\nHost : h\r\n\r\n" + next, 400},
		{"GET / HTTP/1.1\r\n\r\n" + next, 400},
		{"GET / HTTP/1.1\r\n" + h + h + "\r\n" + next, 400},
		{"GET /files/../../etc/passwd HTTP/1.1\r\n" + h + "\r\n" + next, 400},
		{"GET /" + strings.Repeat("x", 9000) + " HTTP/1.1\r\n" + h + "\r\n", 414},
		{"GET / HTTP/1.1\r\n" + h + "A: " + strings.Repeat("x", 5000) + "\r\n\r\n", 431},
		{"GET / HTTP/1.1\r\n" + h + strings.Repeat("A: b\r\n", 200) + "\r\n", 431},
		{"POST /echo HTTP/1.1\r\n" + h + "Content-Length: 65537\r\n\r\n" + next, 413},
		{"POST /echo HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n" +
			"fffffff\r\n" + next, 413},
		{"GET / HTTP/3.0\r\n" + h + "\r\n" + next, 505},
		{"CONNECT a:1 HTTP/1.1\r\n" + h + "\r\n" + next, 501},
	} {
		a, text := replyTo(t, p, port, c.input, true)
		if a.StatusCode != c.status || !a.Close || text == "" {
			t.Errorf("%q: got %d %q, close %v, want %d", head(c.input), a.StatusCode, text, a.Close,
				c.status)
		}
	}
	newBrowser(t, port).must("GET", "/", nil, 200, "hello 1\n")
}

// Requests that come together are answered in their order, also when the first takes longest; the
// connection ends when the client asks for it.
func TestHTTPPipeline(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP(t, workers)
		c := p.dial(port)
		const rounds = 50
		var input, want strings.Builder
		for i := range rounds {
			fmt.Fprintf(&input, "GET /slow/%d HTTP/1.1\r\nHost: h\r\n\r\n", i%3*5)
			fmt.Fprintf(&input, "GET /number/%d HTTP/1.1\r\nHost: h\r\n\r\n", i)
			fmt.Fprintf(&input,
				"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n%02d", i)
			fmt.Fprintf(&input, "GET /parts/2 HTTP/1.1\r\nHost: h\r\n\r\n")
			fmt.Fprintf(&want, "slow\n%d\n%02dpart 0\npart 1\n", i+1, i)
		}
		fmt.Fprint(&input, "HEAD /parts/3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		go c.Write([]byte(input.String()))
		in := bufio.NewReader(c)
		var got strings.Builder
		for range 4 * rounds {
			a, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("behind %q: %v", got.String(), err)
			}
			if _, err := io.Copy(&got, a.Body); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != want.String() {
			t.Errorf("got %q, want %q", head(got.String()), head(want.String()))
		}
		a, err := http.ReadResponse(in, &http.Request{Method: "HEAD"})
		if err != nil || a.StatusCode != 200 || !a.Close {
			t.Fatalf("the last reply: %v, %v", a, err)
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 {
			t.Errorf("behind the last reply: %q", rest)
		}
	})
}

// Clients of HTTP/1.0: the end of the connection is the end of a streamed body.
func TestHTTPOldClients(t *testing.T) {
	t.Parallel()
	p, port := serveHTTP(t, 2)
	a, text := replyTo(t, p, port, "GET / HTTP/1.0\r\n\r\n", true)
	if a.StatusCode != 200 || text != "hello 1\n" || !a.Close {
		t.Errorf("got %d %q, close %v", a.StatusCode, text, a.Close)
	}
	a, text = replyTo(t, p, port, "GET /number/1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false)
	if text != "2\n" || !strings.EqualFold(a.Header.Get("Connection"), "keep-alive") {
		t.Errorf("got %q, %v", text, a.Header)
	}
	a, text = replyTo(t, p, port, "GET /parts/3 HTTP/1.0\r\n\r\n", true)
	if text != "part 0\npart 1\npart 2\n" || len(a.TransferEncoding) > 0 {
		t.Errorf("got %q, %v", text, a.TransferEncoding)
	}
	a, _ = replyTo(t, p, port, "OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", true)
	if a.StatusCode != 204 {
		t.Errorf("OPTIONS *: %d", a.StatusCode)
	}
}

// Server-sent events come as they are sent, and the server notices that the client has gone.
func TestHTTPEvents(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP(t, workers)
		b := newBrowser(t, port)
		a, err := b.Get(b.base + "/events")
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("Content-Type: %q", got)
		}
		lines := bufio.NewScanner(a.Body)
		for i := 1; i <= 5; i++ {
			for _, want := range []string{fmt.Sprint("id: ", i), "event: tick", "data: tick",
				fmt.Sprint("data: ", i), ""} {
				if !lines.Scan() || lines.Text() != want {
					t.Fatalf("event %d: got %q, want %q", i, lines.Text(), want)
				}
			}
		}
		a.Body.Close()
		p.eventually("the server notices it", func() bool { return p.out.String() == "gone\n" })
		b.must("GET", "/", nil, 200, "hello 1\n")
	})
}

// A client that does not read is cut off, unless the stream is patient; then it is held. A client
// that reads gets all.
func TestHTTPSlowReaders(t *testing.T) {
	t.Parallel()
	const size = 400 * 16 * 4096
	p, port := serveHTTP(t, 2)
	slow := p.dialBy(net.Dialer{Control: narrow}, port)
	slow.say("GET /pour HTTP/1.1\r\nHost: h\r\n\r\n")
	p.eventually("the slow client is cut off",
		func() bool { return strings.Contains(p.out.String(), "pour closed\n") })
	if n, _ := io.Copy(io.Discard, slow); n >= size {
		t.Errorf("it got all %d bytes", n)
	}
	held := p.dial(port)
	held.say("GET /patient HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	p.eventually("the patient stream is full",
		func() bool { return strings.Contains(p.out.String(), "overflow\n") })
	a, err := http.ReadResponse(bufio.NewReader(held), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, a.Body); n != size || err != nil {
		t.Errorf("the patient stream: %d of %d bytes, %v", n, size, err)
	}
	p.eventually("the patient stream is closed",
		func() bool { return strings.Contains(p.out.String(), "patient closed\n") })
	_, text := newBrowser(t, port).ask("GET", "/large", nil)
	if want := strings.Repeat("0123456789abcdef", 300_000); text != want {
		t.Errorf("a large reply: %d of %d bytes", len(text), len(want))
	}
}

// narrow gives a connection a receive buffer of 4 KiB, and segments that fit into it. Those of
// loopback have 64 KiB: the server's kernel would send what it still has five times a second, by
// its persist timer (RFC 9293, 3.8.6.1), and a test would read for a minute and a half.
func narrow(_, _ string, raw syscall.RawConn) (err error) {
	failed := raw.Control(func(fd uintptr) {
		err = errors.Join(syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG,
			1000), syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10))
	})
	return errors.Join(failed, err)
}
