package conform

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
)

// TestPassed: what passed is known until the build or a transcript changes.
func TestPassed(t *testing.T) {
	dir := t.TempDir()
	service := &manifest.Service{Dir: filepath.Join(dir, "service")}
	built := &toolchain.Built{Out: dir, Hash: "one"}
	if err := os.MkdirAll(filepath.Join(service.Dir, "conform"), 0o755); err != nil {
		t.Fatal(err)
	}
	transcript := filepath.Join(service.Dir, "conform", "first.txt")
	write(t, transcript, "connect a\n")
	check := func(when string, want bool) {
		t.Helper()
		if got, err := Passed(service, built); got != want || err != nil {
			t.Errorf("%s: passed %v, %v; want %v", when, got, err, want)
		}
	}
	check("before anything was played", false)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := Pass(service, built); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	check("after it has passed", true)
	built.Hash = "two"
	check("another build", false)
	built.Hash = "one"
	check("the first build again", true)
	write(t, transcript, "connect b\n")
	check("another transcript", false)
	write(t, transcript, "connect a\n")
	write(t, filepath.Join(service.Dir, "conform", "second.txt"), "")
	check("one more transcript", false)
}
