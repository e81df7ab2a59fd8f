package build_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

const empty = "#include \"eve.hpp\"\nint main() { return 0; }\n"

// A text that g++ rejects is a bug of the Eve compiler, and is kept for examination.
func TestMistake(t *testing.T) {
	trial.NeedCompiler(t)
	units := []emit.Unit{{Module: "bad", Name: "bad.cpp", Text: "int main() { return nothing; }\n"}}
	_, err := build.Build(context.Background(), units, build.Options{})
	var m *build.Mistake
	if !errors.As(err, &m) {
		t.Fatalf("got %v, want a Mistake", err)
	}
	defer os.RemoveAll(filepath.Dir(m.File))
	if text, err := os.ReadFile(m.File); err != nil || string(text) != units[0].Text {
		t.Errorf("the text is not kept: %q, %v", text, err)
	}
	if !strings.HasPrefix(m.Error(),
		"this is a mistake of the Eve compiler, not of your program; the C++ is kept in "+m.File) {
		t.Errorf("it says %q", m.Error())
	}
	if !strings.Contains(m.Said, "nothing") {
		t.Errorf("g++ said %q", m.Said)
	}
}

func TestNoCompiler(t *testing.T) {
	t.Setenv("CXX", "no-such-compiler")
	_, err := build.Build(context.Background(),
		[]emit.Unit{{Module: "m", Name: "m.cpp", Text: empty}}, build.Options{})
	if !errors.Is(err, build.ErrNoCompiler) || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "apt-get install g++") {
		t.Errorf("got %v, want one line that says what to install", err)
	}
}

// Concurrent builds do not disturb each other, and the same program is built once.
func TestTogether(t *testing.T) {
	trial.NeedCompiler(t)
	units := []emit.Unit{{Module: "m", Name: "m.cpp", Text: "// " + t.TempDir() + "\n" + empty}}
	var paths [4]string
	var wg sync.WaitGroup
	for i := range paths {
		wg.Go(func() {
			p, err := build.Build(context.Background(), units, build.Options{})
			if err != nil {
				t.Error(err)
			}
			paths[i] = p
		})
	}
	wg.Wait()
	for _, p := range paths {
		if p == "" || p != paths[0] {
			t.Fatalf("got %q", paths)
		}
	}
	before, err := os.Stat(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	again, err := build.Build(context.Background(), units, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(again)
	if err != nil || after.ModTime() != before.ModTime() {
		t.Errorf("an unchanged program was linked again (%v)", err)
	}
}

func TestCancelled(t *testing.T) {
	trial.NeedCompiler(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	units := []emit.Unit{{Module: "m", Name: "m.cpp", Text: "// " + t.TempDir() + "\n" + empty}}
	if _, err := build.Build(ctx, units, build.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// A change in a header of the user's makes a new program.
func TestHeadersCount(t *testing.T) {
	trial.NeedCompiler(t)
	dir := filepath.Join(t.TempDir(), "with a blank")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CPATH", dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("outer.h", "#include \"inner.h\"\n")
	units := []emit.Unit{{Module: "m", Name: "m.cpp", Text: "#include <outer.h>\n" + empty,
		Headers: []string{"outer.h"}}}
	var paths []string
	for _, text := range []string{"#define OUR_HEADER 1\n", "#define OUR_HEADER 1\n",
		"#define OUR_HEADER 2\n", "#define OUR_HEADER 1\n"} {
		write("inner.h", text)
		p, err := build.Build(context.Background(), units, build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	if paths[0] != paths[1] || paths[1] == paths[2] || paths[3] != paths[0] {
		t.Errorf("got %q", paths)
	}
}
