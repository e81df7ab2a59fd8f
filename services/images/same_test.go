package images

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGoModelsDifferInTheFramework holds the two Go models to one source, but for the file in which they answer.
func TestGoModelsDifferInTheFramework(t *testing.T) {
	files, err := filepath.Glob("go-goroutine/*.go")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "handlers.go" {
			continue
		}
		gin, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := os.ReadFile(filepath.Join("go-goroutine-nethttp", name)); err != nil || !bytes.Equal(gin, plain) {
			t.Errorf("%s is not that of go-goroutine-nethttp (%v)", file, err)
		}
	}
}
