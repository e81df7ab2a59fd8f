package check

import (
	"fmt"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A matching is the state of a match that is being lowered.
type matching struct {
	x       ir.Expr
	t       *types.Type
	cases   []matchCase  // the cases of the type; nil for types without
	covered map[int]bool // cases that arms have covered
	values  map[any]bool // constants that arms have covered
	all     source.Span  // the arm that covers all other values; zero if none
	tree    *syntax.MatchStmt
	unclear bool // an arm is an unknown name, which may be meant to cover all other values
}

// A matchCase is one case of a union, option or result.
type matchCase struct {
	name   string
	fields []*types.Type
	index  int
}

func (l *lowerer) matchStmt(s *syntax.MatchStmt) {
	if s.X == nil {
		return
	}
	x := l.defaultType(l.checker.value(l.expr(s.X, nil)))
	m := &matching{x: x, t: x.Type(), tree: s, covered: map[int]bool{}, values: map[any]bool{}}
	m.cases = casesOf(m.t)
	if !broken(x) && !l.isOpen(m.t) && !matchable(m.t) {
		l.errorf("E0511", s.X.Place(), "match cannot take %s apart", article(m.t))
		m.t = types.InvalidT
	}
	n := &ir.Match{Mark: mark(s), X: x}
	for _, a := range s.Arms {
		if a != nil {
			n.Arms = append(n.Arms, l.arm(m, a))
		}
	}
	if !l.exhaustive(m) {
		if l.partial == nil {
			l.partial = map[*ir.Match]bool{}
		}
		l.partial[n] = true
	}
	l.emit(n)
}

func matchable(t *types.Type) bool {
	return casesOf(t) != nil || t.IsNumber() || t == types.BoolT || t == types.StringT
}

// casesOf lists the cases of a type: of an option 0 none and 1 some, of a result 0 error and 1 ok.
func casesOf(t *types.Type) []matchCase {
	value := func(e *types.Type) []*types.Type {
		if e == types.VoidT {
			return nil
		}
		return []*types.Type{e}
	}
	switch {
	case t.Kind == types.Option:
		return []matchCase{{"none", nil, 0}, {"some", value(t.Elem), 1}}
	case t.Kind == types.Result:
		return []matchCase{{"error", []*types.Type{types.ErrorT}, 0}, {"ok", value(t.Elem), 1}}
	case t.Def != nil && t.Def.Form == types.Union:
		var all []matchCase
		for i, c := range t.Def.Cases {
			k := matchCase{name: c.Name, index: i}
			for _, f := range c.Fields {
				k.fields = append(k.fields, f.Type)
			}
			all = append(all, k)
		}
		return all
	}
	return nil
}

// arm lowers one arm. The pattern's variables belong to the arm.
func (l *lowerer) arm(m *matching, a *syntax.Arm) *ir.Arm {
	n := &ir.Arm{Span: a.Span, Case: -1, Body: &ir.Block{}}
	if m.all.IsValid() && a.Pattern != nil {
		d := l.errorf("W0432", a.Pattern.Place(), "this arm is never reached")
		d.Also = also(m.all, "this matches all other values")
	}
	if a.Body != nil {
		n.Body.Span = a.Body.Span
	}
	l.scoped(n.Body, func() {
		l.pattern(m, a.Pattern, n)
		if a.Body != nil {
			l.stmts(a.Body.Stmts)
		}
	})
	return n
}

func (l *lowerer) pattern(m *matching, p syntax.Pattern, n *ir.Arm) {
	switch p := p.(type) {
	case *syntax.AnyPattern:
		n.Any = true
		m.cover(p.Span)
	case *syntax.LitPattern:
		l.litPattern(m, p, n)
	case *syntax.CasePattern:
		l.casePattern(m, p, n)
	default:
		n.Any = true
	}
}

// cover notes that the arm at `at` covers all other values.
func (m *matching) cover(at source.Span) {
	if !m.all.IsValid() {
		m.all = at
	}
}

func (l *lowerer) litPattern(m *matching, p *syntax.LitPattern, n *ir.Arm) {
	n.Any = true // unless it turns out to be a constant
	if p.X == nil {
		return
	}
	if lit, ok := p.X.(*syntax.Lit); ok && lit.Kind == syntax.NoneLit && m.cases != nil {
		l.matchedCase(m, p.Span, "none", nil, true, n)
		return
	}
	if m.cases != nil {
		l.errorf("E0511", p.Span, "a value of type %s is matched by its cases: %s", m.t,
			caseNames(m.cases))
		return
	}
	x := l.expr(p.X, m.t)
	if broken(x) || m.t == types.InvalidT || l.isOpen(m.t) {
		return
	}
	v := l.coerce(x, m.t)
	if _, failed := v.(*ir.Zero); failed {
		return
	}
	c := l.fold(v)
	if c == nil {
		l.errorf("E0511", p.Span, "a pattern is a constant or a case")
		return
	}
	if m.values[c.Value] {
		l.errorf("E0513", p.Span, "%s is matched twice", p.Span.Text())
	}
	m.values[c.Value] = true
	n.Any, n.Const = false, &ir.Const{Place: place(m.t, p.Span), Value: c.Value}
	if m.t == types.BoolT && len(m.values) == 2 {
		m.cover(p.Span)
	}
}

func (l *lowerer) casePattern(m *matching, p *syntax.CasePattern, n *ir.Arm) {
	if len(p.Path) == 0 {
		n.Any = true
		return
	}
	name := p.Path[len(p.Path)-1]
	if m.cases == nil {
		l.notACase(m, p, n)
		return
	}
	if len(p.Path) > 1 {
		if tn, ok := l.static(named(p.Path[:len(p.Path)-1])).(*typeName); !ok ||
			l.decls[m.t] != tn {
			l.errorf("E0511", p.Span, "this is not a case of %s", m.t)
		}
	}
	l.matchedCase(m, name.Span, name.Text, p, p.Bare, n)
}

// notACase handles a name in a match without cases: a constant, or an error.
func (l *lowerer) notACase(m *matching, p *syntax.CasePattern, n *ir.Arm) {
	n.Any = true
	l.bindNames(p.Names, nil, n)
	if m.t == types.InvalidT || l.isOpen(m.t) {
		return
	}
	if p.Bare {
		if v, ok := l.static(named(p.Path)).(*ir.Var); ok && v.Kind == ir.Constant {
			l.litPattern(m, &syntax.LitPattern{At: p.At, X: named(p.Path)}, n)
			return
		}
	}
	m.unclear = true
	d := l.errorf("E0511", p.Span, "%s has no cases: a pattern is a constant, or _ for all others",
		m.t)
	if p.Span.Text() == "default" {
		l.fixText(d, p.Span, "_", "")
	}
}

// matchedCase covers a case and binds its fields.
func (l *lowerer) matchedCase(m *matching, at source.Span, name string, p *syntax.CasePattern,
	bare bool, n *ir.Arm) {
	var names []*syntax.Name
	if p != nil {
		names = p.Names
	}
	for _, c := range m.cases {
		if c.name != name {
			continue
		}
		n.Case = c.index
		l.noteCase(l.m, at, m.t, c.index)
		if m.covered[c.index] {
			l.errorf("E0513", at, "'%s' is matched twice", name)
		}
		m.covered[c.index] = true
		if len(m.covered) == len(m.cases) {
			m.cover(at)
		}
		if !bare && len(names) != len(c.fields) {
			l.errorf("E0512", p.Span, "'%s' has %s, and here %s", name,
				count(len(c.fields), "value"), are(len(names)))
			l.bindNames(names, nil, n)
			return
		}
		if bare && len(c.fields) > 0 {
			n.Vars = make([]*ir.Var, len(c.fields))
			return
		}
		l.bindNames(names, c.fields, n)
		return
	}
	n.Any = true
	d := l.errorf("E0511", at, "%s has no case '%s'", m.t, name)
	var all []string
	for _, c := range m.cases {
		all = append(all, c.name)
	}
	l.suggest(d, &syntax.Name{At: syntax.At{Span: at}, Text: name}, all)
	if name == "default" && d.Fix == nil {
		l.fixText(d, at, "_", "")
	}
	l.bindNames(names, nil, n)
}

// bindNames declares the variables of a pattern; fields is nil after an error.
func (l *lowerer) bindNames(names []*syntax.Name, fields []*types.Type, n *ir.Arm) {
	for i, name := range names {
		t := types.InvalidT
		if i < len(fields) {
			t = fields[i]
		}
		if name == nil || name.Text == "_" {
			n.Vars = append(n.Vars, nil)
			continue
		}
		v := l.local(name, t, ir.Bound)
		if l.patterned == nil {
			l.patterned = map[*ir.Var]bool{}
		}
		l.patterned[v] = true
		l.declare(v)
		n.Vars = append(n.Vars, v)
	}
}

// exhaustive reports values that no arm covers.
func (l *lowerer) exhaustive(m *matching) bool {
	if m.all.IsValid() || m.t == types.InvalidT || l.isOpen(m.t) {
		return true
	}
	at := headOf(m.tree.Span, nil)
	if m.cases == nil && m.unclear {
		return true
	}
	if m.cases == nil {
		d := l.errorf("E0510", at, "match does not cover the other values of type %s",
			m.t)
		d.Label = "add an arm _:"
		if m.t == types.BoolT {
			d.Label = "add an arm for the other one"
		}
		return false
	}
	var missing []matchCase
	for _, c := range m.cases {
		if !m.covered[c.index] {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 && !l.hadBadCase(m) {
		d := l.errorf("E0510", at, "match does not cover %s", caseNames(missing))
		d.Label = "add an arm for it, or _ for all others"
	}
	return len(missing) == 0
}

// hadBadCase says whether an arm named an unknown case, which may be meant as a missing one.
func (l *lowerer) hadBadCase(m *matching) bool {
	known := map[string]bool{}
	for _, c := range m.cases {
		known[c.name] = true
	}
	for _, a := range m.tree.Arms {
		if a == nil {
			continue
		}
		if p, ok := a.Pattern.(*syntax.CasePattern); ok && len(p.Path) > 0 &&
			!known[p.Path[len(p.Path)-1].Text] {
			return true
		}
	}
	return false
}

// caseNames lists cases: 'empty', 'circle' and 2 more.
func caseNames(cases []matchCase) string {
	var names []string
	for i, c := range cases {
		if i == 4 && len(cases) > 5 {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(cases)-4)
		}
		names = append(names, "'"+c.name+"'")
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
