package perm

import "interleave/eve/ir"

// R4: permission on x covers the values that x owns, and stops at handles inside it. A handle in a
// field or an element names another object with a queue of its own, which a permission on x does
// not acquire. Such an object is reached by a task that lists it: `@ for (c: socket@ in clients)
// [+c]`, or a local and `@ [+c]`.

// unreachable reports the use of an object without a name here, and so without a permission.
func (s *state) unreachable(p path, m mode, e ir.Expr) {
	verb := "read"
	if m == full {
		verb = "change"
	}
	at := rootSpan(e)
	d := s.report("E0401", at, "no permission to %s the %s that this handle names", verb, p.t)
	d.Label = "permission stops at a handle"
	d.Also = append(d.Also, label(s.body.Head, "give it a name, and list that in a task: x: "+
		p.t.String()+"@ = ..."))
}
