package perm

import "interleave/eve/ir"

// The part of R6 about &: a loan has no queue. So the text must show that the tasks with the loan
// are apart, and the variable must outlive the finish.

// elements checks the elements that `@ for` gives to its tasks: a handle, a copy, or a loan.
func (s *state) elements(st *ir.SpawnEach) {
	if st.Body == nil || st.Body.Each == nil || isInvalid(st.Body.Each.Type) ||
		isInvalid(st.X.Type()) {
		return
	}
	v := st.Body.Each
	switch {
	case isView(v.Type) && !isPlace(st.X):
		d := s.report("E0405", st.X.At(), "'%s' would be a loan of a value without an owner",
			v.Name)
		d.Label = "keep it in a variable declared before the finish"
	case isView(v.Type) && st.Body.Kind == ir.Child:
		p := s.pathOf(st.X)
		if root := p.v; root != nil && (!p.obj || root.Built) && s.endsEarly(root) {
			d := s.report("E0405", st.X.At(),
				"'%s' ends before the tasks that its elements are lent to may end", root.Name)
			d.Label = "the tasks run until the finish ends"
			d.Also = append(d.Also, label(root.Span, "declare it before the finish"))
		}
	case !isView(v.Type) && !isShared(v.Type) && !v.Type.Copyable():
		d := s.report("E0408", st.X.At(), "the elements cannot be copied: they are %s", v.Type)
		d.Label = "each task would need a copy"
		d.Also = append(d.Also, label(v.Span, "lend them in a finish: "+v.Name+": "+v.Type.String()+
			"& and [&"+v.Name+"]"))
	}
}

// apart says whether two entries of one child, one of them a loan, do not overlap, and reports it
// if they do.
func (s *state) apart(h, o hold) bool {
	if !h.loan && !o.loan || !h.conflicts(o.access, false) {
		return true
	}
	s.overlap(h, o)
	return false
}

// lend makes a child hold something, if it is free.
func (s *state) lend(h hold, several bool) {
	if h.path.isNone() {
		return
	}
	for _, log := range s.logs {
		*log = append(*log, h.access)
	}
	n := len(s.finishes)
	if !s.checkFrozen(h.access, true) || !s.checkViews(h.access) || n == 0 {
		return
	}
	s.conflictsAround(h.access, s.finishes[:n-1])
	for _, f := range s.finishes[:n-1] {
		f.uses = append(f.uses, h.access)
	}
	f := s.finishes[n-1]
	if h.loan && several && h.mode == full {
		d := s.report("E0406", h.at, "'%s' is lent to several tasks at once, and they change it",
			h.name)
		d.Label = "each turn of the loop lends it again"
		return
	}
	for _, o := range f.held {
		if (h.loan || o.loan) && (h.child == nil || o.child != h.child) &&
			h.conflicts(o.access, false) {
			s.overlap(h, o)
			break
		}
	}
	f.held = append(f.held, h)
	for _, a := range s.late {
		if a.finishes == n && a.conflicts(h.access, false) {
			s.released(a.access, h)
			break
		}
	}
	if f.loop >= 0 {
		s.usedBefore(f, h)
	}
}

// usedBefore reports an earlier use by the finish itself in the same loop, since it also comes
// later.
func (s *state) usedBefore(f *frame, h hold) {
	for _, a := range f.uses[f.loop:] {
		if a.conflicts(h.access, false) {
			s.released(a, h)
			return
		}
	}
}

func (s *state) overlap(h, o hold) {
	if o.name == h.name {
		d := s.report("E0406", h.at, "'%s' is lent twice, and one of the tasks changes it", h.name)
		d.Label = "lent again here"
		d.Also = append(d.Also, label(o.at, "lent here"))
		return
	}
	d := s.report("E0406", h.at, "'%s' and '%s' may share storage, and one of them is changed",
		h.name, o.name)
	d.Label = "this may overlap"
	d.Also = append(d.Also, label(o.at, "with this loan"))
}

// lendable checks &x: the variable must outlive the finish, which must belong to this very body.
func (s *state) lendable(b *ir.Body, e *ir.Entry) {
	switch {
	case len(s.finishes) == 0:
		s.loanOutside(b, e)
	case s.endsEarly(e.From):
		s.endsBefore(e)
	}
}

func (s *state) endsBefore(e *ir.Entry) {
	s.said[e.From] = true
	d := s.report("E0405", e.Span, "'%s' ends before the task that it is lent to may end", e.Name)
	d.Label = "the task runs until the finish ends"
	d.Also = append(d.Also, label(e.From.Span, "declare it before the finish"))
}
