package preview

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// get asks a handler for a path.
func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
}

func ask(t *testing.T, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func openImages(t *testing.T, folder string, total int64) *Images {
	t.Helper()
	all, err := OpenImages(folder, func() int64 { return total }, discard())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func mustAdd(t *testing.T, all *Images, data string) string {
	t.Helper()
	token, err := all.Add([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestImages: images are there after a restart, until they are removed, old, or too many.
func TestImages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "previews")
	all := openImages(t, folder, 100)
	clock := time.Now()
	all.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	has := func(token string) bool { _, _, ok := all.find(token); return ok }
	one, two := mustAdd(t, all, strings.Repeat("1", 40)), mustAdd(t, all, strings.Repeat("2", 40))
	if n, bytes := all.Usage(); n != 2 || bytes != 80 || !has(one) || !has(two) {
		t.Errorf("%d images, %d bytes", n, bytes)
	}
	three := mustAdd(t, all, strings.Repeat("3", 60))
	if n, bytes := all.Usage(); n != 2 || bytes != 100 || has(one) || !has(two) || !has(three) {
		t.Errorf("%d images, %d bytes, of which the oldest is %v", n, bytes, has(one))
	}
	if _, err := all.Add(make([]byte, 101)); err == nil {
		t.Error("an image is kept that takes more than all may")
	}
	if err := os.WriteFile(filepath.Join(folder, ".new-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	all = openImages(t, folder, 100)
	if n, bytes := all.Usage(); n != 2 || bytes != 100 || !has(three) {
		t.Errorf("after a restart: %d images, %d bytes", n, bytes)
	}
	if err := all.Remove(two); err != nil || has(two) {
		t.Errorf("removed: %v", err)
	}
	if err := all.Remove(two); err != nil {
		t.Errorf("removed again: %v", err)
	}
	if n, err := all.Expire(time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("%d are too old: %v", n, err)
	}
	if n, err := all.Expire(time.Now().Add(time.Hour)); n != 1 || err != nil || has(three) {
		t.Errorf("%d are too old: %v", n, err)
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	if _, bytes := all.Usage(); bytes != 0 {
		t.Errorf("%d bytes of nothing", bytes)
	}
}

// TestHandler: an image runs nothing, and who has no token sees none.
func TestHandler(t *testing.T) {
	folder := t.TempDir()
	all := openImages(t, folder, 1000)
	token := mustAdd(t, all, "an image")
	h := all.Handler()
	w := get(t, h, "/preview/"+token)
	for name, want := range map[string]string{"Content-Type": "image/jpeg",
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control": "private, no-cache", "Referrer-Policy": "no-referrer"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	policy := w.Header().Get("Content-Security-Policy")
	if w.Code != http.StatusOK || w.Body.String() != "an image" ||
		!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "sandbox") {
		t.Errorf("status %d, %q, %s", w.Code, w.Body, policy)
	}
	again := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/preview/"+token, nil)
	again.Header.Set("If-None-Match", w.Header().Get("ETag"))
	if w := ask(t, h, again); w.Code != http.StatusNotModified {
		t.Errorf("asked again: status %d", w.Code)
	}
	post := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/preview/"+token, nil)
	if w := ask(t, h, post); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
	name := nameOf(token)
	for _, path := range []string{"/preview/", "/preview/x", "/preview/" + name,
		"/preview/" + strings.Repeat("A", tokenLen), "/preview/" + token + "/x"} {
		if w := get(t, h, path); w.Code != http.StatusNotFound || w.Body.String() == "an image" {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if err := os.Remove(filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
	if w := get(t, h, "/preview/"+token); w.Code != http.StatusNotFound {
		t.Errorf("without its file: status %d", w.Code)
	}
	if err := all.Remove(token); err != nil {
		t.Errorf("without its file: %v", err)
	}
}
