package eve_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
)

// BenchmarkRuntime runs the programs of runtime/bench. They measure themselves and print tables,
// which are the result.
func BenchmarkRuntime(b *testing.B) {
	if !build.Available() {
		b.Skip("no C++ compiler: apt-get install g++")
	}
	files, err := filepath.Glob("runtime/bench/*.cpp")
	if err != nil || len(files) == 0 {
		b.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		b.Run(strings.TrimSuffix(filepath.Base(file), ".cpp"), func(b *testing.B) {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			unit := emit.Unit{Module: "bench", Name: filepath.Base(file),
				Text: strings.ReplaceAll(string(text), `#include "../`, `#include "`)}
			program, err := build.Build(context.Background(), []emit.Unit{unit},
				build.Options{Optimise: true})
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for range b.N {
				out, err := exec.Command(program).CombinedOutput()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				fmt.Printf("\n%s", out) // a log would be cut short
			}
		})
	}
}
