package check

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// without are names that mean nothing to an editor: the words of the language that are no keywords,
// and the cases of options and results.
var without = map[string]bool{"_": true, "self": true, "copy": true, "par": true, "some": true,
	"ok": true, "error": true, "none": true, "fast": true, "slow": true, "emitter": true}

// Every name in a program without errors has a meaning, and its declaration has the same one.
func TestIndexHasEveryName(t *testing.T) {
	names := 0
	for _, glob := range []string{"../testdata/ok/*.eve", "../testdata/run/*.eve",
		"../testdata/server/*.eve", "../../docs/eve/examples/*.eve"} {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no programs: %v", glob, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var diags diag.List
			file := source.NewFile(path, string(text))
			_, index := Indexed(file, nil, &diags)
			if diags.HasErrors() {
				continue // it imports a module of its own
			}
			names += len(index.Names())
			skipped := openNames(index.Trees[file])
			for _, tok := range index.Trees[file].Tokens {
				use, ok := index.At(tok.Span)
				if tok.Kind != syntax.Identifier || without[tok.Text()] || skipped[tok.Span] {
					continue
				}
				if !ok {
					t.Errorf("%s:%d: nothing is known of '%s'", path, tok.Span.Line(), tok.Text())
					continue
				}
				if d, ok := index.At(use.Decl); use.Decl.File == file && use.Role != ModuleName &&
					use.Decl.Text() == tok.Text() && (!ok || d.Decl != use.Decl) {
					t.Errorf("%s:%d: the declaration of '%s' is '%s' in line %d, which is %+v",
						path, tok.Span.Line(), tok.Text(), use.Decl.Text(), use.Decl.Line(), d)
				}
			}
		}
	}
	if names < 5000 {
		t.Errorf("only %d names were looked at", names)
	}
}

// openNames lists the names whose meaning depends on the use of a generic, or on nothing: members
// of values of an open type in functions that are never called, and the folders of imports.
func openNames(tree *syntax.File) map[source.Span]bool {
	all := map[source.Span]bool{}
	for _, i := range tree.Imports {
		for _, n := range i.Path[:len(i.Path)-1] {
			all[n.Span] = true
		}
	}
	inGeneric := func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Selector:
			all[n.Name.Span] = true
		case *syntax.Arg:
			if n.Name != nil {
				all[n.Name.Span] = true
			}
		}
		return true
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.Func); ok && len(f.TypeParams) > 0 {
			syntax.Walk(f, inGeneric)
		}
		if d, ok := n.(*syntax.TypeDecl); ok && len(d.TypeParams) > 0 {
			syntax.Walk(d, inGeneric)
		}
		return true
	})
	return all
}

// The index changes neither the program nor the diagnostics.
func TestIndexChangesNothing(t *testing.T) {
	for _, glob := range []string{"../testdata/err/*.eve", "../testdata/run/*.eve"} {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no programs: %v", glob, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file := source.NewFile(path, string(text))
			var plain, indexed diag.List
			want := ir.Dump(Program(file, nil, &plain))
			p, _ := Indexed(file, nil, &indexed)
			if got := ir.Dump(p); got != want {
				t.Errorf("%s: the program is another one", path)
			}
			if !reflect.DeepEqual(told(&plain), told(&indexed)) {
				t.Errorf("%s: got %v, want %v", path, told(&indexed), told(&plain))
			}
		}
	}
}

// told lists diagnostics without their files, of which std has new ones in each program.
func told(l *diag.List) []string {
	var all []string
	for _, d := range l.Sorted() {
		all = append(all, string(d.Code)+" "+d.Message)
	}
	return all
}
