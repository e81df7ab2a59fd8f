// Package compile checks a program from its text: names and types, then permissions, then the flow
// of values. A program that it accepts can be run, and has no data race.
package compile

import (
	"interleave/eve/check"
	"interleave/eve/diag"
	"interleave/eve/flow"
	"interleave/eve/ir"
	"interleave/eve/perm"
	"interleave/eve/source"
)

// Check checks main and its imports, which it reads through load. It always returns a program,
// which must not be run if one of the diagnostics is an error. An error in one function hides
// errors of later passes in that function only.
func Check(main *source.File, load check.Loader) (*ir.Program, []diag.Diagnostic) {
	diags := &diag.List{}
	p := check.Program(main, load, diags)
	perm.Check(p, diags)
	flow.Analyse(p, diags)
	return p, diags.Sorted()
}

// Index is Check for editors, which also need the meaning of each name.
func Index(main *source.File, load check.Loader) (*ir.Program, *check.Index, []diag.Diagnostic) {
	diags := &diag.List{}
	p, index := check.Indexed(main, load, diags)
	perm.Check(p, diags)
	flow.Analyse(p, diags)
	return p, index, diags.Sorted()
}
