package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A user whose cache cannot be written has one among the temporary files, if nobody else can write there.
func TestCacheElsewhere(t *testing.T) {
	temp := t.TempDir()
	file := filepath.Join(temp, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file) // no folder can be made in a file, not even by root
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
