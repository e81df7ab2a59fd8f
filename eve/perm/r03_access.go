package perm

import (
	"interleave/eve/ir"
	"interleave/eve/source"
)

// R3: read permission is needed to read a value, call a method that does not change it, iterate it
// and pass it to a plain parameter. Full permission is needed to store, to call [+self] methods
// and to pass it as T&. No permission is needed to pass or store the handle, compare identity, use
// `on` and capture. The run time admits one writer or several readers, so an access in the held
// mode never meets a conflicting one.

// permitted says whether this body may use p in mode m, and reports it if not.
func (s *state) permitted(p path, m mode, e ir.Expr) bool {
	at := rootSpan(e)
	if !p.obj {
		if !s.reach(p.v, null, at) {
			return false
		}
		s.use(p.v, m)
		if m == full && !(s.changeable(p.v, at) && s.changeableBy(p, at)) {
			return false
		}
		return s.parallel(p, m, at)
	}
	if m == full && !s.changeableBy(p, at) {
		return false
	}
	if p.name == nil {
		s.unreachable(p, m, e)
		return false
	}
	return s.has(p.name, m, at) && s.parallel(p, m, at)
}

// has says whether this body holds m on the object of v, and reports it if not.
func (s *state) has(v *ir.Var, m mode, at source.Span) bool {
	if !s.reach(v, m, at) {
		return false
	}
	s.use(v, m)
	held := s.held(v)
	switch {
	case held >= m:
		s.readAhead(v, m, at)
		return true
	case held == null:
		s.noPermission(v, m, at)
	default:
		s.onlyRead(v, at)
	}
	return false
}

// changeable says whether the plain variable v may be changed here.
func (s *state) changeable(v *ir.Var, at source.Span) bool {
	b := v.Body
	switch {
	case s.isLent(v):
		s.onlyLent(v, at)
		return false
	case v.Kind == ir.Self && !s.changesSelf():
		s.onlySelf(v, at)
		return false
	case v.Kind == ir.Capture && v.Sign == '=' && (b.Kind == ir.Handler || b.Kind == ir.Callback):
		s.sharedCopy(v, at)
		return false
	}
	return true
}

// changeableBy says whether the names that p goes through may be used to change it.
func (s *state) changeableBy(p path, at source.Span) bool {
	for _, v := range p.via {
		if s.isLent(v) {
			s.onlyLent(v, at)
			return false
		}
	}
	return true
}

// isLent says whether v shows or copies storage of another owner and was not declared to be
// changed: a plain parameter, a loop's variable, a part of a matched value. The checker has
// rejected changes by its name, but not loans to a task that changes it.
func (s *state) isLent(v *ir.Var) bool {
	if isView(v.Type) {
		return false
	}
	switch v.Kind {
	case ir.Param:
		return !v.Take
	case ir.Loop:
		return v != s.body.Owner().Each
	case ir.EventVar, ir.Constant:
		return true
	case ir.Bound:
		return !s.awaited[v]
	}
	return false
}

func (s *state) onlyLent(v *ir.Var, at source.Span) {
	if s.said[v] {
		return
	}
	s.said[v] = true
	d := s.report("E0402", at, "cannot change '%s', which is only lent here", v.Name)
	d.Label = "this changes it"
	text := "declared here"
	if v.Kind == ir.Param {
		text = "take it as =" + v.Name + ", or as " + v.Type.String() + "&"
	}
	d.Also = append(d.Also, label(v.Span, text))
}

func (s *state) changesSelf() bool { return selfMode(s.body.Fn) == full }

// selfMode is the mode in which a method uses self.
func selfMode(f *ir.Func) mode {
	if f == nil {
		return read
	}
	for _, e := range f.List {
		if e.Sign == '+' && (e.Name == "self" || e.Var != nil && e.Var.Kind == ir.Self) {
			return full
		}
	}
	return read
}

func (s *state) noPermission(v *ir.Var, m mode, at source.Span) {
	if s.said[v] {
		return
	}
	s.said[v] = true
	verb, sign := "read", byte(0)
	if m == full {
		verb, sign = "change", '+'
	}
	d := s.report("E0401", at, "no permission to %s '%s'", verb, v.Name)
	d.Label = "this " + verb + "s it"
	if s.canList(v) {
		s.showList(d, v)
		s.fixList(d, v.Name, sign)
	} else {
		s.handleOnly(d, v, sign)
	}
}

func (s *state) onlyRead(v *ir.Var, at source.Span) {
	if s.said[v] {
		return
	}
	s.said[v] = true
	d := s.report("E0402", at, "cannot change '%s' with read permission", v.Name)
	d.Label = "this changes it"
	s.showList(d, v)
	s.fixList(d, v.Name, '+')
	if d.Fix != nil && s.body.Kind != ir.Function {
		d.Fix.Note = "tasks that only read " + v.Name + " still run in parallel"
	}
}

func (s *state) onlySelf(v *ir.Var, at source.Span) {
	if s.said[v] {
		return
	}
	s.said[v] = true
	d := s.report("E0402", at, "cannot change 'self' in a method that does not list it")
	d.Label = "this changes it"
	s.showList(d, v)
	if s.body.Kind == ir.Function {
		s.fixList(d, "self", '+')
	}
}

func (s *state) sharedCopy(v *ir.Var, at source.Span) {
	if s.said[v] {
		return
	}
	s.said[v] = true
	d := s.report("E0402", at, "cannot change '%s', a copy that all runs of this body share",
		v.Name)
	d.Label = "this changes it"
	s.showList(d, v)
	d.Also = append(d.Also, label(v.Origin().Span, "make it shared to change it: "+v.Name+": "+
		v.Type.String()+"@"))
}
