// Package web is Papaya's page: a chat client of static files, which needs only its own server.
//
// The page speaks IRC over a WebSocket at "socket". There is no build step: the browser gets the
// files in page/ as they are. Nothing that people say becomes markup.
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
	"sync"
	"time"
)

//go:embed page
var files embed.FS

// policy allows the page to load its own files and to connect to its own server. It allows nothing
// else: no inline scripts or styles, no other hosts, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for " +
	"'script'"

// A file is a file of the page as it is sent.
type file struct {
	data []byte
	kind string
	etag string
}

// Handler serves the page at /, and its other files. Other paths are 404.
func Handler() http.Handler {
	all, err := load()
	if err != nil {
		// The files are embedded, so they cannot be missing.
		panic("web: reading the embedded page: " + err.Error())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		get, ok := all[strings.TrimPrefix(r.URL.Path, "/")]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		serve(w, r, get())
	})
}

func serve(w http.ResponseWriter, r *http.Request, f file) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.etag)
	// the browser asks before it uses its copy, so it never mixes modules of two versions
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	// ServeContent answers If-None-Match by the ETag.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}

// load reads the page's files, by their paths in the browser. Icons are drawn when one is requested
// for the first time.
func load() (map[string]func() file, error) {
	all := map[string]func() file{}
	err := fs.WalkDir(files, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := newFile(name, data)
		all[strings.TrimPrefix(name, "page/")] = func() file { return f }
		return err
	})
	if err != nil {
		return nil, err
	}
	all[""] = all["index.html"]
	picture, err := parseSVG(all["icon.svg"]().data)
	if err != nil {
		return nil, fmt.Errorf("icon.svg: %w", err)
	}
	for name, i := range icons {
		all[name] = sync.OnceValue(func() file {
			f, _ := newFile(name, picture.png(i)) // its kind is known
			return f
		})
	}
	return all, nil
}

func newFile(name string, data []byte) (file, error) {
	kind := kindOf(name)
	if kind == "" {
		return file{}, fmt.Errorf("%s: no content type for %s", name, path.Ext(name))
	}
	sum := sha256.Sum256(data)
	return file{data, kind, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}, nil
}

// kindOf returns the content type of a file. Package mime would use files of the machine.
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
	case ".png":
		return "image/png"
	case ".webmanifest":
		return "application/manifest+json"
	}
	return ""
}
