package servers_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A site is the page's program with a folder, and a client that trusts its certificate.
type servedSite struct {
	t      *testing.T
	p      *process
	client *http.Client
	base   string
}

func newSite(t *testing.T, files map[string]string) *servedSite {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) { // a packed form is not older
		file := filepath.Join(dir, "public", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(page(t, "site"), "--port", "0", "public")
	cmd.Dir = dir
	p := begin(t, cmd)
	port := p.port()
	pem, err := os.ReadFile(filepath.Join(dir, "site.cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("no certificate: %q", pem)
	}
	b := newBrowser(t, port)
	b.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	b.Transport.(*http.Transport).DisableCompression = true
	return &servedSite{t, p, b.Client, strings.Replace(b.base, "http:", "https:", 1)}
}

// get returns the reply to a request with these fields, which are pairs of words.
func (s *servedSite) get(method, path string, fields ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	a, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a, string(body)
}

// The page's program serves the files of its folder, and nothing else.
func TestPageOfSite(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a line of text\n", 300)
	s := newSite(t, map[string]string{"index.html": "<h1>home</h1>", "a b.txt": text,
		"sub/index.html": "<h1>sub</h1>", "empty/.hidden": "no", ".secret": "no",
		"x.bin": "\x00\x01", "nothing.txt": ""})
	for _, c := range []struct {
		path   string
		status int
		kind   string
		body   string
	}{
		{"/", 200, "text/html; charset=utf-8", "<h1>home</h1>"},
		{"/a%20b.txt", 200, "text/plain; charset=utf-8", text},
		{"/x.bin?q=1", 200, "application/octet-stream", "\x00\x01"},
		{"/nothing.txt", 200, "text/plain; charset=utf-8", ""},
		{"/sub/", 200, "text/html; charset=utf-8", "<h1>sub</h1>"},
		{"//sub//", 200, "text/html; charset=utf-8", "<h1>sub</h1>"},
		{"/sub/../a%20b.txt", 200, "text/plain; charset=utf-8", text},
		{"/none", 404, "", "there is no such page\n"}, {"/empty/", 404, "", ""},
		{"/.secret", 404, "", ""}, {"/empty/.hidden", 404, "", ""}, {"/index.html/", 404, "", ""},
		{"/x.bin/y", 404, "", ""}, {"/%2e%2e/site.key.pem", 400, "", ""},
		{"/..%2fsite.key.pem", 404, "", ""}, {"/sub/..%5c..%5csite.key.pem", 404, "", ""},
		{"/sub/..%2f..%2fsite.key.pem", 404, "", ""}, {"/sub%2Findex.html", 404, "", ""},
	} {
		a, body := s.get("GET", c.path)
		if a.StatusCode != c.status || c.body != "" && body != c.body ||
			c.kind != "" && a.Header.Get("Content-Type") != c.kind {
			t.Errorf("%s: %d %q %.40q, want %+v", c.path, a.StatusCode,
				a.Header.Get("Content-Type"), body, c)
		}
	}
	a, _ := s.get("GET", "/sub")
	if a.StatusCode != 301 || a.Header.Get("Location") != "./sub/" {
		t.Errorf("a folder: %d, Location %q", a.StatusCode, a.Header.Get("Location"))
	}
	if a, _ := s.get("POST", "/"); a.StatusCode != 405 {
		t.Errorf("POST: %d", a.StatusCode)
	}
	s.p.signal(syscall.SIGTERM)
	s.p.mustExit(0)
}

// A client that knows a file gets it only if it has changed; one that wants a part gets that.
func TestPageOfSiteParts(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"digits.txt": "0123456789",
		"long.txt": strings.Repeat("again and ", 1000), "long.txt.gz": "packed"})
	a, body := s.get("HEAD", "/digits.txt")
	tag := a.Header.Get("ETag")
	if a.StatusCode != 200 || body != "" || a.ContentLength != 10 || tag == "" {
		t.Errorf("HEAD: %d %q, %d bytes, ETag %q", a.StatusCode, body, a.ContentLength, tag)
	}
	for _, known := range []string{tag, "W/" + tag, `"other", ` + tag} {
		if a, body := s.get("GET", "/digits.txt", "If-None-Match", known); a.StatusCode != 304 ||
			body != "" || a.Header.Get("ETag") != tag {
			t.Errorf("%s is known: %d %q", known, a.StatusCode, body)
		}
	}
	if a, body := s.get("GET", "/digits.txt", "If-None-Match", `"other"`); a.StatusCode != 200 ||
		body != "0123456789" {
		t.Errorf("another is known: %d %q", a.StatusCode, body)
	}
	for _, c := range []struct {
		wants  string
		status int
		says   string
		body   string
	}{
		{"bytes=0-0", 206, "bytes 0-0/10", "0"}, {"bytes=2-4", 206, "bytes 2-4/10", "234"},
		{"bytes=7-", 206, "bytes 7-9/10", "789"}, {"bytes=-3", 206, "bytes 7-9/10", "789"},
		{"bytes=-99", 206, "bytes 0-9/10", "0123456789"},
		{"bytes=8-99", 206, "bytes 8-9/10", "89"}, {"bytes=10-", 416, "bytes */10", ""},
		{"bytes=-0", 416, "bytes */10", ""}, {"bytes=4-2", 200, "", "0123456789"},
		{"bytes=0-1,3-4", 200, "", "0123456789"}, {"bytes=x-", 200, "", "0123456789"},
		{"bytes=", 200, "", "0123456789"}, {"lines=1-2", 200, "", "0123456789"},
		{"bytes=99999999999999999999-", 416, "bytes */10", ""},
		{"bytes=1-2-3", 200, "", "0123456789"},
	} {
		a, body := s.get("GET", "/digits.txt", "Range", c.wants)
		if a.StatusCode != c.status || a.Header.Get("Content-Range") != c.says ||
			c.body != "" && body != c.body {
			t.Errorf("%s: %d %q %q, want %+v", c.wants, a.StatusCode,
				a.Header.Get("Content-Range"), body, c)
		}
	}
	for version, status := range map[string]int{tag: 206, `"other"`: 200, "W/" + tag: 200} {
		a, body := s.get("GET", "/digits.txt", "Range", "bytes=2-4", "If-Range", version)
		if want := map[int]string{206: "234", 200: "0123456789"}[status]; a.StatusCode != status ||
			body != want {
			t.Errorf("a part of %s: %d %q, want %d %q", version, a.StatusCode, body, status, want)
		}
	}
	a, body = s.get("GET", "/long.txt", "Accept-Encoding", "gzip")
	if a.Header.Get("Content-Encoding") != "gzip" || body != "packed" {
		t.Errorf("packed: %v, %d bytes", a.Header, len(body))
	}
}
