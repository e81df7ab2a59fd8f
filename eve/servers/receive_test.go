package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A server whose exchanges read their bodies by themselves. /sum says how many bytes came, and in
// how many parts; the first argument is the limit in time for a part, in milliseconds.
const receivingServer = `import io.http
import io.message
import io.ranges
import util.turns

sum: (from: http.incoming, n: int, parts: int, =x: http.exchange) void:
    part <- from.read() [=x, =from, =n, =parts]
    match part:
        error(e): x.respond(e.code(), e.text() + "\n")
        ok(p):
            if p.empty(): x.respond(200, f"{n} {parts > 0}\n")
            else: sum(from, n + p.size(), parts + 1, x)

count: (taken: int@, =x: http.exchange) void:
    x.respond(200, "0123456789abcdef".repeat(300_000))
    _ <- x.sent() [+taken]
    taken += 1

work: (l: turns.gate@, patience: duration, =x: http.exchange) void:
    mine <- turns.take(l, patience) [-l, =x]
    if !mine:
        x.respond(503, "it takes too long\n")
        return
    _ <- sleep(20ms) [+l, =x]
    x.respond(200, f"{l.taken}\n")
    turns.give(l)

routes: (taken: int@, l: turns.gate@) http.routes:
    r: http.routes
    r.receive("POST", "/sum"):
        run = [] (x: http.exchange) void: sum(x.body, x.request.body.size(), 0, x)
    r.receive("POST", "/no"):
        run = [] (x: http.exchange) void: x.respond(415, "no\n")
    r.receive("POST", "/late"):
        run = [] (x: http.exchange) void:
            on process.signals reload [=x]: x.respond(200, "late\n")
    r.post("/echo"):
        run = [] (x: http.exchange) void: x.respond(201, x.request.body.text())
    r.get("/large"):
        run = [-taken] (x: http.exchange) void: count(taken, x)
    r.get("/taken"):
        run = [taken] (x: http.exchange) void: x.respond(200, f"{taken}\n")
    r.get("/digits"):
        run = [] (x: http.exchange) void:
            x.send(ranges.reply(x.request, http.text(200, "0123456789"), "\"v1\""))
    r.get("/known"):
        run = [] (x: http.exchange) void:
            if ranges.known(x.request, "\"v1\""): x.send(ranges.unchanged("\"v1\""))
            else: x.respond(200, "new\n")
    r.get("/turn/{ms:int}"):
        run = [-l] (x: http.exchange) void: work(l, 1ms * x.number("ms"), x)
    r.otherwise():
        run = [] (x: http.exchange) void: x.respond(404, f"[{join(x.methods, " ")}]\n")
    return r

main: [+stderr] () void:
    limit: duration = 1ms * (process.args()[0].to_int() else 0)
    sizes: message.limits = message.limits(body = 64kib)
    bounds: http.limits = http.limits(sizes, body_time = limit, behind = 64kib)
    common: message.fields
    common.add("x-common", "everywhere")
    taken: int@
    l: turns.gate@ = turns.gate(2)
    started <- http.listen(8080, routes(taken, l), bounds = bounds, common = common) [+stderr]
    match started:
        ok(s):
            on process.signals terminate [+s]: http.stop(s, 600s)
        error(e):
            stderr.write("%s\n", e)
            process.exit(3)
`

func serveReceiving(t *testing.T, limit string) (*process, int) {
	t.Helper()
	p := startWith(t, []string{compiled(t, "receive.eve", receivingServer), limit}, "EVE_WORKERS=2")
	return p, p.port()
}

// Bodies of all sizes and forms come whole, part by part, and the connection is kept. `sizes.body`
// does not bound them; it does those of other routes.
func TestHTTPReceive(t *testing.T) {
	t.Parallel()
	_, port := serveReceiving(t, "600000")
	b := newBrowser(t, port)
	for _, size := range []int{0, 1, 1000, 65_537, 3 << 20} {
		text := strings.Repeat("x", size)
		for _, body := range []io.Reader{strings.NewReader(text), // with a length, and in chunks
			io.MultiReader(strings.NewReader(text))} {
			a, text := b.ask("POST", "/sum", body)
			if a.StatusCode != 200 || !strings.HasPrefix(text, fmt.Sprint(size, " ")) || a.Close {
				t.Errorf("%d bytes: got %d %q, close %v", size, a.StatusCode, text, a.Close)
			}
			if got := a.Header.Get("X-Common"); got != "everywhere" {
				t.Errorf("X-Common: %q", got)
			}
		}
	}
	a, text := b.ask("POST", "/sum", strings.NewReader("wait for me"), "Expect", "100-continue")
	if text != "11 true\n" {
		t.Errorf("with an expectation: got %d %q", a.StatusCode, text)
	}
	b.must("POST", "/echo", strings.NewReader("ab"), 201, "ab")
	if a, _ := b.ask("POST", "/echo", strings.NewReader(strings.Repeat("x", 65_537)), "Expect",
		"100-continue"); a.StatusCode != 413 || a.Header.Get("X-Common") != "everywhere" {
		t.Errorf("a body that is too large: got %d, %v", a.StatusCode, a.Header)
	}
	for method, want := range map[string]string{"PUT": "[POST]\n", "GET": "[POST]\n"} {
		b.must(method, "/sum", nil, 404, want)
	}
	b.must("POST", "/taken", nil, 404, "[GET HEAD]\n")
	b.must("POST", "/nothing", nil, 404, "[]\n")
}

// An exchange may reply before the body has come, and is told of a body that is wrong. Then the
// connection ends.
func TestHTTPReceiveWrong(t *testing.T) {
	t.Parallel()
	p, port := serveReceiving(t, "200")
	const h = " HTTP/1.1\r\nHost: h\r\n"
	const next = "GET /taken HTTP/1.1\r\nHost: h\r\n\r\n"
	for _, c := range []struct {
		input  string
		status int
		want   string
	}{
		{"POST /no" + h + "Content-Length: 30000000\r\n\r\n", 415, "no\n"},
		{"POST /no" + h + "Content-Length: 30000000\r\nExpect: 100-continue\r\n\r\n", 415, "no\n"},
		{"POST /no" + h + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 415, "no\n"},
		{"POST /sum" + h + "Content-Length: 5\r\n\r\nab", 408, "the body comes too slowly\n"},
		{"POST /sum" + h + "Content-Length: 5\r\n\r\n", 408, "the body comes too slowly\n"},
		{"POST /sum" + h + "Transfer-Encoding: chunked\r\n\r\n5", 408,
			"the body comes too slowly\n"},
		{"POST /sum" + h + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + next, 400,
			"the size of a chunk is no number\n"},
		{"POST /sum" + h + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n" + next, 400,
			"a line is too long\n"},
		{"POST /sum" + h + "Content-Length: x\r\n\r\n" + next, 400, "a length is no number\n"},
	} {
		a, text := replyTo(t, p, port, c.input, true)
		if a.StatusCode != c.status || text != c.want || !a.Close {
			t.Errorf("%q: got %d %q, close %v, want %d %q", head(c.input), a.StatusCode, text,
				a.Close, c.status, c.want)
		}
	}
	// what is behind a whole body is the next request
	a, text := replyTo(t, p, port, "POST /sum"+h+"Content-Length: 3\r\n\r\nabc"+next, false)
	if a.StatusCode != 200 || !strings.HasPrefix(text, "3 ") {
		t.Errorf("a body before a request: got %d %q", a.StatusCode, text)
	}
	before := p.descriptors()
	for _, path := range []string{"/sum", "/late"} { // the client goes
		gone := p.dial(port)
		gone.say("POST " + path + h + "Content-Length: 9\r\n\r\nabc")
		if err := gone.Close(); err != nil {
			t.Error(err)
		}
	}
	p.eventually("no connection is left", func() bool { return p.descriptors() <= before })
}

// A task is told when a client has taken a reply, or has gone.
func TestHTTPSent(t *testing.T) {
	t.Parallel()
	p, port := serveReceiving(t, "600000")
	b := newBrowser(t, port)
	deaf := p.dial(port)
	if err := deaf.SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	deaf.say("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReaderSize(deaf, 16), nil); err != nil {
		t.Fatal(err)
	}
	taken := func(want string) func() bool {
		return func() bool {
			_, text := b.ask("GET", "/taken", nil)
			return text == want
		}
	}
	b.must("GET", "/taken", nil, 200, "0\n")
	b.must("GET", "/large", nil, 200, strings.Repeat("0123456789abcdef", 300_000))
	p.eventually("one has been taken", taken("1\n"))
	if err := deaf.Close(); err != nil {
		t.Error(err)
	}
	p.eventually("the other client has gone", taken("2\n"))
}

// Ranges and conditions (RFC 9110, sections 13 and 14).
func TestRanges(t *testing.T) {
	t.Parallel()
	_, port := serveReceiving(t, "600000")
	b := newBrowser(t, port)
	for _, c := range []struct {
		asked, condition string
		status           int
		want, place      string
	}{
		{"", "", 200, "0123456789", ""}, {"bytes=0-0", "", 206, "0", "bytes 0-0/10"},
		{"bytes=3-5", "", 206, "345", "bytes 3-5/10"},
		{"bytes=8-", "", 206, "89", "bytes 8-9/10"}, {"bytes=-2", "", 206, "89", "bytes 8-9/10"},
		{"bytes=-99", "", 206, "0123456789", "bytes 0-9/10"},
		{"Bytes=5-99", "", 206, "56789", "bytes 5-9/10"},
		{"bytes=5-99999999999999999999", "", 206, "56789", "bytes 5-9/10"},
		{"bytes=10-", "", 416, "", "bytes */10"}, {"bytes=-0", "", 416, "", "bytes */10"},
		{"bytes=99999999999999999999-", "", 416, "", "bytes */10"},
		{"bytes=5-4", "", 200, "0123456789", ""}, {"bytes=1-2,4-5", "", 200, "0123456789", ""},
		{"bytes=a-b", "", 200, "0123456789", ""}, {"bytes=+1-2", "", 200, "0123456789", ""},
		{"bytes=", "", 200, "0123456789", ""}, {"lines=1-2", "", 200, "0123456789", ""},
		{"bytes=3-5", `"v1"`, 206, "345", "bytes 3-5/10"},
		{"bytes=3-5", `"v0"`, 200, "0123456789", ""},
	} {
		headers := []string{"Range", c.asked}
		if c.condition != "" {
			headers = append(headers, "If-Range", c.condition)
		}
		a, text := b.ask("GET", "/digits", nil, headers...)
		if a.StatusCode != c.status || text != c.want ||
			a.Header.Get("Content-Range") != c.place || a.Header.Get("ETag") != `"v1"` {
			t.Errorf("%q, %s: got %d %q, %v", c.asked, c.condition, a.StatusCode, text, a.Header)
		}
	}
	if a, _ := b.ask("HEAD", "/digits", nil, "Range", "bytes=1-2"); a.StatusCode != 200 ||
		a.ContentLength != 10 {
		t.Errorf("HEAD: got %d, %d bytes", a.StatusCode, a.ContentLength)
	}
	for known, status := range map[string]int{`"v1"`: 304, `W/"v1"`: 304, "*": 304,
		`"v0", "v1"`: 304, `"v0"`: 200, "v1": 200} {
		if a, _ := b.ask("GET", "/known", nil, "If-None-Match", known); a.StatusCode != status {
			t.Errorf("If-None-Match %s: got %d, want %d", known, a.StatusCode, status)
		}
	}
}

// Two have a turn at a time, the others get theirs later, and one that will not wait is told.
func TestTurns(t *testing.T) {
	t.Parallel()
	_, port := serveReceiving(t, "600000")
	b := newBrowser(t, port)
	var mu sync.Mutex
	var got []string
	ask := func(patience string) {
		_, text := b.ask("GET", "/turn/"+patience, nil)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, text)
	}
	var wait sync.WaitGroup
	for range 12 {
		wait.Go(func() { ask("600000") })
	}
	wait.Wait()
	if slices.ContainsFunc(got, func(text string) bool { return text != "1\n" && text != "2\n" }) {
		t.Errorf("got %q, want 1 or 2 at a time", got)
	}
	got = nil
	for range 12 {
		wait.Go(func() { ask("0") })
	}
	wait.Wait()
	if len(got) != 12 || !slices.Contains(got, "1\n") && !slices.Contains(got, "2\n") {
		t.Errorf("got %q, want a turn for some of them", got)
	}
	b.must("GET", "/turn/600000", nil, 200, "1\n") // none is lost
}
