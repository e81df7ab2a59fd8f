package servers_test

import (
	"cmp"
	"crypto/tls"
	"debug/elf"
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

	"interleave/internal/freeport"
)

// A client that fetches in rounds, and prints what comes of each fetch. Its first argument are the
// limits for a reply, for a connection and for an idle one, in milliseconds, for a body, in bytes,
// and for the connections that are kept. The second is a file of trusted issuers, or - for servers
// that speak HTTP/2 without TLS. Each further one is a round, of fetches that are sent at the same
// time, divided by |: METHOD=BODY*TIMES URL MS. MS, the time for all of it, may be left out. CLOSE
// in place of a fetch closes the connections that are kept, and a last round KEEP leaves them to
// their idle time.
const fetches2 = `import io.fetch
import io.fetch2
import io.message
import io.socket
import io.tls

type course:
    round: int
    left: int                    # fetches of the round

show: [+stdout] (name: string, r: message.reply!) void:
    match r:
        ok(a):
            text: string = a.body.text().trim()
            if text.size() > 60: text = f"{text.size()} bytes"
            print("%s %d/%d %s %s\n", name, a.major, a.status, a.headers.get("x-test") else "-",
                text)
        error(e): print("%s error: %s\n", name, e.text())

ask: (c: fetch.client@, words: string, name: string, all: course@) void:
    parts: vector<string> = words.split(" ")
    how: vector<string> = parts[0].split("=")
    r: fetch.request = fetch.request(parts[1], how[0])
    if how.size() > 1:
        body: vector<string> = how[1].split("*")
        times: int = 1
        if body.size() > 1: times = body[1].to_int() else 1
        r.body.append_text(body[0].repeat(times))
    if parts.size() > 2: r.whole_time = 1ms * (parts[2].to_int() else 0)
    r.headers.add("X-Name", " " + name)
    r.headers.add("Connection", "close")
    a <- fetch.send(c, r) [=name, -c, +all, +stdout]
    show(name, a)
    all.left -= 1
    if all.left == 0:
        all.round += 1
        go_on(c, all)

go_on: [+all] (c: fetch.client@, all: course@) void:
    args: vector<string> = process.args()
    if all.round == args.size():
        @ [+c]: fetch.close_all(c)
        return
    if args[all.round] == "KEEP": return
    fetches: vector<string> = args[all.round].split("|")
    all.left = fetches.size()
    for (i in 0..fetches.size()):
        if fetches[i] != "CLOSE":
            ask(c, fetches[i], f"{all.round - 2}.{i}", all)
        else:
            all.left -= 1
            @ [+c]: fetch.close_all(c)

begin: (by: socket.client_protection?) void:
    limits: vector<int>
    for (text in process.args()[0].split(",")): limits.push(text.to_int() else 0)
    bounds: fetch.limits = fetch.limits(message.limits(body = limits[3]),
        reply_time = 1ms * limits[0], connect_time = 1ms * limits[1], idle_time = 1ms * limits[2],
        kept = limits[4])
    c: fetch.client@ = fetch.client(bounds, by, fetch2.protocol(by == none))
    all: course@ = course(2)
    @ [-c, +all]: go_on(c, all)

main: () void:
    roots: string = process.args()[1]
    if roots == "-":
        begin(none)
        return
    trusted <- tls.client(roots, protocols = ["h2", "http/1.1"]) [+stdout]
    match trusted:
        ok(by): begin(by)
        error(e): print("%s\n", e)
`

// A course is what the program does.
type course struct {
	connect, idle time.Duration // limits; 0: enough
	body          int           // bytes of a reply; 0: 100,000
	kept          int           // connections; 0: 16
	roots         string        // empty: without TLS
	url           string        // of the server, U in words; H in errors is its host and port
	rounds        []round
}

// A round has words of the program, and what it prints then.
type round []struct{ words, want string }

// ask is a round of one fetch.
func ask(words, want string) round { return round{{words, want}} }

// words are the arguments of the program.
func (c course) words() []string {
	limits := fmt.Sprintf("%d,%d,%d,%d,%d", patience.Milliseconds(),
		cmp.Or(c.connect, patience).Milliseconds(), cmp.Or(c.idle, patience).Milliseconds(),
		cmp.Or(c.body, 100_000), cmp.Or(c.kept, 16))
	words := []string{limits, cmp.Or(c.roots, "-")}
	for _, r := range c.rounds {
		var all []string
		for _, f := range r {
			all = append(all, strings.Replace(f.words, " U/", " "+c.url+"/", 1))
		}
		words = append(words, strings.Join(all, "|"))
	}
	return words
}

// start starts the program.
func (c course) start(t *testing.T, workers int) *process {
	t.Helper()
	exe := compiled(t, "fetches2.eve", fetches2)
	return startWith(t, append([]string{exe}, c.words()...), fmt.Sprint("EVE_WORKERS=", workers))
}

// mustRun runs it, and compares what it prints.
func (c course) mustRun(t *testing.T, workers int) {
	t.Helper()
	p := c.start(t, workers)
	p.mustExit(0)
	_, host, _ := strings.Cut(c.url, "//")
	var want []string
	for i, r := range c.rounds {
		for j, f := range r {
			if f.want != "" {
				want = append(want, fmt.Sprintf("%d.%d %s", i, j,
					strings.Replace(f.want, "error: H:", "error: "+host+":", 1)))
			}
		}
	}
	got := strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
	slices.Sort(got) // fetches of a round may end in any order
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A goServer is net/http's, which counts its connections, and the requests of one kind.
type goServer struct {
	*httptest.Server
	connections
	running, most atomic.Int32
	cancelled     chan struct{} // a request was
}

// atOnce is how many requests of one connection it handles at a time.
const atOnce = 7

// startGo starts it. With an authority it speaks TLS, and HTTP/2 only if it may.
func startGo(t *testing.T, ca *authority, may bool) *goServer {
	t.Helper()
	s := &goServer{cancelled: make(chan struct{}, 1)}
	s.Server = httptest.NewUnstartedServer(s.routes())
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: atOnce}
	s.Config.ConnState = s.count
	if ca != nil {
		s.EnableHTTP2 = may
		s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.good("go", "127.0.0.1")}}
		s.StartTLS()
	} else {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *goServer) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Test", r.Method+" "+r.Header.Get("X-Name"))
		body, _ := io.ReadAll(r.Body) // an error shows in what comes back
		fmt.Fprintf(w, "%s?%s %s", r.URL.Path, r.URL.RawQuery, body)
	})
	mux.HandleFunc("/size", sizeOfBody)
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		for part := strings.Repeat("x", 1000); n > 0; n -= len(part) {
			io.WriteString(w, part[:min(n, len(part))])
		}
	})
	mux.HandleFunc("/many", func(http.ResponseWriter, *http.Request) {
		now := s.running.Add(1)
		for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); {
			most = s.most.Load()
		}
		time.Sleep(time.Millisecond)
		s.running.Add(-1)
	})
	mux.HandleFunc("/held", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		s.cancelled <- struct{}{}
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Test", "early")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Test", "late")
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "with a trailer")
		w.Header().Set("X-Sum", "1")
	})
	mux.HandleFunc("/deaf", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "enough") // of a body that it does not read
	})
	mux.HandleFunc("/to/{status}", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.PathValue("status"))
		w.Header().Set("Location", "../plain?a")
		w.WriteHeader(status)
	})
	return mux
}

// sizeOfBody answers with the bytes of a body, those that its head has announced, and an error.
func sizeOfBody(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	fmt.Fprint(w, n, " ", r.ContentLength, " ", err)
}

func (s *goServer) mustHave(t *testing.T, connections int32) {
	t.Helper()
	if n := s.made.Load(); n != connections {
		t.Errorf("%d connections were made, want %d", n, connections)
	}
}

// Requests and replies of all forms with net/http's server, by TLS and without it: as many at a
// time as the server handles, on one connection.
func TestFetch2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "a test")
	rounds := []round{
		ask("GET U/plain?q=1#part", "2/200 GET 0.0 /plain?q=1"),
		{
			{"POST=abc U/plain", "2/200 POST 1.0 /plain? abc"},
			{"PUT=abcdefg*50000 U/size", "2/200 - 350000 350000 <nil>"},
			{"GET U/bytes/1000000", "2/200 - 1000000 bytes"},
			{"GET U/none", "2/204 - "},
			{"GET U/early", "2/200 late with a trailer"},
			{"HEAD U/plain", "2/200 HEAD 1.5 "},
			{"POST=abc U/to/303", "2/200 GET 1.6 /plain?a"},
			{"PUT=abc U/to/307", "2/200 PUT 1.7 /plain?a abc"},
			{"POST U/size", "2/200 - 0 0 <nil>"},
			{"PUT=x*3000000 U/deaf", "2/200 - enough"},
			{"GET U/bytes/1000001", "error: H: the body is too large"},
			{"GET U/missing", "2/404 - 404 page not found"},
		},
		slices.Repeat(ask("GET U/many", "2/200 - "), 100),
		ask("GET U/plain", "2/200 GET 3.0 /plain?"),
	}
	for _, c := range []struct {
		name string
		s    *goServer
	}{{"plain", startGo(t, nil, true)}, {"tls", startGo(t, ca, true)}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			roots := ""
			if c.name == "tls" {
				roots = ca.file("ca.pem")
			}
			course{body: 1_000_000, roots: roots, url: c.s.URL, rounds: rounds}.mustRun(t, 2)
			c.s.mustHave(t, 1)
			if n := c.s.most.Load(); n > atOnce {
				t.Errorf("%d requests were under way at a time, want at most %d", n, atOnce)
			}
		})
	}
}

// A program needs nghttp2 only if it speaks HTTP/2.
func TestFetch2Linked(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"fetches.eve": fetches, "fetches2.eve": fetches2} {
		file, err := elf.Open(compiled(t, name, text))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		needs, err := file.ImportedLibraries()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Contains(fmt.Sprint(needs), "libnghttp2.so")
		if got != (text == fetches2) {
			t.Errorf("%s needs %q", name, needs)
		}
	}
}

// A server that chooses HTTP/1.1 is spoken to in that, on as many connections as it takes.
func TestFetch2FallsBack(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "a test")
	s := startGo(t, ca, false)
	course{roots: ca.file("ca.pem"), url: s.URL, rounds: []round{{
		{"GET U/plain", "1/200 GET 0.0 /plain?"},
		{"GET U/plain", "1/200 GET 0.1 /plain?"},
		{"GET U/plain", "1/200 GET 0.2 /plain?"},
	}, ask("PUT=abc U/plain", "1/200 PUT 1.0 /plain? abc")}}.mustRun(t, 2)
	s.mustHave(t, 3)
}

// A server that chooses HTTP/2 at last is spoken to in that. A client that cannot do so says that.
func TestFetch2Turns(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "a test")
	own := []tls.Certificate{ca.good("go", "127.0.0.1")}
	var met atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		io.WriteString(w, "ok")
	}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if met.Add(1) == 1 {
			return &tls.Config{Certificates: own, NextProtos: []string{"http/1.1"}}, nil
		}
		return &tls.Config{Certificates: own, NextProtos: []string{"h2"}}, nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	c := course{roots: ca.file("ca.pem"), url: s.URL, rounds: []round{ask("GET U/", ""),
		slices.Repeat(ask("GET U/", ""), 2)}}
	p := c.start(t, 2)
	p.mustExit(0)
	var got []string // one of the second round has the connection of the first
	for line := range strings.Lines(p.out.String()) {
		_, reply, _ := strings.Cut(strings.TrimSpace(line), " ")
		got = append(got, reply)
	}
	slices.Sort(got)
	if want := []string{"1/200 - ok", "1/200 - ok", "2/200 - ok"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := met.Load(); n != 3 {
		t.Errorf("%d connections were made, want 3", n)
	}

	text := strings.NewReplacer("import io.fetch2\n", "", ", fetch2.protocol(by == none)",
		"").Replace(fetches2)
	p = startWith(t, append([]string{compiled(t, "fetches1.eve", text)}, c.words()...))
	p.mustExit(0)
	want := fmt.Sprintf("0.0 error: %s: the server has chosen HTTP/2, which the client does not "+
		"speak\n", s.Listener.Addr())
	if got := p.out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A request whose time is over is cancelled, and its connection goes on. An idle connection ends,
// and with it the program, which waits for nothing else.
func TestFetch2Times(t *testing.T) {
	t.Parallel()
	s := startGo(t, nil, true)
	course{url: s.URL, rounds: []round{
		{{"GET U/held 50", "error: H: timeout"}, {"GET U/none", "2/204 - "}},
		ask("GET U/none", "2/204 - ")}}.mustRun(t, 2)
	<-s.cancelled
	s.mustHave(t, 1)
	course{idle: 20 * time.Millisecond, url: s.URL, rounds: []round{
		ask("GET U/none", "2/204 - "), ask("KEEP", "")}}.mustRun(t, 1)
}

// Requests that end in every state, some of them before they have begun, leave the others alone.
func TestFetch2Cancels(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		s := startGo(t, nil, true)
		var many round
		for i := range 100 {
			words := "GET U/many"
			if i%3 > 0 {
				words += fmt.Sprint(" ", 1+i%7) // ms
			}
			many = append(many, ask(words, "")...)
		}
		p := course{url: s.URL, rounds: []round{many, many, many}}.start(t, workers)
		p.mustExit(0)
		lines := strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
		if len(lines) != 3*len(many) {
			t.Fatalf("%d lines, want %d: %q", len(lines), 3*len(many), lines)
		}
		for _, line := range lines {
			var r, i int
			fmt.Sscanf(line, "%d.%d ", &r, &i)
			timeout := fmt.Sprintf("error: %s: timeout", s.Listener.Addr())
			_, got, _ := strings.Cut(line, " ")
			if got != "2/200 - " && (got != timeout || i%3 == 0) {
				t.Errorf("got %q", line)
			}
		}
		s.mustHave(t, 1)
	})
}

// No more idle connections are kept than the limit says. What is under way when they are closed is
// answered.
func TestFetch2Kept(t *testing.T) {
	t.Parallel()
	a, b := startGo(t, nil, true), startGo(t, nil, true)
	toB := ask("GET "+b.URL+"/none", "2/204 - ")
	toA := ask("GET U/none", "2/204 - ")
	course{kept: 1, url: a.URL, rounds: []round{toA, toB, toA, toA}}.mustRun(t, 2)
	a.mustHave(t, 2)
	b.mustHave(t, 1)
	many := slices.Repeat(ask("GET U/many", "2/200 - "), 20)
	course{url: a.URL, rounds: []round{slices.Concat(many, ask("CLOSE", ""), toA), toA}}.
		mustRun(t, 2)
}

// Nobody listens, or nobody with a certificate that is trusted: all that wait for the connection
// get that error.
func TestFetch2Unreachable(t *testing.T) {
	t.Parallel()
	nobody := fmt.Sprint("127.0.0.1:", freeport.For(t))
	refused := "error: H: cannot connect to " + nobody + ": Connection refused"
	course{url: "http://" + nobody, rounds: []round{{{"GET U/", refused}, {"PUT U/", refused}},
		ask("GET U/", refused)}}.mustRun(t, 2)
	s := startGo(t, newAuthority(t, "another test"), true)
	course{roots: newAuthority(t, "a test").file("ca.pem"), url: s.URL,
		rounds: []round{ask("GET U/", "error: H: cannot connect to "+s.Listener.Addr().String()+
			": the issuer of the certificate is not known here: CN=another test")}}.mustRun(t, 1)
	bare := "error: 127.0.0.1:1: for https the client needs a protection of io.tls"
	course{rounds: []round{ask("GET https://127.0.0.1:1/", bare)}}.mustRun(t, 1)
}

// Eve's own server on the other side, with bodies in both directions at once.
func TestFetch2OwnServer(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP2(t, workers)
		echo := ask("POST=0123456789*5000 U/echo", "2/201 - 50000 bytes")
		course{url: fmt.Sprint("http://127.0.0.1:", port), rounds: []round{
			slices.Concat(ask("GET U/hello/a", "2/200 - hello, a"), slices.Repeat(echo, 30)),
			{
				{"GET U/number/1", "2/200 - 2"},
				{"GET U/held 50", "error: H: timeout"},
				{"GET U/large", "error: H: the body is too large"},
				{"PUT=x*70000 U/echo", "2/413 - the body is too large"},
			},
			ask("GET U/files/a", "2/200 - a"),
		}}.mustRun(t, workers)
		p.mustRun()
	})
}
