package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interleave/internal/freeport"
)

// A client that fetches its arguments one after the other, each `METHOD=BODY URL MS`, and prints
// what comes of it. MS, which may be left out, is the time for all of it, in milliseconds. The
// first argument is that for a reply.
const fetches = `import io.fetch
import io.message

show: [+stdout] (r: message.reply!) void:
    match r:
        ok(a): print("%d %s %s\n", a.status, a.headers.get("x-test") else "-", a.body.text())
        error(e): print("error: %s\n", e.text())

each: (c: fetch.client@, at: int) void:
    args: vector<string> = process.args()
    if at == args.size():
        @ [+c]: fetch.close_all(c)
        return
    words: vector<string> = args[at].split(" ")
    how: vector<string> = words[0].split("=")
    r: fetch.request = fetch.request(words[1], how[0])
    if how.size() > 1: r.body.append_text(how[1])
    if words.size() > 2: r.whole_time = 1ms * (words[2].to_int() else 0)
    r.headers.add("authorization", "secret")
    a <- fetch.send(c, r) [=at, -c, +stdout]
    show(a)
    each(c, at + 1)

main: () void:
    limit: duration = 1ms * (process.args()[0].to_int() else 0)
    sizes: message.limits = message.limits(body = 100_000)
    c: fetch.client@ = fetch.client(fetch.limits(sizes, reply_time = limit))
    each(c, 1)
`

// fetched are the lines that the program prints for these fetches, which have time enough.
func fetched(t *testing.T, workers int, words ...string) []string {
	t.Helper()
	return fetchedWithin(t, patience, workers, words...)
}

func fetchedWithin(t *testing.T, limit time.Duration, workers int, words ...string) []string {
	t.Helper()
	exe := compiled(t, "fetches.eve", fetches)
	p := startWith(t, append([]string{exe, fmt.Sprint(limit.Milliseconds())}, words...),
		fmt.Sprint("EVE_WORKERS=", workers))
	p.mustExit(0)
	return strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
}

// Replies of net/http's server in all forms, redirects, and one connection for all.
func TestFetch(t *testing.T) {
	t.Parallel()
	var seen connections
	mux := http.NewServeMux()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "other %q", r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	mux.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Test", r.Method+r.Header.Get("Authorization"))
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s?%s %s", r.URL.Path, r.URL.RawQuery, body)
	})
	mux.HandleFunc("/chunks", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			fmt.Fprintf(w, "chunk %d;", i)
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("x", 100_001))
	})
	mux.HandleFunc("/to/{status}", func(w http.ResponseWriter, r *http.Request) {
		status := 0
		fmt.Sscan(r.PathValue("status"), &status)
		w.Header().Set("Location", "../plain?a")
		w.WriteHeader(status)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusFound)
	})
	mux.HandleFunc("/other", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusFound)
	})
	mux.HandleFunc("/tls", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://127.0.0.1/", http.StatusFound)
	})
	s := httptest.NewUnstartedServer(mux)
	s.Config.ConnState = seen.count
	s.Start()
	t.Cleanup(s.Close)
	origin := strings.TrimPrefix(s.URL, "http://")
	const bare = "for https the client needs a protection of io.tls"
	want := []struct{ word, line string }{
		{"GET " + s.URL + "/plain?q=1#part", "200 GETsecret /plain?q=1 "},
		{"POST=abc " + s.URL + "/plain", "200 POSTsecret /plain? abc"},
		{"HEAD " + s.URL + "/plain", "200 HEADsecret "},
		{"GET " + s.URL + "/chunks", "200 - chunk 0;chunk 1;chunk 2;"},
		{"GET " + s.URL + "/none", "204 - "},
		{"GET " + s.URL + "/missing", "404 - 404 page not found\n"},
		{"POST=abc " + s.URL + "/to/303", "200 GETsecret /plain?a "},
		{"POST=abc " + s.URL + "/to/302", "200 GETsecret /plain?a "},
		{"PUT=abc " + s.URL + "/to/307", "200 PUTsecret /plain?a abc"},
		{"GET " + s.URL + "/loop", "error: " + s.URL + "/loop: more than 5 redirects"},
		{"GET " + s.URL + "/other", `200 - other ""`},
		{"GET " + s.URL + "/tls", "error: 127.0.0.1:443: " + bare},
		{"GET https://a:99/", "error: a:99: " + bare},
		{"GET ftp://a/", "error: no URL of http: ftp://a/"},
		{"GET http:///a", "error: no host in the URL http:///a"},
		{"GET http://a:99999/", "error: no host in the URL http://a:99999/"},
		{"G(T http://a/", "error: there is no method G(T"},
		{"GET " + s.URL + "/large", "error: " + origin + ": the body is too large"},
	}
	var words, lines []string
	for _, w := range want {
		words = append(words, w.word)
		lines = append(lines, strings.TrimSuffix(w.line, "\n"))
		if strings.HasSuffix(w.line, "\n") {
			lines = append(lines, "")
		}
	}
	got := fetched(t, 2, words...)
	if !slices.Equal(got, lines) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	if n := seen.made.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1 that is kept", n)
	}
}

// connections are those of a server: how many were made, and how many are open.
type connections struct{ made, open atomic.Int32 }

// count is the server's ConnState.
func (c *connections) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.made.Add(1)
		c.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
	}
}

// broken starts a server that answers its connections in turn with these bytes, each behind one
// request, and closes. A reply "" is a connection that is closed at once.
func broken(t *testing.T, replies ...string) (origin string) {
	t.Helper()
	l, err := freeport.Listen(freeport.For(t))
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		wait.Wait()
	})
	wait.Go(func() {
		for _, reply := range replies {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				io.WriteString(c, reply)
			}
			c.Close()
		}
	})
	return l.Addr().String()
}

// Servers that break off, lie about lengths or speak another protocol give an error that says so.
func TestFetchBroken(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct{ name, reply, want string }{
		{"nothing", "", "error: H: the connection was closed without a reply"},
		{"half a head", ok + "Content-Le", "error: H: the message is cut off"},
		{"half a body", ok + "Content-Length: 5\r\n\r\nabc", "error: H: the message is cut off"},
		{"half a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", "error: H: the mes"},
		{"no last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
			"error: H: the message is cut off"},
		{"to the end", ok + "\r\nabc", "200 - abc"},
		{"too long", ok + "Content-Length: 1\r\n\r\nabc", "200 - a"},
		{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
			"error: H: two lengths"},
		{"bad length", ok + "Content-Length: x\r\n\r\n", "error: H: a length is no number"},
		{"length and coding", ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
			"error: H: a length and a transfer coding"},
		{"other protocol", "SSH-2.0-x\r\n", "error: H: the first line is no status line"},
		{"bare LF", "HTTP/1.1 200 OK\n\n", "error: H: a line ends without CR LF"},
		{"split", "HTTP/1.1 200 O\rK\r\n\r\n", "error: H: a bare CR in the first line"},
		{"status", "HTTP/1.1 999 X\r\n\r\n", "error: H: there is no such status"},
		{"interim", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na",
			"200 - a"},
		{"another protocol", "HTTP/1.1 101 Switching\r\n\r\n", "error: H: the server changes the"},
		{"endless head", ok + strings.Repeat("A: b\r\n", 200),
			"error: H: there are too many fields"},
		{"huge length", ok + "Content-Length: 100001\r\n\r\n", "error: H: the body is too large"},
		{"endless body", ok + "\r\n" + strings.Repeat("x", 200_000),
			"error: H: the body is too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			origin := broken(t, c.reply)
			got := fetched(t, 1, "GET http://"+origin+"/")
			if want := strings.Replace(c.want, "H", origin, 1); !strings.HasPrefix(got[0], want) ||
				strings.HasPrefix(want, "200") && got[0] != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A server that does not answer costs its time only, and one that is not there is an error. A kept
// connection that the server has closed meanwhile is replaced.
func TestFetchTimes(t *testing.T) {
	t.Parallel()
	l, err := freeport.Listen(freeport.For(t))
	if err != nil {
		t.Fatal(err)
	}
	silent := l.Addr().String()
	t.Cleanup(func() { l.Close() })
	nobody := fmt.Sprint("127.0.0.1:", freeport.For(t))
	const kept = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
	closing := broken(t, kept+"a", kept+"b", kept+"c")
	got := fetchedWithin(t, 100*time.Millisecond, 2, "GET http://"+silent+"/")
	late := []string{"error: " + silent + ": timeout"}
	if !slices.Equal(got, late) {
		t.Errorf("got %q, want %q", got, late)
	}
	if got = fetched(t, 2, "GET http://"+silent+"/ 50"); !slices.Equal(got, late) {
		t.Errorf("with a time for all of it: got %q, want %q", got, late)
	}
	got = fetched(t, 2, "GET http://"+nobody+"/", "GET http://"+closing, "GET http://"+closing,
		"GET http://"+closing)
	want := []string{"error: " + nobody + ": cannot connect to " + nobody + ": Connection refused",
		"200 - a", "200 - b", "200 - c"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
