package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/emit"
)

// unit is a program of one unit, and where its object is to be.
func unit(t *testing.T) (u emit.Unit, dir, object string) {
	dir = t.TempDir()
	return emit.Unit{Module: "m", Name: "m.cpp",
		Text: "#include \"eve.hpp\"\nint main() { return 0; }\n"}, dir, filepath.Join(dir, "m.o")
}

// ofGCC is a builder with g++, and the folder of its runtime.
func ofGCC(t *testing.T, o Options) (b *builder, lib string) {
	t.Helper()
	tools := toolchainOf("g++", nil)
	if tools == nil || !tools.gcc {
		t.Skip("g++ is not in PATH")
	}
	c, err := openCache()
	if err != nil {
		t.Fatal(err)
	}
	o.Jobs = 1
	b = &builder{o: o, tools: tools, cache: c}
	if lib, err = b.library(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b, lib
}

// Each kind of unit is compiled with the precompiled header, which the compiler says it has taken.
func TestPrecompiled(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "optimised": {Optimise: true},
		"profile": {Optimise: true, Profile: true}} {
		b, lib := ofGCC(t, o)
		header, err := b.precompiled(t.Context(), lib)
		if err != nil || header == "" {
			t.Fatalf("%s: got %q, %v", name, header, err)
		}
		u, dir, object := unit(t)
		source := filepath.Join(dir, u.Name)
		if err := os.WriteFile(source, []byte(u.Text), 0o644); err != nil {
			t.Fatal(err)
		}
		said, err := b.withHeader(t.Context(), header, dir, append(b.unitFlags(), "-H", "-I"+
			filepath.Join(lib, "include"), "-c", source, "-o", object))
		if want := "! " + filepath.Join(dir, "eve.hpp.gch"); err != nil ||
			!strings.Contains(said, want) {
			t.Errorf("%s: %v: g++ said %.300q, want %q", name, err, said, want)
		}
	}
}

// With gdb's information, and of other compilers, there is no precompiled header.
func TestNotPrecompiled(t *testing.T) {
	b, lib := ofGCC(t, Options{})
	b.o.Debug = true
	if header, err := b.precompiled(t.Context(), lib); header != "" || err != nil {
		t.Errorf("for gdb: got %q, %v", header, err)
	}
	other := *b.tools
	other.gcc, b.o.Debug, b.tools = false, false, &other
	if header, err := b.precompiled(t.Context(), lib); header != "" || err != nil {
		t.Errorf("of another compiler: got %q, %v", header, err)
	}
}

// A precompiled header that the compiler cannot use, or cannot make, stops nobody.
func TestPrecompiledBroken(t *testing.T) {
	b, lib := ofGCC(t, Options{})
	header, err := b.precompiled(t.Context(), lib)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	b.cache = cache{t.TempDir()}
	if err := b.cache.makeFolders(); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(b.cache.dir, "objects", filepath.Base(header))
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for name, text := range map[string][]byte{"cut": content[:len(content)/2],
		"empty": nil, "another file": []byte("tea")} {
		if err := os.WriteFile(own, text, 0o644); err != nil {
			t.Fatal(err)
		}
		u, _, object := unit(t)
		if err := b.compile(t.Context(), u, lib, object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if made, err := os.Stat(object); err != nil || made.Size() == 0 {
			t.Errorf("%s: no object: %v", name, err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%s: %v are left in the folder of temporary files (%v)", name, left, err)
		}
	}
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	if header, err := b.precompiled(t.Context(), t.TempDir()); header != "" || err != nil {
		t.Errorf("of a runtime without headers: got %q, %v", header, err)
	}
}
