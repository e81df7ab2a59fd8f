package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFindWG looks for gonet-wg in PATH, where it is missing, and then is not.
func TestFindWG(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if path, err := findWG(); !errors.Is(err, errNoWG) {
		t.Errorf("%q, %v, want %v", path, err, errNoWG)
	}
	want := filepath.Join(bin, wgProgram)
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := findWG(); err != nil || path != want {
		t.Errorf("%q, %v, want %q", path, err, want)
	}
}
