package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/std"
)

func expectations(f *source.File) []string {
	var all []string
	for n := 1; n <= f.Lines(); n++ {
		_, comment, found := strings.Cut(f.Line(n), "#! ")
		if !found {
			continue
		}
		for _, part := range strings.Split(comment, "#! ") {
			code, text, _ := strings.Cut(strings.TrimSpace(part), " ")
			all = append(all, fmt.Sprintf("%s:%d %s %s", f.Name, n, code, text))
		}
	}
	return all
}

// found writes diagnostics in the form of the expectations.
func found(diags *diag.List) []string {
	var all []string
	for _, d := range diags.Sorted() {
		text, _, _ := strings.Cut(d.Span.Text(), "\n")
		name := ""
		if d.Span.File != nil {
			name = d.Span.File.Name
		}
		all = append(all, fmt.Sprintf("%s:%d %s %s", name, d.Span.Line(), d.Code,
			strings.TrimSpace(text)))
	}
	return all
}

// goldens returns the programs of ../testdata/kind whose names start like those of this package:
// files, and folders with a main.eve.
func goldens(t *testing.T, kind string) []string {
	t.Helper()
	var all []string
	for _, family := range []string{"e02*", "e03*", "e05*", "e06*"} {
		names, err := filepath.Glob(filepath.Join("..", "testdata", kind, family))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	if len(all) == 0 {
		t.Fatalf("no programs in testdata/%s", kind)
	}
	return all
}

// checkPath checks a golden program and returns the expected and the found diagnostics.
func checkPath(t *testing.T, path string) (want, got []string, diags *diag.List) {
	t.Helper()
	folder, main := filepath.Dir(path), filepath.Base(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder, main = path, "main.eve"
	}
	read := func(name string) (*source.File, bool) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, false
		}
		f := source.NewFile(name, string(text))
		want = append(want, expectations(f)...)
		return f, true
	}
	f, ok := read(main)
	if !ok {
		t.Fatalf("%s: no %s", path, main)
	}
	diags = &diag.List{}
	Program(f, func(module string) (*source.File, bool) {
		return read(strings.ReplaceAll(module, ".", "/") + ".eve")
	}, diags)
	got = found(diags)
	slices.Sort(want)
	slices.Sort(got)
	return want, got, diags
}

func TestGolden(t *testing.T) {
	for _, kind := range []string{"ok", "err"} {
		for _, path := range goldens(t, kind) {
			t.Run(kind+"/"+filepath.Base(path), func(t *testing.T) {
				want, got, diags := checkPath(t, path)
				if kind == "ok" && len(want) > 0 {
					t.Error("a program in ok expects no diagnostics")
				}
				if !slices.Equal(want, got) {
					t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "),
						strings.Join(want, "\n  "))
					for _, d := range diags.Sorted() {
						t.Logf("%s:%d: %s: %s", d.Span.File.Name, d.Span.Line(), d.Code, d.Message)
					}
				}
			})
		}
	}
}

// checkText checks a program of one module.
func checkText(text string) *diag.List {
	diags := &diag.List{}
	Program(source.NewFile("main.eve", text), nil, diags)
	return diags
}

// All modules of the library are read here: those in scope, too.
func TestStdIsClean(t *testing.T) {
	var text strings.Builder
	for _, name := range slices.Concat(std.InScope(), std.Modules()) {
		text.WriteString("import " + name + "\n")
	}
	for _, d := range checkText(text.String() + "main: () void:\n    pass\n").Sorted() {
		t.Errorf("%s:%d: %s: %s", d.Span.File.Name, d.Span.Line(), d.Code, d.Message)
	}
}
