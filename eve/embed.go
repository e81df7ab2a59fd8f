// Package eve holds the C++ runtime of Eve as text, which package build compiles on the user's
// machine. The files are in runtime; runtime/api.md says what generated code may use. A folder
// with C++ files cannot be a Go package, so this package is in the folder above.
package eve

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"sync"
)

//go:embed runtime/*.hpp runtime/*.cpp runtime/gdb.py
var files embed.FS

// RuntimeFiles returns every file of the runtime by its name.
func RuntimeFiles() map[string][]byte {
	all := map[string][]byte{}
	entries, err := fs.ReadDir(files, "runtime")
	if err != nil {
		panic(err) // it is embedded at build time
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

// RuntimeSources returns the names of the files that are compiled for every program, sorted: all
// but the parts that need a C library.
func RuntimeSources() []string {
	var names []string
	for name := range RuntimeFiles() {
		if path.Ext(name) == ".cpp" && !ofLibrary(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// RuntimeHash is a hash of all files of the runtime.
func RuntimeHash() string { return runtimeHash() }

// runtimeHash hashes a megabyte, which takes milliseconds: once in a process.
var runtimeHash = sync.OnceValue(func() string {
	all := RuntimeFiles()
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h.Write([]byte(name))
		h.Write([]byte{0})
		h.Write(all[name])
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
})
