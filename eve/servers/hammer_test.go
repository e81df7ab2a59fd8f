package servers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// The page's program sends what it says, and counts what comes back: with a rate every request that
// is due, however slow the server is.
func TestPageOfHammer(t *testing.T) {
	t.Parallel()
	program := page(t, "hammer")
	for _, c := range []struct {
		words string
		exact int64 // how many requests; 0: some
	}{
		{"--connections 4 --seconds 1", 0},
		{"--connections 4 --seconds 1 --rate 60", 60},
		{"-c 1 -s 1 -r 30", 30},
	} {
		t.Run(c.words, func(t *testing.T) {
			t.Parallel()
			var asked, refused atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/a" || r.URL.RawQuery != "b=c" {
						t.Errorf("it asks for %s", r.URL)
					}
					if asked.Add(1)%3 == 0 {
						refused.Add(1)
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
					fmt.Fprint(w, "hello")
				}))
			defer server.Close()
			p := startWith(t, append(append([]string{program}, strings.Fields(c.words)...),
				server.URL+"/a?b=c"))
			p.mustExit(0)
			n, no := asked.Load(), refused.Load()
			if n == 0 || c.exact > 0 && n != c.exact {
				t.Errorf("it has sent %d requests, want %d", n, c.exact)
			}
			out := p.out.String()
			for _, want := range []string{fmt.Sprintf("%d replies in ", n), "ms: p50 ",
				fmt.Sprintf("status 200: %d\n", n-no), fmt.Sprintf("status 503: %d\n", no)} {
				if !strings.Contains(out, want) {
					t.Errorf("it shows %q, want %q", out, want)
				}
			}
			if strings.Contains(out, "errors") {
				t.Errorf("it shows %q", out)
			}
		})
	}
}

// A server that is not there, and words that say nothing.
func TestPageOfHammerWrong(t *testing.T) {
	t.Parallel()
	program := page(t, "hammer")
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p := startWith(t, []string{program, "-c", "2", "-s", "1", gone.URL})
	p.mustExit(0)
	if out := p.out.String(); !strings.HasPrefix(out, "0 replies in ") ||
		!strings.Contains(out, " errors: ") || !strings.Contains(out, "refused") {
		t.Errorf("nobody listens: it shows %q", out)
	}
	for words, want := range map[string]string{
		"":                             "URL is missing",
		"--connections 0 http://a/":    "are 1 at least",
		"--rate -1 http://a/":          "0 at least",
		"--seconds x http://a/":        "seconds",
		"http://a/ http://b/":          "too many",
		"--seconds 1 --no-such-flag x": "no-such-flag",
	} {
		p := startWith(t, append([]string{program}, strings.Fields(words)...))
		<-p.ended
		if p.cmd.ProcessState.Success() || !strings.Contains(p.err.String(), want) {
			t.Errorf("%q: %v, %q; want %q", words, p.cmd.ProcessState, p.err.String(), want)
		}
	}
}
