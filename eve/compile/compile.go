// Package compile checks a program from its text: names and types, then permissions, then the flow
// of values. What it accepts can be run, and has no data race.
package compile

import (
	"interleave/eve/check"
	"interleave/eve/diag"
	"interleave/eve/flow"
	"interleave/eve/ir"
	"interleave/eve/perm"
	"interleave/eve/source"
)

// Check checks main and what it imports through load. The program is always there; it is only to be
// run when none of the diagnostics is an error. A mistake in one function hides those of another
// kind in that function only.
func Check(main *source.File, load check.Loader) (*ir.Program, []diag.Diagnostic) {
	diags := &diag.List{}
	if load == nil {
		load = func(string) (*source.File, bool) { return nil, false }
	}
	p := check.Program(main, load, diags)
	perm.Check(p, diags)
	flow.Analyse(p, diags)
	return p, diags.Sorted()
}
