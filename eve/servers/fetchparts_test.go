package servers_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A client whose bodies go and come in parts. Its arguments are the limit for a reply, in
// milliseconds, 1 or 2 for the version of HTTP, and commands, which it obeys one after the other:
// it prints what comes of each.
const partsClient = `import io.fetch
import io.fetch2
import io.message
import io.parts
import io.unpacked

# Reads a body to its end. Byte i of it is i % 251.
drain: (body: parts.incoming, n: int, then: <(string) void>@) void:
    part <- body.read() [=body, =n, -then]
    match part:
        error(e): then(f"{n} bytes, error: {e.text()}")
        ok(p):
            if p.empty():
                then(f"{n} bytes")
            else if p[0] != char(n % 251) || p[p.size() - 1] != char((n + p.size() - 1) % 251):
                then(f"wrong bytes behind {n}")
            else:
                drain(body, n + p.size(), then)

read: (c: fetch.client@, =r: fetch.request, then: <(string) void>@) void:
    opened <- fetch.open(c, r) [-then]
    match opened:
        error(e): then("error: " + e.text())
        ok(a):
            head: string = f"{a.reply.major}/{a.reply.status}"
            tell: <(string) void>@ = [-then, =head] (text: string) void: then(head + " " + text)
            drain(a.body, 0, tell)

size_of: (part: bytes!) int:
    match part:
        error(_): return -1
        ok(p): return p.size()

# Cancels behind the first part, and reads on.
stop: (c: fetch.client@, =r: fetch.request, then: <(string) void>@) void:
    opened <- fetch.open(c, r) [-then]
    match opened:
        error(e): then("error: " + e.text())
        ok(a):
            body: parts.incoming = a.body
            part <- body.read() [=body, -then]
            came: bool = size_of(part) > 0
            body.cancel()
            again <- body.read() [=came, -then]
            match again:
                error(e): then(f"{came} error: {e.text()}")
                ok(p): then(f"{p.size()} bytes")

# Has nothing of the body any more.
drop: (c: fetch.client@, =r: fetch.request, then: <(string) void>@) void:
    opened <- fetch.open(c, r) [-then]
    match opened:
        error(e): then("error: " + e.text())
        ok(a): then(f"{a.reply.status}")

show: (a: message.reply!, then: <(string) void>@) void:
    match a:
        error(e): then("error: " + e.text())
        ok(r): then(f"{r.major}/{r.status} {r.body.text()}")

send: (c: fetch.client@, =r: fetch.request, then: <(string) void>@) void:
    a <- fetch.send(c, r) [-then]
    show(a, then)

open_within: (c: fetch.client@, =r: fetch.request, limit: duration,
    then: <(string) void>@) void:
    opened <- fetch.open(c, r) within limit [-then]
    match opened:
        error(e): then("error: " + e.text())
        ok(_): then("opened")

send_within: (c: fetch.client@, =r: fetch.request, limit: duration,
    then: <(string) void>@) void:
    a <- fetch.send(c, r) within limit [-then]
    show(a, then)

# Reads the first part, and waits for the next one for so long.
read_within: (c: fetch.client@, =r: fetch.request, limit: duration,
    then: <(string) void>@) void:
    opened <- fetch.open(c, r) [=limit, -then]
    match opened:
        error(e): then("error: " + e.text())
        ok(a):
            body: parts.incoming = a.body
            _ <- body.read() [=body, =limit, -then]
            late <- body.read() within limit [=body, -then]
            why: string = ""
            match late:
                error(e): why = e.text()
                ok(p): why = f"{p.size()} bytes"
            again <- body.read() [=why, -then]
            match again:
                error(e): then(f"{why}, then {e.text()}")
                ok(p): then(f"{why}, then {p.size()} bytes")

# A function that ends its request when its own caller has given up.
load: (c: fetch.client@, =r: fetch.request) <- message.reply!:
    k: fetch.canceller@
    r.canceller = k
    ask(c, r, answer)
    _ <- unwanted(answer) [+k]
    k.cancel()

ask: (c: fetch.client@, =r: fetch.request, give: <(message.reply!) void>@) void:
    a <- fetch.send(c, r) [-give]
    give(a)

load_within: (c: fetch.client@, =r: fetch.request, limit: duration,
    then: <(string) void>@) void:
    a <- load(c, r) within limit [-then]
    show(a, then)

cancel: (c: fetch.client@, =r: fetch.request, limit: duration, then: <(string) void>@) void:
    k: fetch.canceller@
    r.canceller = k
    t: timer@ = timer.after(limit)
    on t fired [+k]: k.cancel()
    send(c, r, then)

# Reads the first part, and goes on at a signal.
pause: (c: fetch.client@, =r: fetch.request, then: <(string) void>@) void:
    opened <- fetch.open(c, r) [-then]
    match opened:
        error(e): then("error: " + e.text())
        ok(a):
            body: parts.incoming = a.body
            part <- body.read() [=body, -then, +stdout]
            n: int = size_of(part)
            print("paused\n")
            stdout.flush()
            on process.signals reload [=body, =n, -then]: drain(body, n, then)

# n parts of so many bytes. Behind them it fails, or forgets to go on, if it is told to.
made: (n: int, size: int, total: int, end: string) parts.source:
    left: int@ = n
    next: <(<(bytes!) void>@) void>@ = [+left, =size, =end] (give: <(bytes!) void>@) void:
        if left > 0:
            left -= 1
            give("x".repeat(size).bytes())
        else if end == "fails":
            give(error("the source is dry"))
        else if end != "forgets":
            give("".bytes())
    return parts.source(next, total)

put: (c: fetch.client@, =r: fetch.request, words: vector<string>, then: <(string) void>@) void:
    r.method = "PUT"
    numbers: vector<int>
    for (w in words[1].split(",")): numbers.push(w.to_int() else 0)
    r.source = made(numbers[0], numbers[1], numbers[2], words[2])
    send(c, r, then)

post: (c: fetch.client@, =r: fetch.request, size: int, then: <(string) void>@) void:
    r.method = "POST"
    r.body.append_text("x".repeat(size))
    send(c, r, then)

put_within: (c: fetch.client@, =r: fetch.request, limit: duration, then: <(string) void>@) void:
    r.method = "PUT"
    r.source = made(1_000_000_000, 65_536, -1, "")
    send_within(c, r, limit, then)

put_file: (c: fetch.client@, =r: fetch.request, name: string, then: <(string) void>@) void:
    r.method = "PUT"
    opened <- fs.open(name) [-c, =r, -then]
    match opened:
        error(e): then("error: " + e.text())
        ok(f):
            r.source = parts.of_file(f)
            send(c, r, then)

unpack_on: (b: unpacked.reader@, n: int, then: <(string) void>@) void:
    part <- unpacked.read(b) [-b, =n, -then]
    match part:
        error(e): then(f"{n > 0} error: {e.text()}")
        ok(p):
            if p.empty(): then(f"{n} bytes")
            else: unpack_on(b, n + p.size(), then)

unpack: (c: fetch.client@, =r: fetch.request, most: int, then: <(string) void>@) void:
    unpacked.ask(r)
    opened <- fetch.open(c, r) [=most, -then]
    match opened:
        error(e): then("error: " + e.text())
        ok(a):
            match unpacked.body(a, most):
                error(e): then("error: " + e.text())
                ok(b): begin_unpacking(b, then)

begin_unpacking: (=from: unpacked.reader, then: <(string) void>@) void:
    b: unpacked.reader@ = from
    unpack_on(b, 0, then)

unpack_whole: (c: fetch.client@, =r: fetch.request, most: int, then: <(string) void>@) void:
    unpacked.ask(r)
    got <- fetch.send(c, r) [=most, -then]
    match got:
        error(e): then("error: " + e.text())
        ok(a):
            match unpacked.whole(a.copy(), most):
                error(e): then("error: " + e.text())
                ok(b): then(f"{b.body.size()} bytes")

obey: (c: fetch.client@, words: vector<string>, then: <(string) void>@) void:
    r: fetch.request = fetch.request(words[words.size() - 1])
    limit: duration = 1ms * (words[1].to_int() else 0)
    most: int = words[1].to_int() else 0
    match words[0]:
        "read": read(c, r, then)
        "stop": stop(c, r, then)
        "drop": drop(c, r, then)
        "send": send(c, r, then)
        "open-within": open_within(c, r, limit, then)
        "send-within": send_within(c, r, limit, then)
        "read-within": read_within(c, r, limit, then)
        "load-within": load_within(c, r, limit, then)
        "cancel": cancel(c, r, limit, then)
        "pause": pause(c, r, then)
        "put": put(c, r, words, then)
        "post": post(c, r, most, then)
        "put-within": put_within(c, r, limit, then)
        "put-file": put_file(c, r, words[1], then)
        "unpack": unpack(c, r, most, then)
        "unpack-whole": unpack_whole(c, r, most, then)
        else: then("no command")

each: (c: fetch.client@, at: int) void:
    all: vector<string> = process.args()
    if at == all.size():
        @ [+c]: fetch.close_all(c)
        return
    then: <(string) void>@ = [-c, =at, +stdout] (text: string) void:
        print("%s\n", text)
        stdout.flush()
        each(c, at + 1)
    obey(c, all[at].split(" "), then)

main: () void:
    words: vector<string> = process.args()
    bounds: fetch.limits = fetch.limits(message.limits(body = 100_000), connect_time = 600s,
        reply_time = 1ms * (words[0].to_int() else 0))
    if words[1] == "1":
        c: fetch.client@ = fetch.client(bounds)
        each(c, 2)
    else:
        d: fetch.client@ = fetch.client(bounds, http2 = fetch2.protocol(true))
        each(d, 2)
`

// startParts starts that program.
func startParts(t *testing.T, workers, version int, limit time.Duration,
	commands ...string) *process {
	t.Helper()
	exe := compiled(t, "parts.eve", partsClient)
	return startWith(t, append([]string{exe, fmt.Sprint(limit.Milliseconds()),
		fmt.Sprint(version)}, commands...), fmt.Sprint("EVE_WORKERS=", workers))
}

// A command and what the program prints then. U is the server's URL, and H its host and port.
type command struct{ words, want string }

// obeying starts the program with these commands. What it returns compares what the program has
// printed.
func obeying(t *testing.T, workers, version int, limit time.Duration, url string,
	all []command) (p *process, compare func()) {
	t.Helper()
	_, host, _ := strings.Cut(url, "//")
	var words, want []string
	for _, c := range all {
		words = append(words, strings.Replace(c.words, " U/", " "+url+"/", 1))
		want = append(want, strings.ReplaceAll(c.want, "H:", host+":"))
	}
	p = startParts(t, workers, version, limit, words...)
	return p, func() {
		t.Helper()
		got := strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// mustObey runs the program with these commands, and compares what it prints.
func mustObey(t *testing.T, workers, version int, limit time.Duration, url string,
	all []command) {
	t.Helper()
	p, compare := obeying(t, workers, version, limit, url, all)
	p.mustExit(0)
	compare()
	if said := p.err.String(); said != "" {
		t.Errorf("the program says %q", said)
	}
}

// pattern is the n bytes from `from` on of the bodies that the program compares.
func pattern(from, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((from + i) % 251)
	}
	return b
}

// A partsServer sends and takes long bodies, and counts.
type partsServer struct {
	*httptest.Server
	connections
	held  atomic.Int32 // requests under way
	wrote atomic.Int64 // bytes of bodies
}

// startPartsServer starts one that speaks this version of HTTP.
func startPartsServer(t *testing.T, version int) *partsServer {
	t.Helper()
	s := &partsServer{}
	s.Server = httptest.NewUnstartedServer(s.routes())
	s.Config.ConnState = s.count
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(version == 1)
	s.Config.Protocols.SetUnencryptedHTTP2(version == 2)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// pour writes n bytes of the pattern; it reports whether the client took them.
func (s *partsServer) pour(w io.Writer, n int) bool {
	for at := 0; at < n; {
		k, err := w.Write(pattern(at, min(n-at, 32<<10)))
		at += k
		s.wrote.Add(int64(k))
		if err != nil {
			return false
		}
	}
	return true
}

func number(r *http.Request) int {
	n, _ := strconv.Atoi(r.PathValue("n"))
	return n
}

func (s *partsServer) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", r.PathValue("n"))
		s.pour(w, number(r))
	})
	mux.HandleFunc("/chunks/{n}", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush() // else a short body would get a length
		s.pour(w, number(r))
	})
	mux.HandleFunc("/until/{n}", func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		s.pour(c, number(r))
	})
	mux.HandleFunc("/held", func(_ http.ResponseWriter, r *http.Request) {
		s.held.Add(1)
		<-r.Context().Done()
		s.held.Add(-1)
	})
	mux.HandleFunc("/stuck", func(w http.ResponseWriter, r *http.Request) {
		s.held.Add(1)
		s.pour(w, 1000)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		s.held.Add(-1)
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		s.held.Add(1)
		for s.pour(w, 251<<12) {
		}
		s.held.Add(-1)
	})
	mux.HandleFunc("/size", sizeOfBody)
	mux.HandleFunc("/deaf", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden) // of a body that it does not read
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/to/{status}/{to...}", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.PathValue("status"))
		w.Header().Set("Location", "/"+r.PathValue("to"))
		w.WriteHeader(status)
		io.WriteString(w, "elsewhere")
	})
	mux.HandleFunc("/packed/{coding}/{n}", func(w http.ResponseWriter, r *http.Request) {
		coding := r.PathValue("coding")
		w.Header().Set("Content-Encoding", coding)
		to := struct {
			io.Writer
			io.Closer
		}{w, io.NopCloser(nil)}
		switch coding {
		case "gzip":
			z := gzip.NewWriter(w)
			to.Writer, to.Closer = z, z
		case "deflate":
			z := zlib.NewWriter(w)
			to.Writer, to.Closer = z, z
		}
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t := "nobody has asked for that"
			http.Error(w, t, http.StatusBadRequest)
			return
		}
		s.pour(to, number(r))
		to.Close()
	})
	mux.HandleFunc("/raw/{n}", func(w http.ResponseWriter, r *http.Request) { // of gzip's bytes
		var all bytes.Buffer
		z := gzip.NewWriter(&all)
		z.Write(make([]byte, 64<<20))
		z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(all.Bytes()[:number(r)])
	})
	return mux
}

// mustRest waits until the server has so many requests under way, and of HTTP/1.1 as many
// connections.
func (s *partsServer) mustRest(p *process, version int, requests int32) {
	p.t.Helper()
	p.eventually("the other requests are let go", func() bool {
		p.mustRun()
		open := requests
		if version == 2 {
			open = 1
		}
		return s.held.Load() == requests && s.open.Load() == open
	})
}

// eachVersion runs a test with both versions of HTTP.
func eachVersion(t *testing.T, body func(t *testing.T, version int)) {
	for _, v := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP-", v), func(t *testing.T) {
			t.Parallel()
			body(t, v)
		})
	}
}
