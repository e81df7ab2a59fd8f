package servers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A receiver is the server to which jobs are sent. It answers as the body says.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	got  map[string]int // how often each body came
	hold chan struct{}  // what the body "hold" waits for
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{got: map[string]int{}, hold: make(chan struct{})}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.got[string(body)]++
		n := r.got[string(body)]
		r.mu.Unlock()
		switch text := string(body); {
		case q.Method != "POST":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case text == "hold":
			<-r.hold
		case text == "never", strings.HasPrefix(text, "third") && n < 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *receiver) count(body string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[body]
}

// jobs starts the page's program. Its second tries come after a millisecond.
func jobs(t *testing.T, file string) (*process, browser) {
	t.Helper()
	p := startWith(t, []string{page(t, "jobs"), "0", file, "1"})
	return p, newBrowser(t, p.port())
}

// A jobState is what the program says of a job.
type jobState struct {
	ID          int
	URL, State  string
	Tries       int
	Last        string
	Wrong       error  `json:"-"`
	Description string `json:"-"`
}

func (b browser) job(where string) (j jobState) {
	_, j.Description = b.ask("GET", where, nil)
	j.Wrong = json.Unmarshal([]byte(j.Description), &j)
	return j
}

func (b browser) addJob(to, body string) (where string) {
	b.t.Helper()
	form := url.Values{"url": {to}, "body": {body}}.Encode()
	a, text := b.ask("POST", "/jobs", strings.NewReader(form))
	where = a.Header.Get("Location")
	if a.StatusCode != 201 || where != "/jobs/"+strings.TrimSpace(text) {
		b.t.Fatalf("POST /jobs: %d %q, Location %q", a.StatusCode, text, where)
	}
	return where
}

// Jobs run until they have succeeded, or ten times.
func TestPageOfJobs(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	p, b := jobs(t, filepath.Join(t.TempDir(), "jobs.db"))
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		url, body, state string
		tries            int
		last             string
	}{
		{r.URL, "at once", "done", 1, "status 200"},
		{r.URL + "/a?b=c", "third \"x\" & more", "done", 3, "status 200"},
		{r.URL, "never", "failed", 10, "status 503"},
		{gone.URL, "nobody", "failed", 10, "Connection refused"},
	} {
		where := b.addJob(c.url, c.body)
		var j jobState
		p.eventually("the job "+c.body+" ends", func() bool {
			j = b.job(where)
			return j.State == "done" || j.State == "failed"
		})
		if j.Wrong != nil || j.State != c.state || j.Tries != c.tries || j.URL != c.url ||
			!strings.Contains(j.Last, c.last) {
			t.Errorf("%s: %s, %v; want %+v", c.body, j.Description, j.Wrong, c)
		}
		if got := r.count(c.body); c.url != gone.URL && got != c.tries {
			t.Errorf("%s was sent %d times, want %d", c.body, got, c.tries)
		}
	}
	for form, want := range map[string]string{
		"":                       "a URL starts with http://\n",
		"url=ftp://a/":           "a URL starts with http://\n",
		"url=http://a/&x=y":      "the form has no field x\n",
		"url=http://a/&body=%zz": "an escape without two digits\n",
		"url=http://a/&body=" + strings.Repeat("x", 64<<10+1): "the body is too large\n",
	} {
		b.must("POST", "/jobs", strings.NewReader(form), 400, want)
	}
	b.must("GET", "/jobs/99", nil, 404, "there is no such job\n")
	b.must("GET", "/jobs/x", nil, 404, "there is no such job\n")
	var counts map[string]int
	if _, text := b.ask("GET", "/jobs", nil); json.Unmarshal([]byte(text), &counts) != nil ||
		counts["done"] != 2 || counts["failed"] != 2 || len(counts) != 2 {
		t.Errorf("GET /jobs: %q", text)
	}
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}

// After kill -9 the jobs that ran run again, and those that waited run; none is lost.
func TestPageOfJobsKilled(t *testing.T) {
	t.Parallel()
	const waiting = 40 // more than run at once
	r := newReceiver(t)
	file := filepath.Join(t.TempDir(), "jobs.db")
	p, b := jobs(t, file)
	held := b.addJob(r.URL, "hold")
	p.eventually("the job runs", func() bool { return r.count("hold") == 1 })
	var all []string
	for i := range waiting {
		all = append(all, b.addJob(r.URL, fmt.Sprintf("third %d", i)))
	}
	p.signal(syscall.SIGKILL)
	<-p.ended
	close(r.hold)
	p, b = jobs(t, file)
	for _, where := range append(all, held) {
		var j jobState
		p.eventually("the job "+where+" is done", func() bool {
			j = b.job(where)
			return j.State == "done"
		})
		if j.Wrong != nil {
			t.Error(j.Wrong)
		}
	}
	for i := range waiting { // a try whose end was not written down is made again
		if got := r.count(fmt.Sprintf("third %d", i)); got < 3 || got > 4 {
			t.Errorf("job %d was sent %d times, want 3, or 4 if it ran when it was killed", i, got)
		}
	}
	if got := r.count("hold"); got != 2 {
		t.Errorf("the job that ran was sent %d times, want 2", got)
	}
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}
