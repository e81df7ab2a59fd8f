// Package web is Papaya's page: a chat client of static files, which needs nothing but the server
// that it came from.
//
// The page speaks IRC over a WebSocket at "socket", beside itself. There is no build step: what is
// in page/ is what the browser gets, and nothing that people say is ever markup.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed page
var files embed.FS

// policy lets the page load its own files and speak to its own server, and nothing else: no inline
// script or style, no other host, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for " +
	"'script'"

// A file is one of the page's, as it is sent.
type file struct {
	data []byte
	kind string
	etag string
}

// Handler serves the page: / and the files that it names. All else is 404.
func Handler() http.Handler {
	all, err := load()
	if err != nil {
		// the files are in the executable: they cannot be missing
		panic("web: reading the embedded page: " + err.Error())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := all[strings.TrimPrefix(r.URL.Path, "/")]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		serve(w, r, f)
	})
}

func serve(w http.ResponseWriter, r *http.Request, f file) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache") // kept, but asked about: modules of two versions never meet
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	// answers If-None-Match by the ETag
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}

// load reads the page, each file by the path that a browser asks for.
func load() (map[string]file, error) {
	all := map[string]file{}
	err := fs.WalkDir(files, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		kind := kindOf(name)
		if kind == "" {
			return fmt.Errorf("%s: no content type for %s", name, path.Ext(name))
		}
		sum := sha256.Sum256(data)
		all[strings.TrimPrefix(name, "page/")] = file{data, kind, `"` +
			base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
		return nil
	})
	all[""] = all["index.html"]
	return all, err
}

// kindOf is a file's content type, which must not depend on what the machine has in /etc.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webmanifest":
		return "application/manifest+json"
	}
	return ""
}
