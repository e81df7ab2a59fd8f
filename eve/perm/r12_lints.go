package perm

import (
	"maps"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

// R12: code that is allowed but surely not meant. An entry +x of a body that never changes x
// excludes readers (10 000 writes of one message would run one after another). An unused entry
// makes the body wait for nothing. There are no such reports for a program with errors, since
// fixing those changes the uses.

// lint checks the list of a body after the walk through it.
func (s *state) lint() {
	b := s.body
	if b.Fn != nil && (b.Fn.Opaque || len(b.Fn.Args) > 0 && b.Kind == ir.Function &&
		b.Fn.Recv != nil) {
		return
	}
	for _, e := range b.Perms {
		v := e.Var
		if v == nil || isInvalid(v.Type) || v.Kind == ir.Self || v == b.Emitter || s.said[v] ||
			v.Kind == ir.Constant {
			continue
		}
		m, used := s.used[v]
		switch {
		case !used:
			s.unused(b, e)
		case e.Sign == '+' && m < full && isShared(v.Type):
			s.neverWritten(b, e, m)
		}
	}
}

// starts notes the changes by a detached task. While this body holds the object, the task waits
// for the end of this body.
func (s *state) starts(b *ir.Body) {
	if b == nil {
		return
	}
	for _, e := range b.Perms {
		v := e.From
		if v == nil {
			v = e.Var
		}
		if v == nil || e.Sign != '+' || !isShared(v.Type) || !s.mine(v) || s.held(v) < read {
			continue
		}
		if _, noted := s.pending[v]; !noted {
			s.pending[v] = e.Span
		}
	}
}

// branch walks through a block that may not run: tasks that it starts mean nothing for the code
// behind it.
func (s *state) branch(walk func()) {
	before := s.pending
	s.pending = maps.Clone(before)
	walk()
	s.pending = before
}

// readAhead warns of a read that expects the change of a task that has not started yet.
func (s *state) readAhead(v *ir.Var, m mode, at source.Span) {
	task, ok := s.pending[v]
	if !ok || m != read {
		return
	}
	delete(s.pending, v)
	d := s.hints.Errorf("W0404", at, "this reads '%s' before the task that changes it has run",
		v.Name)
	d.Label = "put finish: around the task to wait for it here, or read in a task as well"
	d.Also = append(d.Also, label(task, "this task starts when the body around it has ended"))
}

func (s *state) neverWritten(b *ir.Body, e *ir.Entry, m mode) {
	d := s.hints.Errorf("W0402", e.Span,
		"'%s' is never changed here, but this entry excludes readers", e.Name)
	d.Label = "asked for in full"
	sign := byte(0)
	if m == null {
		sign = '-'
	}
	fixList(d, b, e.Name, sign)
	if d.Fix != nil {
		d.Fix.Note = "tasks that read " + e.Name + " then run in parallel"
	}
}

func (s *state) unused(b *ir.Body, e *ir.Entry) {
	d := s.hints.Errorf("W0403", e.Span, "'%s' is listed but not used", e.Name)
	text := listWithout(b, e)
	d.Fix = &diag.Fix{Text: "write " + text, Span: b.List, New: text}
}
