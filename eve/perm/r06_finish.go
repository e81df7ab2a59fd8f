package perm

import "interleave/eve/ir"

// R6: a child of a finish asks at most for what its parent holds. A variable that it borrows by &
// has one writer or only readers, and outlives the finish. While children may run, the statements
// of the finish itself use nothing that a child holds in conflict. Children queue among themselves
// for the parent's objects. The parent has no place in those queues; nor do loans, nor children of
// a finish inside this one. So objects that the text does not show to be apart count as in
// conflict.

// A frame is a finish around the current place of the walk.
type frame struct {
	held []hold
	uses []access // by the statements of the finish
	// how many uses there were at the start of the outermost loop in it; -1 outside loops
	loop     int
	loops    int // around the finish
	declared map[*ir.Var]bool
}

// A hold is a permission or a loan of a child while it runs.
type hold struct {
	access
	loan  bool // not queued for: & or a closure
	entry *ir.Entry
	child *ir.Body // nil for an element that each of several tasks has
}

func (s *state) finish(st *ir.Finish) {
	f := &frame{loop: -1, loops: s.loops, declared: map[*ir.Var]bool{}}
	s.finishes = append(s.finishes, f)
	s.block(st.Block)
	s.finishes = s.finishes[:len(s.finishes)-1]
}

// spawn walks through `@`.
func (s *state) spawn(b *ir.Body) {
	if b == nil {
		return
	}
	if b.Kind != ir.Child {
		s.root(b)
		s.starts(b)
		return
	}
	s.tooLate(b)
	s.capture(b)
	s.children(b, s.walk(b), s.looped())
}

// tooLate reports a task that a defer would start after its finish has ended.
func (s *state) tooLate(b *ir.Body) {
	if len(s.finishes) < s.deferred {
		d := s.report("E0405", b.Head, "this task would start when its finish has ended")
		d.Label = "defer runs when the body ends: write a finish inside it"
	}
}

// looped says whether a task that starts here may run several times at once.
func (s *state) looped() bool {
	return len(s.finishes) > 0 && s.loops > s.finishes[len(s.finishes)-1].loops
}

// spawnEach walks through `@ for`.
func (s *state) spawnEach(st *ir.SpawnEach) {
	b := st.Body
	s.elements(st)
	if b == nil || b.Kind != ir.Child {
		s.value(st.X)
		s.root(b)
		s.starts(b)
		return
	}
	s.tooLate(b)
	s.capture(b)
	child := s.walk(b)
	m := read
	if b.Each != nil && isView(b.Each.Type) {
		m = max(read, child.used[b.Each])
	}
	if isPlace(st.X) && b.Each != nil && isView(b.Each.Type) {
		s.chain(st.X) // the tasks use the elements, this only counts them
		s.permitted(s.pathOf(st.X), m, st.X)
	} else {
		s.value(st.X)
	}
	frozen := len(s.frozen)
	for _, p := range s.shown(st.X) { // the first tasks run while the last are being started
		s.frozen = append(s.frozen, freeze{path: p, at: st.X.At(), what: "iterated",
			name: nameOf(p, st.X)})
	}
	s.children(b, child, true)
	s.frozen = s.frozen[:frozen]
	if b.Each != nil && isView(b.Each.Type) {
		a := access{path: s.pathOf(st.X).with(step{kind: each}), mode: m, at: st.X.At(),
			name: b.Each.Name}
		s.lend(hold{access: a, loan: true}, s.looped())
	}
}

// walk walks through the body of a task and returns its state.
func (s *state) walk(b *ir.Body) *state {
	in := s.enter(b, s)
	in.block(b.Block)
	in.lint()
	return in
}

// children notes what a child holds until the finish ends.
func (s *state) children(b *ir.Body, child *state, several bool) {
	var holds []hold
	for _, e := range b.Perms {
		for _, h := range s.holds(e, child) {
			h.child = b
			holds = append(holds, h)
		}
	}
	for i, h := range holds {
		for _, o := range holds[:i] {
			if !s.apart(h, o) {
				return
			}
		}
	}
	for _, h := range holds {
		s.lend(h, several)
	}
}

// holds returns what a child holds by one entry.
func (s *state) holds(e *ir.Entry, child *state) []hold {
	switch {
	case e.Var == nil || isInvalid(e.Var.Type):
		return nil
	case e.Sign == '=' && e.From != nil:
		var all []hold
		for _, a := range s.closures[e.From] {
			a.at = e.Span
			all = append(all, hold{access: a, loan: true, entry: e})
		}
		return all
	case e.Sign == '&' && e.From != nil && !isShared(e.From.Type) && s.mine(e.From) &&
		!s.said[e.From]:
		x := &ir.Ref{Place: ir.Place{T: e.From.Type, Span: e.Span}, Var: e.From}
		m := max(read, child.used[e.Var])
		p := s.pathOf(x)
		if !s.permitted(p, m, x) {
			return nil
		}
		return []hold{{access: access{path: p, mode: m, at: e.Span, name: e.Name}, loan: true,
			entry: e}}
	case isShared(e.Var.Type) && asked(e.Sign) != null:
		return []hold{{access: access{path: objectOf(e.Var), mode: asked(e.Sign), at: e.Span,
			name: e.Name}, entry: e}}
	}
	return nil
}

// checkReleased reports a use by a finish's own statements that conflicts with a child.
func (s *state) checkReleased(a access) {
	s.conflictsAround(a, s.finishes)
	for _, f := range s.finishes {
		f.uses = append(f.uses, a)
	}
}

func (s *state) conflictsAround(a access, frames []*frame) {
	for _, f := range frames {
		for _, h := range f.held {
			if a.conflicts(h.access, false) {
				s.released(a, h)
				return
			}
		}
	}
}

func (s *state) released(a access, h hold) {
	d := s.report("E0407", a.at, "'%s' is used while a task of this finish may %s it", a.name,
		verb(h.mode))
	d.Label = "move this behind the finish, or into a task"
	text := "this task holds it"
	if a.name != h.name {
		text = "this task holds '" + h.name + "', which may be the same object"
		if h.loan {
			text = "this task holds '" + h.name + "', which may overlap it"
		}
	}
	d.Also = append(d.Also, label(h.at, text))
}

func verb(m mode) string {
	if m == full {
		return "change"
	}
	return "read"
}

// subset reports an entry of a child that asks for more than its parent has.
func (s *state) subset(e *ir.Entry, v *ir.Var) {
	want := asked(e.Sign)
	if want == null {
		return
	}
	if held := s.held(v); held < want {
		s.moreThanParent(e, v, held)
	} else if !s.parallel(objectOf(v), want, e.Span) {
		return
	} else if v.Built && s.endsEarly(v) {
		d := s.report("E0403", e.Span,
			"'%s' is held until its block ends, and this task may run longer", e.Name)
		d.Label = "the task runs until the finish ends"
		d.Also = append(d.Also, label(v.Span, "declare it before the finish"))
	}
}

// endsEarly says whether v's scope ends before the finish of a task that starts here.
func (s *state) endsEarly(v *ir.Var) bool {
	n := len(s.finishes)
	return n == 0 || s.finishes[n-1].declared[v]
}

func (s *state) moreThanParent(e *ir.Entry, v *ir.Var, held mode) {
	if s.said[v] {
		return
	}
	s.said[v] = true
	has := "only its handle"
	if held == read {
		has = "read permission"
	}
	d := s.report("E0403", e.Span, "cannot %s '%s' in a task of this finish: its parent has %s",
		verb(asked(e.Sign)), e.Name, has)
	d.Label = "a child can ask at most for what its parent holds"
	if v.Kind == ir.Loop {
		d.Also = append(d.Also, label(v.Span,
			"the elements are objects of their own: store them by value, or leave the finish out"))
		return
	}
	if s.canList(v) {
		s.showList(d, v)
		s.fixList(d, v.Name, e.Sign)
	} else {
		d.Also = append(d.Also, label(v.Span, "declared here"))
	}
}
