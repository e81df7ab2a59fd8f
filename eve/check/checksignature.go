package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// checkSignature checks a declaration by itself: names, type parameters, views in the result.
func (c *checker) checkSignature(f *function) {
	t := f.tree
	c.params(t.Params)
	c.checkTypeParams(f.module, f.typeParams(), t.Span)
	for _, p := range t.TypeParams {
		c.noteTypeParam(f.module, p.Name)
	}
	for _, p := range t.Params {
		c.noteParam(f.module, p.Name)
	}
	for i, p := range t.Params {
		switch {
		case p.Name != nil && p.Name.Text == "self" && (f.owner == nil || i > 0 || p.Type != nil):
			c.diags.Errorf("E0216", p.Span,
				"self is the first parameter of a method, without a type")
		case p.Type == nil && !isSelf(p) && p.Name != nil:
			c.diags.Errorf("E0216", p.Span, "parameter '%s' needs a type", p.Name.Text)
		case p.Take && p.Type != nil && isView(p.Type):
			c.diags.Errorf("E0216", p.Span, "a view is lent and cannot be taken: drop the =")
		}
	}
	if f.extern != nil {
		c.checkExtern(f)
	}
	c.checkResult(f)
	c.checkDefaults(f)
}

// isView says whether a type as written is a T& or a closure.
func isView(t syntax.Type) bool {
	switch t := t.(type) {
	case *syntax.SuffixType:
		return t.Suffix == '&'
	case *syntax.FuncType:
		return true
	}
	return false
}

// checkResult reports results that are views of storage that the caller does not have (R8).
func (c *checker) checkResult(f *function) {
	if f.tree.Result == nil || f.module.std && f.tree.Body == nil {
		return
	}
	var recv *types.Type
	if f.owner != nil {
		if f.owner.isInterface() {
			return
		}
		recv = c.namedType(f.owner, c.opaqueArgs(f.owner, f), f.tree.Name.Span)
	}
	s := c.signature(f, recv, c.ownParams(f))
	if !s.result.HasView() {
		return
	}
	at := f.tree.Result.Place()
	if holdsRef(s.result) {
		d := c.diags.Errorf("E0305", at,
			"a function cannot return %s; only slices of its own view parameters", s.result)
		if s.result.Kind == types.Ref {
			d.Label = "return the value, or take the place as a parameter: out: " +
				s.result.String()
		}
		return
	}
	if s.self != nil {
		return
	}
	for _, p := range s.params {
		if p.t.Kind == types.Slice || p.t.Kind == types.Ref || p.t.Kind == types.Invalid {
			return
		}
	}
	c.diags.Errorf("E0305", at, "a function without a view parameter cannot return a view").Label =
		"a vector can be returned: to_vector() copies a view"
}

// holdsRef says whether t contains a T& or a closure that is not a slice.
func holdsRef(t *types.Type) bool {
	switch t.Kind {
	case types.Ref, types.Func:
		return true
	case types.Option, types.Result:
		return holdsRef(t.Elem)
	case types.Tuple:
		for _, e := range t.Elems {
			if holdsRef(e) {
				return true
			}
		}
	}
	return false
}

// checkDefaults checks default values once, at the declaration.
func (c *checker) checkDefaults(f *function) {
	optional := false
	for _, p := range f.tree.Params {
		if p.Default == nil {
			if optional && p.Name != nil && p.Name.Text != "format" {
				c.diags.Errorf("E0216", p.Span,
					"parameter '%s' needs a default value: one before it has one", p.Name.Text)
			}
			continue
		}
		optional = true
		if f.owner != nil && (f.owner.builtin || f.owner.isInterface()) || p.Type == nil {
			continue
		}
		var recv *types.Type
		if f.owner != nil {
			recv = c.namedType(f.owner, c.opaqueArgs(f.owner, f), f.tree.Name.Span)
		}
		s := c.signature(f, recv, c.ownParams(f))
		t := c.quiet(func() *types.Type { return c.typeOf(s.env, p.Type) })
		c.closed(c.initExpr(f.module, s.env, p.Default, t))
	}
}

// checkExtern reports parameters and results of types that C does not have.
func (c *checker) checkExtern(f *function) {
	s := c.signature(f, nil, c.ownParams(f))
	if len(f.tree.TypeParams) > 0 {
		c.diags.Errorf("E0317", f.tree.Name.Span, "a C function has no type parameters")
	}
	for _, p := range s.params {
		if !crosses(p.t) {
			c.diags.Errorf("E0317", p.tree.Type.Place(),
				"%s cannot be passed to C: numbers, bool, string, bytes and slices of numbers can",
				p.t)
		}
	}
	if r := s.result; r.Kind != types.Void && r.Kind != types.Invalid && !r.IsNumber() &&
		r.Kind != types.Bool {
		c.diags.Errorf("E0317", f.tree.Result.Place(),
			"a C function cannot return %s: numbers and bool it can", r)
	}
}

func crosses(t *types.Type) bool {
	switch t.Kind {
	case types.Invalid, types.Bool, types.String:
		return true
	case types.Vector:
		return t.Elem == types.CharT
	case types.Ref:
		return t.Elem.IsNumber() || t.Elem == types.BytesT
	case types.Slice:
		return t.Elem.IsNumber()
	}
	return t.IsNumber()
}

// checkTypeParams reports type parameters that are declared twice or never used.
func (c *checker) checkTypeParams(m *module, params []*syntax.TypeParam, within source.Span) {
	seen := map[string]*syntax.Name{}
	for _, p := range params {
		c.noteTypeParam(m, p.Name)
		if first := seen[p.Name.Text]; first != nil {
			c.twice(p.Name, first.Span)
			continue
		}
		seen[p.Name.Text] = p.Name
		if reserved(p.Name.Text) {
			c.diags.Errorf("E0214", p.Name.Span, "'%s' is the name of a built-in type", p.Name.Text)
		}
		if !m.mentions(p.Name, within) {
			c.diags.Errorf("E0503", p.Name.Span, "type parameter %s is not used", p.Name.Text)
		}
	}
}

// mentions says whether a name occurs in a part of the module in another place than n.
func (m *module) mentions(n *syntax.Name, within source.Span) bool {
	for _, t := range m.tree.Tokens {
		if t.Kind == syntax.Identifier && t.Span.Start >= within.Start &&
			t.Span.End <= within.End &&
			t.Span.Start != n.Span.Start && t.Text() == n.Text {
			return true
		}
	}
	return false
}

// zeroOf is the zero value of t, at the place of x.
func (c *checker) zeroOf(t *types.Type, x syntax.Expr) ir.Expr {
	return &ir.Zero{Place: ir.Place{T: t, Span: x.Place()}}
}

// boxed converts x to a value of t: a new object when t is shared.
func (c *checker) boxed(x ir.Expr, t *types.Type) ir.Expr {
	if t.Kind == types.Shared && x.Type().Kind != types.Shared {
		return &ir.Box{Place: ir.Place{T: t, Span: x.At()}, X: x}
	}
	return x
}
