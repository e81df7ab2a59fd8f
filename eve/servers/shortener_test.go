package servers_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// shortener starts the page's program on a new file.
func shortener(t *testing.T, settings ...string) *process {
	t.Helper()
	return startWith(t, []string{page(t, "shortener"), "0", filepath.Join(t.TempDir(), "links.db")},
		settings...)
}

// The shortener, as clients of net/http see it.
func TestPageOfShortener(t *testing.T) {
	t.Parallel()
	p := shortener(t)
	b := newBrowser(t, p.port())
	made := func(body string) string {
		t.Helper()
		a, text := b.ask("POST", "/links", strings.NewReader(body))
		if a.StatusCode != 201 || a.Header.Get("Location")+"\n" != text {
			t.Fatalf("POST %q: %d %q, Location %q", body, a.StatusCode, text, a.Header["Location"])
		}
		return strings.TrimPrefix(strings.TrimSpace(text), b.base)
	}
	first := made("https://example.org/a?b=%20c")
	if again := made("https://example.org/a?b=%20c\n"); again != first || len(first) != 6 {
		t.Errorf("one URL got %q and %q", first, again)
	}
	if other := made("http://example.org/"); other == first {
		t.Errorf("two URLs got %q", other)
	}
	if got := made("url=https%3A%2F%2Fexample.org%2F%22x&code=home-1"); got != "/home-1" {
		t.Errorf("the wanted code is %q", got)
	}
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{"", 400, "a URL starts with http:// or https://\n"},
		{"ftp://example.org/", 400, "a URL starts with http:// or https://\n"},
		{"http://example.org/a b", 400, "a URL has no blanks, and no raw UTF-8\n"},
		{"http://example.org/" + strings.Repeat("x", 2000), 400, "the URL is too long\n"},
		{"url=http://example.org/&code=home-1", 409, "this code is taken\n"},
		{"url=http://example.org/&code=links", 409, "this code is taken\n"},
		{"url=http://example.org/&code=a%2Fb", 400,
			"a code has up to 32 letters, digits and signs - and _\n"},
		{"url=http://example.org/&cod=a", 400, "the form has no field cod\n"},
		{"url=%zz", 400, "an escape without two digits\n"},
	} {
		b.must("POST", "/links", strings.NewReader(c.body), c.status, c.want)
	}
	a := b.must("GET", first, nil, 302, "https://example.org/a?b=%20c\n")
	if got := a.Header.Get("Location"); got != "https://example.org/a?b=%20c" {
		t.Errorf("it leads to %q", got)
	}
	b.must("GET", first, nil, 302, "https://example.org/a?b=%20c\n")
	b.must("GET", "/nobody", nil, 404, "there is no such link\n")

	var all []struct {
		Code, URL, Made string
		Visits          int
	}
	if _, text := b.ask("GET", "/links", nil); json.Unmarshal([]byte(text), &all) != nil ||
		len(all) != 3 || "/"+all[0].Code != first || all[0].Visits != 2 ||
		all[2].URL != `https://example.org/"x` {
		t.Errorf("GET /links: %q, %+v", text, all)
	}
	a, text := b.ask("GET", "/links/home-1", nil)
	if a.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(text,
		`{"code": "home-1", "url": "https://example.org/\"x", "made": "2`) {
		t.Errorf("GET /links/home-1: %q, %v", text, a.Header)
	}
	b.must("DELETE", "/links/home-1", nil, 204, "")
	b.must("DELETE", "/links/home-1", nil, 404, "there is no such link\n")
	b.must("GET", "/home-1", nil, 404, "there is no such link\n")
	b.must("DELETE", "/links"+first, nil, 204, "")
	if got := made("https://example.org/a?b=%20c"); got == first {
		t.Errorf("a removed link has its code again: %q", got)
	}
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}

// Many clients visit one link while others make links: each visit counts once, and one who watches
// hears of all.
func TestPageOfShortenerLoad(t *testing.T) {
	t.Parallel()
	const clients, visits = 8, 50
	p := shortener(t, "EVE_WORKERS=2")
	port := p.port()
	b := newBrowser(t, port)
	b.ask("POST", "/links", strings.NewReader("url=http://example.org/&code=one"))
	watch, err := b.Get(b.base + "/visits")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	var wait sync.WaitGroup
	for i := range clients {
		mine := newBrowser(t, port)
		wait.Go(func() {
			for j := range visits {
				mine.must("GET", "/one", nil, 302, "http://example.org/\n")
				a, _ := mine.ask("POST", "/links",
					strings.NewReader(fmt.Sprintf("http://example.org/%d/%d", i, j)))
				if a.StatusCode != 201 {
					t.Errorf("link %d of client %d: %d", j, i, a.StatusCode)
				}
			}
		})
	}
	wait.Wait()
	lines, heard := bufio.NewScanner(watch.Body), 0
	for heard < clients*visits && lines.Scan() {
		switch lines.Text() {
		case "data: one":
			heard++
		case "event: visit", "":
		default:
			t.Fatalf("heard %q", lines.Text())
		}
	}
	if heard < clients*visits {
		t.Errorf("heard of %d visits, want %d: %v", heard, clients*visits, lines.Err())
	}
	var one struct{ Visits int }
	if _, text := b.ask("GET", "/links/one", nil); json.Unmarshal([]byte(text), &one) != nil ||
		one.Visits != clients*visits {
		t.Errorf("%q, want %d visits", text, clients*visits)
	}
	var all []struct{ Code string }
	if _, text := b.ask("GET", "/links", nil); json.Unmarshal([]byte(text), &all) != nil ||
		len(all) != 1+clients*visits {
		t.Errorf("there are %d links, want %d", len(all), 1+clients*visits)
	}
}

// The commands at the head of the program's text.
func TestPageOfShortenerByCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIP: curl is not here: apt-get install curl")
	}
	p := shortener(t)
	base := fmt.Sprint("http://127.0.0.1:", p.port())
	curl := func(words ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "curl", append([]string{"-sS"}, words...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("curl %q: %v\n%s", words, err, out)
		}
		return string(out)
	}
	if got := curl("-d", "https://example.org/a/long/path", base+"/links"); !strings.HasPrefix(got,
		base+"/") || len(got) != len(base)+len("/abcde\n") {
		t.Errorf("got %q", got)
	}
	if got := curl("-d", "url=https://example.org/&code=home", base+"/links"); got !=
		base+"/home\n" {
		t.Errorf("got %q", got)
	}
	if got := curl("-i", base+"/home"); !strings.HasPrefix(got, "HTTP/1.1 302 Found\r\n") ||
		!strings.Contains(got, "\r\nlocation: https://example.org/\r\n") {
		t.Errorf("got %q", got)
	}
	if got := curl("-I", base+"/home"); !strings.HasPrefix(got, "HTTP/1.1 302 Found\r\n") {
		t.Errorf("HEAD: got %q", got)
	}
	if got := curl(base + "/links/home"); !strings.Contains(got, `"visits": 2`) {
		t.Errorf("got %q", got)
	}
	if got := curl("-X", "DELETE", "-w", "%{http_code}", base+"/links/home"); got != "204" {
		t.Errorf("DELETE: got %q", got)
	}
	if got := curl("--http1.0", "-w", " %{http_code}", base+"/home"); got !=
		"there is no such link\n 404" {
		t.Errorf("got %q", got)
	}
	if got := curl("--path-as-is", "-w", " %{http_code}", base+"/../home"); got !=
		"the path leads above its root\n 400" {
		t.Errorf("got %q", got)
	}
	// two requests on one connection, and a chunked body
	if got := curl("-H", "Transfer-Encoding: chunked", "-d", "http://a.example/", base+"/links",
		base+"/links", "-w", "%{num_connects}"); !strings.HasSuffix(got, "0") {
		t.Errorf("the connection was not kept: %q", got)
	}
	if resp, err := http.Get(base + "/links"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %v", err)
	} else {
		resp.Body.Close()
	}
}

// Links that clients have been told of are there after kill -9, in the middle of others, and the
// next server makes further ones.
func TestPageOfShortenerKilled(t *testing.T) {
	t.Parallel()
	const clients, rounds = 4, 3
	exe, file := page(t, "shortener"), filepath.Join(t.TempDir(), "links.db")
	told := map[string]string{} // URLs by code
	var mu sync.Mutex
	for round := range rounds {
		p := startWith(t, []string{exe, "0", file})
		base := fmt.Sprint("http://127.0.0.1:", p.port())
		mustLead(t, base, told)
		enough := len(told) + 20
		var wait sync.WaitGroup
		for i := range clients {
			wait.Go(func() {
				for j := 0; ; j++ {
					url := fmt.Sprintf("http://example.org/%d/%d/%d", round, i, j)
					a, err := http.Post(base+"/links", "text/plain", strings.NewReader(url))
					if err != nil {
						return // it has been killed
					}
					a.Body.Close()
					mu.Lock()
					if code, ok := strings.CutPrefix(a.Header.Get("Location"), base); ok {
						told[code] = url
					} else {
						t.Errorf("%s: %s, Location %q", url, a.Status, a.Header.Get("Location"))
					}
					if len(told) >= enough {
						p.cmd.Process.Kill()
					}
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		<-p.ended
	}
	p := startWith(t, []string{exe, "0", file})
	mustLead(t, fmt.Sprint("http://127.0.0.1:", p.port()), told)
	if len(told) < 20*rounds {
		t.Errorf("%d links were made, want %d at least", len(told), 20*rounds)
	}
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}

// mustLead checks where codes lead to.
func mustLead(t *testing.T, base string, told map[string]string) {
	t.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	for code, url := range told {
		a, err := c.Get(base + code)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if got := a.Header.Get("Location"); got != url {
			t.Errorf("%s leads to %q, want %s", code, got, url)
		}
	}
}

// A file that is no database ends the program with a message.
func TestPageOfShortenerWithoutADatabase(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "links.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	p := startWith(t, []string{page(t, "shortener"), "0", file})
	p.mustExit(1)
	if want := "shortener: open " + file + ": file is not a database\n"; p.err.String() != want {
		t.Errorf("said %q, want %q", p.err.String(), want)
	}
}
