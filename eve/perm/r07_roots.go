package perm

import "interleave/eve/ir"

// R7: detached tasks, handlers, continuations and shared closures are roots. They may list any
// visible name with any sign, since the run time acquires everything before they start, and they
// never run inside their creator. But they outlive it, so nothing can be lent to them by &.

// root walks through a body that runs later, on its own.
func (s *state) root(b *ir.Body) {
	if b == nil {
		return
	}
	s.capture(b)
	for _, p := range b.Params {
		if b.Kind == ir.Callback {
			s.ownedParam(p)
		}
	}
	s.walk(b)
	b.Contained = contained(b)
}

// contained says whether a failure of b can only have damaged objects that b built, or its emitter
// (D7). Other objects that it changed remain in use.
func contained(b *ir.Body) bool {
	for _, e := range b.Perms {
		if e.Sign == '+' && (e.Var == nil || e.Var != b.Emitter) {
			return false
		}
	}
	return true
}

// loanOutside reports & if there is no finish that waits for the borrower.
func (s *state) loanOutside(b *ir.Body, e *ir.Entry) {
	s.use(e.Var, full)
	if e.From != nil {
		s.use(e.From, full)
	}
	d := s.report("E0405", e.Span, "'%s' cannot be lent to a task without a finish", e.Name)
	d.Label = "& only in a task of a finish"
	v := e.Var
	if e.From != nil {
		v = e.From
	}
	switch {
	case isShared(v.Type):
		fixList(d, b, e.Name, 0)
	case isView(v.Type):
		d.Also = append(d.Also, label(b.Head, "put `finish:` around it"))
	default:
		d.Also = append(d.Also, label(v.Span, "put `finish:` around the task, or declare '"+v.Name+
			"' as "+v.Type.String()+"@"))
	}
}
