package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// The checker notes what names mean, where it finds it out. Without an index nothing is noted.

// note records the meaning of a name in code of m. Of a generic, what is known of it without its
// type arguments goes before what an instance says.
func (c *checker) note(m *module, at source.Span, u Use) {
	if c.index == nil || m == nil || m.std || !at.IsValid() || at.Start == at.End {
		return
	}
	if _, known := c.index.names[at]; known && c.current != nil {
		return
	}
	c.index.names[at] = u
}

// noteObject records that a name in m stands for o.
func (c *checker) noteObject(m *module, at source.Span, o object, b *ir.Body) {
	if c.index == nil || m == nil || m.std {
		return
	}
	switch o := o.(type) {
	case *ir.Var:
		if o != nil {
			c.noteVar(m, at, o, b)
		}
	case *function:
		if o != nil {
			c.note(m, at, Use{Role: o.role(), Decl: o.tree.Name.Span, Body: b})
		}
	case *typeName:
		if o != nil {
			c.note(m, at, Use{Role: o.role(), Decl: o.declared(), Body: b})
		}
	case *module:
		if o != nil {
			c.note(m, at, Use{Role: ModuleName, Decl: m.places[at.Text()], File: o.ir.File,
				Body: b})
		}
	}
}

func (c *checker) noteVar(m *module, at source.Span, v *ir.Var, b *ir.Body) {
	u := Use{Role: VarName, Decl: v.Origin().Span, Var: v, Body: b}
	switch v.Kind {
	case ir.Constant:
		u.Role = ConstName
	case ir.Param, ir.Self:
		u.Role = ParamName
	case ir.EventVar:
		// Unless a closure names it, the variable has the name of its type.
		if tn := c.decls[v.Type.Deref()]; tn != nil && tn.name == at.Text() {
			_, named := c.index.names[v.Span]
			if v.Name != tn.name || named && c.index.names[v.Span].Role == TypeName {
				u.Decl = tn.declared()
			}
		}
	}
	c.note(m, at, u)
}

// noteTypeParam records a use of a type parameter. A method that narrows a parameter of its type
// means the same one.
func (c *checker) noteTypeParam(m *module, n *syntax.Name) {
	if c.index == nil || m == nil || m.std || m.tree == nil {
		return
	}
	for _, d := range m.tree.Decls {
		if at := d.Place(); n.Span.Start < at.Start || n.Span.End > at.End {
			continue
		}
		params := declParams(d)
		if t, ok := d.(*syntax.TypeDecl); ok {
			for _, f := range t.Members {
				if at := f.Place(); at.Start <= n.Span.Start && n.Span.End <= at.End {
					params = append(params[:len(params):len(params)], declParams(f)...)
				}
			}
		}
		for _, p := range params {
			if p.Name != nil && p.Name.Text == n.Text {
				c.note(m, n.Span, Use{Role: TypeParamName, Decl: p.Name.Span})
				return
			}
		}
	}
}

// noteParam records a parameter where it is declared, unless its variable is known: a method of an
// interface has none.
func (c *checker) noteParam(m *module, n *syntax.Name) {
	if c.index == nil || n == nil {
		return
	}
	if _, known := c.index.names[n.Span]; !known {
		c.note(m, n.Span, Use{Role: ParamName, Decl: n.Span})
	}
}

// noteParams records the parameters of a function where they are declared; of a generic one, with
// its type parameters.
func (c *checker) noteParams(m *module, params []*ir.Var, e *env) {
	if c.index == nil || len(e.params) > 0 && !e.opaque {
		return
	}
	for _, v := range params {
		if v.Span.Text() == v.Name { // else the text does not have the name
			c.noteObject(m, v.Span, v, nil)
		}
	}
}

func declParams(d syntax.Decl) []*syntax.TypeParam {
	switch d := d.(type) {
	case *syntax.Func:
		return d.TypeParams
	case *syntax.TypeDecl:
		return d.TypeParams
	case *syntax.UnionDecl:
		return d.TypeParams
	}
	return nil
}

// noteDeclared records a field or case where tn declares it; in generic types, with their type
// parameters.
func (c *checker) noteDeclared(tn *typeName, e *env, n *syntax.Name, u Use) {
	if n != nil && (e.opaque || len(e.params) == 0) {
		u.Decl = n.Span
		c.note(tn.module, n.Span, u)
	}
}

// noteField records a use of the field name of the struct t.
func (c *checker) noteField(m *module, n *syntax.Name, t, field *types.Type) {
	if c.index == nil || n == nil {
		return
	}
	tn := c.decls[t.Deref()]
	if tn == nil || tn.structure == nil {
		return
	}
	for _, d := range tn.structure.Members {
		if v, ok := d.(*syntax.VarDecl); ok {
			for _, f := range v.Names {
				if f.Text == n.Text {
					c.note(m, n.Span, Use{Role: FieldName, Decl: f.Span, Type: field})
				}
			}
		}
	}
}

// unionCaseTree is the declaration of a case of the union t; nil when t is none.
func (c *checker) unionCaseTree(t *types.Type, i int) *syntax.Case {
	tn := c.decls[t]
	if tn == nil || tn.union == nil || i >= len(tn.union.Cases) {
		return nil
	}
	return tn.union.Cases[i]
}

// noteCase records a use of case i of the union t.
func (c *checker) noteCase(m *module, at source.Span, t *types.Type, i int) {
	if c.index == nil {
		return
	}
	if k := c.unionCaseTree(t, i); k != nil {
		c.note(m, at, Use{Role: CaseName, Decl: k.Name.Span})
	}
}

// noteCaseField records a use of field j of case i of the union t.
func (c *checker) noteCaseField(m *module, at source.Span, t *types.Type, i, j int) {
	if c.index == nil {
		return
	}
	if k := c.unionCaseTree(t, i); k != nil && j < len(k.Fields) && k.Fields[j].Name != nil {
		c.note(m, at, Use{Role: FieldName, Decl: k.Fields[j].Name.Span,
			Type: t.Def.Cases[i].Fields[j].Type})
	}
}

// noteLeft records what stands before the name n.
func (c *checker) noteLeft(n *syntax.Name, l left) {
	if c.index != nil && n != nil {
		c.index.lefts[n.Span] = l
	}
}

// moduleOf returns the module of a place in the text, for the index; nil when there is no index.
func (c *checker) moduleOf(at source.Span) *module {
	if c.index == nil {
		return nil
	}
	return c.index.modules[at.File]
}
