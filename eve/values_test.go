package eve_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// valuesSources are the parts of the runtime that need neither tasks nor IO.
var valuesSources = strings.Fields(`buffer fail fake_time format hash instant output result sort
	string table timer_heap value`)

// strict are the flags of all builds here. -g1 gives reports their lines; the variables of -g would
// take long, and nobody looks at them.
var strict = []string{"-std=c++20", "-g1", "-Wall", "-Wextra", "-Wshadow", "-Wconversion",
	"-Werror", "-pthread"}

// TestValues compiles every test/values_*.cpp as users do, or with a sanitizer, and runs it.
func TestValues(t *testing.T) {
	needCompiler(t)
	files, err := filepath.Glob("runtime/test/values_*.cpp")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests found: %v", err)
	}
	modes := []struct {
		name, sanitize string
		flags, tests   []string
	}{
		// g++ 12 warns wrongly of uninitialised and out-of-bounds uses once the tests are inlined.
		{"plain", "", plain, []string{"-Wno-maybe-uninitialized", "-Wno-array-bounds"}},
		{"address", "address", addressed, nil},
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			needSanitize(t, m.sanitize)
			made := objects(t, valuesSources, m.flags)
			for _, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), ".cpp")
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test := "test/" + name
					all := maps.Clone(made)
					all[test] = objects(t, []string{test}, slices.Concat(m.flags, m.tests))[test]
					if out, err := output(nil, link(t, all, m.flags)); err != nil {
						t.Fatalf("%s: %v\n%s", file, err, out)
					}
				})
			}
		})
	}
}

// TestHeadersAreThin checks two rules for every header, which keep compiling fast and names apart:
// nothing of the STL, and no macros.
func TestHeadersAreThin(t *testing.T) {
	headers, err := filepath.Glob("runtime/*.hpp")
	if err != nil || len(headers) == 0 {
		t.Fatalf("no headers found: %v", err)
	}
	for _, name := range headers {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "#pragma once\n") {
			t.Errorf("%s does not begin with #pragma once", name)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "#include <") && !strings.HasSuffix(line, ".h>") {
				t.Errorf("%s: %s: headers of the runtime include none of the STL", name, line)
			}
			if strings.HasPrefix(strings.ReplaceAll(line, " ", ""), "#define") {
				t.Errorf("%s: %s: headers of the runtime define no macros", name, line)
			}
		}
	}
}
