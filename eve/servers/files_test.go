package servers_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// filesOf serves the folder of its argument, by HTTP/2 as well.
const filesOf = `import io.files
import io.http
import io.http2

main: [+stdout, +stderr] () void:
    table: http.routes
    raw: files.folder = files.folder(process.args()[0], hidden = true, packed = false)
    table.get("/static/raw/{path...}"):
        run = [=raw] (x: http.exchange) void: files.serve(x, raw, 2)
    public: files.folder = files.folder(process.args()[0], cache = "max-age=60")
    table.get("/{path...}"):
        run = [=public] (x: http.exchange) void: files.serve(x, public)
    started <- http.listen(8080, table, http2 = http2.protocol()) [+stderr]
    match started:
        ok(server): on process.signals terminate [+server]: http.stop(server, 5s)
        error(e): log.error("it does not listen", [("why", e.text())])
`

// A folder of files, and the server of it.
type servedFolder struct {
	*process
	browser
	dir  string
	port int
}

func serveFolder(t *testing.T) servedFolder {
	t.Helper()
	dir := t.TempDir()
	p := startWith(t, []string{compiled(t, "files.eve", filesOf), dir})
	port := p.port()
	return servedFolder{p, newBrowser(t, port), dir, port}
}

func (s servedFolder) write(name, text string) string {
	s.browser.t.Helper()
	file := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.browser.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.browser.t.Fatal(err)
	}
	return file
}

// large makes a sparse file whose every 4096th byte counts.
func (s servedFolder) large(name string, size int64) {
	s.browser.t.Helper()
	f, err := os.Create(filepath.Join(s.dir, name))
	if err != nil {
		s.browser.t.Fatal(err)
	}
	defer f.Close()
	for at := int64(0); at < size; at += 1 << 20 {
		if _, err := f.WriteAt([]byte(fmt.Sprintf("%08x", at)), at); err != nil {
			s.browser.t.Fatal(err)
		}
	}
	if err := f.Truncate(size); err != nil {
		s.browser.t.Fatal(err)
	}
}

// Links that lead out of the folder are refused, and so is all that is no file.
func TestFilesStayInFolder(t *testing.T) {
	t.Parallel()
	s := serveFolder(t)
	out := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(out, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.write("a/b.txt", "b")
	s.write(".dot", "dot")
	for name, to := range map[string]string{"in": "a/b.txt", "folder": "a", "out": out,
		"up": "../" + filepath.Base(filepath.Dir(out)) + "/secret", "top": "/", "loop": "loop",
		"a/back": "../in", "proc": "/proc/self/root"} {
		if err := os.Symlink(to, filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(s.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.write("secret/x", "x")
	if err := os.Chmod(filepath.Join(s.dir, "secret/x"), 0); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 300)
	for path, want := range map[string]string{"/in": "200 b", "/folder/b.txt": "200 b",
		"/a/back": "200 b", "/out": "404", "/up": "404", "/top/etc/passwd": "404", "/loop": "404",
		"/proc/etc/passwd": "404", "/pipe": "404", "/.dot": "404", "/" + long: "404",
		"/static/raw/.dot": "200 dot", "/static/raw/out": "404", "/static/raw/a/b.txt": "200 b",
		"/a%00b": "404", "/..%2f..%2fetc/passwd": "404", "/a/../in": "200 b", "/%2e%2e/x": "400",
		"/a/": "404", "/a/b.txt/": "404", "/static/raw": "404"} {
		a, body := s.ask("GET", path, nil)
		if got := fmt.Sprintf("%d %s", a.StatusCode, body); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if a, _ := s.ask("GET", "/secret/x", nil); a.StatusCode != 403 && os.Getuid() != 0 {
		t.Errorf("a file that may not be read: %d", a.StatusCode)
	}
	if a, _ := s.ask("GET", "/a?x=1", nil); a.Header.Get("Location") != "./a/?x=1" {
		t.Errorf("a folder: %q", a.Header.Get("Location"))
	}
	if a, _ := s.ask("GET", "//example.org/..//a", nil); a.Header.Get("Location") != "./a/" {
		t.Errorf("a folder behind two slashes: %d %q", a.StatusCode, a.Header.Get("Location"))
	}
}

// A client that has a file gets it again only if it is another one.
func TestFilesKnown(t *testing.T) {
	t.Parallel()
	s := serveFolder(t)
	file := s.write("page.html", "0123456789")
	at := time.Date(1994, 11, 6, 8, 49, 37, 5e8, time.UTC)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	a, _ := s.ask("HEAD", "/page.html", nil)
	tag, date := a.Header.Get("ETag"), a.Header.Get("Last-Modified")
	if date != "Sun, 06 Nov 1994 08:49:37 GMT" || tag == "" || a.ContentLength != 10 ||
		a.Header.Get("Cache-Control") != "max-age=60" {
		t.Errorf("HEAD: %v", a.Header)
	}
	for _, c := range []struct {
		fields string
		status int
	}{
		{"If-None-Match: " + tag, 304}, {"If-None-Match: *", 304}, {`If-None-Match: "x"`, 200},
		{"If-Modified-Since: " + date, 304},
		{"If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT", 304},
		{"If-Modified-Since: Sun Nov  6 08:49:37 1994", 304},
		{"If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 200},
		{"If-Modified-Since: yesterday", 200},
		{"If-None-Match: \"x\"\nIf-Modified-Since: " + date, 200},
		{"Range: bytes=2-3\nIf-Range: " + tag, 206}, {"Range: bytes=2-3\nIf-Range: " + date, 206},
		{"Range: bytes=2-3\nIf-Range: W/" + tag, 200},
		{"Range: bytes=2-3\nIf-Range: Sun, 06 Nov 1994 08:49:38 GMT", 200},
		{"Range: bytes=2-3\nIf-None-Match: " + tag, 304},
		{"Range: bytes=10-", 416}, {"Range: bytes=1-2,4-5", 200},
	} {
		var fields []string
		for line := range strings.SplitSeq(c.fields, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			fields = append(fields, name, value)
		}
		a, body := s.ask("GET", "/page.html", nil, fields...)
		want := map[int]string{200: "0123456789", 206: "23", 304: "", 416: ""}[c.status]
		if a.StatusCode != c.status || body != want {
			t.Errorf("%s: %d %q, want %d %q", c.fields, a.StatusCode, body, c.status, want)
		}
	}
	if err := os.WriteFile(file, []byte("9876543210"), 0o644); err != nil {
		t.Fatal(err)
	}
	if a, body := s.ask("GET", "/page.html", nil, "If-None-Match", tag); a.StatusCode != 200 ||
		body != "9876543210" {
		t.Errorf("it has changed: %d %q", a.StatusCode, body)
	}
}

// A packed file goes to clients that take it, unless it is older than the other one.
func TestFilesPacked(t *testing.T) {
	t.Parallel()
	s := serveFolder(t)
	text := strings.Repeat("a line\n", 100)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	plain := s.write("a.css", text)
	beside := s.write("a.css.gz", packed.String())
	s.write("b.css", "b")
	now := time.Now()
	for _, c := range []struct{ path, takes, coding string }{
		{"/a.css", "gzip", "gzip"}, {"/a.css", "br, GZIP;q=0.5", "gzip"}, {"/a.css", "*", "gzip"},
		{"/a.css", "gzip;q=0, *", ""}, {"/a.css", "br", ""}, {"/a.css", "identity", ""},
		{"/b.css", "gzip", ""}, {"/static/raw/a.css", "gzip", ""},
	} {
		a, body := s.ask("GET", c.path, nil, "Accept-Encoding", c.takes)
		want := map[bool]string{true: packed.String(), false: text}[c.coding != ""]
		if a.Header.Get("Content-Encoding") != c.coding || c.path == "/a.css" && body != want ||
			a.Header.Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("%s for %s: %v, %d bytes", c.path, c.takes, a.Header, len(body))
		}
		if raw := strings.HasPrefix(c.path, "/static"); raw == (a.Header.Get("Vary") != "") {
			t.Errorf("%s for %s: Vary %q", c.path, c.takes, a.Header.Get("Vary"))
		}
	}
	if err := os.Chtimes(beside, now, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(plain, now, now); err != nil {
		t.Fatal(err)
	}
	if a, body := s.ask("GET", "/a.css", nil, "Accept-Encoding", "gzip"); body != text {
		t.Errorf("a packed file that is old: %v", a.Header)
	}
}

// Large files are sent as fast as their clients take them, and never are in memory.
func TestFilesLarge(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not here")
	}
	size := int64(200 << 20)
	if *sanitize != "" { // it is slow, and how much memory is used is not looked at
		size = 16 << 20
	}
	s := serveFolder(t)
	s.large("large", size)
	s.write("nothing", "")
	curl := func(words ...string) string {
		t.Helper()
		out, err := exec.Command("curl", append(append([]string{"-sS", "--max-time", "300"},
			words...), s.base+"/large")...).CombinedOutput()
		if err != nil {
			t.Errorf("curl %v: %v: %s", words, err, out)
		}
		return string(out)
	}
	null := []string{"-o", os.DevNull, "-w", "%{http_code} %{size_download}"}
	for _, kind := range []string{"--http1.1", "--http2-prior-knowledge"} {
		if got, want := curl(append(null, kind)...), fmt.Sprint("200 ", size); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
		half := size / 2
		got, want := curl(kind, "-r", fmt.Sprintf("%d-%d", half, half+7)), fmt.Sprintf("%08x", half)
		if got != want {
			t.Errorf("%s: a part is %q", kind, got)
		}
	}
	if got, want := curl(append(null, "-I")...), "200 0"; got != want {
		t.Errorf("HEAD: %s", got)
	}
	part := filepath.Join(t.TempDir(), "part")
	curl("-r", "0-1048575", "-o", part)
	curl("-C", "-", "-o", part)
	same, err := exec.Command("cmp", part, filepath.Join(s.dir, "large")).CombinedOutput()
	if err != nil {
		t.Errorf("a download that was resumed: %v: %s", err, same)
	}
	if a, body := s.ask("GET", "/nothing", nil); a.StatusCode != 200 || body != "" {
		t.Errorf("an empty file: %d %q", a.StatusCode, body)
	}
	for range 20 { // clients that take nothing
		c := s.dial(s.port)
		c.say("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := io.ReadFull(c, make([]byte, 64<<10)); err != nil {
			t.Error(err)
		}
	}
	if kib := s.mostMemory(); *sanitize == "" && kib > 100<<10 {
		t.Errorf("it has used %d KiB of memory", kib)
	}
}

// A file that becomes shorter while it is sent is no whole body.
func TestFilesCutOff(t *testing.T) {
	t.Parallel()
	s := serveFolder(t)
	s.large("large", 64<<20)
	for _, b := range []browser{s.browser, newBrowser2(t, s.port)} {
		a, err := b.Get(b.base + "/large")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(a.Body, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(s.dir, "large"), 1<<20); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, a.Body)
		if err == nil {
			t.Errorf("%d bytes are a whole body", n)
		}
		a.Body.Close()
		s.large("large", 64<<20)
	}
	if a, body := s.ask("GET", "/large", nil, "Range", "bytes=0-7"); body != "00000000" {
		t.Errorf("afterwards: %d %q", a.StatusCode, body)
	}
}
