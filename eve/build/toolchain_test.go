package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The cache distinguishes two compilers that are links to one file, as those of ccache are, and
// one with other arguments.
func TestToolchainsDiffer(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ccache"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, name := range []string{"g++", "clang++"} {
		path := filepath.Join(dir, name)
		if err := os.Symlink("ccache", path); err != nil {
			t.Fatal(err)
		}
		for _, cxx := range []string{path, path + " -march=native"} {
			t.Setenv("CXX", cxx)
			tools, err := findToolchain()
			if err != nil {
				t.Fatal(err)
			}
			if other := seen[tools.id]; other != "" {
				t.Errorf("%s and %s have one name in the cache", cxx, other)
			}
			seen[tools.id] = cxx
			if tools.path != path || slices.Contains(tools.args, "-march=native") != (cxx != path) {
				t.Errorf("CXX=%q is taken for %q with %q", cxx, tools.path, tools.args)
			}
		}
	}
}
