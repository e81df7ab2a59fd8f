package file

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestOwnFiles: an owner lists its files with what is left of the limit, and deletes them by link
// and by ID. Nobody else does, not even with the link.
func TestOwnFiles(t *testing.T) {
	p := newPlace(t)
	p.limits.Account = 1000
	stored := func() listing {
		t.Helper()
		answer, body := p.ask("GET", "/files", nil, as("ann")...)
		var l listing
		if err := json.Unmarshal([]byte(body), &l); err != nil || answer.StatusCode != 200 ||
			answer.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("the list: %d %s, %v", answer.StatusCode, body, err)
		}
		return l
	}
	if l := stored(); fmt.Sprint(l) != "{[] 0 0 1000 1000}" {
		t.Errorf("at first: %+v", l)
	}
	tea, milk := p.post("tea.txt", []byte("green")), p.post("milk.txt", []byte("oat"))
	l := stored()
	if l.Count != 2 || l.Used != 8 || l.Left != 992 || len(l.Files) != 2 {
		t.Fatalf("with two files: %+v", l)
	}
	id := l.Files[0].ID
	if l.Files[0].Name != "milk.txt" { // both may have been made in one millisecond
		id = l.Files[1].ID
	}
	answer, body := p.ask("GET", "/files", nil, as("bob")...)
	if strings.Contains(body, id) || answer.StatusCode != 200 {
		t.Errorf("bob's files: %d %s", answer.StatusCode, body)
	}
	for _, test := range []struct {
		path   string
		header []string
		status int
		want   string
	}{
		{tea, nil, 401, "sign in"},
		{tea, []string{"Authorization", "Basic YW5uOng="}, 401, "is wrong"},
		{tea, as("bob"), 403, "by the account that has sent it"},
		{tea, []string{"Authorization", "Bearer WEATHER"}, 403, "by the account"},
		{"/files/" + id, as("bob"), 404, "no such file"},
		{"/files/" + id[1:], as("ann"), 404, "no such file"},
		{"/files/", as("ann"), 404, ""},
		{"/file/" + newToken() + "/x", as("ann"), 404, "no such file"},
		{"/file/short/x", as("ann"), 404, "no such file"},
		{tea, as("ann"), 204, ""},
		{tea, as("ann"), 404, "no such file"},
		{"/files/" + id, as("ann"), 204, ""},
		{"/files/" + id, as("ann"), 404, "no such file"},
	} {
		answer, body := p.ask("DELETE", test.path, nil, test.header...)
		if answer.StatusCode != test.status || !strings.Contains(body, test.want) {
			t.Errorf("DELETE %s with %q: %d %s, want %d %s", test.path, test.header,
				answer.StatusCode, body, test.status, test.want)
		}
	}
	for _, path := range []string{tea, milk} {
		if answer, _ := p.ask("GET", path, nil); answer.StatusCode != 404 {
			t.Errorf("what was deleted: %d", answer.StatusCode)
		}
	}
	if l := stored(); l.Count != 0 || l.Left != 1000 {
		t.Errorf("in the end: %+v", l)
	}
	log := p.log.String()
	if strings.Count(log, "a file was deleted by its owner") != 2 ||
		!strings.Contains(log, "file="+id+" owner=Ann size=3") ||
		strings.Contains(log, strings.Split(tea, "/")[2]) {
		t.Errorf("the server's log is %s", log)
	}
	if p.counts.Of("refused").Value() != 0 || p.counts.Of("stored").Value() != 2 {
		t.Error("they count as uploads")
	}
}

// TestFilesOfPrograms: a program manages the files that it has sent.
func TestFilesOfPrograms(t *testing.T) {
	p := newPlace(t)
	token := []string{"Authorization", "Bearer WEATHER"}
	if answer, body := p.ask("POST", "/upload", strings.NewReader("rain"),
		token...); answer.StatusCode != 201 {
		t.Fatalf("%d %s", answer.StatusCode, body)
	}
	var l listing
	if _, body := p.ask("GET", "/files", nil, token...); json.Unmarshal([]byte(body), &l) != nil ||
		len(l.Files) != 1 {
		t.Fatalf("its files: %s", body)
	}
	if answer, _ := p.ask("DELETE", "/files/"+l.Files[0].ID, nil, token...); answer.StatusCode !=
		204 {
		t.Errorf("deleting: %d", answer.StatusCode)
	}
}

// TestManagingIsLimited: requests of an owner are bounded in a time, need encryption over a
// network, and may come from pages of the allowed origins.
func TestManagingIsLimited(t *testing.T) {
	p := newPlace(t)
	for range manageBurst {
		p.ask("DELETE", "/files/0", nil, as("ann")...)
	}
	answer, _ := p.ask("GET", "/files", nil, as("ann")...)
	if answer.StatusCode != 429 || answer.Header.Get("Retry-After") != "1" {
		t.Errorf("one too many: %d %v", answer.StatusCode, answer.Header)
	}
	for path, want := range map[string]string{"/files": "GET, HEAD", "/files/0": "DELETE",
		"/file/x/y": "GET, HEAD, DELETE"} {
		answer, _ := p.ask("OPTIONS", path, nil, "Origin", "https://web.example")
		h := answer.Header
		if answer.StatusCode != 204 || h.Get("Allow") != "OPTIONS, "+want ||
			h.Get("Access-Control-Allow-Methods") != want || h.Get("Upload-Limit") != "" {
			t.Errorf("%s: %d %v", path, answer.StatusCode, h)
		}
	}
	r := httptest.NewRequest("GET", "/files", nil)
	r.SetBasicAuth("bob", "bobbob")
	r.RemoteAddr = "192.0.2.7:1"
	w := httptest.NewRecorder()
	p.files.Handler().ServeHTTP(w, r)
	if w.Code != 403 || !strings.Contains(w.Body.String(), "encrypted") {
		t.Errorf("a password over the network: %d %s", w.Code, w.Body)
	}
	p.files.Accounts = people{io.ErrUnexpectedEOF}
	if answer, _ := p.ask("GET", "/files", nil, as("bob")...); answer.StatusCode != 503 ||
		!strings.Contains(p.log.String(), "files could not be listed") {
		t.Errorf("while the accounts fail: %d, %s", answer.StatusCode, p.log.String())
	}
	if answer, _ := p.ask("POST", "/files", nil); answer.StatusCode !=
		http.StatusMethodNotAllowed {
		t.Errorf("another method: %d", answer.StatusCode)
	}
}

// TestOwned: the newest files come first, the limit of all files counts, too, and a list for people
// is bounded.
func TestOwned(t *testing.T) {
	s := newStore(t)
	now := time.Unix(1_800_000_000, 0)
	s.now = func() time.Time { now = now.Add(time.Second); return now }
	limits := Limits{Size: 100, Account: 50, Total: 60, Pixels: 1}
	s.limits = func() Limits { return limits }
	mustPut(t, s, "bob", "b", []byte("0123456789"))
	old, _ := mustPut(t, s, "Ann", "old tea.txt", []byte("x"))
	mustPut(t, s, "ann", "new", []byte("y"))
	o := s.Owned("ANN")
	if len(o.Files) != 2 || o.Files[0].Name != "new" || o.Used != 2 || o.Left != 48 {
		t.Errorf("got %+v", o)
	}
	if got, want := strings.Join(o.Lines(), "\n"), fmt.Sprintf("2 files take 2 B of 50 B, and "+
		"48 B are left.\nfile %s size=1 made=2027-01-15T08:00:03Z type=application/octet-stream "+
		"new\n"+
		"file %s size=1 made=2027-01-15T08:00:02Z type=application/octet-stream old tea.txt",
		o.Files[0].ID, old.ID); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	limits.Total = 20
	if o := s.Owned("ann"); o.Left != 8 {
		t.Errorf("by the limit of all files: %+v", o)
	}
	limits.Account = 1
	if o := s.Owned("ann"); o.Left != 0 {
		t.Errorf("with a lower limit: %+v", o)
	}
	if o := s.Owned(""); len(o.Files) != 0 || o.Used != 0 {
		t.Errorf("nobody's: %+v", o)
	}
	many := Holdings{Files: make([]Info, maxLines+1)}
	if lines := many.Lines(); len(lines) != maxLines+1 || !strings.HasPrefix(lines[0],
		fmt.Sprintf("%d files ", maxLines+1)) || !strings.HasSuffix(lines[0], "newest 100.") {
		t.Errorf("%d lines, the first is %s", len(lines), lines[0])
	}
}

// TestFilesOfABrowser: a browser that stays signed in sends files by its token, if the request is
// one of the server's own page; and what else a request says counts more.
func TestFilesOfABrowser(t *testing.T) {
	p := newPlace(t)
	p.files.BrowserToken = func(r *http.Request) string {
		if r.Header.Get("Origin") != "https://own" {
			return ""
		}
		return r.Header.Get("X-Token")
	}
	const cookie = "the cookie of Ann"
	for _, test := range []struct {
		header []string
		status int
	}{
		{[]string{"Origin", "https://own", "X-Token", cookie}, 201},
		{[]string{"Origin", "https://evil", "X-Token", cookie}, 401},
		{[]string{"Origin", "https://own", "X-Token", "another"}, 401},
		{[]string{"Origin", "https://own", "X-Token", cookie, "Authorization", "Bearer X"}, 401},
	} {
		if answer, body := p.ask("POST", "/upload", strings.NewReader("x"),
			test.header...); answer.StatusCode != test.status {
			t.Errorf("%q: %d %s, want %d", test.header, answer.StatusCode, body, test.status)
		}
	}
	if list := p.files.Store.List(); len(list) != 1 || list[0].Owner != "Ann" {
		t.Errorf("there are %+v", list)
	}
}

// TestBannedOwners: a banned account neither sends nor deletes files. Programs and others do.
func TestBannedOwners(t *testing.T) {
	p := newPlace(t)
	path := p.post("tea.png", pngOf(4, 4))
	p.files.Banned = func(account string) (string, bool) {
		return "You are banned from this server: spam", account == "Ann"
	}
	answer, body := p.ask("POST", "/upload", strings.NewReader("x"), as("ann")...)
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(body, "banned") {
		t.Errorf("ann sends a file: %d %s", answer.StatusCode, body)
	}
	answer, body = p.ask("DELETE", path, nil, as("ann")...)
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(body, "spam") {
		t.Errorf("ann deletes a file: %d %s", answer.StatusCode, body)
	}
	for _, who := range [][]string{as("bob"), {"Authorization", "Bearer WEATHER"}} {
		if answer, body := p.ask("POST", "/upload", strings.NewReader("x"),
			who...); answer.StatusCode != http.StatusCreated {
			t.Errorf("%q: %d %s", who, answer.StatusCode, body)
		}
	}
}
