package file

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/metrics"
)

// people implements Accounts: the password of an account is its name twice, and the token of a
// program its name.
type people struct{ err error }

func (p people) Password(_ context.Context, name string, password account.Secret,
	from netip.Addr) (string, error) {
	switch {
	case p.err != nil:
		return "", p.err
	case !from.IsLoopback() || password.Reveal() != name+name:
		return "", fmt.Errorf("account %s: %w", name, account.ErrWrong)
	}
	return strings.ToUpper(name[:1]) + name[1:], nil
}

func (p people) Browser(_ context.Context, token account.Secret, _ netip.Addr) (string, error) {
	if token.Reveal() != "the cookie of Ann" {
		return "", account.ErrWrong
	}
	return "Ann", p.err
}

func (p people) Token(_ context.Context, token account.Secret) (string, error) {
	if token.Reveal() != "WEATHER" {
		return "", account.ErrWrong
	}
	return "weather/bot", p.err
}

// A place is a Server over HTTP, with a clock that stands still.
type place struct {
	*httptest.Server
	t      *testing.T
	files  *Server
	limits Limits
	log    bytes.Buffer
	counts *metrics.Counters
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, limits: plenty}
	now := time.Unix(1_800_000_000, 0)
	var set metrics.Set
	p.counts = set.Counters("uploads_total", "", "result")
	p.files = NewServer(Options{Store: openStore(t, t.TempDir(), &p.limits), Accounts: people{},
		Base: "https://chat.example.org/x", Origins: []string{"web.example"},
		Encrypted: func(*http.Request) bool { return false },
		Logger:    slog.New(slog.NewTextHandler(&p.log, nil)),
		Count:     func(result string) { p.counts.Of(result).Add(1) },
		Now:       func() time.Time { return now }})
	p.Server = httptest.NewServer(p.files.Handler())
	t.Cleanup(p.Close)
	return p
}

// A head is the part of an answer before its body.
type head struct {
	StatusCode    int
	Header        http.Header
	ContentLength int64
}

// ask sends a request, and returns the answer and its body. Headers are pairs of words.
func (p *place) ask(method, path string, body io.Reader, headers ...string) (head, string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.URL+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := p.Client().Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return head{answer.StatusCode, answer.Header, answer.ContentLength},
		strings.TrimSpace(string(text))
}

// as is the header of an account that knows its password.
func as(name string) []string {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(name, name+name)
	return []string{"Authorization", r.Header.Get("Authorization")}
}

// post uploads a file as ann, and returns the path of its link.
func (p *place) post(name string, data []byte, headers ...string) string {
	p.t.Helper()
	headers = append(append(as("ann"), "Content-Disposition",
		fmt.Sprintf("attachment; filename=%q", name)), headers...)
	answer, body := p.ask("POST", "/upload", bytes.NewReader(data), headers...)
	link := answer.Header.Get("Location")
	path, found := strings.CutPrefix(link, p.files.Base)
	if answer.StatusCode != http.StatusCreated || !found {
		p.t.Fatalf("uploading %s: %d %s, Location %q", name, answer.StatusCode, body, link)
	}
	var u uploaded
	if err := json.Unmarshal([]byte(body), &u); err != nil || u.URL != link {
		p.t.Fatalf("the answer is %s", body)
	}
	return path
}

func TestUploadAndFetch(t *testing.T) {
	p := newPlace(t)
	picture := pngOf(40, 20)
	path := p.post("../a b.png", picture, "Content-Type", "text/html")
	if !strings.HasPrefix(path, "/file/") || !strings.HasSuffix(path, "/a%20b.png") {
		t.Errorf("the link is %s", path)
	}
	answer, body := p.ask("GET", path, nil)
	h := answer.Header
	if body != strings.TrimSpace(string(picture)) || h.Get("Content-Type") != "image/png" ||
		h.Get("Content-Disposition") != `inline; filename="a b.png"` {
		t.Errorf("got %d bytes, %v", len(body), h)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": policy, "Cache-Control": "private, no-cache",
		"Referrer-Policy": "no-referrer"} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if answer, body = p.ask("HEAD", path, nil); body != "" ||
		answer.ContentLength != int64(len(picture)) || answer.StatusCode != 200 {
		t.Errorf("HEAD: %d, %d bytes, %q", answer.StatusCode, answer.ContentLength, body)
	}
	answer, _ = p.ask("GET", path, nil, "If-None-Match", h.Get("ETag"))
	if answer.StatusCode != 304 {
		t.Errorf("what the browser has: %d", answer.StatusCode)
	}
	if answer, body = p.ask("GET", path, nil, "Range", "bytes=1-3"); answer.StatusCode != 206 ||
		body != "PNG" {
		t.Errorf("a range: %d %q", answer.StatusCode, body)
	}
	if answer, body = p.ask("GET", path+"?facts", nil); body != fmt.Sprintf(
		`{"name":"a b.png","type":"image/png","size":%d,"width":40,"height":20}`, len(picture)) ||
		answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the facts: %s", body)
	}
	answer, body = p.ask("GET", path+"?thumbnail", nil)
	if answer.Header.Get("Content-Type") != "image/jpeg" || !strings.HasPrefix(body, "\xff\xd8") ||
		answer.Header.Get("ETag") == h.Get("ETag") {
		t.Errorf("the thumbnail: %v", answer.Header)
	}
	if path := p.post("", picture); !strings.HasSuffix(path, "/file.png") {
		t.Errorf("without a name it is %s", path)
	}
	text := p.post("é.txt", []byte("hello"))
	if answer, _ = p.ask("GET", text+"?thumbnail", nil); answer.StatusCode != 404 {
		t.Errorf("a thumbnail of a text: %d", answer.StatusCode)
	}
	answer, _ = p.ask("GET", text, nil)
	if got := answer.Header.Get("Content-Disposition"); got !=
		"attachment; filename*=utf-8''%C3%A9.txt" {
		t.Errorf("a name that is not ASCII: %s", got)
	}
	i, _ := p.files.Store.Find(strings.Split(path, "/")[2])
	if err := p.files.Store.Remove(i.ID); err != nil {
		t.Fatal(err)
	}
	if answer, body = p.ask("GET", path, nil); answer.StatusCode != 404 ||
		!strings.Contains(body, "not any more") || answer.Header.Get("ETag") != "" {
		t.Errorf("what was removed: %d %s", answer.StatusCode, body)
	}
	if strings.Contains(p.log.String(), "annann") {
		t.Errorf("a password is in the log: %s", p.log.String())
	}
}

// TestNothingRuns: whatever it is called, a file that is not one of the media that are shown is
// offered to be saved, and has no type that a browser would show.
func TestNothingRuns(t *testing.T) {
	p := newPlace(t)
	for name, data := range map[string]string{
		"tea.png":  "<html><script>alert(1)</script>",
		"tea.svg":  `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`,
		"tea.html": "<!doctype html><script>alert(1)</script>",
		"tea.xml":  `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`,
		"tea.js":   "alert(1)", "tea.pdf": "%PDF-1.7", "tea.txt": "tea", "tea.wasm": "\x00asm",
	} {
		path := p.post(name, []byte(data), "Content-Type", "image/png")
		answer, body := p.ask("GET", path, nil)
		h := answer.Header
		if h.Get("Content-Type") != "application/octet-stream" ||
			!strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") ||
			h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || body != data {
			t.Errorf("%s: %v", name, h)
		}
	}
}

func TestWhoMayUpload(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		header []string
		status int
		want   string
	}{
		{nil, 401, "sign in to an account"},
		{[]string{"Authorization", "Basic !"}, 401, "sign in"},
		{[]string{"Authorization", "Digest x"}, 401, "sign in"},
		{[]string{"Authorization", "Bearer WRONG"}, 401, "is wrong"},
		{[]string{"Authorization", "Basic YW5uOng="}, 401, "is wrong"}, // ann:x
		{[]string{"Authorization", "Bearer WEATHER"}, 201, `"name":"file"`},
		{as("ann"), 201, `"size":1`},
	} {
		answer, body := p.ask("POST", "/upload", strings.NewReader("x"), test.header...)
		if answer.StatusCode != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%q: %d %s, want %d %s", test.header, answer.StatusCode, body, test.status,
				test.want)
		}
		challenges := strings.Join(answer.Header.Values("WWW-Authenticate"), ", ")
		if (test.status == 401) != (challenges == `Basic realm="papaya", charset="UTF-8", Bearer`) {
			t.Errorf("%q: the challenge is %s", test.header, challenges)
		}
	}
	answer, _ := p.ask("POST", "/upload", strings.NewReader("x"), "Sec-Fetch-Mode", "cors")
	if got := answer.Header.Values("WWW-Authenticate"); len(got) != 1 || got[0] != "Bearer" {
		t.Errorf("a script would open a window of the browser: %q", got)
	}
	owners := ""
	for _, i := range p.files.Store.List() {
		owners += i.Owner + " "
	}
	if owners != "weather/bot Ann " && owners != "Ann weather/bot " {
		t.Errorf("the owners are %s", owners)
	}
	for range wrongBurst {
		p.ask("POST", "/upload", strings.NewReader("x"), "Authorization", "Bearer WRONG")
	}
	answer, _ = p.ask("POST", "/upload", strings.NewReader("x"), as("ann")...)
	if answer.StatusCode != 429 || answer.Header.Get("Retry-After") != "1" {
		t.Errorf("after many wrong tokens: %d, %v", answer.StatusCode, answer.Header)
	}
}

// TestTrouble: errors of the accounts and of the disk are told in plain words, and only the
// server's own are in its log.
func TestTrouble(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		want   string
		logged bool
	}{
		{&account.LimitError{Wait: 90 * time.Second}, 429, "too many requests", false},
		{account.ErrBusy, 503, "the server is busy", false},
		{context.DeadlineExceeded, 503, "cannot be done at the moment", true},
	} {
		p := newPlace(t)
		p.files.Accounts = people{test.err}
		answer, body := p.ask("POST", "/upload", strings.NewReader("x"), as("ann")...)
		if answer.StatusCode != test.status || !strings.Contains(body, test.want) ||
			strings.Contains(p.log.String(), "level=ERROR") != test.logged {
			t.Errorf("%v: %d %s; logged %s", test.err, answer.StatusCode, body, p.log.String())
		}
	}
	p := newPlace(t)
	p.limits.Size = 0
	if answer, body := p.ask("POST", "/upload", strings.NewReader("x"),
		as("ann")...); answer.StatusCode != 403 || !strings.Contains(body, "takes no files") ||
		p.files.UploadURL() != "" {
		t.Errorf("switched off: %d %s, %q", answer.StatusCode, body, p.files.UploadURL())
	}
	r := httptest.NewRequest("POST", "/upload", strings.NewReader("x"))
	r.SetBasicAuth("ann", "annann")
	r.RemoteAddr = "192.0.2.7:1"
	w := httptest.NewRecorder()
	p.limits.Size = 10
	p.files.Handler().ServeHTTP(w, r)
	if w.Code != 403 || !strings.Contains(w.Body.String(), "encrypted") {
		t.Errorf("a password over the network: %d %s", w.Code, w.Body)
	}
}

// form is the body of a form, and its type.
func form(parts ...string) (io.Reader, string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i, name := range parts {
		if part, err := w.CreateFormFile("file", name); err == nil {
			fmt.Fprintf(part, "content %d", i)
		}
	}
	_ = w.Close() // a Buffer takes everything
	return &b, w.FormDataContentType()
}

func TestForms(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		parts  []string
		status int
		want   string
	}{
		{[]string{"a.txt"}, 201, `"name":"a.txt"`}, {nil, 400, "expected one file"},
		{[]string{"a", "b"}, 400, "expected one file"},
		{[]string{"../x\r\ny"}, 201, `"size":9`},
	} {
		body, kind := form(test.parts...)
		answer, text := p.ask("POST", "/upload", body, append(as("ann"), "Content-Type", kind)...)
		if answer.StatusCode != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%q: %d %s", test.parts, answer.StatusCode, text)
		}
	}
	whole, kind := form("a.txt")
	data, err := io.ReadAll(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ kind, body, want string }{
		"cut":         {kind, string(data[:len(data)-20]), "before the file was complete"},
		"no boundary": {"multipart/form-data", "x", "the form is malformed"},
		"no form":     {kind, "x", "expected one file"},
		"no file": {"multipart/form-data; boundary=b",
			"--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--\r\n",
			"expected one file"},
	} {
		answer, text := p.ask("POST", "/upload", strings.NewReader(test.body), append(as("ann"),
			"Content-Type", test.kind)...)
		if answer.StatusCode != 400 || !strings.Contains(text, test.want) {
			t.Errorf("%s: %d %s, want %s", name, answer.StatusCode, text, test.want)
		}
	}
	if n, _ := p.files.Store.Usage(); n != 2 || len(names(t, p.files.Store)) != 2 {
		t.Errorf("%d files, %q", n, names(t, p.files.Store))
	}
}

// TestTooLarge: a file that is too large is refused, whether the client says its size or not, and
// the client can read why.
func TestTooLarge(t *testing.T) {
	p := newPlace(t)
	p.limits.Size = 100_000
	large := bytes.Repeat([]byte("x"), 200_000)
	for name, body := range map[string]io.Reader{
		"with a size": bytes.NewReader(large), "without": io.MultiReader(bytes.NewReader(large)),
	} {
		answer, text := p.ask("POST", "/upload", body, as("ann")...)
		if answer.StatusCode != 413 || !strings.Contains(text, "larger than 98 KiB") ||
			answer.Header.Get("Upload-Limit") != "max-size=100000" {
			t.Errorf("%s: %d %s", name, answer.StatusCode, text)
		}
	}
	if n, size := p.files.Store.Usage(); n != 0 || size != 0 {
		t.Errorf("%d files of %d bytes", n, size)
	}
}

func TestOptions(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct{ origin, want string }{
		{"", ""}, {"https://web.example", "https://web.example"},
		{"https://WEB.example:8443", "https://WEB.example:8443"}, {"https://evil.example", ""},
		{"null", ""}, {"https://web.example.evil", ""}, {"%", ""},
	} {
		answer, _ := p.ask("OPTIONS", "/upload", nil, "Origin", test.origin)
		h := answer.Header
		if answer.StatusCode != 204 || h.Get("Accept-Post") != "*/*" ||
			h.Get("Upload-Limit") != "max-size=1048576" ||
			h.Get("Access-Control-Allow-Origin") != test.want {
			t.Errorf("%q: %d %v", test.origin, answer.StatusCode, h)
		}
	}
	for _, test := range []struct {
		method, path string
		status       int
	}{{"GET", "/upload", 405}, {"PUT", "/upload", 405}, {"POST", "/file/x/y", 405},
		{"GET", "/file/x/y", 404}, {"GET", "/file/", 404}, {"GET", "/file/../../etc/passwd", 404},
		{"GET", "/file/%2e%2e/data", 404}, {"GET", "/file/" + newToken() + "/info.json", 404}} {
		if answer, body := p.ask(test.method, test.path, nil); answer.StatusCode != test.status {
			t.Errorf("%s %s: %d %s", test.method, test.path, answer.StatusCode, body)
		}
	}
}

// TestManyAtOnce: of a hundred uploads at once some are stored, all others are told to try again,
// and the counts are right in the end.
func TestManyAtOnce(t *testing.T) {
	p := newPlace(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	status := map[int]int{}
	for i := range 100 {
		all.Go(func() {
			answer, _ := p.ask("POST", "/upload", strings.NewReader(fmt.Sprint("file ", i)),
				as(fmt.Sprintf("ann%d", i%20))...)
			mu.Lock()
			defer mu.Unlock()
			status[answer.StatusCode]++
		})
	}
	all.Wait()
	n, _ := p.files.Store.Usage()
	if status[201] == 0 || status[201]+status[429] != 100 || n != status[201] ||
		len(names(t, p.files.Store)) != n {
		t.Errorf("the answers are %v; %d files", status, n)
	}
	if p.counts.Of("stored").Value() != uint64(status[201]) ||
		p.counts.Of("refused").Value() != uint64(status[429]) {
		t.Errorf("the answers are %v, counted %d and %d", status, p.counts.Of("stored").Value(),
			p.counts.Of("refused").Value())
	}
	if p.files.all != 0 || len(p.files.running) != 0 {
		t.Errorf("%d uploads count as under way, %v", p.files.all, p.files.running)
	}
}

// TestTooOften: an account may send some files at once, and then must wait.
func TestTooOften(t *testing.T) {
	p := newPlace(t)
	for range uploadBurst {
		p.post("a", []byte("x"))
	}
	answer, body := p.ask("POST", "/upload", strings.NewReader("x"), as("ann")...)
	if answer.StatusCode != 429 || answer.Header.Get("Retry-After") != "5" {
		t.Errorf("one more: %d %s, %v", answer.StatusCode, body, answer.Header)
	}
	answer, _ = p.ask("POST", "/upload", strings.NewReader("x"), as("bob")...)
	if answer.StatusCode != 201 {
		t.Errorf("another account: %d", answer.StatusCode)
	}
}

// begin begins an upload of 100 bytes on a connection of its own, and sends ten of them.
func (p *place) begin() net.Conn {
	p.t.Helper()
	c, err := net.Dial("tcp", p.Listener.Addr().String())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	if _, err := fmt.Fprintf(c, "POST /upload HTTP/1.1\r\nHost: x\r\n%s: %s\r\n"+
		"Content-Length: 100\r\n\r\n0123456789", as("ann")[0], as("ann")[1]); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// waitFor waits until a condition of the server holds.
func (p *place) waitFor(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		p.files.mu.Lock()
		ok := holds()
		p.files.mu.Unlock()
		switch {
		case ok:
			return
		case time.Now().After(deadline):
			p.t.Fatalf("waiting until %s", what)
		}
	}
}

// TestClientThatVanishes: nothing is left of an upload whose client goes in the middle of it.
func TestClientThatVanishes(t *testing.T) {
	p := newPlace(t)
	c := p.begin()
	p.waitFor("its bytes are there", func() bool {
		_, size := p.files.Store.Usage()
		return size == 10
	})
	c.Close()
	p.waitFor("it has ended", func() bool { return p.files.all == 0 })
	if n, size := p.files.Store.Usage(); n != 0 || size != 0 || len(names(t, p.files.Store)) != 0 {
		t.Errorf("%d files of %d bytes, %q", n, size, names(t, p.files.Store))
	}
}

// deadlines notes the deadlines of a connection.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// timeout is the error of a deadline, and a body that comes to one.
type timeout struct{}

func (timeout) Error() string            { return "i/o timeout" }
func (timeout) Timeout() bool            { return true }
func (timeout) Temporary() bool          { return true }
func (timeout) Read([]byte) (int, error) { return 0, timeout{} }
func (timeout) Close() error             { return nil }

// TestSlowUpload: a body that comes too slowly ends the upload. The time that it may take grows
// with what has come.
func TestSlowUpload(t *testing.T) {
	p := newPlace(t)
	r := httptest.NewRequest("POST", "/upload", timeout{})
	r.SetBasicAuth("ann", "annann")
	r.RemoteAddr = "127.0.0.1:1"
	w, begun := httptest.NewRecorder(), time.Now()
	d := &deadlines{ResponseWriter: w}
	p.files.Handler().ServeHTTP(d, r)
	if len(d.set) != 1 || d.set[0].Before(begun.Add(grace)) ||
		d.set[0].After(time.Now().Add(grace)) {
		t.Errorf("at %v the deadlines were set to %v", begun, d.set)
	}
	if w.Code != 408 || !strings.Contains(w.Body.String(), "too slow") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if within(0) != grace || within(slowest) != grace+time.Second ||
		within(1<<40) < 1000*time.Hour {
		t.Errorf("the times are %v, %v, %v", within(0), within(slowest), within(1<<40))
	}
}

// FuzzUpload: whatever the header and the body are, the answer is one of those that clients know,
// and what is not stored leaves nothing.
func FuzzUpload(f *testing.F) {
	body, kind := form("a.txt")
	data, err := io.ReadAll(body)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kind, "", data)
	f.Add("text/plain", `attachment; filename="a.txt"`, []byte("x"))
	f.Add("", `attachment; filename*=UTF-8''%e2%82%ac.txt`, pngOf(3, 3))
	f.Add("multipart/form-data; boundary=b", "x",
		[]byte("--b\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\nx\r\n--b--"))
	f.Add("multipart/form-data; boundary=b", "", []byte("--b\r\n\r\n--b\r\n"))
	limits := Limits{Size: 1 << 12, Account: 1 << 30, Total: 1 << 30, Pixels: 1 << 12}
	f.Fuzz(func(t *testing.T, kind, disposition string, data []byte) {
		s := openStore(t, t.TempDir(), &limits)
		files := NewServer(Options{Store: s, Accounts: people{}, Base: "https://x",
			Logger: slog.New(slog.DiscardHandler), Count: func(string) {}, Now: time.Now})
		r := httptest.NewRequest("POST", "/upload", bytes.NewReader(data))
		r.RemoteAddr = "127.0.0.1:1"
		r.SetBasicAuth("ann", "annann")
		r.Header["Content-Type"], r.Header["Content-Disposition"] = []string{kind},
			[]string{disposition}
		w := httptest.NewRecorder()
		files.Handler().ServeHTTP(w, r)
		n, _ := s.Usage()
		switch w.Code {
		case 201:
			rest, ok := strings.CutPrefix(w.Header().Get("Location"), "https://x")
			if part := strings.Split(rest, "/"); !ok || len(part) != 4 || !isToken(part[2]) ||
				n != 1 || strings.ContainsAny(rest, " \r\n\"<>") {
				t.Errorf("the link is %q, with %d files", rest, n)
			}
		case 400, 413:
			if n != 0 || len(names(t, s)) != 0 {
				t.Errorf("%d: %q is left", w.Code, names(t, s))
			}
		default:
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	})
}
