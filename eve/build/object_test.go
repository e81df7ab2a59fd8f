package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"interleave/eve/build"
	"interleave/eve/trial"
)

// needParts makes a folder with a program of two files and a header.
func needParts(t *testing.T) (p build.Parts, write func(name, text string)) {
	t.Helper()
	trial.NeedCompiler(t)
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("g++ is not in PATH")
	}
	p = build.Parts{Compiler: "g++", Dir: t.TempDir()}
	write = func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("number.hpp", "int number();\n")
	write("number.cpp", "// "+p.Dir+"\n#include \"number.hpp\"\nint number() { return NUMBER; }\n")
	write("main.cpp", "// "+p.Dir+"\n#include \"number.hpp\"\nint main() { return number(); }\n")
	return p, write
}

// An object is made again when its text, a header or a flag has changed, and only then.
func TestPartsKnowWhatChanged(t *testing.T) {
	p, write := needParts(t)
	seen := map[string]string{}
	for _, c := range []struct{ name, file, text, flag string }{
		{"at first", "", "", "-DNUMBER=3"},
		{"another flag", "", "", "-DNUMBER=4"},
		{"another header", "number.hpp", "int number();\nint other();\n", "-DNUMBER=3"},
		{"another text", "number.cpp",
			"#include \"number.hpp\"\nint number() { return NUMBER + 1; }\n", "-DNUMBER=3"},
	} {
		if c.file != "" {
			write(c.file, c.text)
		}
		var paths [4]string
		var all sync.WaitGroup
		for i := range paths {
			all.Go(func() {
				made, err := p.Objects(t.Context(), []string{c.flag}, "number.cpp")
				if err != nil {
					t.Error(err)
				}
				paths[i] = made["number.cpp"]
			})
		}
		all.Wait()
		for _, path := range paths {
			if path == "" || path != paths[0] {
				t.Fatalf("%s: got %q, want one object", c.name, paths)
			}
		}
		if before := seen[paths[0]]; before != "" {
			t.Errorf("%s: the object is that of %q", c.name, before)
		}
		seen[paths[0]] = c.name
	}
}

// Programs with different objects are distinct, and an error is reported each time.
func TestPartsLink(t *testing.T) {
	p, write := needParts(t)
	for _, number := range []string{"3", "4", "3"} {
		made, err := p.Objects(t.Context(), []string{"-DNUMBER=" + number}, "main.cpp",
			"number.cpp")
		if err != nil {
			t.Fatal(err)
		}
		program, err := p.Program(t.Context(), nil, made["main.cpp"], made["number.cpp"])
		if err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(program).Run(); err == nil || err.Error() != "exit status "+number {
			t.Errorf("the program ended with %v, want status %s", err, number)
		}
	}
	write("main.cpp", "int main() { return nothing; }\n")
	for range 2 {
		if _, err := p.Objects(t.Context(), []string{"-fsyntax-only"}, "main.cpp"); err == nil ||
			!strings.Contains(err.Error(), "nothing") {
			t.Errorf("got %v, want what g++ says", err)
		}
	}
}
