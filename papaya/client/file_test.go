package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/papaya/irc"
)

// TestUpload: a file is sent with its name and the account's password, only to a server whose
// certificate is on record, and an answer that is no success is told.
func TestUpload(t *testing.T) {
	answer := func(w http.ResponseWriter) {
		w.Header().Set("Location", "/file/TOKEN/tea.txt")
		w.WriteHeader(http.StatusCreated)
	}
	got := ""
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		body, err := io.ReadAll(r.Body)
		got = fmt.Sprint(r.Method, " ", r.URL, " ", name, " ", password, " ",
			r.Header.Get("Content-Disposition"), " ", r.ContentLength, " ", string(body), err)
		answer(w)
	}))
	defer srv.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "tea.txt")
	if err := os.WriteFile(path, []byte("green"), 0o600); err != nil {
		t.Fatal(err)
	}
	pins := &Pins{File: filepath.Join(dir, "pins")}
	host := FileHost{srv.URL + "/upload", "ann", "the kettle is on"}
	if _, err := host.Upload(t.Context(), pins, "irc.example:6697", path); err == nil ||
		!strings.Contains(err.Error(), "was not accepted") || got != "" {
		t.Errorf("to an unknown server: %v, %q", err, got)
	}
	if err := pins.record("irc.example:6697", Fingerprint(srv.Certificate())); err != nil {
		t.Fatal(err)
	}
	link, err := host.Upload(t.Context(), pins, "irc.example:6697", path)
	if err != nil || link != srv.URL+"/file/TOKEN/tea.txt" ||
		got != "POST /upload ann the kettle is on attachment; filename=tea.txt 5 green<nil>" {
		t.Errorf("got %q, %v; the request was %s", link, err, got)
	}
	for want, how := range map[string]func(http.ResponseWriter){
		"the file is larger than 1 B": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			fmt.Fprint(w, `{"error": "the file is larger than 1 B"}`)
		},
		"has answered 502 Bad Gateway": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadGateway)
		},
		"has answered 302 Found": func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://evil.example/")
			w.WriteHeader(http.StatusFound)
		},
		"without a link": func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated) },
	} {
		answer = how
		if _, err := host.Upload(t.Context(), pins, "irc.example:6697", path); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, wrong := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := host.Upload(t.Context(), pins, "irc.example:6697", wrong); err == nil {
			t.Errorf("%s was sent", wrong)
		}
	}
	host.URL = "http://irc.example/upload"
	if _, err := host.Upload(t.Context(), pins, "irc.example:6697", path); err == nil ||
		!strings.Contains(err.Error(), "no https address") {
		t.Errorf("without encryption: %v", err)
	}
}

func TestFileHost(t *testing.T) {
	s := New(Settings{Nick: "ann", Account: "ann", Password: "x"})
	s.Opened()
	if _, err := s.FileHost(); !errors.Is(err, ErrNoFileHost) {
		t.Errorf("nothing said yet: %v", err)
	}
	m, err := irc.Parse(":x 005 ann soju.im/FILEHOST=https://x/upload :are supported")
	if err != nil {
		t.Fatal(err)
	}
	s.Receive(m)
	if h, err := s.FileHost(); err != nil || h != (FileHost{"https://x/upload", "ann", "x"}) {
		t.Errorf("got %v, %v", h, err)
	}
	guest := New(Settings{Nick: "ann"})
	guest.Receive(m)
	if _, err := guest.FileHost(); !errors.Is(err, ErrNoAccount) {
		t.Errorf("a guest: %v", err)
	}
}
