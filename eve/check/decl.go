package check

import (
	"fmt"
	"sort"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A global is the declaration of a global or constant whose type is still to be found.
type global struct {
	vars  *syntax.VarDecl
	konst *syntax.ConstDecl
	name  *syntax.Name
	busy  bool
}

// declare records the names that a module declares. Their meaning is determined at first use.
func (c *checker) declare(m *module) {
	tests := map[string]source.Span{}
	for _, d := range m.tree.Decls {
		switch d := d.(type) {
		case *syntax.Func:
			c.name(m, d.Name, d.Pub, &function{module: m, tree: d})
		case *syntax.TypeDecl:
			c.name(m, d.Name, d.Pub, c.structure(m, d))
		case *syntax.UnionDecl:
			c.name(m, d.Name, d.Pub, &typeName{module: m, name: d.Name.Text, union: d})
		case *syntax.ConstDecl:
			c.variable(m, d.Name, d.Pub, &global{konst: d, name: d.Name})
		case *syntax.VarDecl:
			for _, n := range d.Names {
				c.variable(m, n, d.Pub, &global{vars: d, name: n})
			}
		case *syntax.ExternDecl:
			for _, f := range d.Funcs {
				c.name(m, f.Name, f.Pub, &function{module: m, tree: f,
					extern: &ir.Extern{Header: d.Header, Slow: f.Speed == "slow"}})
			}
		case *syntax.TestDecl:
			if first, taken := tests[d.Name]; taken {
				at := d.Span
				at.End = min(at.End, at.Start+len(`test ""`)+len(d.Name))
				c.twice(&syntax.Name{At: syntax.At{Span: at}, Text: d.Name}, first)
			}
			tests[d.Name] = d.Span
		}
	}
}

func (c *checker) name(m *module, n *syntax.Name, pub bool, what object) {
	if n == nil {
		return
	}
	if first, taken := m.places[n.Text]; taken {
		c.twice(n, first)
		return
	}
	if !m.std && reserved(n.Text) {
		c.diags.Errorf("E0214", n.Span, "'%s' is the name of a built-in type", n.Text)
		return
	}
	m.places[n.Text] = n.Span
	m.names[n.Text] = what
	m.pub[n.Text] = pub
	c.noteObject(m, n.Span, what, nil)
}

func (c *checker) variable(m *module, n *syntax.Name, pub bool, g *global) {
	kind := ir.Global
	if g.konst != nil {
		kind = ir.Constant
	}
	v := &ir.Var{Name: n.Text, Kind: kind, Span: n.Span, Module: m.ir, Pub: pub}
	c.name(m, n, pub, v)
	if m.names[n.Text] == object(v) {
		m.pending[v] = g
	}
}

// twice reports that a name was declared before, at first.
func (c *checker) twice(n *syntax.Name, first source.Span) *diag.Diagnostic {
	return c.diags.Add(diag.Diagnostic{
		Code: "E0201", Span: n.Span, Message: fmt.Sprintf("'%s' is declared twice", n.Text),
		Also: []diag.Label{{Span: first, Text: "first here"}},
	})
}

// structure records the methods of a type declaration.
func (c *checker) structure(m *module, d *syntax.TypeDecl) *typeName {
	tn := &typeName{module: m, name: d.Name.Text, structure: d, methods: map[string]*function{}}
	tn.builtin = c.prelude == nil && builtinOwners[tn.name]
	places := map[string]source.Span{}
	member := func(n *syntax.Name) bool {
		if first, taken := places[n.Text]; taken {
			c.twice(n, first)
			return false
		}
		places[n.Text] = n.Span
		return true
	}
	for _, d := range d.Members {
		switch d := d.(type) {
		case *syntax.Func:
			if member(d.Name) {
				f := &function{module: m, tree: d, owner: tn}
				tn.methods[d.Name.Text] = f
				c.noteObject(m, d.Name.Span, f, nil)
			}
		case *syntax.VarDecl:
			for _, n := range d.Names {
				member(n)
			}
		}
	}
	return tn
}

// resolve checks all declarations of a module and queues their bodies.
func (c *checker) resolve(m *module) {
	if m.resolved {
		return
	}
	m.resolved = true
	for _, d := range m.tree.Decls {
		switch d := d.(type) {
		case *syntax.Func:
			c.resolveFunc(m, d.Name)
		case *syntax.TypeDecl:
			c.resolveType(m, d.Name)
		case *syntax.UnionDecl:
			c.resolveType(m, d.Name)
		case *syntax.ConstDecl:
			c.resolveVar(m, d.Name)
		case *syntax.VarDecl:
			for _, n := range d.Names {
				c.resolveVar(m, n)
			}
		case *syntax.ExternDecl:
			for _, f := range d.Funcs {
				c.resolveFunc(m, f.Name)
			}
		case *syntax.TestDecl:
			c.resolveTest(m, d)
		}
	}
}

func (c *checker) resolveTest(m *module, d *syntax.TestDecl) {
	fn := &ir.Func{
		Name: "test " + d.Name, ID: fmt.Sprintf("%s.test %d", m.id, len(m.tests)+1), Module: m.ir,
		Span: d.Span, Result: types.VoidT, Test: d.Name,
	}
	if d.Perms != nil {
		fn.List = c.list(m, d.Perms, fn, nil)
	}
	m.tests = append(m.tests, fn)
	m.ir.Funcs = append(m.ir.Funcs, fn)
	if !c.skips(d.Span) {
		c.queue = append(c.queue, func() { c.testBody(fn, d, m) })
	}
}

func (c *checker) resolveFunc(m *module, n *syntax.Name) {
	f, _ := m.names[n.Text].(*function)
	if f == nil || f.tree.Name != n {
		return
	}
	c.checkSignature(f)
	if f.tree.Body == nil && f.extern == nil && !m.std && !c.unread(f.tree.Span) {
		c.diags.Errorf("E0207", n.Span, "function '%s' has no body", n.Text)
	}
	if m.std && f.tree.Body == nil {
		return // made at each use
	}
	c.instanceOf(f, nil, c.ownParams(f), n.Span, true)
}

// unread says whether the parser reported the line on which a declaration starts.
func (c *checker) unread(at source.Span) bool {
	for _, d := range c.base.Sorted() {
		if d.Span.File == at.File && d.Span.Line() == at.Line() &&
			strings.HasPrefix(string(d.Code), "E01") {
			return true
		}
	}
	return false
}

func (c *checker) resolveType(m *module, n *syntax.Name) {
	tn, _ := m.names[n.Text].(*typeName)
	if tn == nil || tn.builtin || tn.tree() != n {
		return
	}
	c.checkTypeParams(m, tn.typeParams(), tn.place())
	if tn.isInterface() {
		c.resolveInterface(tn)
		return
	}
	t := c.namedType(tn, c.opaqueArgs(tn, nil), n.Span)
	c.cases(tn)
	for _, f := range tn.ordered() {
		c.checkSignature(f)
		if f.tree.Body == nil {
			if !m.std && !c.unread(f.tree.Span) {
				c.diags.Errorf("E0207", f.tree.Name.Span, "method '%s' has no body",
					f.tree.Name.Text)
			}
			continue
		}
		recv := t
		if len(f.narrowed()) > 0 {
			recv = c.namedType(tn, c.opaqueArgs(tn, f), n.Span)
		}
		c.instanceOf(f, recv, c.ownParams(f), f.tree.Name.Span, true)
	}
}

// resolveInterface reads the signatures of an interface type.
func (c *checker) resolveInterface(tn *typeName) {
	self := c.universe.Param(tn.id(), tn.name)
	t := c.namedType(tn, c.opaqueArgs(tn, nil), tn.tree().Span)
	c.constraints[self] = t
	for _, f := range tn.ordered() {
		c.checkSignature(f)
		c.signature(f, self, c.ownParams(f))
	}
}

// ordered returns the methods in the order of the text.
func (tn *typeName) ordered() []*function {
	if tn.structure == nil {
		return nil
	}
	var all []*function
	for _, d := range tn.structure.Members {
		if d, ok := d.(*syntax.Func); ok && tn.methods[d.Name.Text] != nil &&
			tn.methods[d.Name.Text].tree == d {
			all = append(all, tn.methods[d.Name.Text])
		}
	}
	return all
}

// resolveVar checks a global or constant.
func (c *checker) resolveVar(m *module, n *syntax.Name) {
	v, _ := m.names[n.Text].(*ir.Var)
	if v == nil || v.Span != n.Span {
		return
	}
	c.typeVar(m, v)
}

func sortedNames(names map[string]object) []string {
	var all []string
	for n := range names {
		all = append(all, n)
	}
	sort.Strings(all)
	return all
}
