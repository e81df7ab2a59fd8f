package flow

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

// defaults reports defaults of fields that wait for tasks: the runtime makes zero values within
// calls of its own, where a task has no frame.
func defaults(p *ir.Program, diags *diag.List) {
	said := map[source.Span]bool{}
	for _, m := range p.Modules {
		for _, t := range m.Named {
			for _, f := range t.Def.Fields {
				if x, ok := f.Default.(ir.Expr); ok && waits(x) && !said[x.At()] {
					said[x.At()] = true
					diags.Errorf("E0211", x.At(), "the default of '%s' waits for tasks", f.Name)
				}
			}
		}
	}
}

// waits says whether evaluating x waits for tasks.
func waits(x ir.Expr) bool {
	found := false
	ir.Walk(x, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Call:
			found = found || n.Fn.Forks
		case *ir.Finish:
			found = true
		}
		return !found
	})
	return found
}
