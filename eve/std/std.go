// Package std holds the modules that come with Eve, as Eve text. Functions without a body are
// natives: the runtime and the interpreter implement them.
package std

import (
	"embed"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed *.eve db/*.eve io/*.eve util/*.eve
var files embed.FS

// Text returns the text of a module, "io.socket", and its name in diagnostics.
func Text(module string) (name, text string, ok bool) {
	path := strings.ReplaceAll(module, ".", "/") + ".eve"
	b, err := files.ReadFile(path)
	return "std/" + path, string(b), err == nil
}

// InScope lists the modules that every module can use without an import, as the prelude. A name
// that a program declares or imports itself goes before theirs.
func InScope() []string {
	return []string{"args", "fs", "log", "math", "par", "path", "process", "random", "time"}
}

// Base is the header of the runtime that every program includes.
const Base = "eve.hpp"

// runtimes are the headers of the runtime that implement the natives of the modules. Modules that
// are written in Eve alone are not among them.
var runtimes = map[string]string{
	"prelude": Base, "process": Base, "math": Base, "io.socket": Base,
	"fs": "fs.hpp", "random": "random.hpp", "time": "time.hpp",
	"db.postgres": "postgres.hpp", "db.sqlite": "sqlite.hpp", "util.compress": "compress.hpp",
	"io.tls": "tls.hpp", "util.image": "image.hpp", "io.packing": "packing.hpp",
	"io.deflate": "deflate.hpp", "io.multiplex": "multiplex.hpp",
	"io.udp": "udp.hpp", "io.dns": "dns.hpp",
	"util.zstd": "zstd.hpp", "util.brotli": "brotli.hpp", "util.testing": "testing.hpp",
}

// Runtime returns the header of the runtime that implements a module's natives; empty for a module
// without natives. Only the programs that use the module include it, and link what it needs.
func Runtime(module string) string { return runtimes[module] }

// Implemented returns the module whose natives a header of the runtime implements; empty for none.
func Implemented(header string) string {
	for module, h := range runtimes {
		if h == header && h != Base {
			return module
		}
	}
	return ""
}

// Modules lists the modules that are imported by name: all but the prelude and those in scope.
func Modules() []string {
	var all []string
	_ = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".eve") {
			return err
		}
		name := strings.ReplaceAll(strings.TrimSuffix(path, ".eve"), "/", ".")
		if name != "prelude" && !slices.Contains(InScope(), name) {
			all = append(all, name)
		}
		return nil
	})
	return all
}

// Home returns the module that declares a public name; empty when there is none.
func Home(name string) string { return homes()[name] }

// homes are the modules of all public names that are imported.
var homes = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, m := range Modules() {
		for _, name := range publicNames(m) {
			if all[name] == "" {
				all[name] = m
			}
		}
	}
	return all
})

// Called returns the module whose name ends in a word, and that declares a public name: "io.fetch"
// for fetch and get. It is empty when there is none.
func Called(word, name string) string {
	for _, m := range Modules() {
		if strings.HasSuffix(m, "."+word) && slices.Contains(publicNames(m), name) {
			return m
		}
	}
	return ""
}

var declared = regexp.MustCompile(`(?m)^pub (?:type |union |const )?(\w+)`)

// publicNames lists the public names of a module.
func publicNames(module string) []string {
	_, text, _ := Text(module)
	var all []string
	for _, found := range declared.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}
