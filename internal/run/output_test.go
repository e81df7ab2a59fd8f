package run

import (
	"os"
	"path/filepath"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
)

// TestOutput: what a sink writes is thrown away, or is in a file for as long as its cell lasts.
func TestOutput(t *testing.T) {
	b := &toolchain.Built{Out: t.TempDir()}
	for kept, load := range map[bool]manifest.Load{false: {}, true: {Output: manifest.OutputFile}} {
		o, err := openOutput(b, load)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.file.WriteString("a line\n"); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(b.Out, "*", "*", "*"))
		if err != nil || len(files) > 0 != kept {
			t.Errorf("%+v: got the files %q, %v", load, files, err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); string(text) != "a line\n" {
				t.Errorf("%s holds %q, %v", file, text, err)
			}
		}
		o.close()
		if left, err := os.ReadDir(b.Out); err != nil || len(left) > 0 {
			t.Errorf("%+v: %v is left, %v", load, left, err)
		}
	}
}
