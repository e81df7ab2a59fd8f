package build

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"interleave/eve"
)

// quoted matches a line that includes a header of ours. Those of the system are in angle brackets,
// and change with the compiler.
var quoted = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"`)

// includes returns one hash of all files that a C++ text includes, directly or by other files: an
// object is compiled again only when one of these changes. Dir is the text's folder. Read returns
// the text of a file by its path, or false if there is none. Whole is false if a file that is
// included is not there, so that the hash does not tell everything.
func includes(text, dir string, read func(name string) (string, bool)) (hash string, whole bool) {
	found, whole := map[string]string{}, true
	var look func(text, dir string)
	look = func(text, dir string) {
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			name := path.Join(dir, m[1])
			if _, ok := found[name]; ok {
				continue
			}
			header, ok := read(name)
			if !ok {
				whole = false
				continue
			}
			found[name] = header
			look(header, path.Dir(name))
		}
	}
	look(text, dir)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, name, found[name])
	}
	return key(parts...), whole
}

// runtimeFiles are the texts of the runtime by their names.
var runtimeFiles = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for name, text := range eve.RuntimeFiles() {
		texts[name] = string(text)
	}
	return texts
})

// hashes are the results of headersOf, by the names of the headers that a unit includes: the
// search through the headers takes milliseconds, and a program has many units.
var hashes sync.Map

// headersOf is one hash of the runtime's headers that a unit includes. Its other headers are the
// user's, which readHeaders reads.
func headersOf(unit string) string {
	var names strings.Builder
	for _, m := range quoted.FindAllStringSubmatch(unit, -1) {
		names.WriteString(m[0] + "\n")
	}
	if hash, known := hashes.Load(names.String()); known {
		return hash.(string)
	}
	hash, _ := includes(names.String(), ".", func(name string) (string, bool) {
		text, ok := runtimeFiles()[name]
		return text, ok
	})
	hashes.Store(names.String(), hash)
	return hash
}
