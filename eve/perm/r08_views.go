package perm

import (
	"slices"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// R8: a T& or a view is a parameter, a local, a `for` variable or a loan. It is never stored,
// returned or captured otherwise, so it cannot outlive its storage. While it lives, that storage
// does not change in any other way. The same holds for a path that is iterated, or matched by a
// pattern that names its parts. If two handles may name one object, a flag in the container's
// header fails the task that changes it during an iteration. Views have no such flag, and the flag
// of a container inside another one is freed with it. So for these the text must show that the
// objects are apart.

// A freeze is a path that must not change now.
type freeze struct {
	path path
	by   *ir.Var // the loop's variable, through which elements may be changed
	at   source.Span
	sure bool // only paths that are surely the same storage count: the run time checks the others
	what string
	name string // of the iterated path, in the text
	// number of finishes around: a task of the innermost one runs while its loops go on, and no
	// flag covers that
	finishes int
}

// show declares a view.
func (s *state) show(v *ir.Var, init ir.Expr) {
	if init == nil || isInvalid(init.Type()) {
		return
	}
	if isPlace(init) {
		s.place(init, read)
	} else {
		s.value(init)
	}
	s.view(v, s.pathOf(init), init)
}

func (s *state) view(v *ir.Var, p path, init ir.Expr) {
	if p.isNone() {
		d := s.report("E0411", init.At(), "'%s' would show a value without an owner", v.Name)
		d.Label = "keep it in a variable first"
		return
	}
	s.sources[v] = p
	s.views = append(s.views, v)
}

// checkViews reports a change of storage that a view still shows, and says whether there is none.
func (s *state) checkViews(a access) bool {
	if a.mode != full {
		return true
	}
	for _, w := range s.views {
		if a.path.through(w) || s.lives.last[w] <= s.pos || !a.path.overlaps(s.sources[w], false) ||
			sideBySide(a.path, s.sources[w]) {
			continue
		}
		d := s.report("E0406", a.at, "'%s' is changed while '%s' shows it", a.name, w.Name)
		if a.path.v != s.sources[w].v {
			d.Message = "'" + a.name + "' is changed while '" + w.Name + "' may show it"
		}
		d.Label = "this changes it"
		d.Also = append(d.Also, label(w.Span, "'"+w.Name+"' is needed after this"))
		return false
	}
	return true
}

// sideBySide says whether a path goes through a slice of the same storage as the slice w: changing
// elements through one does not move elements of the other.
func sideBySide(p, w path) bool {
	if p.v != w.v {
		return false
	}
	for i, st := range w.steps {
		switch {
		case i >= len(p.steps):
			return false
		case st.isSlice() && p.steps[i].isSlice():
			return !slices.ContainsFunc(w.steps[i:], func(st step) bool { return !st.isSlice() })
		case p.steps[i] != st:
			return false
		}
	}
	return false
}

func (st step) isSlice() bool { return st.kind == cut || st.kind == half }

// checkFrozen reports a change of an iterated path, here or by a task, and says whether there is
// none.
func (s *state) checkFrozen(a access, byTask bool) bool {
	if a.mode != full {
		return true
	}
	for _, f := range s.frozen {
		beside := byTask && f.finishes == len(s.finishes)
		if f.by != nil && a.path.through(f.by) || !a.path.overlaps(f.path, f.sure && !beside) {
			continue
		}
		d := s.report("E0410", a.at, "'%s' is changed while it is %s", a.name, f.what)
		d.Label = "this changes it"
		text := f.what + " here"
		if a.path.v != f.path.v {
			d.Message = "'" + a.name + "' may be the same object as '" + f.name + "', which is " +
				f.what + " here"
			text += ": take a copy, or build the two apart"
		}
		d.Also = append(d.Also, label(f.at, text))
		return false
	}
	return true
}

func (s *state) forIn(st *ir.ForIn) {
	if st.X == nil {
		return
	}
	byRef := st.Var != nil && isView(st.Var.Type)
	switch {
	case byRef && isPlace(st.X):
		s.place(st.X, full)
	default:
		s.value(st.X)
	}
	frozen := len(s.frozen)
	for _, p := range s.shown(st.X) {
		f := freeze{path: p, at: st.X.At(), sure: stays(p, st.X), what: "iterated",
			name: nameOf(p, st.X), finishes: len(s.finishes)}
		if byRef {
			f.by = st.Var
		}
		s.partOf(st.Var, p.with(step{kind: index, n: -1}))
		s.frozen = append(s.frozen, f)
	}
	s.looping(func() {
		if st.Var != nil {
			s.begin(st.Var)
		}
		s.block(st.Body)
	})
	s.frozen = s.frozen[:frozen]
}

// stays says whether the iterated storage stays in place whatever happens to the object p. That
// holds for a container that is the object itself or a field of it, since the run time refuses to
// change it, and for a string, as the loop has a copy.
func stays(p path, x ir.Expr) bool {
	if !isPlace(x) {
		return false
	}
	switch x.Type().Deref().Kind {
	case types.String:
		return true
	case types.Vector, types.Map, types.Set, types.Array:
		return !isInner(p)
	}
	return false
}

func (s *state) match(st *ir.Match) {
	s.value(st.X)
	for _, a := range st.Arms {
		frozen := len(s.frozen)
		shown := s.shown(st.X)
		for _, p := range shown {
			if bindsParts(a) {
				s.frozen = append(s.frozen, freeze{path: p, at: st.X.At(), what: "matched",
					name: nameOf(p, st.X), finishes: len(s.finishes)})
			}
		}
		for _, v := range a.Vars {
			if v != nil {
				s.begin(v)
				for _, p := range shown {
					s.partOf(v, p.with(step{kind: cut}))
				}
			}
		}
		s.branch(func() { s.block(a.Body) })
		s.frozen = s.frozen[:frozen]
	}
}

// partOf notes that v is a part of p in its place, unless it is copied.
func (s *state) partOf(v *ir.Var, p path) {
	if v != nil && !isInvalid(v.Type) && !v.Type.Copyable() && !p.isNone() {
		s.sources[v] = p
	}
}

// bindsParts says whether an arm names parts in place. Copies need no freeze.
func bindsParts(a *ir.Arm) bool {
	for _, v := range a.Vars {
		if v != nil && !isInvalid(v.Type) && !v.Type.Copyable() {
			return true
		}
	}
	return false
}

// signature checks the types of a function. A view of the storage of others must not leave it, and
// may enter it only as a T& or a view itself, not in a container.
func (c *checker) signature(f *ir.Func) {
	if f.Result != nil && f.Result.HasView() && viewParam(f) == nil {
		d := c.keepsView(f.Span, "'"+f.Name+"' returns "+f.Result.String()+
			", which shows storage of another owner")
		d.Label = "a view can be returned of the one parameter that is a view"
	}
	for _, p := range f.Params {
		c.ownedParts(p)
	}
}

// viewParam returns the parameter whose storage f's result may show: the only one that is a view.
// So callers know which storage is frozen while they have the result. Natives with a view as
// result split self.
func viewParam(f *ir.Func) *ir.Var {
	var found *ir.Var
	for _, p := range f.Params {
		switch {
		case isInvalid(p.Type) || !isView(p.Type):
		case f.Body == nil:
			return p
		case found != nil:
			return nil
		default:
			found = p
		}
	}
	return found
}

// viewedBy returns the argument whose storage a call's view shows.
func viewedBy(e *ir.Call) ir.Expr {
	if e.Fn == nil {
		return nil
	}
	v := viewParam(e.Fn)
	for i, p := range e.Fn.Params {
		if p == v && v != nil && i < len(e.Args) {
			return e.Args[i]
		}
	}
	return nil
}

// returnsView checks a result that is a view: it must show the parameter that callers expect.
func (s *state) returnsView(e ir.Expr) {
	parts := []ir.Expr{e}
	if t, ok := e.(*ir.MakeTuple); ok {
		parts = t.Elems
	}
	for _, x := range parts {
		s.value(x)
	}
	v := viewParam(s.body.Fn)
	if v == nil || len(s.lambdas) > 0 {
		return // the signature is wrong, and was reported
	}
	for _, x := range parts {
		p := s.pathOf(x)
		switch {
		case !x.Type().HasView():
		case p.v != v || p.obj:
			s.keepsView(x.At(), "this is not a view of the parameter '"+v.Name+"'")
		default:
			s.outlivesDefers(p, x)
		}
	}
}

// outlivesDefers reports a view that is returned and then changed by a deferred block, which runs
// after the return.
func (s *state) outlivesDefers(p path, x ir.Expr) {
	for _, a := range s.late {
		if a.mode == full && a.path.overlaps(p, false) {
			d := s.report("E0406", x.At(), "'%s' is changed behind this by a defer", a.name)
			d.Label = "the caller gets a view of it"
			d.Also = append(d.Also, label(a.at, "changed here, when the function ends"))
			return
		}
	}
}

// ownedParts reports a container of views.
func (c *checker) ownedParts(v *ir.Var) {
	t := v.Type
	if isInvalid(t) {
		return
	}
	for isView(t) || isShared(t) || t.Kind == types.Func {
		t = t.Elem
		if t == nil || t.Kind == types.Func || v.Type.Kind == types.Func {
			return
		}
	}
	if t.HasView() {
		c.keepsView(v.Span, "'"+v.Name+"' would keep "+t.String()+
			", which shows storage of another owner")
	}
}

// ownedParam reports a parameter of a shared closure that is a view, whose storage may be gone
// when the closure runs.
func (c *checker) ownedParam(v *ir.Var) {
	if !isInvalid(v.Type) && v.Type.HasView() {
		c.keepsView(v.Span, "'"+v.Name+"' shows storage that may be gone when this runs")
	}
}

func (c *checker) keepsView(at source.Span, text string) *diag.Diagnostic {
	d := c.report("E0411", at, "%s", text)
	d.Label = "a reference is never stored, returned or captured"
	return d
}

// holdsView reports a variable that would store views.
func (s *state) holdsView(t *types.Type, at source.Span, what string) {
	if t.HasView() {
		s.keepsView(at, what+" would keep "+t.String()+", which shows storage of another owner")
	}
}

// stored reports a view that is stored.
func (s *state) stored(e ir.Expr) {
	if e == nil || isInvalid(e.Type()) || !e.Type().HasView() {
		return
	}
	s.keepsView(e.At(),
		"this would keep "+e.Type().String()+", which shows storage of another owner")
}
