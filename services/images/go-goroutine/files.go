package main

import (
	"os"
	"path/filepath"
	"strings"
)

// A page's policy: it may only use resources from here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A file is served from memory: a request's path is looked up among names, never on the disk.
type file struct {
	kind    string
	content []byte
}

var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".yaml": "application/yaml",
}

// readFiles reads the static files: the page, whose index.html is the empty name, and the OpenAPI
// document.
func readFiles(dir string) (map[string]file, error) {
	names, err := filepath.Glob(filepath.Join(dir, "page", "*"))
	if err != nil {
		return nil, err
	}
	all := map[string]file{}
	for _, name := range append(names, filepath.Join(dir, "openapi.yaml")) {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(filepath.Base(name), "index.html")] = file{kinds[filepath.Ext(name)],
			content}
	}
	return all, nil
}
