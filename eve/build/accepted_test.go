package build_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/compile"
	"interleave/eve/emit"
	"interleave/eve/source"
	"interleave/eve/trial"
)

// Programs that the checker accepts are accepted by g++: every program of testdata/ok becomes C++
// that compiles and links.
func TestAccepted(t *testing.T) {
	trial.NeedCompiler(t)
	if testing.Short() {
		t.Skip("compiles a hundred programs")
	}
	files, err := filepath.Glob("../testdata/ok/*.eve")
	folders, folderErr := filepath.Glob("../testdata/ok/*/main.eve")
	if err != nil || folderErr != nil || len(files) == 0 || len(folders) == 0 {
		t.Fatalf("no programs: %v, %v", err, folderErr)
	}
	for _, file := range append(files, folders...) {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "../testdata/ok/"), ".eve")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			load := func(module string) (*source.File, bool) {
				name := filepath.Join(filepath.Dir(file), strings.ReplaceAll(module, ".", "/")+
					".eve")
				text, err := os.ReadFile(name)
				return source.NewFile(filepath.Base(name), string(text)), err == nil
			}
			p, diags := compile.Check(source.NewFile(filepath.Base(file), string(text)), load)
			for _, d := range diags {
				if d.Code.IsError() {
					t.Skipf("%s:%d: %s: %s", file, d.Span.Line(), d.Code, d.Message)
				}
			}
			units, err := emit.Program(p, emit.Options{Checked: true, Debug: true,
				Test: p.Main == nil})
			if err != nil {
				t.Fatal(err)
			}
			_, err = build.Build(context.Background(), units, build.Options{Jobs: 1})
			if m := (*build.Missing)(nil); errors.As(err, &m) {
				t.Skipf("SKIP: %v", m)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
