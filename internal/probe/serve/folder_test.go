package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/probe/faulty"
)

// TestServersHaveAFolder checks that a server which asks for a folder gets an empty one that is
// removed with it, or the one of the caller, which is kept.
func TestServersHaveAFolder(t *testing.T) {
	built := faulty.Server(t, "good")
	built.Model.Run = append(built.Model.Run, "{data}")
	s, err := Start(context.Background(), built, unhurried)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Data.Path)
	if err != nil || len(entries) != 0 {
		t.Errorf("the folder has %d entries, %v; want an empty one", len(entries), err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(built.Out); len(left) != 0 {
		t.Errorf("%v is left behind", left)
	}

	kept, err := NewFolder(built.Out)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := Start(context.Background(), built, StartOptions{Data: kept, Limit: UnhurriedLimit,
			Grace: UnhurriedLimit})
		if err != nil {
			t.Fatal(err)
		}
		s.Kill()
		if _, err := os.Stat(kept.Path); s.Data != kept || err != nil {
			t.Errorf("the folder of the caller did not outlive the server: %v", err)
		}
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(built.Out); len(left) != 0 {
		t.Errorf("%v is left behind", left)
	}
}

func TestFoldersOfTheDeadAreSwept(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "interleave.1.99.data.1") // process 1 did not start then
	if err := os.MkdirAll(filepath.Join(dead, "data", "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("%s is still there", dead)
	}
	if _, err := os.Stat(first.Path); err != nil {
		t.Errorf("the folder of a living laboratory was swept: %v", err)
	}
	for _, f := range []*Folder{first, second, nil} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestASmallDiskFills(t *testing.T) {
	f, err := NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := f.Shrink(SmallDisk); err != nil {
		t.Skip("SKIP:", err)
	}
	log := filepath.Join(f.Path, "log")
	for range 2 {
		if err := f.Fill(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(log, []byte("x"), 0o600); err == nil ||
			!strings.Contains(err.Error(), "no space left") {
			t.Errorf("writing to a full disk: %v", err)
		}
		if err := f.Drain(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(log, []byte("x"), 0o600); err != nil {
			t.Errorf("writing to a disk that has room again: %v", err)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
}
