package compile

import (
	"os"
	"path/filepath"
	"testing"

	"interleave/eve/source"
)

// BenchmarkCheck checks all programs of testdata/run that are one file: the cost of a compilation
// before any C++ is written.
func BenchmarkCheck(b *testing.B) {
	paths, err := filepath.Glob("../testdata/run/*.eve")
	if err != nil || len(paths) == 0 {
		b.Fatalf("no programs: %v", err)
	}
	var files []*source.File
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, source.NewFile(filepath.Base(p), string(text)))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range files {
			if p, _ := Check(f, nil); p == nil {
				b.Fatalf("%s: no program", f.Name)
			}
		}
	}
}
