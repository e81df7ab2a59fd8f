package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
)

// pathOf returns the path that a file URI names (RFC 8089). A document of another scheme, as one
// that was never saved, has its URI as its path: nothing is read from the disk under such a name.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" || u.Host != "" && u.Host != "localhost" {
		return uri
	}
	return filepath.Clean(filepath.FromSlash(u.Path))
}

// uriOf returns the URI of a path.
func uriOf(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// onDisk says whether path is the path of a file, and not the URI of a document without one.
func onDisk(path string) bool { return filepath.IsAbs(path) }

// within says whether path is dir or below it.
func within(path, dir string) bool {
	const slash = string(filepath.Separator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, slash)+slash)
}
