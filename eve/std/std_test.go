package std_test

import (
	"slices"
	"testing"

	"interleave/eve"
	"interleave/eve/std"
)

// Every module is either in scope or imported, and the headers of the runtime are there.
func TestModules(t *testing.T) {
	files := eve.RuntimeFiles()
	all := slices.Concat(std.InScope(), std.Modules(), []string{"prelude"})
	for _, name := range all {
		if _, _, ok := std.Text(name); !ok {
			t.Errorf("std has no %s", name)
		}
		if h := std.Runtime(name); h != "" && files[h] == nil {
			t.Errorf("%s needs %s, which the runtime does not have", name, h)
		}
	}
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("a module is named twice: %q", all)
	}
	for _, name := range []string{"fs", "io.socket", "prelude"} {
		if !slices.Contains(all, name) {
			t.Errorf("no %s in %q", name, all)
		}
	}
}
