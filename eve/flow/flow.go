// Package flow finds facts for the interpreter and the emitter: the last use of a variable,
// which may move it; shared objects that never leave the body that built them; finishes that
// need no queues; functions that fork and functions that can fail. It also reports values that
// cannot be moved, E0408, and defaults of fields that wait for tasks, E0211. It runs on programs
// that the permission rules have accepted.
package flow

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
)

// Analyse fills Ref.Move, Var.Escapes, Finish.Disjoint, Func.Forks and Func.CanFail of p, and
// reports owning uses of values that must be copied, and defaults that wait. It makes no report in
// functions in which diags has an error.
func Analyse(p *ir.Program, diags *diag.List) {
	broken := brokenFuncs(p, diags)
	for _, f := range functions(p) {
		if f.Body == nil || f.Body.Block == nil {
			continue
		}
		if !broken[f] {
			lastUses(f.Body, diags)
		}
		disjoint(f.Body)
		escapes(f.Body)
	}
	callGraph(functions(p))
	defaults(p, diags)
}

// functions returns all functions of p once.
func functions(p *ir.Program) []*ir.Func {
	var all []*ir.Func
	seen := map[*ir.Func]bool{}
	add := func(f *ir.Func) {
		if f != nil && !seen[f] {
			seen[f] = true
			all = append(all, f)
		}
	}
	for _, m := range p.Modules {
		for _, f := range m.Funcs {
			add(f)
		}
	}
	for _, f := range p.Tests {
		add(f)
	}
	add(p.Main)
	return all
}

func brokenFuncs(p *ir.Program, diags *diag.List) map[*ir.Func]bool {
	broken := map[*ir.Func]bool{}
	for _, d := range diags.Sorted() {
		if !d.Code.IsError() || d.Span.File == nil {
			continue
		}
		for _, f := range functions(p) {
			if f.Body == nil || f.Body.Block == nil {
				continue
			}
			whole := f.Body.Head.To(f.Body.Block.Span)
			if whole.File == d.Span.File && whole.Start <= d.Span.Start &&
				d.Span.Start < max(whole.End, whole.Start+1) {
				broken[f] = true
			}
		}
	}
	return broken
}
