package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A scope holds the names of one block. A body opens a scope of its own. A name found in a scope
// of another body was not captured, and the variable's Body shows that.
type scope struct {
	outer *scope
	body  *ir.Body
	vars  map[string]*ir.Var
}

// find returns the variable with the name in s or in a scope around it; nil when there is none.
func (s *scope) find(name string) *ir.Var {
	for ; s != nil; s = s.outer {
		if v := s.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

// names lists the names visible from s, for suggestions.
func (s *scope) names() []string {
	var all []string
	for ; s != nil; s = s.outer {
		for name := range s.vars {
			all = append(all, name)
		}
	}
	return all
}

// declare adds v to the innermost block.
func (l *lowerer) declare(v *ir.Var) {
	if v.Name == "" || v.Name == "_" {
		return
	}
	if old := l.scope.vars[v.Name]; old != nil && old != v {
		d := l.errorf("E0201", v.Span, "'%s' is declared twice in one block", v.Name)
		d.Also = also(old.Span, "the first is here")
		return
	}
	l.scope.vars[v.Name] = v
	if v.Span.Text() == v.Name { // else the text does not have the name
		l.saw(v.Span, v)
	}
}

// saw records, for editors, that a name in this body stands for o.
func (l *lowerer) saw(at source.Span, o object) { l.noteObject(l.m, at, o, l.cur) }

// local makes a variable of the current body.
func (l *lowerer) local(n *syntax.Name, t *types.Type, kind ir.VarKind) *ir.Var {
	return &ir.Var{Name: n.Text, Type: t, Kind: kind, Body: l.cur, Span: n.Span}
}

// hidden makes a variable of the current body that no program can name.
func (l *lowerer) hidden(t *types.Type, at source.Span) *ir.Var {
	return &ir.Var{Type: t, Kind: ir.Local, Body: l.cur, Span: at}
}

// enter makes b the innermost body, with an empty scope.
func (l *lowerer) enter(b *ir.Body) {
	l.cur = b
	l.scope = &scope{outer: l.scope, body: b, vars: map[string]*ir.Var{}}
	l.loops = 0
	l.held = ""
}

// inside runs f with b as the innermost body and then restores the old one. open, when set, runs
// before the body's list is read, and declares the body's own names.
func (l *lowerer) inside(b *ir.Body, perms *syntax.Perms, open, f func()) {
	outside, events := l.frame, l.events
	l.events = nil
	outer := l.scope
	b.Fn, b.Outer = l.fn, l.cur
	l.enter(b)
	if open != nil {
		open()
	}
	l.capture(b, perms, outer)
	if f != nil {
		f()
	}
	l.frame, l.events = outside, events
}

// block lowers a suite in a scope of its own.
func (l *lowerer) block(b *syntax.Block) *ir.Block {
	out := &ir.Block{}
	if b == nil {
		return out
	}
	out.Span = b.Span
	l.scoped(out, func() { l.stmts(b.Stmts) })
	return out
}

// scoped runs f with a new scope and appends its statements to out.
func (l *lowerer) scoped(out *ir.Block, f func()) {
	scoped, before := l.scope, l.out
	l.scope = &scope{outer: scoped, body: l.cur, vars: map[string]*ir.Var{}}
	l.out = out
	f()
	for name, v := range l.scope.vars {
		l.ended[name] = v.Span
	}
	l.scope, l.out = scoped, before
}

// capture reads the list of b, whose names come from outer. The body's own names (an emitter, the
// element of `@ for`) are in the scope already, and go before names outside.
func (l *lowerer) capture(b *ir.Body, perms *syntax.Perms, outer *scope) {
	if perms == nil {
		return
	}
	for _, p := range perms.Entries {
		if p == nil || p.Name == nil {
			continue
		}
		e := &ir.Entry{Sign: p.Sign, Name: p.Name.Text, Span: p.Span}
		b.Perms = append(b.Perms, e)
		if own := l.scope.vars[e.Name]; own != nil {
			e.Var, e.From = own, own.From
			l.saw(p.Name.Span, own)
			continue
		}
		l.captureName(b, e, p, outer)
	}
}

func (l *lowerer) captureName(b *ir.Body, e *ir.Entry, p *syntax.Perm, outer *scope) {
	from := outer.find(e.Name)
	if from == nil {
		switch o := l.lookup(l.m, e.Name).(type) {
		case *ir.Var:
			e.Var = o
			l.saw(p.Name.Span, o)
		case nil:
			if l.unlistable(e.Name, p.Name.Span) {
				l.declare(&ir.Var{Name: e.Name, Type: types.InvalidT, Kind: ir.Capture, Body: b,
					Span: p.Name.Span})
				return
			}
			l.unknown(l.m, e.Name, p.Name.Span, outer.names()...)
			// It is declared in the body all the same, so that one error is reported once.
			l.declare(&ir.Var{Name: e.Name, Type: types.InvalidT, Kind: ir.Capture, Body: b,
				Span: p.Name.Span})
		default:
			l.errorf("E0330", p.Name.Span, "'%s' is no variable: a list names variables only",
				e.Name)
		}
		return
	}
	if b.Kind == ir.Lambda {
		e.Var = from // part of its creator: it uses the creator's variables
		l.saw(p.Name.Span, from)
		return
	}
	v := &ir.Var{Name: e.Name, Type: l.captured(from.Type, e.Sign), Kind: ir.Capture, Body: b,
		Span: p.Name.Span, From: from, Sign: e.Sign}
	e.Var, e.From = v, from
	l.declare(v)
}

// captured is the type of an outer variable inside a body: =x of a T@ is a copy of its value, &x a
// loan.
func (l *lowerer) captured(t *types.Type, sign byte) *types.Type {
	switch {
	case t == types.InvalidT:
		return t
	case sign == '=' && (t.Kind == types.Shared || t.Kind == types.Ref):
		return t.Elem
	case sign == '&' && t.Kind != types.Shared && t.Kind != types.Ref:
		return l.universe.Ref(t)
	}
	return t
}
