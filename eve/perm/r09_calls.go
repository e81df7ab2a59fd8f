package perm

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// R9: a call acquires nothing. The callee's list, with arguments in place of parameters, must be
// within the caller's permissions. Inside, the callee assumes that its T& parameters, its loans
// and the objects that it lists are storage that does not overlap, and that its closures touch
// none of them. The caller ensures that here. So whatever the callee shares among tasks of its own
// is apart.

// A given is the storage that one argument lets the callee use.
type given struct {
	access
	arg      int      // the index of the argument
	nests    bool     // a closure that takes closures
	beside   bool     // a par closure, which tasks of the callee may run beside other closures
	lent     bool     // by reference for the whole call
	deferred bool     // the accesses are those of a closure, which runs within the call
	evaluate []access // accesses of evaluating the argument
}

func (s *state) call(e *ir.Call, async bool) {
	if e.Fn == nil {
		return
	}
	if async {
		s.outlives(e)
	}
	var all []given
	for i, a := range e.Args {
		s.reachListed(e.Fn, i, a)
		g := s.argument(passingOf(e.Fn, i, a), a, async && i == 0)
		g.arg = i
		g.beside = i < len(e.Fn.Params) && e.Fn.Params[i].Type.Par
		all = append(all, g)
	}
	s.pos = max(s.pos, s.lives.order[e])
	for i, a := range e.Args {
		for _, g := range s.inOptions(passingOf(e.Fn, i, a), a) {
			g.arg = i
			all = append(all, g)
		}
		if all[i].lent {
			s.touch(all[i].path, all[i].mode, a)
		}
	}
	listed := s.listed(e)
	s.together(e, all, listed)
}

// outlives reports views in the arguments of a call that goes on when this body has ended.
func (s *state) outlives(e *ir.Call) {
	for i, a := range e.Args {
		if i < len(e.Fn.Params) && e.Fn.Params[i].Kind != ir.Self &&
			!isInvalid(e.Fn.Params[i].Type) && e.Fn.Params[i].Type.HasView() {
			s.keepsView(a.At(), "'"+e.Fn.Name+"' goes on after this body has ended")
		}
	}
}

// A passing is how an argument is passed.
type passing uint8

const (
	byValue  passing = iota // copied, or a handle
	byTaking                // owned by the callee
	byLoan                  // lent: read during the call
	byRef                   // T&: changed during the call
)

func passingOf(f *ir.Func, i int, a ir.Expr) passing {
	switch {
	case isInvalid(a.Type()) || f.Native == "" && i >= len(f.Params):
		return byValue
	case i >= len(f.Params): // a value for a directive of a format
		return lentUnless(a.Type())
	}
	p := f.Params[i]
	switch {
	case p.Kind == ir.Self && selfMode(f) == full:
		return byRef
	case p.Kind == ir.Self:
		return byLoan
	case isShared(p.Type):
		return byValue
	case isView(p.Type) && f.Body == nil && f.Native != "": // natives change only self
		return byLoan
	case isView(p.Type):
		return byRef
	case p.Take:
		return byTaking
	}
	return lentUnless(p.Type)
}

// lentUnless says how a plain parameter of the type is passed: lent, unless it is copied
// implicitly.
func lentUnless(t *types.Type) passing {
	if t.Copyable() || t.Kind == types.Func {
		return byValue
	}
	return byLoan
}

// argument walks through one argument. Async natives are posted to the object that they are called
// on, so they need only its handle.
func (s *state) argument(how passing, a ir.Expr, posted bool) given {
	var g given
	if isClosure(a) {
		g.deferred, g.nests = true, takesClosure(a.Type())
	}
	g.evaluate = s.recording(func() {
		d, isObject := a.(*ir.Deref)
		switch {
		case posted && isObject && isShared(d.X.Type()):
			s.value(d.X)
		case how == byTaking:
			s.owned(a)
		case (how == byRef || how == byLoan) && isPlace(a):
			s.chain(a)
			g.lent = true
		case (how == byRef || how == byLoan) && isView(a.Type()): // the view of another call
			s.value(a)
			g.lent = true
		default:
			s.value(a)
		}
	})
	if !g.lent {
		return g
	}
	g.access = access{path: s.pathOf(a), mode: read, at: a.At()}
	g.name = nameOf(g.path, a)
	if how == byRef {
		g.mode = full
	}
	return g
}

// takesClosure says whether a closure has a parameter that is a closure, which then runs within
// it.
func takesClosure(t *types.Type) bool {
	for _, p := range t.Elems {
		if p.Kind == types.Func {
			return true
		}
	}
	return false
}

// inOptions returns the storage that o? and o else d lend: the value stays in the option.
func (s *state) inOptions(how passing, a ir.Expr) []given {
	if how != byLoan || isPlace(a) {
		return nil
	}
	var all []given
	for _, p := range s.shown(a) {
		all = append(all, given{lent: true, access: access{path: p.with(step{kind: cut}),
			mode: read, at: a.At(), name: nameOf(p, a)}})
	}
	return all
}

func isClosure(a ir.Expr) bool {
	return !isInvalid(a.Type()) && a.Type().Kind == types.Func
}

// listed checks the callee's list against this body's permissions and returns the storage that the
// callee may use by it.
func (s *state) listed(e *ir.Call) []access {
	var all []access
	for _, en := range e.Fn.List {
		m := asked(en.Sign)
		if m == null || en.Var == nil || en.Var.Kind == ir.Self || isInvalid(en.Var.Type) ||
			!isShared(en.Var.Type) {
			continue
		}
		a := access{mode: m, at: e.At(), name: en.Name}
		if en.Var.Kind == ir.Global {
			a.path = objectOf(en.Var)
			a.at = calleeSpan(e)
		} else if arg := argumentOf(e, en.Var); arg != nil && isShared(arg.Type()) {
			a.path = s.object(arg)
			a.at = arg.At()
			a.name = nameOf(a.path, arg)
		} else {
			continue
		}
		if s.covers(a, en, e) {
			s.note(a)
			all = append(all, a)
		}
	}
	return all
}

// reachListed reports a handle that was not captured with the permission that the callee asks for.
func (s *state) reachListed(f *ir.Func, i int, a ir.Expr) {
	r, ok := a.(*ir.Ref)
	if !ok || r.Var == nil || !isShared(r.Var.Type) || i >= len(f.Params) {
		return
	}
	for _, en := range f.List {
		if en.Var == f.Params[i] && asked(en.Sign) != null {
			s.reach(r.Var, asked(en.Sign), r.Span)
		}
	}
}

func argumentOf(e *ir.Call, p *ir.Var) ir.Expr {
	for i, q := range e.Fn.Params {
		if (q == p || q.Name == p.Name) && i < len(e.Args) {
			return e.Args[i]
		}
	}
	return nil
}

// calleeSpan is the call up to its arguments.
func calleeSpan(e *ir.Call) source.Span {
	at := e.At()
	text := at.Text()
	for i := range len(text) {
		if text[i] == '(' {
			at.End = at.Start + i
			break
		}
	}
	return at
}

// covers says whether this body holds the permission of a callee's entry, and reports it if not.
func (s *state) covers(a access, en *ir.Entry, e *ir.Call) bool {
	v := a.path.name
	if v == nil {
		d := s.report("E0409", a.at,
			"'%s' needs to %s this object, on which this body has no permission", e.Fn.Name,
			verb(a.mode))
		d.Label = "permission stops at a handle"
		s.showCallee(d, en)
		return false
	}
	if !s.reach(v, a.mode, a.at) {
		return false
	}
	s.use(v, a.mode)
	if s.held(v) >= a.mode {
		return s.parallel(a.path, a.mode, a.at)
	}
	if s.said[v] {
		return false
	}
	s.said[v] = true
	d := s.report("E0409", a.at, "'%s' needs to %s '%s'", e.Fn.Name, verb(a.mode), v.Name)
	d.Label = "this needs " + entryText(en.Sign, v.Name)
	if s.canList(v) {
		s.showList(d, v)
		s.fixList(d, v.Name, en.Sign)
	} else {
		s.handleOnly(d, v, en.Sign)
	}
	s.showCallee(d, en)
	return false
}

func (s *state) showCallee(d *diag.Diagnostic, en *ir.Entry) {
	if en.Span.IsValid() {
		d.Also = append(d.Also, label(en.Span, "it asks for this"))
	}
}

// together reports arguments that the callee must not have at the same time.
func (s *state) together(e *ir.Call, all []given, listed []access) {
	// natives work correctly when names turn out to be equal
	native := e.Fn != nil && e.Fn.Native != ""
	minds := native || s.minds(e.Fn)
	for i, g := range all {
		if g.lent {
			for _, h := range all[:i] {
				if h.lent && g.conflicts(h.access, native) && (minds || !stable(g.path, h.path)) {
					s.overlapping(g.access, h.access)
				}
			}
			for _, a := range listed {
				if g.conflicts(a, false) && (minds || !stable(g.path, a.path)) {
					s.overlapping(g.access, a)
				}
			}
		}
		for j, h := range all {
			switch {
			case i == j:
			case h.lent && (g.deferred || h.arg < g.arg):
				s.during(g, h.access)
			case g.deferred && h.deferred && (h.nests || h.beside && !g.beside):
				for _, a := range h.evaluate {
					s.during(g, a)
				}
			}
		}
		if g.deferred {
			for _, a := range listed {
				s.during(g, a)
			}
		}
	}
}

// isInner says whether storage lies inside a container, where a change of the
// container may move it.
func isInner(p path) bool {
	for _, st := range p.steps {
		if st.kind != field {
			return true
		}
	}
	return false
}

// mayMove says whether an access may move storage that was found before it, if they overlap.
func (a access) mayMove(found path) bool {
	return a.moved || a.mode == full && isInner(found) && !sideBySide(a.path, found)
}

// during reports conflicts between a loan and the evaluation of another argument, or a closure in
// it.
func (s *state) during(g given, lent access) {
	for _, a := range g.evaluate {
		harmful := g.deferred || a.mayMove(lent.path)
		if harmful && a.conflicts(lent, false) {
			d := s.report("E0406", a.at, "'%s' is used while '%s' is lent for the same call",
				a.name, lent.name)
			d.Label = "this may overlap"
			d.Also = append(d.Also, label(lent.at, "lent here"))
			return
		}
	}
}

func (s *state) overlapping(a, b access) {
	d := s.report("E0406", a.at,
		"'%s' and '%s' may share storage, and this call changes one of them", a.name, b.name)
	if a.name == b.name {
		d.Message = "'" + a.name + "' is passed twice, and this call changes it"
	}
	d.Label = "this may overlap"
	d.Also = append(d.Also, label(b.at, "with this"))
}

// callValue walks through the call of a closure.
func (s *state) callValue(e *ir.CallValue) {
	if isInvalid(e.Fun.Type()) {
		return
	}
	all := []given{s.argument(byValue, e.Fun, false)}
	params := e.Fun.Type().Deref().Elems
	for i, a := range e.Args {
		how := byValue
		switch {
		case i >= len(params) || isInvalid(params[i]) || isShared(params[i]):
		case isView(params[i]):
			how = byRef
		case !params[i].Copyable() && params[i].Kind != types.Func:
			how = byLoan
		}
		g := s.argument(how, a, false)
		g.arg = i + 1
		g.beside = i < len(params) && params[i].Par
		all = append(all, g)
	}
	for i, a := range e.Args {
		if g := all[i+1]; g.lent {
			s.touch(g.path, g.mode, a)
		}
	}
	// the use of a closure's parameters inside it is not checked
	s.together(&ir.Call{Place: e.Place}, all, nil)
}
