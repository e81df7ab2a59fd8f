// Package eve holds the C++ runtime of Eve as text, which package build compiles on the machine of
// the user. It stands in runtime, and what generated code may use of it in runtime/api.md. A folder
// with C++ in it can be no Go package, hence this one above it.
package eve

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"sort"
)

//go:embed runtime/*.hpp runtime/*.cpp runtime/gdb.py
var files embed.FS

// RuntimeFiles gives every file of the runtime by its name.
func RuntimeFiles() map[string][]byte {
	all := map[string][]byte{}
	entries, err := fs.ReadDir(files, "runtime")
	if err != nil {
		panic(err) // embedded at build time: it is there
	}
	for _, e := range entries {
		text, err := files.ReadFile("runtime/" + e.Name())
		if err != nil {
			panic(err)
		}
		all[e.Name()] = text
	}
	return all
}

// RuntimeSources gives the names of the files that are compiled, sorted.
func RuntimeSources() []string {
	var names []string
	for name := range RuntimeFiles() {
		if path.Ext(name) == ".cpp" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// RuntimeHash tells this runtime from every other.
func RuntimeHash() string {
	all := RuntimeFiles()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	h := sha256.New()
	for _, name := range names {
		h.Write([]byte(name))
		h.Write([]byte{0})
		h.Write(all[name])
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
