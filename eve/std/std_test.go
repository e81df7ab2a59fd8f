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

// A public name is found in the module that declares it, whatever kind of declaration that is.
func TestHome(t *testing.T) {
	for name, want := range map[string]string{
		"tcp_socket": "io.socket", // a type
		"target_of":  "io.fetch",
		"going_away": "io.frames",    // a constant
		"tcp":        "",             // a part of a name
		"put_form":   "",             // not public
		"print":      "", "sqrt": "", // in scope already
		"": "", "no_such_name": "",
	} {
		if got := std.Home(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
