package build_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/eve"
	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/std"
	"interleave/eve/trial"
)

// bare makes a machine without any C library: a compiler that notes that it was called, for a
// system whose folders are empty. It returns the folder of that system and the note.
func bare(t *testing.T) (root, called string) {
	t.Helper()
	dir := t.TempDir()
	root, called = filepath.Join(dir, "root"), filepath.Join(dir, "called")
	cxx := filepath.Join(dir, "g++")
	script := fmt.Sprintf("#!/bin/sh\ntouch %q\nexit 1\n", called)
	if err := os.WriteFile(cxx, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", cxx+" --sysroot="+root)
	t.Setenv("PKG_CONFIG", "false")
	t.Setenv("CPATH", "")
	t.Setenv("CPLUS_INCLUDE_PATH", "")
	return root, called
}

// header puts an empty header into a folder.
func header(t *testing.T, dir, name string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A library that is not installed is named before the compiler is called, with what installs it.
// Programs that do not use it need nothing.
func TestLibraryIsMissing(t *testing.T) {
	user := emit.Unit{Module: "shop", Name: "shop.cpp", Text: "int main() {}\n"}
	for _, l := range eve.Libraries {
		t.Run(l.Name, func(t *testing.T) {
			_, called := bare(t)
			type asking struct {
				unit emit.Unit
				who  string
			}
			calls, part := user, user
			calls.Headers = []string{l.Header}
			part.Runtime = []string{"fs.hpp", l.Runtime}
			all := []asking{{calls, "shop"}, {part, std.Implemented(l.Runtime)}}
			first := slices.IndexFunc(eve.Libraries, func(o eve.Library) bool {
				return o.Runtime == l.Runtime
			})
			if l.Runtime == "" || eve.Libraries[first].Name != l.Name {
				all = all[:1] // of a part with several libraries the first is named
			}
			for _, a := range all {
				_, err := build.Build(context.Background(), []emit.Unit{user, a.unit},
					build.Options{})
				want := fmt.Sprintf("%s needs %s, and its header %s is not here: apt-get "+
					"install %s", a.who, l.Name, l.Header, l.Package)
				if m := (*build.Missing)(nil); !errors.As(err, &m) || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			if _, err := os.Stat(called); err == nil {
				t.Error("the compiler was called all the same")
			}
			if _, err := build.Build(context.Background(), []emit.Unit{user},
				build.Options{}); errors.As(err, new(*build.Missing)) {
				t.Errorf("a program without it: %v", err)
			}
		})
	}
}

// A library is found where the compiler looks for headers, and where pkg-config says.
func TestLibraryIsFound(t *testing.T) {
	units := []emit.Unit{{Module: "shop", Name: "shop.cpp", Text: "int main() {}\n",
		Headers: []string{"sqlite3.h"}}}
	for _, c := range []struct {
		name string
		put  func(t *testing.T, root string)
	}{
		{"system", func(t *testing.T, root string) {
			header(t, filepath.Join(root, "usr/include"), "sqlite3.h")
		}},
		{"local", func(t *testing.T, root string) {
			header(t, filepath.Join(root, "usr/local/include"), "sqlite3.h")
		}},
		{"CPATH", func(t *testing.T, root string) {
			header(t, root+"/a b", "sqlite3.h")
			t.Setenv("CPATH", "/nowhere:"+root+"/a b")
		}},
		{"CXX", func(t *testing.T, root string) {
			header(t, root+"/own", "sqlite3.h")
			t.Setenv("CXX", os.Getenv("CXX")+" -I"+root+"/own")
		}},
		{"CXX-isystem", func(t *testing.T, root string) {
			header(t, root+"/own", "sqlite3.h")
			t.Setenv("CXX", os.Getenv("CXX")+" -isystem "+root+"/own")
		}},
		{"pkg-config", func(t *testing.T, root string) {
			header(t, root+"/opt/include", "sqlite3.h")
			t.Setenv("PKG_CONFIG", "echo -I"+root+"/opt/include -L"+root+"/opt/lib -lsqlite3")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, called := bare(t)
			c.put(t, root)
			_, err := build.Build(context.Background(), units, build.Options{})
			if errors.As(err, new(*build.Missing)) {
				t.Fatal(err)
			}
			if _, err := os.Stat(called); err != nil {
				t.Errorf("the compiler was not called: %v", err)
			}
		})
	}
	t.Run("pkg-config of others", func(t *testing.T) { // it knows this machine, not the other one
		root, _ := bare(t)
		t.Setenv("PKG_CONFIG", "echo -I"+root+"/opt/include -lsqlite3")
		_, err := build.Build(context.Background(), units, build.Options{})
		if !errors.As(err, new(*build.Missing)) {
			t.Errorf("got %v, want that it is missing", err)
		}
	})
}

// A program that calls a C library is linked with it.
func TestLibraryIsLinked(t *testing.T) {
	trial.NeedCompiler(t)
	const text = `extern "C" "zlib.h":
    fast crc32: (start: uint, data: bytes, size: uint<32>) uint
main: [+stdout] () void: print("%x\n", crc32(0, "123456789", 9))
`
	exe := trial.Build(t, trial.Check(t, "crc.eve", text), emit.Options{}, build.Options{})
	if got := trial.Output(t, exe, 1); got != "cbf43926\n" { // the check value of CRC-32/ISO-HDLC
		t.Errorf("printed %q", got)
	}
}

// The table names parts of the runtime that are there, each under one library.
func TestLibraries(t *testing.T) {
	files := eve.RuntimeFiles()
	var seen []string
	for _, l := range eve.Libraries {
		names := append([]string{l.Name + l.Runtime, l.Header + l.Runtime}, l.Sources...)
		if (l.Runtime == "") != (len(l.Sources) == 0) {
			t.Errorf("%s: a part has a header and sources", l.Name)
		}
		if l.Runtime != "" && (files[l.Runtime] == nil || std.Implemented(l.Runtime) == "") {
			t.Errorf("%s: no module has the header %s", l.Name, l.Runtime)
		}
		for _, s := range l.Sources {
			if files[s] == nil || slices.Contains(eve.RuntimeSources(), s) {
				t.Errorf("%s is no source of its own", s)
			}
		}
		for _, n := range names {
			if slices.Contains(seen, n) {
				t.Errorf("%s is there twice", n)
			}
		}
		seen = append(seen, names...)
		if !strings.HasPrefix(l.Link, "-l") || l.Package == "" {
			t.Errorf("%s: incomplete", l.Name)
		}
	}
}

// The parts that need a library are clean under the warnings that the rest of the runtime is
// compiled with.
func TestLibraryWarnings(t *testing.T) {
	flags := []string{"-std=c++20", "-fno-rtti", "-pthread", "-Wall", "-Wextra", "-Wshadow",
		"-Wconversion", "-Werror", "-fsyntax-only"}
	for _, compiler := range []string{"g++", "clang++"} {
		for _, l := range eve.Libraries {
			if len(l.Sources) == 0 {
				continue
			}
			t.Run(compiler+" "+l.Name, func(t *testing.T) {
				t.Parallel()
				if _, err := exec.LookPath(compiler); err != nil {
					t.Skipf("SKIP: no %s", compiler)
				}
				if _, err := os.Stat(filepath.Join("/usr/include", l.Header)); err != nil {
					t.Skipf("SKIP: apt-get install %s", l.Package)
				}
				p := build.Parts{Compiler: compiler, Dir: "../runtime"}
				if _, err := p.Objects(t.Context(), flags, l.Sources...); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
