package perm

import "interleave/eve/ir"

// R4: permission on x covers what x owns by value and stops at handles inside it. What a handle
// in a field or an element names is another object with a queue of its own, which holding x does
// not acquire: it is reached by a task that lists it, `@ for (c: socket@ in clients) [+c]` or a
// local and `@ [+c]`.

// unreachable reports the use of an object that has no name here, and so no permission either.
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
