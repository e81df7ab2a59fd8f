package postgres

import (
	"os"
	"path/filepath"
	"testing"
)

// A database outlives the end of its server, and another one knows nothing of it.
func TestServer(t *testing.T) {
	s := New(t)
	url, other := s.Database(t), s.Database(t)
	if url == other {
		t.Errorf("two databases have the URL %s", url)
	}
	if err := s.tell("CREATE TABLE kept (x int)"); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if s.tell("SELECT 1") == nil {
		t.Error("it answers after its end")
	}
	s.Start()
	if err := s.tell("SELECT * FROM kept"); err != nil {
		t.Error(err)
	}
}

// The files of a server are made once. Another one gets a copy of them, and is a server of its own.
func TestServerIsACopy(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	first := New(t)
	if err := first.tell("CREATE TABLE kept (x int)"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(first.kept(), "mark"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	second := New(t)
	if _, err := os.Stat(filepath.Join(second.dir, "mark")); err != nil {
		t.Errorf("the second server is no copy: %v", err)
	}
	if second.tell("SELECT * FROM kept") == nil {
		t.Error("the second server has what the first was told")
	}
}
