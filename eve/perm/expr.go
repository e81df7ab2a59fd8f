package perm

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// value walks through e, whose value is used: places are read, handles are only passed on.
func (s *state) value(e ir.Expr) {
	if e == nil || isInvalid(e.Type()) {
		return
	}
	if isPlace(e) {
		s.place(e, read)
		return
	}
	s.temporary(e)
}

// owned walks through e, whose value gets another owner now. A value that is not copied implicitly
// is moved, which no view and no child may see.
func (s *state) owned(e ir.Expr) {
	if r, ok := e.(*ir.Ref); ok && r.Var != nil && isOwner(r.Var) && !r.T.Copyable() &&
		!s.isLent(r.Var) {
		if s.reach(r.Var, null, r.Span) {
			s.use(r.Var, read)
			s.note(access{path: s.pathOf(r), mode: full, at: r.Span, name: r.Var.Name, moved: true})
		}
		return
	}
	s.value(e)
	s.stored(e)
}

// isOwner says whether v may own a value that can be moved out.
func isOwner(v *ir.Var) bool {
	return !isShared(v.Type) && !isView(v.Type) && !isInvalid(v.Type) && v.Type.Kind != types.Func
}

// isPlace says whether e denotes storage rather than a new value.
func isPlace(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Ref, *ir.Deref:
		return true
	case *ir.Field:
		return isPlace(e.X)
	case *ir.Element:
		return isPlace(e.X)
	case *ir.Index:
		return isPlace(e.X) || isView(e.X.Type())
	case *ir.Cut:
		return e.T != nil && e.T.Kind != types.String && (isPlace(e.X) || isView(e.X.Type()))
	}
	return false
}

// place walks through e, which denotes storage that is used in mode m.
func (s *state) place(e ir.Expr, m mode) {
	if e == nil || isInvalid(e.Type()) {
		return
	}
	if r, ok := e.(*ir.Ref); ok {
		s.ref(r, m)
		return
	}
	s.chain(e)
	s.pos = max(s.pos, s.lives.order[e])
	s.touch(s.pathOf(e), m, e)
}

// ref uses a variable: its handle, the closure in it, or its value.
func (s *state) ref(r *ir.Ref, m mode) {
	v := r.Var
	if v == nil || isInvalid(v.Type) {
		return
	}
	s.pos = max(s.pos, s.lives.order[r])
	switch {
	case isShared(v.Type):
		s.mention(v, r.Span)
	case v.Type.Kind == types.Func:
		s.callable(v, r.Span)
	default:
		s.touch(s.pathOf(r), m, r)
	}
}

// chain walks through the expressions that find the storage e: handles on the way, indices. The
// storage itself is not used yet.
func (s *state) chain(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Ref:
	case *ir.Deref:
		switch x := e.X.(type) {
		case *ir.Ref: // named by the permission, or by the variable that shows it
		default:
			if isShared(x.Type()) {
				s.value(x)
			} else {
				s.chain(x)
			}
		}
	case *ir.Field:
		s.chain(e.X)
	case *ir.Element:
		s.chain(e.X)
	case *ir.Index:
		s.chain(e.X)
		s.within(e.X, func() { s.value(e.I) })
	case *ir.Cut:
		s.chain(e.X)
		s.within(e.X, func() {
			s.value(e.Lo)
			s.value(e.Hi)
		})
	default:
		s.value(e)
	}
}

// within evaluates an expression that selects a part of x, which must not move x.
func (s *state) within(x ir.Expr, f func()) {
	s.mustStay(x, s.recording(f))
}

// mustStay reports an access in log that may move x after it was found.
func (s *state) mustStay(x ir.Expr, log []access) {
	for _, p := range s.lookedUp(x) {
		for _, a := range log {
			if isInner(p) && a.mayMove(p) && a.path.overlaps(p, false) {
				d := s.report("E0406", a.at, "'%s' is changed while a part of it is looked up",
					a.name)
				d.Label = "this changes it"
				d.Also = append(d.Also, label(x.At(), "looked up here"))
				return
			}
		}
	}
}

// lookedUp returns the storage of x. The value in an option counts as a part of it.
func (s *state) lookedUp(x ir.Expr) []path {
	if p := s.pathOf(x); !p.isNone() {
		return []path{p}
	}
	all := s.shown(x)
	for i := range all {
		all[i] = all[i].with(step{kind: cut})
	}
	return all
}

// temporary walks through an expression that makes a new value.
func (s *state) temporary(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Call:
		s.call(e, false)
	case *ir.CallValue:
		s.callValue(e)
	case *ir.Closure:
		s.closure(e)
	case *ir.Box:
		s.owned(e.X)
	case *ir.Wrap:
		s.owned(e.X)
	case *ir.Index:
		s.value(e.X)
		s.within(e.X, func() { s.value(e.I) })
	case *ir.MakeStruct, *ir.MakeCase, *ir.MakeTuple, *ir.MakeList, *ir.MakeError:
		for _, x := range ir.Operands(e) {
			s.owned(x)
		}
	case *ir.Post:
		s.value(e.Fun)
		for _, x := range e.Args {
			s.owned(x)
			s.leaves(x, "is posted")
		}
	default:
		s.operands(ir.Operands(e))
	}
	s.pos = max(s.pos, s.lives.order[e])
}

// operands walks through expressions that are evaluated one after the other. Values that are not
// copied are read in their place after the last one, so the others must not move them.
func (s *state) operands(all []ir.Expr) {
	for i, x := range all {
		log := s.recording(func() { s.value(x) })
		for _, y := range all[:i] {
			if !isInvalid(y.Type()) && !y.Type().Copyable() {
				s.mustStay(y, log)
			}
		}
	}
}

// touch uses the storage p in mode m: it checks the permission, then whether the storage is free.
func (s *state) touch(p path, m mode, e ir.Expr) {
	if p.isNone() || m == null {
		return
	}
	if s.permitted(p, m, e) {
		s.note(access{path: p, mode: m, at: e.At(), name: nameOf(p, e)})
	}
}

// note records an access and checks whether the storage is free now.
func (s *state) note(a access) {
	if a.path.isNone() {
		return
	}
	for _, log := range s.logs {
		*log = append(*log, a)
	}
	s.checkFrozen(a, false)
	s.checkViews(a)
	s.checkReleased(a)
}

// recording runs f and returns its accesses.
func (s *state) recording(f func()) []access {
	var log []access
	s.logs = append(s.logs, &log)
	f()
	s.logs = s.logs[:len(s.logs)-1]
	return log
}

// replay makes accesses happen again at another place.
func (s *state) replay(log []access, at source.Span) {
	for _, a := range log {
		a.at = at
		s.note(a)
	}
}

// nameOf returns the user's name for the storage.
func nameOf(p path, e ir.Expr) string {
	if p.name != nil {
		return p.name.Name
	}
	if len(p.via) > 0 {
		return p.via[len(p.via)-1].Name
	}
	if p.v != nil {
		return p.v.Name
	}
	return e.At().Text()
}

// rootSpan returns the place of the variable that e begins with.
func rootSpan(e ir.Expr) source.Span {
	for {
		switch x := e.(type) {
		case *ir.Deref:
			if _, ok := x.X.(*ir.Ref); !ok && isShared(x.X.Type()) {
				return x.X.At()
			}
			e = x.X
		case *ir.Field:
			e = x.X
		case *ir.Element:
			e = x.X
		case *ir.Index:
			e = x.X
		case *ir.Cut:
			e = x.X
		default:
			return e.At()
		}
	}
}
