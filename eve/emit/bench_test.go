package emit

import (
	"os"
	"path/filepath"
	"testing"

	"interleave/eve/ir"
)

// BenchmarkProgram writes the C++ of all programs of testdata/run that are one file.
func BenchmarkProgram(b *testing.B) {
	paths, err := filepath.Glob("../testdata/run/*.eve")
	if err != nil || len(paths) == 0 {
		b.Fatalf("no programs: %v", err)
	}
	var programs []*ir.Program
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			b.Fatal(err)
		}
		programs = append(programs, check(b, string(text), nil))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range programs {
			if _, err := Program(p, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
