package interp_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/interp"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
)

// declared are the functions of std without a body, by their native names.
func declared(t *testing.T) map[string]bool {
	names := map[string]bool{}
	for _, module := range slices.Concat([]string{"prelude"}, std.InScope(), std.Modules()) {
		name, text, ok := std.Text(module)
		if !ok {
			t.Fatalf("std has no %s", module)
		}
		prefix := ""
		if module != "prelude" {
			prefix = path.Base(strings.ReplaceAll(module, ".", "/")) + "."
		}
		for _, d := range syntax.Parse(source.NewFile(name, text), &diag.List{}).Decls {
			switch d := d.(type) {
			case *syntax.Func:
				if d.Body == nil {
					names[prefix+d.Name.Text] = true
				}
			case *syntax.TypeDecl:
				for _, m := range d.Members {
					if f, is := m.(*syntax.Func); is && f.Body == nil {
						names[d.Name.Text+"."+f.Name.Text] = true
					}
				}
			}
		}
	}
	return names
}

// The interpreter has every native function of std, and no others.
func TestNatives(t *testing.T) {
	want, have := declared(t), interp.Natives()
	if len(want) < 100 {
		t.Errorf("std declares %d natives", len(want))
	}
	for name := range want {
		if !have[name] {
			t.Errorf("the interpreter lacks %s", name)
		}
	}
	for name := range have {
		if !want[name] {
			t.Errorf("std has no %s", name)
		}
	}
}
