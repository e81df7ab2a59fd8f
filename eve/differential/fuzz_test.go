package differential

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/eve/compile"
	"interleave/eve/emit"
	"interleave/eve/generate"
	"interleave/eve/interp"
	"interleave/eve/source"
	"interleave/eve/trial"
)

// Any program that the checker accepts can be emitted and interpreted without a panic.
func FuzzRun(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Add(generate.Program(0, 3))
	f.Add(generate.Program(1, 3))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 8192 {
			return // it only takes time
		}
		late := time.AfterFunc(trial.Limit, func() { panic("still at it:\n" + text) })
		defer late.Stop()
		p, diags := compile.Check(source.NewFile("fuzz.eve", text), nil)
		for _, d := range diags {
			if d.Code.IsError() {
				return
			}
		}
		for _, checked := range []bool{false, true} {
			if _, err := emit.Program(p, emit.Options{Checked: checked}); err != nil {
				t.Error(err)
			}
		}
		interp.Run(p, interp.Options{Steps: 20_000, Seed: uint64(len(text))})
	})
}

// seeds are the programs beside the tests, of the library, and of the pages that explain errors.
func seeds(f *testing.F) []string {
	f.Helper()
	var texts []string
	for _, dir := range []string{"../testdata", "../std", "../syntax/testdata", "../diag/explain"} {
		err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			switch filepath.Ext(name) {
			case ".eve":
				text, err := os.ReadFile(name)
				texts = append(texts, string(text))
				return err
			case ".md":
				text, err := os.ReadFile(name)
				for i, part := range strings.Split(string(text), "```") {
					if _, code, found := strings.Cut(part, "\n"); found && i%2 == 1 {
						texts = append(texts, code)
					}
				}
				return err
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	return texts
}
