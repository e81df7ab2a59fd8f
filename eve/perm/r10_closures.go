package perm

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// R10: a closure <(A) R> runs within the call that it is passed to, under its creator's
// permissions. So its accesses count as its creator's wherever it is mentioned. Tasks cannot have
// it, since they run beside the creator; only a closure that merely copies and reads (par) may go
// to the tasks of a finish. A shared closure <(A) R>@ is a root with a list of its own.

func (s *state) closure(e *ir.Closure) {
	b := e.Body
	if b == nil {
		return
	}
	if b.Kind != ir.Lambda {
		s.root(b)
		return
	}
	s.lambdas = append(s.lambdas, lambda{b, e.T.Kind == types.Func && e.T.Par})
	for _, p := range b.Params {
		s.ownedParts(p)
	}
	if b.Result != nil && b.Result.HasView() {
		s.keepsView(e.At(), "a closure cannot return "+b.Result.String())
	}
	s.block(b.Block)
	s.lambdas = s.lambdas[:len(s.lambdas)-1]
}

// callable uses a variable that holds a closure.
func (s *state) callable(v *ir.Var, at source.Span) {
	if !s.reach(v, null, at) {
		return
	}
	s.use(v, read)
	for _, l := range s.lambdas {
		if l.par && !v.Type.Par && !isInside(v.Body, l.body) {
			d := s.report("E0412", at, "a par closure cannot use '%s', which may change something",
				v.Name)
			d.Label = "this is not a par closure"
			d.Also = append(d.Also, label(v.Span, "declared here"))
			return
		}
	}
	s.replay(s.closures[v], at)
}

// parallel says whether the par closures around may use p in mode m, and reports it if not.
func (s *state) parallel(p path, m mode, at source.Span) bool {
	if m != full {
		return true
	}
	v := p.v
	if p.obj {
		v = p.name
	}
	for _, l := range s.lambdas {
		if l.par && (v == nil || !isInside(v.Body, l.body)) {
			d := s.report("E0412", at,
				"a par closure cannot change '%s': it runs in several tasks at once",
				nameOf(p, &ir.Zero{Place: ir.Place{Span: at}}))
			d.Label = "this changes it"
			d.Also = append(d.Also, label(l.body.Head, "a par closure only copies and reads"))
			return false
		}
	}
	return true
}

// A lambda is a closure around the current place of the walk.
type lambda struct {
	body *ir.Body
	par  bool // may run in several tasks
}

func isInside(b, outer *ir.Body) bool {
	for ; b != nil; b = b.Outer {
		if b == outer {
			return true
		}
	}
	return false
}

// captureClosure checks =f for a closure f.
func (s *state) captureClosure(b *ir.Body, e *ir.Entry) {
	s.use(e.From, read)
	switch {
	case !e.From.Type.Par:
		d := s.report("E0412", e.Span, "a task cannot have the closure '%s'", e.Name)
		d.Label = "it uses variables of its creator"
		d.Also = append(d.Also, label(e.From.Span,
			"only a closure that merely reads and copies can go to tasks: "+e.From.Type.String()+
				" par"))
	case b.Kind != ir.Child:
		d := s.report("E0412", e.Span,
			"the closure '%s' would outlive the call that it was passed to", e.Name)
		d.Label = "no finish waits for this task"
		d.Also = append(d.Also, label(e.From.Span,
			"a closure that outlives the call is shared and has a list of its own: "+
				e.From.Type.String()+"@"))
	case e.From.Kind == ir.Local && s.endsEarly(e.From):
		s.endsBefore(e)
	default:
		s.reach(e.From, null, e.Span) // the task makes its accesses, and holds it
	}
}
