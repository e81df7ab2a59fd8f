package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Files that were not used for two weeks go, then the least recently used ones, until the others
// fit; files that may be in use stay.
func TestShrink(t *testing.T) {
	c := cache{t.TempDir()}
	if err := c.makeFolders(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	put := func(name string, size int, age time.Duration) {
		path := filepath.Join(c.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, bytes.Repeat([]byte{'x'}, size), 0o644),
			os.Chtimes(path, now.Add(-age), now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	put("programs/forgotten", 1, 15*24*time.Hour)
	put("programs/old", 40, 5*time.Hour)
	put("objects/newer.o", 40, 4*time.Hour)
	put("key/libeve.a", 50, 3*time.Hour)
	put("key/include/eve.hpp", 1, 30*24*time.Hour)
	put("programs/running", 500, time.Minute)
	c.shrink(now, 600)
	want := []string{"key", "objects/newer.o", "programs/running"}
	var got []string
	for _, e := range c.entries() {
		name, _ := filepath.Rel(c.dir, e.path)
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	c.shrink(now, 0)
	if left := c.entries(); len(left) != 1 || filepath.Base(left[0].path) != "running" {
		t.Errorf("kept %v, want what may be running", left)
	}
}

// A user without a writable cache gets one among the temporary files, if nobody else can write
// there.
func TestCacheElsewhere(t *testing.T) {
	temp := t.TempDir()
	file := filepath.Join(temp, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file) // no folder can be made inside a file, not even by root
	t.Setenv("TMPDIR", temp)
	c, err := openCache()
	mine := filepath.Join(temp, fmt.Sprintf("eve-cache-%d", os.Getuid()))
	if err != nil || c.dir != filepath.Join(mine, "eve") {
		t.Fatalf("the cache is %q, %v; want a folder in %s", c.dir, err, mine)
	}
	if err := os.Chmod(mine, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := openCache(); err == nil || !strings.Contains(err.Error(), "alone") {
		t.Errorf("a cache that others can write is taken: %v", err)
	}
}
