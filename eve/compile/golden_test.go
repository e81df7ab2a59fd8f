package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// expected returns the diagnostics that the comments of a file ask for: "#! E0402 counter" at the
// end of the line on which the span starts.
func expected(f *source.File) []string {
	var all []string
	for n := 1; n <= f.Lines(); n++ {
		for _, part := range strings.Split(f.Line(n), "#! ")[1:] {
			code, text, _ := strings.Cut(strings.TrimSpace(part), " ")
			all = append(all, fmt.Sprintf("%s:%d %s %s", f.Name, n, code, strings.TrimSpace(text)))
		}
	}
	return all
}

// found writes diagnostics as expected does.
func found(diags []diag.Diagnostic) []string {
	var all []string
	for _, d := range diags {
		text, _, _ := strings.Cut(d.Span.Text(), "\n")
		text, _, _ = strings.Cut(text, "#! ")
		name := "?"
		if d.Span.File != nil {
			name = d.Span.File.Name
		}
		all = append(all, fmt.Sprintf("%s:%d %s %s", name, d.Span.Line(), d.Code,
			strings.TrimSpace(text)))
	}
	return all
}

// golden checks the program at path, a file or a folder with main.eve.
func golden(t *testing.T, path string) (want []string, diags []diag.Diagnostic) {
	t.Helper()
	folder, main := filepath.Dir(path), filepath.Base(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder, main = path, "main.eve"
	}
	read := func(name string) (*source.File, bool) {
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return nil, false
		}
		f := source.NewFile(name, string(text))
		want = append(want, expected(f)...)
		return f, true
	}
	f, ok := read(main)
	if !ok {
		t.Fatalf("%s: no %s", path, main)
	}
	_, diags = Check(f, func(module string) (*source.File, bool) {
		return read(strings.ReplaceAll(module, ".", "/") + ".eve")
	})
	return want, diags
}

// programs lists the golden programs of a kind: files, and folders with main.eve.
func programs(t *testing.T, kind string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("..", "testdata", kind))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() || strings.HasSuffix(e.Name(), ".eve") {
			all = append(all, filepath.Join("..", "testdata", kind, e.Name()))
		}
	}
	return all
}

func TestGolden(t *testing.T) {
	for _, kind := range []string{"ok", "err"} {
		for _, path := range programs(t, kind) {
			t.Run(kind+"/"+filepath.Base(path), func(t *testing.T) {
				want, diags := golden(t, path)
				switch {
				case kind == "ok" && len(want) > 0:
					t.Error("a program in ok expects no diagnostics")
				case kind == "err" && len(want) == 0:
					t.Error("a program in err expects diagnostics")
				}
				compare(t, want, diags)
			})
		}
	}
}

// compare fails the test unless the diagnostics are the wanted ones.
func compare(t *testing.T, want []string, diags []diag.Diagnostic) {
	t.Helper()
	got := found(diags)
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return
	}
	t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	for _, d := range diags {
		t.Logf("line %d: %s: %s", d.Span.Line(), d.Code, d.Message)
	}
}
