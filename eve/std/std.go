// Package std holds the modules that come with Eve, as Eve text. Functions without a body are
// natives: the runtime and the interpreter implement them.
package std

import (
	"embed"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed *.eve io/*.eve util/*.eve
var files embed.FS

// Text returns the text of a module, "io.socket", and its name in diagnostics.
func Text(module string) (name, text string, ok bool) {
	path := strings.ReplaceAll(module, ".", "/") + ".eve"
	b, err := files.ReadFile(path)
	return "std/" + path, string(b), err == nil
}

// Modules lists the modules that are imported by name: all but those that are always in scope.
func Modules() []string {
	var all []string
	_ = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "/") {
			all = append(all, strings.ReplaceAll(strings.TrimSuffix(path, ".eve"), "/", "."))
		}
		return err
	})
	return all
}

// Home returns the module that declares a public name; empty when there is none.
func Home(name string) string {
	declared := regexp.MustCompile(`(?m)^pub (?:type |union |const )?` + regexp.QuoteMeta(name) +
		`\b`)
	for _, m := range Modules() {
		if _, text, ok := Text(m); ok && declared.MatchString(text) {
			return m
		}
	}
	return ""
}
