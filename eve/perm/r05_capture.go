package perm

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// R5: a body may use an outer name only if its list and every list in between contain it. A module
// variable must only be in the list of the body that uses it. =x copies a plain variable (or moves
// it, on its last use). For a shared object it copies the value, which reads it now. So a body can
// reach only objects under permission, loans of a finish, and its own variables.

// reach says whether v can be named here, and reports a name that was not captured.
func (s *state) reach(v *ir.Var, m mode, at source.Span) bool {
	if v == s.body.Owner().Each && isView(v.Type) && s.entry(v) == nil {
		s.missing(v, m, at)
		return false
	}
	if s.mine(v) {
		return true
	}
	s.missing(v, m, at)
	return false
}

// mention uses a handle.
func (s *state) mention(v *ir.Var, at source.Span) {
	if s.reach(v, null, at) {
		s.use(v, null)
	}
}

func (s *state) missing(v *ir.Var, m mode, at source.Span) {
	if s.said[v] {
		return
	}
	s.said[v] = true
	code, text, what := diag.Code("E0404"), "'%s' is not captured", "this uses it"
	sign := captureSign(s.body.Owner(), v, m)
	if isShared(v.Type) && m != null {
		code, text, what = "E0401", "no permission to read '%s'", "this reads it"
		if m == full {
			text, what = "no permission to change '%s'", "this changes it"
		}
	}
	d := s.report(code, at, text, v.Name)
	d.Label = what
	s.showMissing(d, v.Name)
	if v.Type.Kind == types.Func && !v.Type.Par {
		d.Also = append(d.Also, label(v.Span,
			"only a closure that merely reads and copies can go to tasks: "+v.Type.String()+" par"))
		return
	}
	if sign == '=' && isView(v.Type) && (v.Type.Kind == types.Slice || !v.Type.Elem.Copyable()) {
		d.Also = append(d.Also, label(v.Span,
			"a reference to storage of another owner: no task can keep it"))
		return
	}
	s.fixList(d, v.Name, sign)
}

// captureSign is the sign with which b would list the outer variable v to use it in mode m.
func captureSign(b *ir.Body, v *ir.Var, m mode) byte {
	switch {
	case isShared(v.Type) && m == full:
		return '+'
	case isShared(v.Type) && m == read:
		return 0
	case isShared(v.Type):
		return '-'
	case b.Kind == ir.Child && (isView(v.Type) || !v.Type.Copyable() && v.Type.Kind != types.Func):
		return '&'
	}
	return '='
}

// capture checks the list of b, a body that is made here.
func (s *state) capture(b *ir.Body) {
	for i, e := range b.Perms {
		if s.twice(b, i) || e.Var == nil || isInvalid(e.Var.Type) ||
			e.From != nil && isInvalid(e.From.Type) {
			continue
		}
		switch {
		case e.Var.Kind == ir.Global:
			s.captureGlobal(b, e)
		case e.Var.Kind == ir.Constant:
		case e.Var == b.Each:
			s.captureEach(b, e)
		case e.Var == b.Emitter || e.Var.Kind == ir.Emitter:
			if e.Sign == '=' || e.Sign == '&' {
				s.wrongSign(b, e, "an emitter is shared", '+')
			}
		case e.From != nil:
			s.captureOuter(b, e)
		}
	}
}

// twice reports a name that occurs twice in one list.
func (s *state) twice(b *ir.Body, i int) bool {
	for _, old := range b.Perms[:i] {
		if old.Name == b.Perms[i].Name {
			d := s.report("E0404", b.Perms[i].Span, "'%s' is in this list twice", old.Name)
			d.Also = append(d.Also, label(old.Span, "first here"))
			return true
		}
	}
	return false
}

func (s *state) captureGlobal(b *ir.Body, e *ir.Entry) {
	switch {
	case e.Sign == '=' || e.Sign == '&':
		s.wrongSign(b, e, "a module variable is shared", 0)
	case b.Kind == ir.Child:
		s.use(e.Var, asked(e.Sign))
		s.subset(e, e.Var)
	}
}

func (s *state) captureEach(b *ir.Body, e *ir.Entry) {
	switch {
	case e.Sign == '&' && b.Kind != ir.Child:
		s.loanOutside(b, e)
	case isShared(e.Var.Type) && (e.Sign == '=' || e.Sign == '&'):
		s.wrongSign(b, e, "its elements are shared", 0)
	case isShared(e.Var.Type) && b.Kind == ir.Child && asked(e.Sign) != null:
		s.moreThanParent(e, e.Var, null)
	case isView(e.Var.Type) && e.Sign != '&', !isShared(e.Var.Type) && e.Sign != '=' &&
		e.Sign != '&':
		sign := byte('=')
		if isView(e.Var.Type) {
			sign = '&'
		}
		s.wrongSign(b, e, "it is not a shared object", sign)
	}
}

// captureOuter checks an entry for a variable of a body around.
func (s *state) captureOuter(b *ir.Body, e *ir.Entry) {
	from := e.From
	if !s.mine(from) {
		m := asked(e.Sign)
		if b.Kind != ir.Child {
			m = null // a root acquires it itself
		}
		s.missing(from, m, e.Span)
		return
	}
	switch shared := isShared(from.Type); {
	case e.Sign == '&' && b.Kind != ir.Child:
		s.loanOutside(b, e)
	case shared && e.Sign == '&':
		s.wrongSign(b, e, "it is shared, not lent", '+')
	case e.Sign == '&':
		s.lendable(b, e)
	case e.Sign == '=':
		s.snapshot(b, e)
	case !shared:
		s.wrongSign(b, e, "it is not a shared object", captureSign(b, from, null))
	case b.Kind == ir.Child:
		s.use(from, asked(e.Sign))
		s.subset(e, from)
	default:
		s.mention(from, e.Span)
	}
}

// wrongSign reports an entry whose sign does not fit the variable.
func (s *state) wrongSign(b *ir.Body, e *ir.Entry, why string, sign byte) {
	s.said[e.Var] = true
	d := s.report("E0404", e.Span, "cannot list '%s' as %s: %s", e.Name, entryText(e.Sign, e.Name),
		why)
	v := e.Var
	if e.From != nil {
		v = e.From
		s.use(e.From, full) // the entry is wrong, not unused
	}
	text := "declared here"
	if sign == '=' && e.Sign == '+' && v.Kind == ir.Local {
		text = "to change it in a task, declare it as " + v.Type.String() + "@"
	}
	d.Also = append(d.Also, label(v.Span, text))
	if fixList(d, b, e.Name, sign); d.Fix != nil && text != "declared here" {
		d.Fix.Note = "the task then has a copy"
	}
}

// snapshot checks =x.
func (s *state) snapshot(b *ir.Body, e *ir.Entry) {
	from := e.From
	value := from.Type
	if isShared(value) || value.Kind == types.Ref {
		value = value.Elem
	}
	switch {
	case value.Kind == types.Func && !isShared(from.Type):
		s.captureClosure(b, e)
		return
	case value.Kind == types.Slice || value.HasView():
		s.keepsView(e.Span, "'"+e.Name+
			"' is a view: a task cannot keep it").Label = "lend it in a finish: &" + e.Name
		return
	case isNative(value) || value != from.Type && !value.Copyable():
		s.notCopyable(b, e, value)
		return
	}
	x := &ir.Ref{Place: ir.Place{T: from.Type, Span: e.Span}, Var: from}
	switch {
	case isShared(from.Type):
		s.touch(objectOf(from), read, x)
	case !value.Copyable():
		s.owned(x)
	default:
		s.value(x)
	}
}

// isNative says whether the type is a runtime type that cannot be copied: a file, a socket.
func isNative(t *types.Type) bool {
	return t.Kind == types.Named && t.Def != nil && t.Def.Form == types.Native && !t.Copyable()
}

func (s *state) notCopyable(b *ir.Body, e *ir.Entry, t *types.Type) {
	s.use(e.From, full)
	d := s.report("E0408", e.Span, "'%s' cannot be copied: its type is %s", e.Name, t)
	if isShared(e.From.Type) {
		sign := byte(0)
		d.Also = append(d.Also, label(e.From.Span, "share it instead"))
		fixList(d, b, e.Name, sign)
		return
	}
	d.Also = append(d.Also, label(e.From.Span, "make it shared: "+e.Name+": "+t.String()+"@"))
}

// ownList checks the list of a function, which may contain parameters of type T@, module variables
// and self.
func (s *state) ownList() {
	for i, e := range s.body.Perms {
		if s.twice(s.body, i) || e.Var == nil || isInvalid(e.Var.Type) || e.Var.Kind == ir.Self ||
			e.Var.Kind == ir.Constant {
			continue
		}
		switch {
		case e.Sign == '=' || e.Sign == '&':
			s.wrongSign(s.body, e, "a function lists objects that it shares with its caller", 0)
		case !isShared(e.Var.Type):
			d := s.report("E0404", e.Span, "cannot list '%s': it is not a shared object", e.Name)
			d.Also = append(d.Also, label(e.Var.Span, "declared here"))
			text := listWithout(s.body, e)
			d.Fix = &diag.Fix{Text: "write " + text, Span: s.body.List, New: text}
		}
	}
}
