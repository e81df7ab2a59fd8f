package servers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// A backend is a server behind the page's program.
type backend struct {
	*httptest.Server
	name  string
	asked atomic.Int64 // requests for anything but its health
	sick  atomic.Bool  // its health is 500
	cuts  atomic.Bool  // it cuts each connection off
}

func newBackend(t *testing.T, name string) *backend {
	b := &backend{name: name}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" {
		if b.sick.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return
	}
	b.asked.Add(1)
	if b.cuts.Load() {
		panic(http.ErrAbortHandler)
	}
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-From", b.name)
	w.Header().Set("X-Heard", fmt.Sprint(r.Header["X-Kept"], r.Header["X-Hop"],
		r.Header["X-Forwarded-Host"] != nil))
	if r.URL.Path == "/moved" {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
}

func balance(t *testing.T, all ...*backend) (*process, browser) {
	t.Helper()
	words := []string{page(t, "balance"), "--port", "0", "--check", "/health",
		"--patience", "300"}
	for _, b := range all {
		words = append(words, b.URL)
	}
	p := startWith(t, words)
	return p, newBrowser(t, p.port())
}

// stands waits until the program's own page says so much of its servers.
func (b browser) stands(p *process, want ...string) {
	b.t.Helper()
	p.eventually("it stands so: "+strings.Join(want, ", "), func() bool {
		_, text := b.ask("GET", "/.balance", nil)
		for _, w := range want {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

// Requests and replies pass unchanged, but for what is of one connection, and are shared out.
func TestPageOfBalance(t *testing.T) {
	t.Parallel()
	one, two := newBackend(t, "one"), newBackend(t, "two")
	p, b := balance(t, one, two)
	b.stands(p, one.URL+" up", two.URL+" up")
	long := strings.Repeat("x", 2<<20)
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/a%20b?c=d&e", "", "GET /a%20b?c=d&e "},
		{"POST", "/", "hello", "POST / hello"},
		{"PUT", "/x", long, "PUT /x " + long},
		{"DELETE", "/x/y", "", "DELETE /x/y "},
		{"HEAD", "/", "", ""},
	} {
		a, text := b.ask(c.method, c.path, strings.NewReader(c.body), "X-Kept", "kept", "X-Hop",
			"no", "Connection", "x-hop")
		if a.StatusCode != 202 || text != c.want || a.Header.Get("X-Heard") != "[kept] [] true" {
			t.Errorf("%s %s: %d %.60q, the server heard %q", c.method, c.path, a.StatusCode, text,
				a.Header.Get("X-Heard"))
		}
	}
	if a, _ := b.ask("GET", "/moved", nil); a.StatusCode != 302 ||
		a.Header.Get("Location") != "/elsewhere" {
		t.Errorf("a redirect: %d, %q", a.StatusCode, a.Header.Get("Location"))
	}
	var wait sync.WaitGroup
	for range 8 {
		mine := newBrowser(t, p.port())
		wait.Go(func() {
			for range 25 {
				if a, _ := mine.ask("GET", "/", nil); a.StatusCode != 202 {
					t.Errorf("got %d", a.StatusCode)
				}
			}
		})
	}
	wait.Wait()
	if a, b := one.asked.Load(), two.asked.Load(); a+b != 206 || a < 60 || b < 60 {
		t.Errorf("they have served %d and %d, want 206 in all, about as many each", a, b)
	}
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}

// A server that is down or sick gets no requests, and gets them again when it is well.
func TestPageOfBalanceDown(t *testing.T) {
	t.Parallel()
	one, two := newBackend(t, "one"), newBackend(t, "two")
	p, b := balance(t, one, two)
	b.stands(p, one.URL+" up", two.URL+" up")
	one.cuts.Store(true)
	for range 20 { // the other one answers, whoever is asked first
		if a, _ := b.ask("GET", "/", nil); a.StatusCode != 202 || a.Header.Get("X-From") != "two" {
			t.Fatalf("got %d from %q", a.StatusCode, a.Header.Get("X-From"))
		}
	}
	if a, _ := b.ask("GET", "/.balance", nil); one.asked.Load() == 0 || a.StatusCode != 200 {
		t.Errorf("the server that cuts connections off was asked %d times", one.asked.Load())
	}
	one.cuts.Store(false)
	two.sick.Store(true)
	b.stands(p, one.URL+" up", two.URL+" down")
	before := two.asked.Load()
	for range 5 {
		if a, _ := b.ask("POST", "/", nil); a.Header.Get("X-From") != "one" {
			t.Errorf("got %d from %q", a.StatusCode, a.Header.Get("X-From"))
		}
	}
	if after := two.asked.Load(); after != before {
		t.Errorf("a sick server was asked %d times", after-before)
	}
	one.sick.Store(true)
	b.stands(p, one.URL+" down", two.URL+" down")
	b.must("GET", "/", nil, 503, "no server is up\n")
	two.sick.Store(false)
	b.stands(p, two.URL+" up")
	two.cuts.Store(true) // what may not be sent twice is not
	before = two.asked.Load()
	if a, _ := b.ask("POST", "/", nil); a.StatusCode != 502 && a.StatusCode != 503 {
		t.Errorf("a POST that was cut off: %d", a.StatusCode)
	}
	if n := two.asked.Load() - before; n > 1 {
		t.Errorf("a POST was sent %d times", n)
	}
	two.Close()
	b.stands(p, two.URL+" down")
	b.must("GET", "/", nil, 503, "no server is up\n")
}
