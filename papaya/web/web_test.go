package web

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, method, path string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

func TestHandlerServesThePage(t *testing.T) {
	tests := []struct {
		method, path, kind string
		status             int
	}{
		{"GET", "/", "text/html; charset=utf-8", 200},
		{"HEAD", "/", "text/html; charset=utf-8", 200},
		{"GET", "/index.html", "text/html; charset=utf-8", 200},
		{"GET", "/app.js", "text/javascript; charset=utf-8", 200},
		{"GET", "/style.css", "text/css; charset=utf-8", 200},
		{"GET", "/icon.svg", "image/svg+xml", 200},
		{"GET", "/app.webmanifest", "application/manifest+json", 200},
		{"POST", "/", "", 405},
		{"GET", "/nothing", "", 404},
		{"GET", "/page/app.js", "", 404},
		{"GET", "/../web.go", "", 404},
		{"GET", "/socket", "", 404},
	}
	for _, tt := range tests {
		r := get(t, tt.method, tt.path, nil)
		if r.Code != tt.status || tt.kind != "" && r.Header().Get("Content-Type") != tt.kind {
			t.Errorf("%s %s: got %d %q, want %d %q", tt.method, tt.path, r.Code,
				r.Header().Get("Content-Type"), tt.status, tt.kind)
		}
	}
}

func TestHandlerIsAskedOnlyWhetherTheFileIsNew(t *testing.T) {
	first := get(t, "GET", "/app.js", nil)
	etag := first.Header().Get("ETag")
	if etag == "" || first.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("got ETag %q, Cache-Control %q", etag, first.Header().Get("Cache-Control"))
	}
	if r := get(t, "GET", "/app.js",
		map[string]string{"If-None-Match": etag}); r.Code != http.StatusNotModified {
		t.Errorf("with its own ETag: got %d, want 304", r.Code)
	}
	if r := get(t, "GET", "/app.js",
		map[string]string{"If-None-Match": `"other"`}); r.Code != http.StatusOK {
		t.Errorf("with another ETag: got %d, want 200", r.Code)
	}
}

func TestPolicyForbidsAllButTheServersOwn(t *testing.T) {
	h := get(t, "GET", "/", nil).Header()
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'",
		"frame-ancestors 'none'"} {
		if !strings.Contains(h.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy lacks %s: %s", want, h.Get("Content-Security-Policy"))
		}
	}
	if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") ||
		h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("got %v", h)
	}
}

// TestIDsAreUnique: the scripts of the page find each element by its own id.
func TestIDsAreUnique(t *testing.T) {
	page, err := files.ReadFile("page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllSubmatch(page, -1) {
		if id := string(found[1]); seen[id] {
			t.Errorf("two elements have the id %q", id)
		} else {
			seen[id] = true
		}
	}
	if !seen["compose"] {
		t.Error("the ids are not found")
	}
}

// TestPageHasNothingInline: the page has nothing that the policy forbids, no way to make markup
// from text, and no other hosts.
func TestPageHasNothingInline(t *testing.T) {
	bad := regexp.MustCompile(
		`(?i)\son[a-z]+=|\sstyle=|<script>|<style|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:`)
	other := regexp.MustCompile(`(?:https?:)?//[a-z0-9][a-z0-9.-]*\.[a-z]{2,}`)
	err := fs.WalkDir(files, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(data), "\n") {
			if bad.MatchString(line) ||
				other.MatchString(strings.ReplaceAll(line, "http://www.w3.org/2000/svg", "")) {
				t.Errorf("%s:%d: %s", name, i+1, line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
