package check

import (
	"sync"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
)

// A parsed is a module of the library with its tree. Nothing changes a tree, so all compilations of
// a process share it.
type parsed struct {
	file  *source.File
	tree  *syntax.File
	diags []diag.Diagnostic // none, unless somebody is changing the library
}

var parsedLibrary sync.Map // *parsed by name

// parseLibrary returns a module of the library; false when there is none of that name.
func parseLibrary(name string) (*parsed, bool) {
	if p, done := parsedLibrary.Load(name); done {
		return p.(*parsed), true
	}
	file, text, ok := std.Text(name)
	if !ok {
		return nil, false
	}
	var diags diag.List
	p := &parsed{file: source.NewFile(file, text)}
	p.tree = syntax.Parse(p.file, &diags)
	p.diags = diags.Sorted()
	first, _ := parsedLibrary.LoadOrStore(name, p)
	return first.(*parsed), true
}
