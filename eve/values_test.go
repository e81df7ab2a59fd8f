package eve_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// valuesSources are the parts of the runtime that stand on their own: values need neither tasks nor IO.
var valuesSources = []string{
	"buffer.cpp", "fail.cpp", "format.cpp", "hash.cpp", "instant.cpp", "output.cpp", "result.cpp", "sort.cpp", "string.cpp", "table.cpp", "value.cpp",
}

var strict = []string{"-std=c++20", "-g", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-pthread"}

// TestValues compiles every test/values_*.cpp as users do, or with a sanitizer, and runs it.
func TestValues(t *testing.T) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("the runtime's tests are C++, and there is no g++ here")
	}
	tests, err := filepath.Glob("runtime/test/values_*.cpp")
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests found: %v", err)
	}
	modes := []struct {
		name, sanitize string
		flags          []string
	}{
		// g++ 12 guesses wrong about what is uninitialised or out of bounds once the tests are inlined.
		{"plain", "", []string{"-O2", "-fno-rtti", "-Wno-maybe-uninitialized", "-Wno-array-bounds"}},
		{"address", "address", []string{"-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}},
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			needSanitize(t, m.sanitize)
			flags := append(strict[:len(strict):len(strict)], m.flags...)
			objects := compileAll(t, compiler, flags, valuesSources)
			for _, test := range tests {
				name := strings.TrimSuffix(filepath.Base(test), ".cpp")
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					program := filepath.Join(t.TempDir(), name)
					args := append(flags[:len(flags):len(flags)], "-o", program, test)
					runCompiler(t, compiler, append(args, objects...))
					out, err := exec.Command(program).CombinedOutput()
					if err != nil {
						t.Fatalf("%s: %v\n%s", test, err, out)
					}
				})
			}
		})
	}
}

// TestHeadersAreThin holds every header to the rules that keep compiling fast and names apart: none of the STL, no
// macros.
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

// compileAll compiles the sources into objects.
func compileAll(t *testing.T, compiler string, flags, sources []string) []string {
	t.Helper()
	dir := t.TempDir()
	var objects []string
	for _, source := range sources {
		object := filepath.Join(dir, strings.TrimSuffix(source, ".cpp")+".o")
		runCompiler(t, compiler, append(flags[:len(flags):len(flags)], "-c", "-o", object, filepath.Join("runtime", source)))
		objects = append(objects, object)
	}
	return objects
}

func runCompiler(t *testing.T, compiler string, args []string) {
	t.Helper()
	out, err := exec.Command(compiler, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", compiler, strings.Join(args, " "), err, out)
	}
}
